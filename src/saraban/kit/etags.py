"""`If-Match` after RFC 9110: compared strongly, so a weak tag names no version, whatever its number."""

import re
from collections.abc import Collection

from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text, invalid

ANY = "*"


class Stale(DomainError):
    """`If-Match` names another version than the present one; each resource has its own code and words for it."""

    kind = ErrorKind.STALE
    recovery = (REFRESH,)


class WeakETag(DomainError):
    """`If-Match` has a weak tag (`W/"…"`), as a proxy makes it that compresses answers: a weak tag names no version."""

    kind, code = ErrorKind.STALE, "ETAG_WEAK"
    says = Text(
        "If-Match เป็น ETag แบบอ่อน (W/…) ซึ่งใช้ยืนยันรุ่นของข้อมูลไม่ได้ พร็อกซีระหว่างทางอาจแก้ ETag",
        "If-Match is a weak ETag (W/…), which names no version. A proxy on the way may have weakened it.",
    )
    recovery = (
        Text("อ่านใหม่ด้วย Accept-Encoding: identity แล้วใช้ ETag ที่ไม่มี W/", "Read it with Accept-Encoding: identity again."),
    )


def tags_in(if_match: str) -> frozenset[str]:
    """Return the tags of the header, with quotes and `W/`, without the suffix that Apache adds to a compressed answer."""
    parts = [re.sub(r"^w/", "W/", part.strip()) for part in if_match.split(",")]
    return frozenset(re.sub(r'[-;](?:gzip|br|zstd|deflate)"$', '"', part) for part in parts)


def require_strong(tags: Collection[str]) -> None:
    """
    :raises WeakETag: when one of the tags, none of which matches, is weak
    """
    if any(tag.startswith("W/") for tag in tags):
        raise WeakETag


def require_match(if_match: str | None, present: str, stale: type[Stale]) -> None:
    """
    :param if_match: the header, where there is one
    :raises Stale: when the header names neither the present version nor any
    :raises WeakETag: when it does not, and has a weak tag
    :raises Invalid: when it does not, and has a part that is no tag
    """
    tags = tags_in(ANY if if_match is None else if_match)
    if tags.isdisjoint({present, ANY}):
        require_strong(tags)
        if not all(re.fullmatch(r'"[^"]*"', tag) for tag in tags):
            th, en = 'If-Match ต้องเป็น ETag ในเครื่องหมายคำพูด เช่น "3"', 'If-Match must be an ETag in quotes, such as "3".'
            raise invalid("header:If-Match", "malformed", th, en)
        raise stale
