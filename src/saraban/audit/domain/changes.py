"""The old and new values in the details of audit rows."""

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
    field: str
    before: Json
    after: Json


LONGEST: Final = 500
FieldChanges = dict[str, dict[str, Any]]


def set_fields(row: object, values: Mapping[str, Any], *, named: Mapping[str, str] | None = None) -> FieldChanges:
    """Set columns of a row, and return the fields that changed."""
    fields = {column: (named or {}).get(column, column) for column in values}
    before = {field: getattr(row, column) for column, field in fields.items()}
    for column, value in values.items():
        setattr(row, column, value)
    return field_changes(before, {field: values[column] for column, field in fields.items()})


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> FieldChanges:
    """Cut long texts."""
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
    """Remove integer keys and secrets."""
    return {
        name: HIDDEN if _is_secret(name) else _show_value(value)
        for name, value in details.items()
        if not _is_key(name, value)
    }


def _show_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return shown_details(value)
    return [_show_value(item) for item in value] if isinstance(value, list) else value


def _is_secret(name: str) -> bool:
    plain = name.replace("_", "").lower()
    return any(plain.endswith(word) for word in _SECRETS)


def _is_key(name: str, value: object) -> bool:
    keys = name == "id" or name.endswith(("_id", "Id"))
    return keys and isinstance(value, int) and not isinstance(value, bool)


def changes_in(details: Mapping[str, Any]) -> tuple[list[FieldChange], JsonObject]:
    """Return the changes and the other details."""
    changes: list[FieldChange] = []
    facts: dict[str, Json] = {}
    pair = _pair(details)
    if pair is not None:
        changes += _compare("status" if "from" in details else "", *pair)
    names = {name for sides in _PAIRS for name in sides} if pair is not None else set()
    for name, value in details.items():
        if name in names:
            continue
        changes_of_value = list(_value_changes(name, value))
        changes += changes_of_value
        if not changes_of_value:
            facts[name] = value
    return changes, facts


def _value_changes(name: str, value: Any) -> Iterator[FieldChange]:
    if isinstance(value, Mapping):
        pair = _pair(value)
        if pair is not None:
            yield from _compare(name, *pair)
        elif value and all(isinstance(part, Mapping) and _pair(part) is not None for part in value.values()):
            for field, part in value.items():
                yield from _compare(field, *(_pair(part) or (None, None)))
    elif isinstance(value, list) and value and all(isinstance(part, Mapping) and _pair(part) for part in value):
        for part in value:
            place = str(part.get("path") or part.get("field") or part.get("code") or name).removeprefix("/")
            yield from _compare(place, *(_pair(part) or (None, None)))


def _pair(value: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return old and new value; an added or removed object has only one side."""
    for old, new in _PAIRS:
        if (old in value and new in value) or any(isinstance(value.get(side), Mapping) for side in (old, new)):
            return value.get(old), value.get(new)
    return None


def _compare(name: str, before: Any, after: Any) -> Iterator[FieldChange]:
    sides = [side for side in (before, after) if side is not None]
    if not sides or not all(isinstance(side, Mapping) for side in sides):
        yield FieldChange(name, before, after)
        return
    old, new = before or {}, after or {}
    for field in dict.fromkeys([*old, *new]):
        if old.get(field) != new.get(field):
            yield FieldChange(f"{name} · {field}" if name else field, old.get(field), new.get(field))
