"""A snippet shows a text as it was written, with marks around what was found."""

import pytest

from saraban.search.domain import snippet
from saraban.search_index.domain.folding import fold


def shown(text: str, *words: str) -> str:
    return "".join(
        f"[{one.text}]" if one.is_marked else one.text for one in snippet(text, [fold(word) for word in words])
    )


class TestSnippet:
    @pytest.mark.parametrize(
        ("text", "words", "wanted"),
        [
            ("รายงานผลการทดสอบเสาเข็ม", ["ทดสอบ"], "รายงานผลการ[ทดสอบ]เสาเข็ม"),
            ("ชั้น ๒ ของอาคาร", ["ชั้น 2"], "[ชั้น ๒] ของอาคาร"),
            ("นํ้าใต้ดิน", ["น้ำ"], "[นํ้า]ใต้ดิน"),
            ("LCBP3 และ LCBP3", ["lcbp3"], "[LCBP3] และ [LCBP3]"),
            ("ไม่มี", ["เสาเข็ม"], ""),
        ],
    )
    def test_marks_what_was_found(self, text: str, words: list[str], wanted: str) -> None:
        assert shown(text, *words) == wanted

    def test_shows_what_stands_around(self) -> None:
        found = shown("ก" * 200 + "เสาเข็ม" + "ข" * 200, "เสาเข็ม")

        assert found == "…" + "ก" * 60 + "[เสาเข็ม]" + "ข" * 60 + "…"
