"""
What the details of an audit row say: each field with what it was and what it became, and the rest.

`set_fields` and `field_changes` make these details. Other rows have `before` and `after` (or `old` and `new`): of one thing, of each
field, or of each place in a file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from saraban.kit.json import Json, JsonObject

HIDDEN: Final = "•••"
_SECRETS: Final = ("password", "secret", "hash", "accesstoken", "refreshtoken", "invitationtoken")
_PAIRS: Final = (("before", "after"), ("old", "new"), ("from", "to"))


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What a field was and what it became; None for what was not there."""

    field: str
    before: Json
    after: Json


LONGEST: Final = 500
FieldChanges = dict[str, dict[str, Any]]


def set_fields(row: object, values: Mapping[str, Any], *, named: Mapping[str, str] | None = None) -> FieldChanges:
    """
    Set columns of a row and return the fields that changed; old values are read before the first is set.

    :param named: the field of each column whose name differs
    """
    fields = {column: (named or {}).get(column, column) for column in values}
    before = {field: getattr(row, column) for column, field in fields.items()}
    for column, value in values.items():
        setattr(row, column, value)
    return field_changes(before, {field: values[column] for column, field in fields.items()})


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> FieldChanges:
    """Return old and new of the fields of `after` that are different now; long texts are cut short."""
    return {
        name: {"old": _shorten(before.get(name)), "new": _shorten(value)}
        for name, value in after.items()
        if before.get(name) != value
    }


def _shorten(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST:
        return value[: LONGEST - 1] + "…"
    return value.isoformat() if isinstance(value, date) else value


def shown_details(details: Mapping[str, Any]) -> JsonObject:
    """Return the details without what must never be shown, whoever wrote it: integer keys and secrets."""
    return {
        name: HIDDEN if _is_secret(name) else _shown(value)
        for name, value in details.items()
        if not _is_key(name, value)
    }


def _shown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return shown_details(value)
    return [_shown(one) for one in value] if isinstance(value, list) else value


def _is_secret(name: str) -> bool:
    plain = name.replace("_", "").lower()
    return any(plain.endswith(word) for word in _SECRETS)


def _is_key(name: str, value: object) -> bool:
    keys = name == "id" or name.endswith(("_id", "Id"))
    return keys and isinstance(value, int) and not isinstance(value, bool)


def changes_in(details: Mapping[str, Any]) -> tuple[list[FieldChange], JsonObject]:
    """Return the changes that details tell of, in their order, and what else they say."""
    found: list[FieldChange] = []
    facts: dict[str, Json] = {}
    whole = _pair(details)
    if whole is not None:
        found += _compared("status" if "from" in details else "", *whole)
    names = {name for pair in _PAIRS for name in pair} if whole is not None else set()
    for name, value in details.items():
        if name in names:
            continue
        told = list(_told(name, value))
        found += told
        if not told:
            facts[name] = value
    return found, facts


def _told(name: str, value: Any) -> Iterator[FieldChange]:
    """Yield the changes under one name: of itself, of each field, or of each place of a list."""
    if isinstance(value, Mapping):
        pair = _pair(value)
        if pair is not None:
            yield from _compared(name, *pair)
        elif value and all(isinstance(one, Mapping) and _pair(one) is not None for one in value.values()):
            for field, one in value.items():
                yield from _compared(field, *(_pair(one) or (None, None)))
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) and _pair(one) for one in value):
        for one in value:
            place = str(one.get("path") or one.get("field") or one.get("code") or name).removeprefix("/")
            yield from _compared(place, *(_pair(one) or (None, None)))


def _pair(value: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """What was and what is; of a thing that was added or removed there is one side alone."""
    for one, other in _PAIRS:
        if (one in value and other in value) or any(isinstance(value.get(side), Mapping) for side in (one, other)):
            return value.get(one), value.get(other)
    return None


def _compared(name: str, before: Any, after: Any) -> Iterator[FieldChange]:
    """Two objects are compared field by field; a thing that came or went has all of its fields."""
    sides = [one for one in (before, after) if one is not None]
    if not sides or not all(isinstance(one, Mapping) for one in sides):
        yield FieldChange(name, before, after)
        return
    one, other = before or {}, after or {}
    for field in dict.fromkeys([*one, *other]):
        if one.get(field) != other.get(field):
            yield FieldChange(f"{name} · {field}" if name else field, one.get(field), other.get(field))
