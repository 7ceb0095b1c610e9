"""Of the formats that fit a document the one that names most wins, then the type's, then the project's default."""

import pytest

from saraban.numbering.issue.service.number_plan import reason_of
from saraban.numbering.series.domain.template import (
    DEFAULT_FORMAT,
    FormatKey,
    Narrowing,
    matching_format_keys,
    reason_text,
)

TYPE = 3
ALL = Narrowing("MAT", "SDW", "STR")


def chosen(saved: list[Narrowing | None], document: Narrowing, *, default: bool = True) -> FormatKey | None:
    """:param saved: None is the type's own format"""
    formats = {FormatKey(TYPE, one or Narrowing()) for one in saved} | ({DEFAULT_FORMAT} if default else set())
    return next((key for key in matching_format_keys(TYPE, document) if key in formats), None)


class TestFittingKeys:
    @pytest.mark.parametrize(
        ("saved", "document", "wins"),
        [
            ([], ALL, DEFAULT_FORMAT),
            ([None], ALL, None),
            ([None, Narrowing(discipline="STR")], ALL, Narrowing(discipline="STR")),
            ([Narrowing(discipline="STR"), Narrowing(rfa_type="SDW")], ALL, Narrowing(rfa_type="SDW")),
            ([Narrowing(rfa_type="SDW"), Narrowing(sub_type="MAT")], ALL, Narrowing(sub_type="MAT")),
            ([Narrowing("MAT"), Narrowing("", "SDW", "STR")], ALL, Narrowing("", "SDW", "STR")),
            ([Narrowing("MAT", "", "STR"), Narrowing("", "SDW", "STR")], ALL, Narrowing("MAT", "", "STR")),
            ([Narrowing("MAT", "", "STR"), Narrowing("MAT", "SDW")], ALL, Narrowing("MAT", "SDW")),
            ([Narrowing("MAT", "SDW"), ALL], ALL, ALL),
            ([None, Narrowing(discipline="ELE"), Narrowing("SHP")], ALL, None),  # of other documents
            ([None, Narrowing("MAT", "", "STR")], Narrowing("MAT"), None),  # names what the document has not
            ([None, Narrowing("MAT", "", "STR"), Narrowing("MAT")], Narrowing("MAT", "", "ELE"), Narrowing("MAT")),
            ([Narrowing(rfa_type="SDW"), Narrowing(discipline="STR")], ALL._replace(sub_type=""), Narrowing("", "SDW")),
            ([None], Narrowing(), None),
            ([Narrowing("MAT")], Narrowing(), DEFAULT_FORMAT),
        ],
    )
    def test_puts_the_format_first_that_names_most(
        self, saved: list[Narrowing | None], document: Narrowing, wins: Narrowing | FormatKey | None
    ) -> None:
        expected = wins if isinstance(wins, FormatKey) else FormatKey(TYPE, wins or Narrowing())

        assert chosen(saved, document) == expected

    def test_finds_nothing_where_neither_the_type_nor_the_project_has_a_format(self) -> None:
        assert chosen([Narrowing("SHP")], ALL, default=False) is None

    def test_names_each_key_once(self) -> None:
        for document in (Narrowing(), Narrowing("MAT"), Narrowing("", "SDW", "STR"), ALL):
            keys = matching_format_keys(TYPE, document)
            assert len(set(keys)) == len(keys) == 2 ** sum(map(bool, document)) + 1


class TestSay:
    @pytest.mark.parametrize(
        ("narrowing", "thai", "english"),
        [
            (Narrowing("MAT"), "ประเภทย่อย MAT", "sub type MAT"),
            (Narrowing("", "SDW", "STR"), "ประเภท RFA SDW, สาขางาน STR", "RFA type SDW, discipline STR"),
            (Narrowing(), "", ""),
        ],
    )
    def test_names_the_codes_in_both_languages(self, narrowing: Narrowing, thai: str, english: str) -> None:
        assert (narrowing.say("th"), narrowing.say("en")) == (thai, english)


class TestReason:
    @pytest.mark.parametrize(
        ("source", "chosen", "narrowing", "reason", "thai", "english"),
        [
            ("DRAW", "specific", Narrowing("MAT"), "NARROWED", "รูปแบบของประเภทย่อย MAT", "format of the sub type MAT"),
            ("DRAW", "specific", Narrowing(), "TYPE", "รูปแบบของประเภท RFA", "format of the type RFA"),
            ("DRAW", "default", Narrowing(), "DEFAULT", "ค่าเริ่มต้นของโครงการ", "project's default"),
            ("DRAW", "fallback", Narrowing(), "FALLBACK", "รูปแบบสำรองของระบบ", "system fallback"),
            (
                "OVERRIDE",
                "specific",
                Narrowing("MAT"),
                "STATED",
                "บันทึกเลขที่ออกนอกระบบ",
                "registered as issued outside the system",
            ),
            ("IMPORT", None, Narrowing(), "IMPORTED", "นำเข้าจากทะเบียนเดิม", "imported"),
            (
                "DRAW",
                None,
                Narrowing(),
                "NOT_RECORDED",
                "ออกก่อนที่ระบบจะบันทึกเหตุผล",
                "issued before the reason was recorded",
            ),
        ],
    )
    def test_is_said_in_both_languages(
        self, source: str, chosen: str | None, narrowing: Narrowing, reason: str, thai: str, english: str
    ) -> None:
        found = reason_of(source, chosen, narrowing)
        words = reason_text(found, type_code="RFA", narrowing=narrowing)

        assert (found, words.th, words.en) == (reason, thai, english)
