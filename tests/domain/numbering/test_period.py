"""Years, months and fiscal years as numbers print them, and the series that begin with them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.numbering.series.domain.counter import Period, PrintedCodes, token_values
from saraban.numbering.series.domain.template import Template
from saraban.numbering.series.domain.tokens import PERIODS

BANGKOK = ZoneInfo("Asia/Bangkok")
MIDNIGHT = timedelta(hours=7)  # in Bangkok it is seven hours later than in UTC
INSTANT = timedelta(milliseconds=1)
CODES = PrintedCodes(project="P", originator="O", type="LETTER")


def at(year: int, month: int, day: int) -> datetime:
    """Midnight in Bangkok, in UTC."""
    return datetime(year, month, day, tzinfo=UTC) - MIDNIGHT


class TestPeriod:
    @pytest.mark.parametrize(
        ("moment", "expected"),
        [
            (at(2027, 1, 1) - INSTANT, ("2569", "2026", "69", "26", "12", "2570")),
            (at(2027, 1, 1), ("2570", "2027", "70", "27", "01", "2570")),
            (at(2026, 10, 1) - INSTANT, ("2569", "2026", "69", "26", "09", "2569")),
            (at(2026, 10, 1), ("2569", "2026", "69", "26", "10", "2570")),
            (at(2057, 1, 1), ("2600", "2057", "00", "57", "01", "2600")),
        ],
    )
    def test_prints_the_deployments_day(self, moment: datetime, expected: tuple[str, ...]) -> None:
        values = Period.of(moment, BANGKOK).values

        assert tuple(values[name] for name in PERIODS) == expected

    def test_of_a_stated_year_keeps_the_month_of_the_moment(self) -> None:
        period = Period.of(at(2026, 11, 5), BANGKOK, year=2025)

        assert (period.year, period.month, period.fiscal_year) == (2025, 11, 2026)


def series(text: str, moment: datetime, *, resets: bool = True) -> str:
    return Template.parse(text).series(token_values(CODES, period=Period.of(moment, BANGKOK)), resets=resets)


class TestSeries:
    @pytest.mark.parametrize(
        ("text", "border"),
        [
            ("{SEQ:4}/{YEAR:B.E.}", at(2027, 1, 1)),
            ("{SEQ:4}/{YY:A.D.}", at(2027, 1, 1)),
            ("{SEQ:4}/{YY:B.E.}", at(2027, 1, 1)),
            ("{SEQ:4}/{MM}/{YY:B.E.}", at(2026, 12, 1)),
            ("{SEQ:4}/{FY:B.E.}", at(2026, 10, 1)),
        ],
    )
    def test_begins_anew_with_what_is_printed(self, text: str, border: datetime) -> None:
        assert series(text, border - INSTANT) != series(text, border)
        assert series(text, border) == series(text, border + timedelta(days=20))

    @pytest.mark.parametrize("text", ["{SEQ:4}/{YEAR:B.E.}", "{SEQ:4}/{MM}", "{SEQ:4}/{FY:B.E.}", "{SEQ:4}{YY:A.D.}"])
    def test_counts_on_where_the_format_says_so(self, text: str) -> None:
        assert series(text, at(2026, 9, 30), resets=False) == series(text, at(2031, 1, 1), resets=False)

    def test_of_a_fiscal_year_does_not_end_with_the_calendar_year(self) -> None:
        assert series("{SEQ:4}/{FY:B.E.}", at(2026, 12, 31)) == series("{SEQ:4}/{FY:B.E.}", at(2027, 1, 1))

    @given(st.sets(st.sampled_from(sorted(PERIODS)), min_size=1), st.datetimes(), st.datetimes())
    def test_is_the_same_exactly_while_the_same_is_printed(
        self, names: set[str], one: datetime, other: datetime
    ) -> None:
        template = Template.parse("{SEQ:4}" + "".join(f"-{{{name}}}" for name in sorted(names)))
        moments = [moment.replace(tzinfo=UTC) for moment in (one, other)]
        printed = [
            template.render(token_values(CODES, period=_of(moment)), sequence=1, revision="A") for moment in moments
        ]
        named = [template.series(token_values(CODES, period=_of(moment)), resets=True) for moment in moments]

        assert (printed[0] == printed[1]) == (named[0] == named[1])


def _of(moment: datetime) -> Period:
    return Period(max(moment.year, 1), moment.month)
