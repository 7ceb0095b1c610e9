"""What is kept of the text inside a file."""

import pytest

from saraban.attachments.domain import searchable_text


class TestSearchableText:
    @pytest.mark.parametrize(
        ("found", "kept"),
        [
            ("  Pump\tP-101\r\n\n\u00a0ready \x0c", "Pump P-101 ready"),
            (
                "nul\x00, bell\x07, hyphen\xad, half\ud83d, private\uf0b7, none\ufffe",
                "nul, bell, hyphen, half, private, none",
            ),
            ("\ufeffงาน\u200bก่อ\u200bสร้าง", "งานก่อสร้าง"),
            ("cafe\u0301 A\u030angstro\u0308m", "café Ångström"),
            ("นํ้า คํานวณ", "น้ำ คำนวณ"),
            ("คำ", "คำ"),
            ("ป\uf712\uf70bน ท\uf702\uf713", "ป็้น ที่"),
            ("สราง ้ ฐ านราก น ำ", "สราง้ ฐานราก นำ"),
            ("๒๕๖๙ คคง.-สคฉ.3-0001-2569", "๒๕๖๙ คคง.-สคฉ.3-0001-2569"),
            ("\x00\u200b \n", ""),
        ],
    )
    def test_keeps_what_one_sees(self, found: str, kept: str) -> None:
        assert searchable_text(found) == kept
