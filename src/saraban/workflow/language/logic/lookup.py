"""The operators that look at the facts: `var`, `missing`, `missing_some`."""

from collections.abc import Sequence
from typing import cast

from saraban.kit.json import Json
from saraban.workflow.language.logic.budget import Budget
from saraban.workflow.language.logic.coercion import number, text

# What no facts hold: a way that leads nowhere, unlike one that leads to null.
NOWHERE = cast("Json", object())


def step(place: Json, key: str) -> Json:
    """Return what stands under a key, an index or `length`; `NOWHERE` when nothing does."""
    if isinstance(place, dict):
        return place.get(key, NOWHERE)
    if not isinstance(place, list | str):
        return NOWHERE
    if key == "length":
        return len(place)
    if not (key.isascii() and key.isdigit() and len(key) < 10) or (key[0] == "0" and key != "0"):
        return NOWHERE
    return place[int(key)] if int(key) < len(place) else NOWHERE


def follow(place: Json, keys: Sequence[str]) -> Json:
    """Take one step after the other."""
    for key in keys:
        place = step(place, key)
        if place is NOWHERE:
            return NOWHERE
    return place


def fetch(path: Json, facts: Json, budget: Budget) -> Json:
    """Follow a path known only now; the empty path is the facts themselves."""
    if path is None or path == "":
        return facts
    keys = text(path, budget).split(".")
    budget.spend(len(keys))
    return follow(facts, keys)


def missing(names: list[Json], facts: Json, budget: Budget) -> list[Json]:
    """List the names that lead nowhere, to null or to an empty text."""
    wanted = names[0] if names and isinstance(names[0], list) else names
    budget.spend(len(wanted))
    return [name for name in wanted if _absent(name, facts, budget)]


def missing_some(names: list[Json], facts: Json, budget: Budget) -> list[Json]:
    """List what is missing of the names in `names[1]`, unless at least `names[0]` of them are there."""
    needed, options = names
    wanted = options if isinstance(options, list) else [options]
    absent = missing(wanted, facts, budget)
    return [] if len(wanted) - len(absent) >= number(needed, budget) else absent


def _absent(name: Json, facts: Json, budget: Budget) -> bool:
    default = None
    if isinstance(name, list):
        name, default = [*name, None, None][:2]
    value = fetch(name, facts, budget)
    if value is NOWHERE:
        value = default
    return value is None or (isinstance(value, str) and not value)
