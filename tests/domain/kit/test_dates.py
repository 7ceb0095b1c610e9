"""Dates as people type and read them, in both eras."""

from datetime import date

import pytest

from saraban.kit.dates import date_in_figures, date_in_words, parse_date

DAY = date(2026, 12, 31)


class TestReadDay:
    @pytest.mark.parametrize(
        "typed",
        [
            *("31/12/2569", "31/12/2026", "31-12-2569", "31.12.2569", "31 12 2569", " 31/12/2569 ", "๓๑/๑๒/๒๕๖๙"),
            *("2569-12-31", "2026-12-31", "2569/12/31"),
            *("31 ธ.ค. 2569", "31 ธค 2569", "31 Dec 2026", "31 dec 2569"),
        ],
    )
    def test_takes_either_era_and_order(self, typed: str) -> None:
        assert parse_date(typed) == DAY

    @pytest.mark.parametrize(
        "typed", ["", "tomorrow", "31/12/69", "31/02/2569", "2569-13-01", "31 Foo 2026", "0/1/2569", "2026-12-31T00:00"]
    )
    def test_gives_nothing_for_what_is_no_date(self, typed: str) -> None:
        assert parse_date(typed) is None

    def test_knows_the_leap_years_of_the_common_era(self) -> None:
        assert (parse_date("29/02/2567"), parse_date("29/02/2569")) == (date(2024, 2, 29), None)

    @pytest.mark.parametrize("language", ["th", "en"])
    def test_reads_what_is_written(self, language: str) -> None:
        assert {parse_date(date_in_words(DAY, language)), parse_date(date_in_figures(DAY, language))} == {DAY}
