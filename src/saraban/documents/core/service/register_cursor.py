"""Cursors of registers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Self
from uuid import UUID

from saraban.documents.core.domain.registers import Sort
from saraban.kit.pagination import decode_cursor, encode_cursor, malformed_cursor
from saraban.kit.text import control_character


@dataclass(frozen=True, slots=True)
class RegisterCursor:
    """
    :param value: sort value of the last row; empty if sorted by creation
    :param count: of the first page
    """

    at: datetime
    public_id: UUID
    value: str = ""
    count: int | None = None

    def encode(self, mark: bytes) -> str:
        return encode_cursor(mark, self.at.isoformat(), self.public_id.hex, self.value, self.count)

    @classmethod
    def decode(cls, text: str, mark: bytes) -> Self:
        """:raises Invalid: for a cursor of another list, filter or order"""
        at, public_id, value, count = decode_cursor(text, mark, str, str, str, int | None)
        try:
            return cls(datetime.fromisoformat(at).astimezone(UTC), UUID(public_id), value, count)
        except (ValueError, OverflowError) as fault:
            raise malformed_cursor() from fault


def sort_text(sort: Sort, value: str | int | date | None, statuses: Mapping[int, str]) -> str:
    """Return the sort value for a cursor, without database keys."""
    if value is None:
        return ""
    if sort is Sort.STATUS and isinstance(value, int):
        return statuses[value]
    return value.isoformat() if isinstance(value, date) else str(value)


def sort_value(sort: Sort, text: str, statuses: Mapping[str, int]) -> str | int | date | None:
    """:raises Invalid: if `sort_text` does not return such a text"""
    try:
        match sort:
            case Sort.CREATED:
                return None
            case Sort.STATUS:
                return statuses[text]
            case Sort.DATE:
                return date.fromisoformat(text)
            case Sort.DUE:
                return datetime.fromisoformat(text).astimezone(UTC)
            case Sort.NUMBER:
                # `sort_key` marks leading zeros by this control character.
                if control_character(text.replace("\x01", "")) is not None:
                    raise ValueError(text)  # noqa: TRY301  one way out for every malformed cursor
                return text
    except (ValueError, KeyError, OverflowError) as fault:
        raise malformed_cursor() from fault
