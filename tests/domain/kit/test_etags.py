"""`If-Match` names versions by strong tags alone."""

import pytest

from saraban.kit import etags
from saraban.kit.errors import Invalid


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('"3"', True),
        ("*", True),
        ('"2", "3"', True),
        ('W/"3", "3"', True),
        ('"3-gzip"', True),
        ('"4"', False),
    ],
)
def test_compares_strongly(header: str, *, expected: bool) -> None:
    assert etags.matches(header, '"3"') is expected


@pytest.mark.parametrize("header", ['W/"3"', 'W/"2"', '"2", W/"3"', 'w/"3"', 'W/"3-gzip"'])
def test_names_a_weak_tag(header: str) -> None:
    with pytest.raises(etags.WeakETag):
        etags.matches(header, '"3"')


@pytest.mark.parametrize("header", ["", " ", "3", '"2", 3', '"3'])
def test_refuses_what_is_no_tag(header: str) -> None:
    with pytest.raises(Invalid) as refused:
        etags.matches(header, '"3"')

    assert refused.value.fields[0].pointer == "header:If-Match"
