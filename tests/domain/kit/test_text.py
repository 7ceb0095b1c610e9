"""Combining marks: what is refused before it is normalized, and what is folded as it always was (REQ-FMT-05)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.kit.errors import Invalid
from saraban.kit.text import (
    MOST_KEY,
    MOST_MARKS,
    Spellings,
    check_marks,
    compose,
    fold,
    fold_stored,
    has_mark_run,
    key_text,
    normal_form,
    sort_key,
)

ACUTE, GRAVE_BELOW, TIBETAN = "\u0301", "\u0316", "\u0f73"
HOSTILE = "a" + ACUTE * 20_000 + GRAVE_BELOW * 20_000
ASTRAL = "\U0001e8d0"  # Mende Kikakui, a mark outside the basic plane


class TestMarkRun:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(HOSTILE, id="two classes"),
            pytest.param("ก" + ACUTE * (MOST_MARKS + 1), id="one more than may be"),
            pytest.param((ACUTE + GRAVE_BELOW) * 16, id="from the beginning"),
            pytest.param("a" * 5_000 + (ACUTE + GRAVE_BELOW) * 20_000, id="far behind"),
            pytest.param("x" + TIBETAN * 20_000, id="marks of class 0 that fall apart into others"),
            pytest.param("x" + ASTRAL * 31, id="outside the basic plane"),
            pytest.param("x" + (ASTRAL + ACUTE) * 16, id="of both planes"),
            pytest.param("ก" + "\u0e34" * 31, id="vowels above"),
        ],
    )
    def test_is_refused(self, text: str) -> None:
        assert has_mark_run(text)
        for check in (fold, compose, check_marks):
            with pytest.raises(Invalid) as refusal:
                check(text, "/subject")
            (problem,) = refusal.value.fields
            assert (problem.pointer, problem.code) == ("/subject", "combining_marks")
            assert "30" in problem.text.say("th", problem.values)
            assert "30" in problem.text.say("en", problem.values)

    @pytest.mark.parametrize(
        "text",
        [
            "plain" * 10_000,
            "ก" + ACUTE * MOST_MARKS,
            ("ก" + (ACUTE + GRAVE_BELOW) * 15) * 1_000,
            "ที่อยู่ผู้รับ นำ้หนัก ก\u0e4d\u0e32ลัง" * 1_000,
            "👍" * 10_000,
            ("👍" * 40 + ASTRAL * 30) * 10,
            "e\u0301 \u1100\u1161\u11a8 \ufb2c \u0344",
        ],
        ids=["ascii", "30 marks", "many clusters", "Thai", "emoji", "emoji and marks", "compositions"],
    )
    def test_of_at_most_30_is_folded_as_before(self, text: str) -> None:
        folded = unicodedata.normalize("NFC", text).replace("\u0e4d\u0e32", "\u0e33")

        assert not has_mark_run(text)
        assert fold(text) == fold_stored(text) == folded

    def test_that_is_stored_already_is_cut(self) -> None:
        assert fold_stored(HOSTILE + "b" + ASTRAL * 40) == fold("a" + ACUTE * MOST_MARKS + "b" + ASTRAL * MOST_MARKS)


class TestNormalForm:
    @pytest.mark.parametrize(
        ("typed", "twin"),
        [
            pytest.param("SH1", "S\u00adH1", id="soft hyphen"),
            pytest.param("WJ1", "W\u2060J1", id="word joiner"),
            pytest.param(
                "AB",
                "\ufeffA\u034f\u061c\u180e\u200b\u200f\u202a\u202e\u2064\u2066\u2069\u3164B\ufe0f\U000e0041",
                id="unseen",
            ),
            pytest.param("แขวง", "เเขวง", id="doubled sara e"),
            pytest.param("ที่", "ท\u0e48\u0e35", id="tone before vowel"),
            pytest.param("น้ำ", "น\u0e4d\u0e49า", id="sara am in two"),
            pytest.param("ที่", "ที\u0e48\u0e48", id="doubled tone mark"),
            pytest.param("ฤา", "ฤ\u0e45", id="lakkhangyao"),
            pytest.param("A 1", "A\u28001\u2800", id="blank of Braille"),
            pytest.param("FW1", "ＦＷ１", id="full width"),
            pytest.param("N-1", "N\u20111", id="non-breaking hyphen"),
            pytest.param("N-1", "N–1", id="en dash"),
            pytest.param("N-1", "N\u22121", id="minus"),
            pytest.param("S 1", "\u3000S\u00a0\u2009 1 ", id="blanks"),
            pytest.param("LC-a", "lc-A", id="case"),
            pytest.param("strasse", "Straße", id="letters that fold into two"),
            pytest.param("é", "e\u0301", id="composed"),
        ],
    )
    def test_is_one_for_what_looks_alike(self, typed: str, twin: str) -> None:
        assert normal_form(typed) == normal_form(twin)

    @pytest.mark.parametrize(("one", "other"), [("N-1", "N-01"), ("A1", "A 1"), ("N-1", "N1"), ("ก", "ก่"), ("๑", "1")])
    def test_differs_for_what_does_not(self, one: str, other: str) -> None:
        assert normal_form(one) != normal_form(other)
        assert sort_key(one) != sort_key(other)

    @given(st.text() | st.text("ก่้ิีํำาๅเแ๎\u2800\u05b1\u064f\u0320 -aÅſK\u00adﬁ", max_size=12))
    def test_of_a_normal_form_is_itself(self, text: str) -> None:
        assert normal_form(normal_form(text)) == normal_form(text)
        assert sort_key(normal_form(text)) == sort_key(text)

    def test_of_a_long_text_is_told_apart_by_its_end(self) -> None:
        one, other = key_text("ﷺ" * 100 + "a"), key_text("ﷺ" * 100 + "b")

        assert len(one) == len(other) == MOST_KEY
        assert one != other

    def test_is_what_is_not_stored(self) -> None:
        assert fold("N\u2011\u00ad1 เเก") == "N\u20111 เเก"


class TestSortKey:
    def test_counts_as_people_do(self) -> None:
        counted = [
            "A",
            "A-1",
            "A-2",
            "A-09",
            "A-10",
            "A-100",
            "A-9999-2569",
            "A-10000-2569",
            "A-123456789",
            "A-1234567890",
            "B-1",
        ]

        assert sorted([*counted[5:], *counted[:5]], key=sort_key) == counted


def test_what_is_known_is_found_by_its_own_spelling_first() -> None:
    known = Spellings({"ARC": 1, "arc": 2, "Ele": 3})

    assert [known.get(code) for code in ("ARC", "arc", "Arc", "ＥＬＥ", "x")] == [1, 2, 1, 3, None]
    assert known.of(["ele", "x"]) == {"ele": 3}
