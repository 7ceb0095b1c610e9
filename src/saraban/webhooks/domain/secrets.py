"""The secrets that messages are signed with: the present one, and each earlier one for a day after it was replaced."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

OVERLAP: Final = timedelta(hours=24)
MOST: Final = 3  # earlier ones at a time: each is a signature more in every message


@dataclass(frozen=True, slots=True)
class EarlierSecret:
    """A secret that was replaced; it signs until `until`."""

    secret: str
    until: datetime

    @property
    def kept(self) -> dict[str, str]:
        return {"secret": self.secret, "until": self.until.isoformat()}


def valid_secrets(kept: Iterable[Mapping[str, str]] | None, now: datetime) -> list[EarlierSecret]:
    """Return the earlier secrets that still sign, the latest first."""
    found = [EarlierSecret(one["secret"], datetime.fromisoformat(one["until"])) for one in kept or ()]
    return sorted((one for one in found if one.until > now), key=lambda one: one.until, reverse=True)
