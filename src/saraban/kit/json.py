"""JSON types, and functions that narrow a JSON value."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Json = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
else:
    Json = Any  # pydantic and SQLAlchemy cannot resolve a type that refers to itself

JsonObject = Mapping[str, Json]


def as_object(value: Json) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def as_list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


def as_text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def as_number(value: Json) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
