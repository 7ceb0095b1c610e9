"""A query is taken apart into words, phrases, what shall not be there, and conditions."""

from datetime import date

import pytest

from saraban.kit.errors import Invalid
from saraban.search_index.domain.query import DueRange, SearchQuery, Term, parse, parse_words

TODAY = date(2026, 11, 26)


class TestParse:
    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("เสาเข็ม งาน", SearchQuery(words=("เสาเข็ม", "งาน"))),
            ('"แบบ ขยาย" -ยกเลิก', SearchQuery(words=("แบบขยาย",), excluded=("ยกเลิก",))),
            ("แบบ ก -ข", SearchQuery(words=("แบบ", "ก"), excluded=("ข",))),
            ("from:คคง. to:ผรม.2", SearchQuery(conditions={"from": (Term("คคง."),), "to": (Term("ผรม.2"),)})),
            ("จาก:คคง. เลขที่:๐๐๐๑", SearchQuery(conditions={"from": (Term("คคง."),), "number": (Term("0001"),)})),
            ('party:"คคง." ปี:2569', SearchQuery(conditions={"party": (Term("คคง.", is_quoted=True),)}, year=2026)),
            ("-0012", SearchQuery(words=("-0012",))),
            (
                '-0012 status:"APPROVED"',
                SearchQuery(("-0012",), conditions={"status": (Term("approved", is_quoted=True),)}),
            ),
            ("type:RFA -ยกเลิก", SearchQuery((), ("ยกเลิก",), {"type": (Term("rfa"),)})),
            ("from: คคง. เสา\u200bเข็ม", SearchQuery(("เสาเข็ม",), conditions={"from": (Term("คคง."),)})),
            ("due:>2026-12-01 due:<10วัน", SearchQuery(due=DueRange(date(2026, 12, 1), date(2026, 12, 6)))),
            ("http://a.b", SearchQuery(words=("http://a.b",))),
            ("12:30 1:50 C:\\แบบ Re: งาน", SearchQuery(words=("12:30", "1:50", "c:\\แบบ", "re:", "งาน"))),
            ('"Note:abc" RFA-1:ก', SearchQuery(words=("note:abc", "rfa-1:ก"))),
            ("ผู้ส่ง:คคง. ผู้รับ: ผรม.2", SearchQuery(conditions={"from": (Term("คคง."),), "to": (Term("ผรม.2"),)})),
            ("องค์กร:กทท. เลขที่เอกสาร:1", SearchQuery(conditions={"party": (Term("กทท."),), "number": (Term("1"),)})),
            ("กําหนดตอบ:1/12/2569", SearchQuery(due=DueRange(date(2026, 12, 1), date(2026, 12, 1)))),
            ("due:<7d", SearchQuery(due=DueRange(None, date(2026, 12, 3)))),
            ("due:>2569-12-01", SearchQuery(due=DueRange(date(2026, 12, 1), None))),
            ("กำหนด:1/12/2569 งาน", SearchQuery(words=("งาน",), due=DueRange(date(2026, 12, 1), date(2026, 12, 1)))),
        ],
    )
    def test_takes_it_apart(self, text: str, query: SearchQuery) -> None:
        assert parse(text, today=TODAY) == query

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("ก", "too_short"),
            ("่้", "too_short"),
            ("   ", "nothing_sought"),
            ('"" -""', "nothing_sought"),
            ("due:soon", "due"),
            ("งาน author:me", "unknown_condition"),
            ("-ผู้อนุมัติ:คคง.", "unknown_condition"),
            ('created_by:"ดวงใจ"', "unknown_condition"),
            ("ขอ -status:DRAFT", "excluded_condition"),
            ("due:<2026-02-30", "no_such_day"),
            ("due:31/12/69", "two_digit_year"),
            ("year:69", "year"),
            ("ก" * 501, "too_long"),
            ("aa " * 13, "too_many"),
            ("a\x07bc", "control_character"),
        ],
    )
    def test_refuses_what_nothing_can_be_found_by(self, text: str, code: str) -> None:
        if code == "too_many":
            text = " ".join(f"w{number}" for number in range(13))
        with pytest.raises(Invalid) as refused:
            parse(text, today=TODAY)

        assert [(one.pointer, one.code) for one in refused.value.fields] == [("query:q", code)]


class TestParseWords:
    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("จาก:คคง. ก", SearchQuery(words=("จาก:คคง.", "ก"))),
            ('-"ฐาน ราก" เสา', SearchQuery(words=("เสา",), excluded=("ฐานราก",))),
            ("", SearchQuery()),
        ],
    )
    def test_knows_no_conditions(self, text: str, query: SearchQuery) -> None:
        assert parse_words(text) == query
