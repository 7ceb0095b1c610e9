"""
Keyset pages: stable under inserts, the same cost on every page, cursors that show no integer key (REQ-IDN-02).
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from types import UnionType
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

import orjson
from sqlalchemy import ColumnElement, Select, and_, or_

from saraban.kit.errors import Invalid, invalid

MAX_PAGE = 100


def list_mark(*parts: str) -> bytes:
    """Return the mark of a list with its filters and its order, by which a cursor goes on with that list and no other."""
    return blake2b("\0".join(parts).encode(), digest_size=8).digest()


T = TypeVar("T")
S = TypeVar("S", bound=Select[Any])


def encode_cursor(mark: bytes, *position: str | float | None) -> str:
    """
    Return where a page of a list ended.

    :param mark: of the list, from `list_mark`
    :param position: the last row's values in the order of the list; codes, numbers and public ids, no integer keys
    """
    return base64.urlsafe_b64encode(mark + orjson.dumps(position)).rstrip(b"=").decode()


def malformed_cursor(pointer: str = "query:cursor") -> Invalid:
    return invalid(pointer, "malformed", "ตัวชี้หน้าไม่ถูกต้อง", "The cursor is not valid for this list.")


def decode_cursor(
    text: str, mark: bytes, *types: type[Any] | UnionType, pointer: str = "query:cursor"
) -> tuple[Any, ...]:
    """
    Return the position that `encode_cursor` was given.

    :param types: of the values of the position, such as `str, int | None`
    :param pointer: the field that contains the cursor
    :raises Invalid: when `text` is no cursor of this list, with these filters and this order
    """
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        position = orjson.loads(raw.removeprefix(mark))
        if not (raw.startswith(mark) and isinstance(position, list)):
            raise ValueError(text)  # noqa: TRY301  one way out for every malformed cursor
        if not all(isinstance(value, kind) for value, kind in zip(position, types, strict=True)):
            raise ValueError(text)  # noqa: TRY301
    except ValueError as fault:
        raise malformed_cursor(pointer) from fault
    return tuple(position)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page ended: the moment and public id of its last row."""

    at: datetime
    public_id: UUID

    def encode(self) -> str:
        return encode_cursor(b"", self.at.timestamp(), self.public_id.hex)

    @classmethod
    def decode(cls, text: str, *, pointer: str = "query:cursor") -> Self:
        """:raises Invalid: when `text` is not a cursor that `encode` gave"""
        seconds, public_id = decode_cursor(text, b"", float, str, pointer=pointer)
        try:
            return cls(datetime.fromtimestamp(seconds, UTC), UUID(public_id))
        except (ValueError, OverflowError, OSError) as fault:
            raise malformed_cursor(pointer) from fault


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`items` of one page and the cursor of the next, None on the last one."""

    items: list[T]
    next_cursor: str | None


def newest_first(
    statement: S, *, at: ColumnElement[Any] | Any, public_id: ColumnElement[Any] | Any, cursor: str | None, limit: int
) -> S:
    """Order by (`at`, `public_id`) descending, start after `cursor` and fetch one row more than `limit`."""
    if cursor:
        place = Cursor.decode(cursor)
        statement = statement.where(or_(at < place.at, and_(at == place.at, public_id < place.public_id)))
    return statement.order_by(at.desc(), public_id.desc()).limit(limit + 1)


def page_of(rows: Sequence[T], *, limit: int, key: Callable[[T], tuple[datetime, UUID]]) -> Page[T]:
    """Turn the rows of `newest_first` into a page."""
    items = list(rows[:limit])
    more = len(rows) > limit
    return Page(items, Cursor(*key(items[-1])).encode() if more and items else None)
