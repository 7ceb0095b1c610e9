"""Templates taken apart for an editor."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.numbering.formats.domain import TOKEN_MEANINGS, parse_template
from saraban.numbering.series.domain.template import Template
from saraban.numbering.series.domain.tokens import KNOWN, SEQ

ROOT = Path(__file__).resolve().parents[3]


def kinds(text: str) -> list[tuple[str, str]]:
    return [(piece.text, "fault" if piece.fault else piece.token or "literal") for piece in parse_template(text).pieces]


class TestAnatomy:
    def test_names_every_piece(self) -> None:
        assert kinds("ที่ {ORIGINATOR}-{SEQ:4}/{YY:B.E.}") == [
            ("ที่ ", "literal"),
            ("{ORIGINATOR}", "ORIGINATOR"),
            ("-", "literal"),
            ("{SEQ:4}", "SEQ"),
            ("/", "literal"),
            ("{YY:B.E.}", "YY:B.E."),
        ]

    @pytest.mark.parametrize(
        ("text", "wrong"),
        [
            ("{COLOUR}-{SEQ:4}", ["{COLOUR}"]),
            ("{SEQ:4}-{", ["-{"]),
            ("{SEQ:0}-{NOPE}", ["{SEQ:0}", "{NOPE}"]),
            ("{CATEGORY}-{SEQ:4}", ["{CATEGORY}"]),
            ("{ORG}-{SEQ:4}#", ["{ORG}", "#"]),
        ],
    )
    def test_shows_each_fault_in_its_place(self, text: str, wrong: list[str]) -> None:
        found = parse_template(text)

        assert [piece.text for piece in found.pieces if piece.fault] == wrong
        assert len(found.faults) == len(wrong)
        assert found.template is None

    @pytest.mark.parametrize("text", ["", "no sequence", "{SEQ:4}{SEQ:4}", " {SEQ:4}"])
    def test_tells_what_is_wrong_with_the_whole(self, text: str) -> None:
        found = parse_template(text)

        assert found.template is None
        assert len(found.faults) == 1

    def test_knows_drawing_formats(self) -> None:
        assert parse_template("{CATEGORY}-{SEQ:4}", drawing=True).template is not None

    @given(
        st.lists(st.sampled_from(["{", "}", "{SEQ:4}", "{REV}", "{NOPE}", "ก", "ํา", "-", "#", " ", "\n"])).map("".join)
    )
    def test_loses_no_character_and_agrees_with_the_grammar(self, text: str) -> None:
        found = parse_template(text)

        assert "".join(piece.text for piece in found.pieces) == found.text
        assert all(found.text[piece.start : piece.end] == piece.text for piece in found.pieces)
        assert (found.template is None) == bool(found.faults)
        if found.template is not None:
            assert found.template == Template.parse(text)


def test_every_token_has_a_meaning_and_a_line_in_the_administrators_page() -> None:
    page = (ROOT / "docs" / "numbering.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `\{([A-Z_:.n]+)\}`", page, re.MULTILINE))

    assert set(TOKEN_MEANINGS) == KNOWN | {SEQ}
    assert {name.replace("SEQ:n", SEQ) for name in listed} == KNOWN | {SEQ}
