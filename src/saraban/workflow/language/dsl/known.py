"""What a definition may name: roles, permissions, people."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from saraban.kit.json import Json


@dataclass(frozen=True, slots=True)
class Known:
    """
    The names a definition may use; None leaves them unchecked.

    :param users: those of the definition's `assigned` people who can work
    """

    roles: Collection[str] | None = None
    permissions: Collection[str] | None = None
    users: Collection[UUID] | None = None


def assigned(raw: Json) -> frozenset[UUID]:
    """Return the people whom a definition names for any work, before it is read; of nonsense there are none."""
    return frozenset(_assigned(raw))


def _assigned(raw: Json) -> Iterator[UUID]:
    for state in _values(raw, "states"):
        for action in _values(state, "on"):
            require = action.get("require") if isinstance(action, Mapping) else None
            only = user_id(require.get("user")) if isinstance(require, Mapping) else None
            if only is not None:
                yield only
            yield from _put_in_charge(action)
        yield from _asked(state)


def _put_in_charge(way: Json) -> Iterator[UUID]:
    """Those whom the events of an action or a verdict give the next state to."""
    for event in _values(way, "events"):
        key = user_id(event.get("target")) if isinstance(event, Mapping) and event.get("type") == "assign" else None
        if key is not None:
            yield key


def _asked(state: Json) -> Iterator[UUID]:
    """Those whom a review asks by name, and whom its verdicts put in charge."""
    review = state.get("review") if isinstance(state, Mapping) else None
    for outcome in _values(review, "then"):
        yield from _put_in_charge(outcome)
    for branch in _values(review, "branches"):
        assignee = branch.get("assignee") if isinstance(branch, Mapping) else None
        key = user_id(assignee.get("user")) if isinstance(assignee, Mapping) else None
        if key is not None:
            yield key


def _values(raw: Json, key: str) -> list[Json]:
    below = raw.get(key) if isinstance(raw, Mapping) else None
    if isinstance(below, Mapping):
        return list(below.values())
    return below if isinstance(below, list) else []


def user_id(raw: Json) -> UUID | None:
    """Return a `publicId` that is one, and None for anything else."""
    try:
        return UUID(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
