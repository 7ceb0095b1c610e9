"""`If-Match` names versions by strong tags alone."""

import pytest

from saraban.kit import etags


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('"3"', True),
        ("*", True),
        ('"2", "3"', True),
        ('W/"3"', False),
        ('W/"3", "3"', True),
        ('"4"', False),
        ("3", False),
    ],
)
def test_a_weak_tag_never_matches(header: str, *, expected: bool) -> None:
    assert etags.matches(header, '"3"') is expected
