"""Which document answers another one, by who wrote to whom."""

import pytest

from saraban.documents.core.domain.reply import Parties, answers

ORIGINAL = Parties(1, {2, 3})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Parties(2, {1}), True),
        (Parties(3, {1, 4}), True),  # from one in copy
        (Parties(2, {3}), False),  # passed on
        (Parties(1, {2}), False),  # a reminder of its own writer
        (Parties(4, {1}), False),
    ],
)
def test_goes_back_from_one_that_received_it(reply: Parties, expected: bool) -> None:
    assert answers(reply, ORIGINAL) is expected
