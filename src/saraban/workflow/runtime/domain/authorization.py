"""
Who takes a step: the caller in his own right, or in the place of somebody who is away and has lent it to him.

Decides among people whose rights are known; whose those are is for `delegation` to say, what a step asks for for `engine`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from saraban.identity.domain.context import Caller
from saraban.kit.errors import FieldProblem, Invalid, Text, invalid
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Facts
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.subject import ActionChoice, Represented

POINTER = "/onBehalfOf"


def in_place_of(own: Facts, seat: Caller) -> Facts:
    """Return the same question with the rights of `seat`, asked by who asks."""
    return replace(own, caller=seat, deputy=own.caller)


def choices(definition: Definition, state: str, own: Facts, seats: Iterable[Caller]) -> tuple[ActionChoice, ...]:
    """Return what the caller may do now, in his own right or for others, in the order of the definition."""
    mine = {choice.code: choice for choice in decisions.available(definition, state, own)}
    others: dict[str, list[Represented]] = {}
    words: dict[str, ActionChoice] = {}
    for seat in seats:
        for choice in decisions.available(definition, state, in_place_of(own, seat)):
            words[choice.code] = choice
            others.setdefault(choice.code, []).append(Represented(seat.public_id, seat.display_name))
    if not others:
        return tuple(mine.values())
    return tuple(
        replace(mine.get(code) or words[code], in_own_right=code in mine, on_behalf_of=tuple(others.get(code, ())))
        for code in definition.states[state].on
        if code in mine or code in words
    )


def chosen(
    definition: Definition, state: str, action: str, own: Facts, seats: Sequence[Caller], *, named: UUID | None
) -> Facts:
    """
    Return the facts of the one in whose place the caller acts.

    :param named: whom the request names; without it there must be one alone who could
    :raises ActionForbidden: when nobody who has lent his steps to the caller may take this one
    :raises Invalid: when the one who is named has lent nothing here, or several could and none is named
    """
    if named is not None:
        return in_place_of(own, seat_of(seats, named))
    able = [asked for seat in seats if _may(definition, state, action, asked := in_place_of(own, seat))]
    if not able:
        raise decisions.ActionForbidden(
            f"Nobody who delegates to the caller meets what {action[:50]} requires in {state}."
        )
    ready = [asked for asked in able if action in {one.code for one in decisions.available(definition, state, asked)}]
    if len(ready or able) > 1:
        raise several([one.caller for one in ready or able])
    return (ready or able)[0]


def seat_of(seats: Iterable[Caller], named: UUID) -> Caller:
    """
    :raises Invalid: when the one who is named has lent nothing here
    """
    found = next((one for one in seats if one.public_id == named), None)
    if found is None:
        th, en = "ผู้นี้ไม่ได้มอบหมายงานนี้ให้คุณในวันนี้", "This person has not delegated this to you for today."
        raise invalid(POINTER, "not_delegated", th, en)
    return found


def _may(definition: Definition, state: str, action: str, asked: Facts) -> bool:
    here = definition.states.get(state)
    step = here.on.get(action) if here else None
    return step is not None and decisions.in_charge(asked) and decisions.permitted(step.require, asked)


def several(people: Iterable[Caller]) -> Invalid:
    """Return the refusal for who must say whose place he takes, with a fault for each person it could be."""
    says = Text("ระบุว่าทำแทนผู้ใด เช่น {name} ({publicId})", "State whom you act for, such as {name} ({publicId}).")
    fields = [
        FieldProblem(POINTER, "ambiguous", says, {"name": one.display_name, "publicId": str(one.public_id)})
        for one in people
    ]
    return Invalid("Several people have delegated this to the caller: name one.", fields=fields)
