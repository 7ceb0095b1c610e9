"""File names that come in, and the header by which they go out."""

import pytest

from saraban.attachments.domain.names import UnacceptableName, clean_name, content_disposition


class TestCleanName:
    @pytest.mark.parametrize(
        ("sent", "kept"),
        [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd.pdf", "passwd.pdf"),
            ("C:\\Users\\me\\report.pdf", "report.pdf"),
            ("  report.pdf. ", "report.pdf"),
            ("น\u0e4d\u0e32หนัก.pdf", "น\u0e33หนัก.pdf"),
        ],
    )
    def test_keeps_the_last_part_in_one_spelling(self, sent: str, kept: str) -> None:
        assert clean_name(sent) == kept

    @pytest.mark.parametrize(
        ("sent", "reason"),
        [
            ("", "required"),
            ("..", "required"),
            ("folder/", "required"),
            ("a\x00.pdf", "control_character"),
            ("a\r\nX-Evil: 1.pdf", "control_character"),
            ("gpj\u202efdp.exe", "control_character"),
            ("ก" * 252 + ".pdf", "too_long"),
        ],
    )
    def test_refuses_what_cannot_be_kept(self, sent: str, reason: str) -> None:
        with pytest.raises(UnacceptableName) as caught:
            clean_name(sent)

        assert caught.value.reason == reason


class TestContentDisposition:
    def test_carries_thai_names_after_rfc_5987(self) -> None:
        header = content_disposition("แบบ 1.pdf", inline=False)

        assert header == "attachment; filename=\"1.pdf\"; filename*=UTF-8''%E0%B9%81%E0%B8%9A%E0%B8%9A%201.pdf"

    @pytest.mark.parametrize("name", ['a"; filename=evil.exe; x=".pdf', "a\\b.pdf", "แบบ.pdf", "50%.pdf"])
    def test_lets_no_name_break_out(self, name: str) -> None:
        header = content_disposition(name, inline=True)

        plain = header.removeprefix('inline; filename="').partition('"')[0]
        assert header.isascii()
        assert header.count('"') == 2
        assert plain.endswith(".pdf")
        assert ";" not in plain
