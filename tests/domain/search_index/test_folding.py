"""What people take for the same text is one text, and a place in it leads back to what was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.search_index.domain.folding import fold, fold_with_places, joined

WRITTEN = st.lists(st.sampled_from(["ก", "กี่", "ก่ี", "น้ำ", "นํ้า", "เเ", "แ", "๒", "A", "  ", "-", "é"]), max_size=12)
THAI = st.text("กขเแโใไาำิีุู่้๊๋์ํ็๑๒ ab1-.\u200b\n", max_size=30)


class TestFold:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("น้ำ", "น้ํา"),
            ("น้ำ", "นํ้า"),
            ("กี่", "ก่ี"),
            ("พันธุ์", "พันธ์ุ"),
            ("สิทธิ์", "สิทธ์ิ"),
            ("แปลน", "เเปลน"),
            ("ชั้น ๒", "ชั้น 2"),
            ("LCBP3", "lcbp3"),
            ("เสา\u200bเข็ม", "เสาเข็ม"),
            ("สอง   คำ", "สอง คำ"),
            ("งาน ก่อ ส ร้าง", "งานก่อสร้าง"),
            ("เ เปลน", "แปลน"),
            ("เหล็ก  SD40 ขนาด 25\u200b มม.", "เหล็กSD40ขนาด25มม."),
        ],
    )
    def test_makes_one_of_what_looks_alike(self, one: str, other: str) -> None:
        assert fold(one) == fold(other)

    def test_keeps_spaces_between_words_and_numbers_without_thai(self) -> None:
        assert fold("SD40  25 ๒๘") == "sd40 25 28"

    def test_leaves_out_separators_of_a_number(self) -> None:
        assert joined(fold("คคง.-ผรม.2-0001-๒๕๖๙")) == "คคงผรม200012569"

    @given(THAI)
    def test_is_the_same_letter_by_letter_and_leads_back(self, text: str) -> None:
        folded, places = fold_with_places(text)

        assert len(places) == len(folded)
        assert places == sorted(places)
        assert fold(fold(text)) == fold(text)

    @given(WRITTEN)
    def test_is_of_the_parts_what_it_is_of_the_whole(self, parts: list[str]) -> None:
        assert fold_with_places("".join(parts))[0] == fold("".join(parts))
