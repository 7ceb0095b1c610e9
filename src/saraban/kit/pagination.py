"""
Keyset pages: stable under inserts, the same cost on every page, cursors that show no integer key (REQ-IDN-02).
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, or_

from saraban.kit.errors import invalid

MAX_PAGE = 100


def list_mark(*parts: str) -> bytes:
    """Return the mark of a list with its filters and its order, by which a cursor goes on with that list and no other."""
    return blake2b("\0".join(parts).encode(), digest_size=8).digest()


T = TypeVar("T")
S = TypeVar("S", bound=Select[Any])


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page ended: the moment and public id of its last row."""

    at: datetime
    public_id: UUID

    def encode(self) -> str:
        micros = int(self.at.timestamp() * 1_000_000)
        raw = micros.to_bytes(8, "big", signed=True) + self.public_id.bytes
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    @classmethod
    def decode(cls, text: str, *, pointer: str = "query:cursor") -> Self:
        """
        :param pointer: where the text came in
        :raises Invalid: when `text` is not a cursor that `encode` gave
        """
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            if len(raw) != 24:
                raise ValueError(text)  # noqa: TRY301  one way out for every malformed cursor
            micros = int.from_bytes(raw[:8], "big", signed=True)
            at = datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)
        except (ValueError, OverflowError, OSError, binascii.Error) as fault:
            raise invalid(pointer, "malformed", "ตัวชี้หน้าไม่ถูกต้อง", "The cursor is not valid for this list.") from fault
        return cls(at, UUID(bytes=raw[8:]))


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
