"""
Delegation while away: which days and matters one person lends another, what of their rights goes along, what is refused, and
who takes a step: the caller in their own right, or in the place of somebody who has lent it to them.

Pure: rows, people and the present moment are arguments. Nobody can lend what was lent to them, so a chain ends after one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.identity.domain.context import EVERYTHING, Caller, Grant
from saraban.identity.schemas import PersonRef
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text, invalid
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Facts
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.subject import ActionOut

MOST_DAYS = 366

_ANOTHER = Text("เลือกวันหรือผู้รับมอบหมายคนอื่น", "Choose other dates or another delegate.")
_TAKE_BACK = Text("ยกเลิกการมอบหมายเดิมก่อน", "Revoke the earlier delegation first.")


class DelegateAway(DomainError):
    """The chosen person has lent their own steps in the same days: what is lent cannot be lent on."""

    kind, code = ErrorKind.CONFLICT, "DELEGATE_AWAY"
    says = Text(
        "ผู้ที่เลือกมอบหมายงานให้ผู้อื่นอยู่ในวันเดียวกัน",
        "The delegate you chose has delegated their own work on some of these dates.",
    )
    recovery = (_ANOTHER,)


class DelegationChained(DomainError):
    """Somebody counts on the caller in the same days, and would be left without anybody."""

    kind, code = ErrorKind.CONFLICT, "DELEGATION_CHAINED"
    says = Text(
        "มีผู้มอบหมายงานให้คุณในวันเดียวกัน จึงมอบหมายต่อไม่ได้", "Somebody has delegated work to you on some of these dates."
    )
    recovery = (
        Text("เลือกวันอื่น", "Choose other dates."),
        Text("ขอให้ผู้นั้นหรือผู้ดูแลผู้ใช้ยกเลิกการมอบหมาย", "Ask that person or a user administrator to revoke it."),
    )


class DelegationOverlaps(DomainError):
    """One matter is lent to one person at a time."""

    kind, code = ErrorKind.CONFLICT, "DELEGATION_OVERLAPS"
    says = Text("คุณมอบหมายงานนี้ไว้แล้วในวันเดียวกัน", "You have already delegated this work on some of these dates.")
    recovery = (_TAKE_BACK, Text("เลือกวันอื่น", "Choose other dates."))


class DelegationStatus(StrEnum):
    UPCOMING = "upcoming"
    ACTIVE = "active"
    ENDED = "ended"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Delegation:
    """
    :param workflows: codes of the workflows it is about; empty for all
    :param project: None for every project
    """

    delegator: int
    delegate: int
    starts_at: datetime
    ends_before: datetime
    workflows: frozenset[str] = frozenset()
    project: int | None = None
    revoked: bool = False

    def counts_at(self, moment: datetime) -> bool:
        return not self.revoked and self.starts_at <= moment < self.ends_before

    def reaches(self, workflow: str, project: int | None) -> bool:
        about = not self.workflows or workflow in self.workflows
        return about and (self.project is None or self.project == project)

    def meets(self, other: "Delegation") -> bool:
        """Whether there is a moment at which both count."""
        return not (self.revoked or other.revoked) and (
            self.starts_at < other.ends_before and other.starts_at < self.ends_before
        )

    def shares(self, other: "Delegation") -> bool:
        """Whether there is a matter that both are about."""
        workflows = not self.workflows or not other.workflows or bool(self.workflows & other.workflows)
        return workflows and (self.project is None or other.project is None or self.project == other.project)


def moments(starts_on: date, ends_on: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return where the first day begins and where the last one is over."""
    return datetime.combine(starts_on, time(), zone), datetime.combine(ends_on + timedelta(days=1), time(), zone)


def check_days(starts_on: date, ends_on: date, *, today: date) -> None:
    """
    :raises Invalid: for days that have passed, stand the wrong way round, or are too many
    """
    if starts_on < today:
        raise invalid("/startsOn", "past", "ต้องไม่เป็นวันที่ผ่านมาแล้ว", "This date has passed.")
    if ends_on < starts_on:
        raise invalid("/endsOn", "before_start", "ต้องไม่ก่อนวันแรก", "This date is before the first day.")
    if (ends_on - starts_on).days + 1 > MOST_DAYS:
        th, en = "มอบหมายได้ไม่เกิน {most} วัน", "A delegation lasts {most} days at most."
        raise invalid("/endsOn", "too_long", th, en, most=MOST_DAYS)


def check_people(delegator: UUID, delegate: UUID) -> None:
    """
    :raises Invalid: when somebody delegates to themselves
    """
    if delegator == delegate:
        raise invalid("/delegatePublicId", "self", "มอบหมายให้ตนเองไม่ได้", "You cannot delegate to yourself.")


def check_against(wanted: Delegation, known: Iterable[Delegation]) -> None:
    """
    Hold a new delegation against all others of both people.

    :raises DelegateAway: when the delegate lends their own steps in the same days
    :raises DelegationChained: when somebody has lent to the delegator in the same days
    :raises DelegationOverlaps: when the delegator has lent the same matter in the same days
    """
    for other in known:
        if not wanted.meets(other):
            continue
        if other.delegator == wanted.delegate:
            raise _at(DelegateAway, "/delegatePublicId")
        if other.delegate == wanted.delegator:
            raise _at(DelegationChained, "/startsOn")
        if other.delegator == wanted.delegator and wanted.shares(other):
            raise _at(DelegationOverlaps, "/startsOn")


def _at(refusal: type[DomainError], pointer: str) -> DomainError:
    return refusal(fields=[FieldProblem(pointer, refusal.code.lower(), refusal.says)])


def lent(delegator: Caller, delegate: Caller) -> Caller | None:
    """
    Return the delegator as the delegate may act for them, or None when nothing can be lent.

    Only organizations that both work for count, because what a person sees follows them; a grant that gives everything is
    left out whole, with all the permissions that came with it.
    """
    shared = delegator.organization_ids & delegate.organization_ids
    if not shared or delegator.user_id == delegate.user_id:
        return None
    grants = tuple(grant for grant in delegator.grants if _is_lent(grant, shared))
    own = delegator.organization_id
    return replace(delegator, organization_id=own if own in shared else None, organization_ids=shared, grants=grants)


def _is_lent(grant: Grant, shared: frozenset[int]) -> bool:
    here = grant.organization is None or grant.organization in shared
    return here and EVERYTHING not in grant.permissions


def standing(
    delegate: Caller,
    delegations: Iterable[Delegation],
    people: Mapping[int, Caller],
    *,
    moment: datetime,
) -> tuple[tuple[Delegation, Caller], ...]:
    """
    Return what counts at a moment for one person: each delegation to them with the lent caller.

    :param people: the delegators whose accounts are open, with rights of their own, by user id
    """
    found = []
    for one in delegations:
        delegator = people.get(one.delegator)
        if one.delegate != delegate.user_id or delegator is None or not one.counts_at(moment):
            continue
        seat = lent(delegator, delegate)
        if seat is not None:
            found.append((one, seat))
    return tuple(found)


POINTER = "/onBehalfOf"


def in_place_of(own: Facts, seat: Caller) -> Facts:
    """Return the same question with the rights of `seat`, asked by who asks."""
    return replace(own, caller=seat, deputy=own.caller)


def choices(definition: Definition, state: str, own: Facts, seats: Iterable[Caller]) -> tuple[ActionOut, ...]:
    """Return what the caller may do now, in their own right or for others, in the order of the definition."""
    mine = {choice.code: choice for choice in decisions.available(definition, state, own)}
    others: dict[str, list[PersonRef]] = {}
    words: dict[str, ActionOut] = {}
    for seat in seats:
        for choice in decisions.available(definition, state, in_place_of(own, seat)):
            words[choice.code] = choice
            others.setdefault(choice.code, []).append(PersonRef.model_validate(seat))
    if not others:
        return tuple(mine.values())
    return tuple(
        (mine.get(code) or words[code]).model_copy(
            update={"in_own_right": code in mine, "on_behalf_of": others.get(code, [])}
        )
        for code in definition.states[state].on
        if code in mine or code in words
    )


def chosen(
    definition: Definition, state: str, action: str, own: Facts, seats: Sequence[Caller], *, named: UUID | None
) -> Facts:
    """
    Return the facts of the one in whose place the caller acts.

    :param named: whom the request names; without it there must be one alone who could
    :raises ActionForbidden: when nobody who has lent their steps to the caller may take this one
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
    """Return the refusal for who must say whose place they take, with a fault for each person it could be."""
    says = Text("ระบุว่าทำแทนผู้ใด เช่น {name} ({publicId})", "State whom you act for, such as {name} ({publicId}).")
    fields = [
        FieldProblem(POINTER, "ambiguous", says, {"name": one.display_name, "publicId": str(one.public_id)})
        for one in people
    ]
    return Invalid("Several people have delegated this to the caller: name one.", fields=fields)
