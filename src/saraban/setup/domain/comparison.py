"""
What a project file would change: the file and what is there, both as items under paths of codes, held against each other.

`/contracts/C1/disciplines/STR` is such a path: it names the same thing wherever it stands in a list.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from saraban.setup.domain.master_kinds import FILE_LISTS
from saraban.setup.domain.project_yaml import YamlPath as Place

Codes = tuple[str, ...]
Values = Mapping[str, Any]  # of one thing in a file: `ProjectFile` says which type each has

# Lists of things, and the keys by which each is known among the others.
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
    KEEP = "keep"  # left out of the file and in use
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class FileItem:
    """:param at: where it stands in the file"""

    values: Values
    at: Place


@dataclass(slots=True)
class ProjectItems:
    """
    :param stated: lists that the text has, be they empty
    :param twice: where something stands again that stood before
    """

    found: dict[Codes, FileItem] = field(default_factory=dict)
    stated: set[Codes] = field(default_factory=set)
    twice: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    """:param values: the item as the file states it; of one that is closed, as it is there"""

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
        if path in items.found:
            items.twice.append(at)
        plain = {name: value for name, value in data.items() if name not in _KEYS and not isinstance(value, Mapping)}
        items.found.setdefault(path, FileItem(plain, at))
    for name, value in data.items():
        if isinstance(value, Mapping):
            _collect(items, value, (*path, name), (*at, name))
        elif name in _KEYS:
            items.stated.add((*path, name))
            for place, each in enumerate(value):
                _collect(items, each, (*path, name, _code(name, path, each)), (*at, name, place))


def _code(name: str, path: Codes, values: Values) -> str:
    keys = _KEYS.get(f"{path[0]}/{name}" if path else name) or _KEYS[name]
    words = [(key, str(values[key])) for key in keys if values.get(key) is not None]
    narrowed = {"subType", "rfaType", "discipline"}  # of number formats: RFA discipline=STR
    return " ".join(f"{key}={word}" if key in narrowed else word for key, word in words) or "default"


def differences(
    wanted: ProjectItems, there: ProjectItems, *, prune: bool, update_shared: bool, elsewhere: Collection[Codes] = ()
) -> list[Difference]:
    """
    Say what the file would change, in its order, and then what it closes.

    :param prune: close what the lists of the file leave out
    :param update_shared: change what belongs to the installation, too
    :param elsewhere: what another project has already
    """
    found = list(_changes(wanted, there, update_shared=update_shared, elsewhere=elsewhere))
    found += _moves(wanted, there)
    if prune:
        found += [
            Difference(path, ChangeType.CLOSE, item.values, None, item.values)
            for path, item in there.found.items()
            if path not in wanted.found and _closes(path, item.values, wanted)
        ]
    return found


def _changes(
    wanted: ProjectItems, there: ProjectItems, *, update_shared: bool, elsewhere: Collection[Codes]
) -> Iterator[Difference]:
    for path, item in wanted.found.items():
        old = there.found.get(path)
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


def _moves(wanted: ProjectItems, there: ProjectItems) -> Iterator[Difference]:
    """The lists whose order counts and is another one; what only one of the two has is passed over."""
    before, after = _orders(there), _orders(wanted)
    for path, codes in after.items():
        old = [code for code in before.get(path, ()) if code in set(codes)]
        new = [code for code in codes if code in set(old)]
        if old != new:
            yield Difference(path, ChangeType.CHANGE, {"order": old}, {"order": new}, {"order": new})


def _orders(items: ProjectItems) -> dict[Codes, list[str]]:
    found: dict[Codes, list[str]] = {}
    for *path, code in items.found:
        if path and path[-1] in FILE_LISTS:
            found.setdefault(tuple(path), []).append(code)
    return found


def _closes(path: Codes, values: Values, wanted: ProjectItems) -> bool:
    """What belongs to the installation is never closed, and a role only where it is given in the project itself."""
    if path[0] == "people":
        person = path[:2]
        stated = (*person, "roles") in wanted.stated if person in wanted.found else ("people",) in wanted.stated
        return len(path) > len(person) and stated and values["level"] in _PLACES
    return path[0] not in SHARED and path[:-1] in wanted.stated
