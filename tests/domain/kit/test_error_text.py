"""What is kept of a database's message."""

import pytest

from saraban.kit.error_text import error_text, without_values
from saraban.kit.errors import NotFound


class TestWithoutValues:
    @pytest.mark.parametrize(
        ("message", "expected"),
        [
            ("Duplicate entry 'a' for key 'uq_users_name'", "Duplicate entry '…' for key 'uq_users_name'"),
            ("Duplicate entry 'a' for key 'b' for key 'uq'", "Duplicate entry '…' for key 'uq'"),
            ("Duplicate entry 'it's' for key 'uq'", "Duplicate entry '…' for key 'uq'"),
            ("Duplicate entry 'cut off before its end", "Duplicate entry '…'"),
            ("Data too long for column 'title' at row 1", "Data too long for column 'title' at row 1"),
            (
                "Incorrect integer value: 'x' for column `db`.`t`.`c` at row 3",
                "Incorrect integer value: '…' for column `db`.`t`.`c` at row 3",
            ),
            ("You have an error near 'x' at line 1", "You have an error near '…' at line 1"),
            ("UNIQUE constraint failed: users.username", "UNIQUE constraint failed: users.username"),
            ('unrecognized token: "x"', "unrecognized token: '…'"),
            ("a message\n[SQL: INSERT …]", "a message"),
        ],
    )
    def test_keeps_names_and_places(self, message: str, expected: str) -> None:
        assert without_values(message) == expected


class TestErrorText:
    def test_keeps_the_words_of_other_errors(self) -> None:
        assert error_text(RuntimeError("mailbox 'a' is full\nmore")) == "RuntimeError: mailbox 'a' is full"
        assert error_text(NotFound("There is no 'b'.")) == "NotFound: There is no 'b'."
        assert error_text(RuntimeError()) == "RuntimeError"
        assert len(error_text(RuntimeError("x" * 900))) == 500
