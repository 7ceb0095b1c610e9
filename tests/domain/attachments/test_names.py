"""File names that come in."""

import pytest

from saraban.attachments.domain import acceptable_file_name
from saraban.kit.errors import Invalid


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
        assert acceptable_file_name(sent) == kept

    @pytest.mark.parametrize(
        ("sent", "reason"),
        [
            ("", "required"),
            ("..", "required"),
            ("folder/", "required"),
            ("a\x00.pdf", "control_character"),
            ("a\r\nX-Evil: 1.pdf", "control_character"),
            ("ก" * 252 + ".pdf", "too_long"),
        ],
    )
    def test_refuses_what_cannot_be_kept(self, sent: str, reason: str) -> None:
        with pytest.raises(Invalid) as caught:
            acceptable_file_name(sent)

        assert caught.value.fields[0].code == reason
