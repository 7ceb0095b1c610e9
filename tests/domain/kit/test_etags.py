"""`If-Match` names versions by strong tags alone."""

import pytest

from saraban.kit import etags


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('"3"', True),
        ("*", True),
        ('"2", "3"', True),
        ('W/"3", "3"', True),
        ('"3-gzip"', True),
        ('"4"', False),
        ("3", False),
    ],
)
def test_compares_strongly(header: str, *, expected: bool) -> None:
    assert etags.matches(header, '"3"') is expected


@pytest.mark.parametrize("header", ['W/"3"', 'W/"2"', '"2", W/"3"'])
def test_names_a_weak_tag(header: str) -> None:
    with pytest.raises(etags.WeakETag):
        etags.matches(header, '"3"')
