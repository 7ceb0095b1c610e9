"""The period that a number can print: year, month, Thai fiscal year (rulings N3, N5)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self
from zoneinfo import ZoneInfo

from saraban.kit.dates import BUDDHIST_OFFSET
from saraban.numbering.domain import template as tokens

FISCAL_YEAR_BEGINS = 10  # on 1 October; named after the calendar year in which it ends


@dataclass(frozen=True, slots=True)
class Period:
    """
    :param year: A.D.
    """

    year: int
    month: int

    @classmethod
    def of(cls, moment: datetime, zone: ZoneInfo, *, year: int | None = None) -> Self:
        """
        :param year: the stated A.D. year in the place of the moment's; the month stays that of the moment
        """
        local = moment.astimezone(zone)
        return cls(local.year if year is None else year, local.month)

    @property
    def fiscal_year(self) -> int:
        """A.D. year in which the Thai fiscal year of this month ends."""
        return self.year + (self.month >= FISCAL_YEAR_BEGINS)

    @property
    def values(self) -> dict[str, str]:
        """What each token of a period prints."""
        buddhist = self.year + BUDDHIST_OFFSET
        return {
            tokens.YEAR_BE: str(buddhist),
            tokens.YEAR_AD: str(self.year),
            tokens.YY_BE: f"{buddhist % 100:02}",
            tokens.YY_AD: f"{self.year % 100:02}",
            tokens.MONTH: f"{self.month:02}",
            tokens.FISCAL_BE: str(self.fiscal_year + BUDDHIST_OFFSET),
        }
