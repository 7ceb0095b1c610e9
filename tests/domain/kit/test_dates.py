"""Dates as people type and read them, in both eras."""

from datetime import date

import pytest

from saraban.kit.dates import date_in_figures, date_in_words, parse_date, read_date
from saraban.kit.errors import Invalid

DAY = date(2026, 12, 31)


class TestReadDay:
    @pytest.mark.parametrize(
        "typed",
        [
            *("31/12/2569", "31/12/2026", "31-12-2569", "31.12.2569", "31 12 2569", " 31/12/2569 ", "๓๑/๑๒/๒๕๖๙"),
            *("2569-12-31", "2026-12-31", "2569/12/31", "2026-12-31 00:00:00", "2569-12-31T00:00", "31/12/2569 0:00"),
            *("31 ธ.ค. 2569", "31 ธค 2569", "31 ธันวาคม 2569", "31 ธันวาคม พ.ศ. 2569", "๓๑ ธันวาคม พ.ศ.๒๕๖๙"),
            *("31ธันวาคม2569", "31 ธันวาคม ค.ศ. 2026", "31 ธ.ค. พ ศ 2569", "วันพฤหัสบดีที่ 31 ธันวาคม 2569", "วันที่ 31/12/2569"),
            *("31 Dec 2026", "31 dec 2569", "31-DEC-2026", "31 december 2026", "31st December, 2026"),
            *(
                "December 31, 2026",
                "Thursday, 31 December 2026",
                "Dec 31 2026",
                "３１／１２／２５６９",
                "31\u00a0ธ.ค.\u20032569",
                "31–12–2026",
                "31/\u200b12/2026",
                *("ลงวันที่ 31 ธันวาคม 2569", "พฤหัสบดีที่ 31 ธันวาคม 2569", "พฤ. 31 ธ.ค. 2569", "วันที่ 31 เดือนธันวาคม พ.ศ. 2569"),
                *("Thu, 31 Dec 2026", "Thu. 31 Dec 2026", "Thursday, December 31, 2026", "31st of December 2026"),
                *(
                    "31 December 2569 BE",
                    "31 December 2569 (B.E.)",
                    "31/12/2569 พ.ศ.",
                    "31/12/2026 ค.ศ.",
                    "31 Dec 2026 A.D.",
                ),
                *("31/12/2026 12:00:00 AM", "31/12/2026 12:00 am", "31/12/2569 0:00 น.", "31/12/2026 CE"),
            ),
        ],
    )
    def test_takes_every_usual_spelling(self, typed: str) -> None:
        assert read_date(typed) == parse_date(typed) == DAY

    @pytest.mark.parametrize(
        ("typed", "code"),
        [
            *(
                (typed, "malformed")
                for typed in ("", "tomorrow", "31 Foo 2026", "20261231", "31/12", "31/12/256", "1" * 61)
            ),
            *((typed, "malformed") for typed in ("31 ธันวาคม " + " " * 60 + "2569", "\ufdfa" * 60)),
            *((typed, "two_digit_year") for typed in ("31/12/69", "31 ธ.ค. 69", "31-Dec-26", "Dec 31, 26", "26-12-31")),
            *((typed, "no_such_day") for typed in ("31/02/2569", "2569-13-01", "0/1/2569", "12/31/2026", "2569-02-29")),
            *(
                (typed, "has_time")
                for typed in (
                    "2026-12-31 14:30",
                    "2026-12-31T00:00:00Z",
                    "31/12/2569 เวลา 14.30 น.",
                    "31/12/2026 12:00:00 PM",
                    "31/12/2026 12:30 AM",
                )
            ),
            *(
                (typed, "out_of_range")
                for typed in (
                    "31/12/2399",
                    "31/12/1899",
                    "31 ธ.ค. ค.ศ. 2569",
                    "31/12/2569 AD",
                    "31/12/2026 พ.ศ.",
                    "1/1/0000",
                )
            ),
        ],
    )
    def test_names_what_is_wrong(self, typed: str, code: str) -> None:
        with pytest.raises(Invalid) as refused:
            read_date(typed, "/dueDate")

        assert [(one.pointer, one.code) for one in refused.value.fields] == [("/dueDate", code)]
        assert parse_date(typed) is None

    def test_counts_years_from_2400_in_the_buddhist_era(self) -> None:
        assert read_date("1/1/2443") == date(1900, 1, 1)

    def test_knows_the_leap_years_of_the_common_era(self) -> None:
        assert (parse_date("29/02/2567"), parse_date("29/02/2569")) == (date(2024, 2, 29), None)

    @pytest.mark.parametrize("language", ["th", "en"])
    def test_reads_what_is_written(self, language: str) -> None:
        assert {parse_date(date_in_words(DAY, language)), parse_date(date_in_figures(DAY, language))} == {DAY}
