"""Keyset pages: stable under inserts, no integer keys in cursors (REQ-IDN-02)."""

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
    """Identify a list with its filters and order: a cursor of another is refused."""
    return blake2b("\0".join(parts).encode(), digest_size=8).digest()


T = TypeVar("T")
S = TypeVar("S", bound=Select[Any])


def encode_cursor(mark: bytes, *position: str | float | None) -> str:
    return base64.urlsafe_b64encode(mark + orjson.dumps(position)).rstrip(b"=").decode()


def malformed_cursor(pointer: str = "query:cursor") -> Invalid:
    return invalid(pointer, "malformed", "ตัวชี้หน้าไม่ถูกต้อง", "The cursor is not valid for this list.")


def decode_cursor(
    text: str, mark: bytes, *types: type[Any] | UnionType, pointer: str = "query:cursor"
) -> tuple[Any, ...]:
    """:raises Invalid: for a cursor of another list, filter or order"""
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
    at: datetime
    public_id: UUID

    def encode(self) -> str:
        return encode_cursor(b"", self.at.timestamp(), self.public_id.hex)

    @classmethod
    def decode(cls, text: str, *, pointer: str = "query:cursor") -> Self:
        """:raises Invalid:"""
        seconds, public_id = decode_cursor(text, b"", float, str, pointer=pointer)
        try:
            return cls(datetime.fromtimestamp(seconds, UTC), UUID(public_id))
        except (ValueError, OverflowError, OSError) as fault:
            raise malformed_cursor(pointer) from fault


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: list[T]
    next_cursor: str | None


def newest_first(
    statement: S, *, at: ColumnElement[Any] | Any, public_id: ColumnElement[Any] | Any, cursor: str | None, limit: int
) -> S:
    if cursor:
        position = Cursor.decode(cursor)
        statement = statement.where(or_(at < position.at, and_(at == position.at, public_id < position.public_id)))
    return statement.order_by(at.desc(), public_id.desc()).limit(limit + 1)


def page_of(rows: Sequence[T], *, limit: int, key: Callable[[T], tuple[datetime, UUID]]) -> Page[T]:
    items = list(rows[:limit])
    more = len(rows) > limit
    return Page(items, Cursor(*key(items[-1])).encode() if more and items else None)
