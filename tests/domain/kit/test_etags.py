"""`If-Match` names versions by strong tags alone."""

from contextlib import nullcontext

import pytest

from saraban.kit.errors import Invalid, Text
from saraban.kit.etags import Stale, WeakETag, require_match


class OldVersion(Stale):
    code, says = "OLD_VERSION", Text("เปลี่ยนไปแล้ว", "It has changed.")


@pytest.mark.parametrize(
    ("header", "is_stale"),
    [
        (None, False),
        ('"3"', False),
        ("*", False),
        ('"2", "3"', False),
        ('W/"3", "3"', False),
        ('"3-gzip"', False),
        ('"4"', True),
    ],
)
def test_compares_strongly(header: str | None, *, is_stale: bool) -> None:
    with pytest.raises(OldVersion) if is_stale else nullcontext():
        require_match(header, '"3"', OldVersion)


@pytest.mark.parametrize("header", ['W/"3"', 'W/"2"', '"2", W/"3"', 'w/"3"', 'W/"3-gzip"'])
def test_names_a_weak_tag(header: str) -> None:
    with pytest.raises(WeakETag):
        require_match(header, '"3"', OldVersion)


@pytest.mark.parametrize("header", ["", " ", "3", '"2", 3', '"3'])
def test_refuses_what_is_no_tag(header: str) -> None:
    with pytest.raises(Invalid) as refused:
        require_match(header, '"3"', OldVersion)

    assert refused.value.fields[0].pointer == "header:If-Match"
