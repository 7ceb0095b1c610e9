"""
Differences between a project file and the project, by paths of codes.

A path such as `/contracts/C1/disciplines/STR` does not depend on positions in lists.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from saraban.setup.domain.master_kinds import FILE_LISTS
from saraban.setup.domain.project_yaml import YamlPath as Place

Codes = tuple[str, ...]
Values = Mapping[str, Any]  # of one item; `ProjectFile` defines the types

# Lists, and the keys that identify their items.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "organizations": ("code",),
    "correspondenceTypes": ("code",),
    "members": ("organization",),
    "contracts": ("code",),
    "parties": ("organization",),
    **dict.fromkeys(FILE_LISTS, ("code",)),
    "subTypes": ("type", "code"),
    "numberFormats": ("type", "subType", "rfaType", "discipline"),
    "assignments": ("kind", "type"),
    "days": ("date",),
    "drawingRegisters": ("kind",),
    "reviewTeams": ("code",),
    "reviewTeams/members": ("person",),
    "people": ("username",),
    "roles": ("role", "level", "place"),
}
SHARED: Final = frozenset({"organizations", "correspondenceTypes", "people"})
_PLACES: Final = frozenset({"Project", "Contract"})


class ChangeType(StrEnum):
    ADD = "add"
    CHANGE = "change"
    CLOSE = "close"
    KEEP = "keep"  # not in the file, but in use
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class FileItem:
    values: Values
    at: Place


@dataclass(slots=True)
class ProjectItems:
    """:param stated: lists that the file contains, including empty ones"""

    by_path: dict[Codes, FileItem] = field(default_factory=dict)
    stated: set[Codes] = field(default_factory=set)
    duplicates: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    path: Codes
    what: ChangeType
    before: Values | None
    after: Values | None
    values: Values
    at: Place = ()

    @property
    def pointer(self) -> str:
        return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in self.path)


def project_items(data: Values) -> ProjectItems:
    items = ProjectItems()
    _collect(items, data, (), ())
    return items


def _collect(items: ProjectItems, data: Values, path: Codes, at: Place) -> None:
    if path:
        if path in items.by_path:
            items.duplicates.append(at)
        plain = {name: value for name, value in data.items() if name not in _KEYS and not isinstance(value, Mapping)}
        items.by_path.setdefault(path, FileItem(plain, at))
    for name, value in data.items():
        if isinstance(value, Mapping):
            _collect(items, value, (*path, name), (*at, name))
        elif name in _KEYS:
            items.stated.add((*path, name))
            for index, item in enumerate(value):
                _collect(items, item, (*path, name, _code(name, path, item)), (*at, name, index))


def _code(name: str, path: Codes, values: Values) -> str:
    keys = _KEYS.get(f"{path[0]}/{name}" if path else name) or _KEYS[name]
    words = [(key, str(values[key])) for key in keys if values.get(key) is not None]
    narrowed = {"subType", "rfaType", "discipline"}  # for number formats: RFA discipline=STR
    return " ".join(f"{key}={word}" if key in narrowed else word for key, word in words) or "default"


def differences(
    wanted: ProjectItems, there: ProjectItems, *, prune: bool, update_shared: bool, elsewhere: Collection[Codes] = ()
) -> list[Difference]:
    """
    Return the changes in the order of the file, then the items to close.

    :param elsewhere: paths that belong to another project
    """
    result = list(_changes(wanted, there, update_shared=update_shared, elsewhere=elsewhere))
    result += _order_changes(wanted, there)
    if prune:
        result += [
            Difference(path, ChangeType.CLOSE, item.values, None, item.values)
            for path, item in there.by_path.items()
            if path not in wanted.by_path and _is_pruned(path, item.values, wanted)
        ]
    return result


def _changes(
    wanted: ProjectItems, there: ProjectItems, *, update_shared: bool, elsewhere: Collection[Codes]
) -> Iterator[Difference]:
    for path, item in wanted.by_path.items():
        old = there.by_path.get(path)
        if path in elsewhere:
            yield Difference(path, ChangeType.CONFLICT, None, item.values, item.values, item.at)
        elif old is None:
            yield Difference(path, ChangeType.ADD, None, item.values, item.values, item.at)
        else:
            names = [name for name, value in item.values.items() if old.values.get(name) != value]
            if not names:
                continue
            shared = path[0] in SHARED and len(path) == len(("people", "somchai"))
            what = ChangeType.CONFLICT if shared and not update_shared else ChangeType.CHANGE
            before = {name: old.values.get(name) for name in names}
            yield Difference(path, what, before, {name: item.values[name] for name in names}, item.values, item.at)


def _order_changes(wanted: ProjectItems, there: ProjectItems) -> Iterator[Difference]:
    """Compare only items that are on both sides."""
    before, after = _list_orders(there), _list_orders(wanted)
    for path, codes in after.items():
        old = [code for code in before.get(path, ()) if code in set(codes)]
        new = [code for code in codes if code in set(old)]
        if old != new:
            yield Difference(path, ChangeType.CHANGE, {"order": old}, {"order": new}, {"order": new})


def _list_orders(items: ProjectItems) -> dict[Codes, list[str]]:
    orders: dict[Codes, list[str]] = {}
    for *path, code in items.by_path:
        if path and path[-1] in FILE_LISTS:
            orders.setdefault(tuple(path), []).append(code)
    return orders


def _is_pruned(path: Codes, values: Values, wanted: ProjectItems) -> bool:
    """Keep rows of the installation open, and roles outside a project or contract."""
    if path[0] == "people":
        person = path[:2]
        stated = (*person, "roles") in wanted.stated if person in wanted.by_path else ("people",) in wanted.stated
        return len(path) > len(person) and stated and values["level"] in _PLACES
    return path[0] not in SHARED and path[:-1] in wanted.stated
