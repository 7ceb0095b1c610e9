"""Combining marks: what is refused before it is normalized, and what is folded as it always was (REQ-FMT-05)."""

import unicodedata

import pytest

from saraban.kit.errors import Invalid
from saraban.kit.text import MOST_MARKS, check_marks, compose, fold, fold_stored, has_mark_run

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
