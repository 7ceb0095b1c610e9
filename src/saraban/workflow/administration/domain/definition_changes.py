"""What changed from one version of a definition to another, place by place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from saraban.kit.json import Json, JsonObject, as_list

What = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """
    One place that differs.

    :param place: JSON pointer in which a state stands by its name, as `/states/draft/on/submit/require/roles`
    :param before: None where it was added
    :param after: None where it was removed
    """

    place: str
    what: What
    before: Json
    after: Json


def difference(before: JsonObject, after: JsonObject) -> list[DefinitionChange]:
    """
    Compare two definitions as they were written, in the order of the newer one; what is gone comes last.

    States are compared by name: moving one in the list is no change of its own, but the order of the timeline is told.
    """
    changes = list(_below("", _by_name(before), _by_name(after)))
    orders = [[_name(state) for state in as_list(raw.get("states"))] for raw in (before, after)]
    kept = [[name for name in order if name in orders[1 - place]] for place, order in enumerate(orders)]
    if kept[0] != kept[1]:
        changes.append(DefinitionChange("/states", "changed", orders[0], orders[1]))
    return changes


def _by_name(raw: JsonObject) -> dict[str, Json]:
    states = {_name(state): state for state in as_list(raw.get("states"))}
    return {**raw, "states": states} | {"version": None}  # the version itself is no news


def _name(state: Json) -> str:
    return str(state.get("name")) if isinstance(state, Mapping) else str(state)


def _below(place: str, before: Json, after: Json) -> Iterator[DefinitionChange]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*after, *(key for key in before if key not in after)]:
            at = f"{place}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if key not in before:
                yield DefinitionChange(at, "added", None, after[key])
            elif key not in after:
                yield DefinitionChange(at, "removed", before[key], None)
            else:
                yield from _below(at, before[key], after[key])
    elif before != after or type(before) is not type(after):
        yield DefinitionChange(place, "changed", before, after)
