"""Which document answers another one, by who wrote to whom."""

import pytest

from saraban.documents.core.domain import Correspondents, is_reply

ORIGINAL = Correspondents(1, {2, 3})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Correspondents(2, {1}), True),
        (Correspondents(3, {1, 4}), True),  # from one in copy
        (Correspondents(2, {3}), False),  # passed on
        (Correspondents(1, {2}), False),  # a reminder of its own writer
        (Correspondents(4, {1}), False),
    ],
)
def test_goes_back_from_one_that_received_it(reply: Correspondents, expected: bool) -> None:
    assert is_reply(reply, ORIGINAL) is expected
