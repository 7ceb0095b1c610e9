"""Formats that could print the same number."""

import pytest

from saraban.numbering.formats.domain import TemplateShape, can_collide
from saraban.numbering.series.domain.template import Template

CODES = {
    "PROJECT": frozenset({"LCBP3-C2"}),
    "ORIGINATOR": frozenset({"คคง.", "ผรม.1"}),
    "RECIPIENT": frozenset({"คคง.", "สคฉ.3"}),
    "SUB_TYPE": frozenset({"21", "13"}),
    "DISCIPLINE": frozenset({"STR", "GEN"}),
}


def shape(text: str) -> TemplateShape:
    return TemplateShape(Template.parse(text, drawing=True), CODES)


class TestCanMeet:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("{ORIGINATOR}-{SEQ:4}", "{ORIGINATOR}-{SEQ:5}"),
            ("{ORIGINATOR}-21-{SEQ:4}", "{ORIGINATOR}-{SUB_TYPE}-{SEQ:4}"),
            ("A{SEQ:4}", "A{SEQ:2}{SUB_TYPE}"),
            ("{PROJECT}-{SEQ:4}-{REV}", "LCBP3-C2-{SEQ:4}-A"),
            ("{SEQ:4}-{YEAR:B.E.}", "{SEQ:4}-{YEAR:A.D.}"),
        ],
    )
    def test_finds_formats_that_print_alike(self, one: str, other: str) -> None:
        assert can_collide(shape(one), shape(other))
        assert can_collide(shape(other), shape(one))

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("{ORIGINATOR}-{SEQ:4}", "{PROJECT}-{SEQ:4}"),
            ("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}", "{ORIGINATOR}-CIR-{SEQ:4}-{YEAR:B.E.}"),
            ("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}", "{ORIGINATOR}-{RECIPIENT}-{SUB_TYPE}-{SEQ:4}"),
            ("{SEQ:4}-A", "{SEQ:4}-B"),
        ],
    )
    def test_lets_formats_pass_that_never_do(self, one: str, other: str) -> None:
        assert not can_collide(shape(one), shape(other))
