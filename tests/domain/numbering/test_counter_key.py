"""Years, values and free sequences."""

from datetime import UTC, datetime
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest

from saraban.kit.errors import Invalid
from saraban.numbering.series.domain.counter import (
    Period,
    PrintedCodes,
    ad_year,
    open_sequences,
    printed_values,
    token_values,
    year_of_issue,
)
from saraban.numbering.series.domain.template import Template

BANGKOK = ZoneInfo("Asia/Bangkok")


class TestYear:
    @pytest.mark.parametrize(
        ("moment", "year"),
        [
            (datetime(2026, 12, 31, 16, 59, 59, tzinfo=UTC), 2026),
            (datetime(2026, 12, 31, 17, 0, 0, tzinfo=UTC), 2027),  # midnight in Bangkok
        ],
    )
    def test_turns_at_midnight_of_the_deployment(self, moment: datetime, year: int) -> None:
        assert year_of_issue(moment, BANGKOK) == year

    @pytest.mark.parametrize(("stated", "year"), [(2568, 2025), (2025, 2025), (2693, 2150), (1950, 1950)])
    def test_may_be_stated_in_either_era(self, stated: int, year: int) -> None:
        assert ad_year(stated) == year

    @pytest.mark.parametrize("stated", [0, 1, 1949, 2151, 2399, 2400, 2492, 2694, 9999])
    def test_is_refused_where_no_project_was_or_will_be(self, stated: int) -> None:
        with pytest.raises(Invalid):
            ad_year(stated)


class TestValues:
    def test_print_gen_where_there_is_no_discipline(self) -> None:
        values = token_values(PrintedCodes(project="P", originator="O", type="LETTER"), period=Period(2026, 11))

        assert (values["DISCIPLINE"], values["YEAR:B.E."], values["YEAR:A.D."]) == ("GEN", "2569", "2026")

    def test_keep_only_what_is_printed(self) -> None:
        values = token_values(
            PrintedCodes(project="P", originator="O", type="LETTER", recipient="R"), period=Period(2026, 11)
        )

        kept = printed_values(Template.parse("{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}"), values)

        assert kept == {"ORIGINATOR": "O", "YEAR:B.E.": "2569"}


class TestFreeSequence:
    @pytest.mark.parametrize(
        ("after", "taken", "expected"),
        [(0, set(), 1), (4, {5, 6}, 7), (4, {6}, 5), (0, {1, 2, 3}, None), (2, {3, 4, 5}, None)],
    )
    def test_is_the_first_that_is_not_taken(self, after: int, taken: set[int], expected: int | None) -> None:
        following = takewhile(lambda sequence: sequence <= after + 3, open_sequences(after, closed=(), taken=taken))

        assert next(following, None) == expected
