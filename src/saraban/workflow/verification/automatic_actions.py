"""
What publishing asks of automatic actions: each is possible where it is wanted, needs nobody's hand, and they come to an end.
"""

from collections.abc import Iterator, Mapping
from functools import reduce

from saraban.workflow.language.definition import Definition, Way
from saraban.workflow.language.faults import Faults, below

Place = tuple[str, str]  # state, action
MOST_IN_A_ROW = 20  # all in one transaction


def check(definition: Definition, found: Faults) -> None:
    follows: dict[Place, tuple[Place, ...]] = {}
    pointers: dict[Place, str] = {}
    for index, (name, state) in enumerate(definition.states.items()):
        for way in state.ways:
            pointers[name, way.name] = at = way_at(index, way)
            _possible(definition, way, f"{at}/events", found)
            follows[name, way.name] = tuple(_next(definition, way))
    length: dict[Place, int] = {}
    cycles = list(_cycles(follows, length))
    for cycle in cycles:
        ways = " → ".join(f"{state}.{action}" for state, action in cycle)
        th, en = "การดำเนินการอัตโนมัติวนไม่รู้จบ: {ways}", "These automatic actions never end: {ways}."
        found.add(f"{pointers[cycle[0]]}/events", "automatic_cycle", th, en, ways=ways[:300])

    for place, count in length.items():
        if not cycles and count == MOST_IN_A_ROW + 1:
            th = "การดำเนินการอัตโนมัติต่อกันได้ไม่เกิน {most} ขั้นตอน"
            en = "At most {most} automatic actions can follow one another."
            found.add(f"{pointers[place]}/events", "automatic_chain", th, en, most=MOST_IN_A_ROW)


def way_at(index: int, way: Way) -> str:
    """Return the pointer to an action or a verdict of a state."""
    return reduce(below, way.place, f"/states/{index}")


def _next(definition: Definition, way: Way) -> Iterator[Place]:
    for target in way.targets:
        for action in way.automatic:
            if action in definition.states[target].on:
                yield target, action


def _possible(definition: Definition, way: Way, at: str, found: Faults) -> None:
    for place, event in enumerate(way.events):
        if event["type"] != "auto_action":
            continue
        pointer = f"{at}/{place}/action"
        for target in way.targets:
            taken = definition.states[target].on.get(event["action"])
            if taken is None:
                th, en = "สถานะ “{state}” ไม่มีการดำเนินการนี้", "The status “{state}” has no such action."
                found.add(pointer, "unknown_action", th, en, state=target)
            elif taken.comment_required or taken.attachments_required or taken.responses:
                th = "ในสถานะ “{state}” การดำเนินการนี้ต้องมีความเห็น ไฟล์ หรือรหัสคำตอบ ระบบจึงทำเองไม่ได้"
                en = "In the state “{state}” this action needs a comment, a file or a response code, so nobody is there to give it."
                found.add(pointer, "needs_a_person", th, en, state=target)


def _cycles(follows: Mapping[Place, tuple[Place, ...]], length: dict[Place, int]) -> Iterator[list[Place]]:
    """
    Ways that come back to where they began, one for each place at which a walk notices it; without recursion.

    :param length: filled with how many can follow each place
    """
    done: set[Place] = set()
    for start in follows:
        way: list[Place] = []
        inside: dict[Place, int] = {}
        waiting: list[tuple[Place, bool]] = [(start, True)]
        while waiting:
            place, enters = waiting.pop()
            if not enters:
                way.pop()
                del inside[place]
                done.add(place)
                length[place] = max((length.get(each, 0) + 1 for each in follows[place]), default=0)
            elif place in inside:
                yield [*way[inside[place] :], place]
            elif place not in done:
                inside[place] = len(way)
                way.append(place)
                waiting.append((place, False))
                waiting += [(each, True) for each in reversed(follows[place])]
