"""Rules of delegation. Pure. Delegated rights cannot be delegated again."""

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
    :param workflows: codes; empty for every workflow
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
        return not (self.revoked or other.revoked) and (
            self.starts_at < other.ends_before and other.starts_at < self.ends_before
        )

    def shares(self, other: "Delegation") -> bool:
        workflows = not self.workflows or not other.workflows or bool(self.workflows & other.workflows)
        return workflows and (self.project is None or other.project is None or self.project == other.project)


def moments(starts_on: date, ends_on: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the start of the first day and the end of the last day."""
    return datetime.combine(starts_on, time(), zone), datetime.combine(ends_on + timedelta(days=1), time(), zone)


def check_days(starts_on: date, ends_on: date, *, today: date) -> None:
    """:raises Invalid: for a past day, an end before the start, or more than `MOST_DAYS`"""
    if starts_on < today:
        raise invalid("/startsOn", "past", "ต้องไม่เป็นวันที่ผ่านมาแล้ว", "This date has passed.")
    if ends_on < starts_on:
        raise invalid("/endsOn", "before_start", "ต้องไม่ก่อนวันแรก", "This date is before the first day.")
    if (ends_on - starts_on).days + 1 > MOST_DAYS:
        th, en = "มอบหมายได้ไม่เกิน {most} วัน", "A delegation lasts {most} days at most."
        raise invalid("/endsOn", "too_long", th, en, most=MOST_DAYS)


def check_people(delegator: UUID, delegate: UUID) -> None:
    """:raises Invalid: when a user delegates to themselves"""
    if delegator == delegate:
        raise invalid("/delegatePublicId", "self", "มอบหมายให้ตนเองไม่ได้", "You cannot delegate to yourself.")


def check_against(wanted: Delegation, others: Iterable[Delegation]) -> None:
    """
    :raises DelegateAway: when the delegate delegates their own steps on these days
    :raises DelegationChained: when somebody delegates to the delegator on these days
    :raises DelegationOverlaps: when the delegator has delegated the same matter on these days
    """
    for other in others:
        if not wanted.meets(other):
            continue
        if other.delegator == wanted.delegate:
            raise _refuse(DelegateAway, "/delegatePublicId")
        if other.delegate == wanted.delegator:
            raise _refuse(DelegationChained, "/startsOn")
        if other.delegator == wanted.delegator and wanted.shares(other):
            raise _refuse(DelegationOverlaps, "/startsOn")


def _refuse(refusal: type[DomainError], pointer: str) -> DomainError:
    return refusal(fields=[FieldProblem(pointer, refusal.code.lower(), refusal.says)])


def lent(delegator: Caller, delegate: Caller) -> Caller | None:
    """
    Return the delegator with the rights that are delegated, or None if there are none.

    Only organizations of both people count. A grant with the right to everything is left out with all its permissions.
    """
    shared = delegator.organization_ids & delegate.organization_ids
    if not shared or delegator.user_id == delegate.user_id:
        return None
    grants = tuple(grant for grant in delegator.grants if _is_lent(grant, shared))
    organization_id = delegator.organization_id
    return replace(
        delegator,
        organization_id=organization_id if organization_id in shared else None,
        organization_ids=shared,
        grants=grants,
    )


def _is_lent(grant: Grant, shared: frozenset[int]) -> bool:
    is_shared = grant.organization is None or grant.organization in shared
    return is_shared and EVERYTHING not in grant.permissions


def standing(
    delegate: Caller,
    delegations: Iterable[Delegation],
    people: Mapping[int, Caller],
    *,
    moment: datetime,
) -> tuple[tuple[Delegation, Caller], ...]:
    """:param people: delegators with active accounts, by user id"""
    rights = []
    for delegated in delegations:
        delegator = people.get(delegated.delegator)
        if delegated.delegate != delegate.user_id or delegator is None or not delegated.counts_at(moment):
            continue
        seat = lent(delegator, delegate)
        if seat is not None:
            rights.append((delegated, seat))
    return tuple(rights)


POINTER = "/onBehalfOf"


def in_place_of(own: Facts, seat: Caller) -> Facts:
    return replace(own, caller=seat, deputy=own.caller)


def choices(definition: Definition, state: str, own: Facts, seats: Iterable[Caller]) -> tuple[ActionOut, ...]:
    """Return the available actions, own and delegated, in the order of the definition."""
    own_actions = {choice.code: choice for choice in decisions.available(definition, state, own)}
    delegators: dict[str, list[PersonRef]] = {}
    delegated_actions: dict[str, ActionOut] = {}
    for seat in seats:
        for choice in decisions.available(definition, state, in_place_of(own, seat)):
            delegated_actions[choice.code] = choice
            delegators.setdefault(choice.code, []).append(PersonRef.model_validate(seat))
    if not delegators:
        return tuple(own_actions.values())
    return tuple(
        (own_actions.get(code) or delegated_actions[code]).model_copy(
            update={"in_own_right": code in own_actions, "on_behalf_of": delegators.get(code, [])}
        )
        for code in definition.states[state].on
        if code in own_actions or code in delegated_actions
    )


def chosen(
    definition: Definition, state: str, action: str, own: Facts, seats: Sequence[Caller], *, named: UUID | None
) -> Facts:
    """
    Return the facts of the delegator on whose behalf the caller acts.

    :param named: in the request; without it exactly one must be possible
    :raises ActionForbidden: when no delegator may take this action
    :raises Invalid: when the named person has delegated nothing, or several are possible
    """
    if named is not None:
        return in_place_of(own, seat_of(seats, named))
    permitted = [
        delegated for seat in seats if _can_take(definition, state, action, delegated := in_place_of(own, seat))
    ]
    if not permitted:
        raise decisions.ActionForbidden(
            f"Nobody who delegates to the caller meets what {action[:50]} requires in {state}."
        )
    ready = [
        delegated
        for delegated in permitted
        if action in {choice.code for choice in decisions.available(definition, state, delegated)}
    ]
    if len(ready or permitted) > 1:
        raise several([facts.caller for facts in ready or permitted])
    return (ready or permitted)[0]


def seat_of(seats: Iterable[Caller], named: UUID) -> Caller:
    """:raises Invalid: when the named person has delegated nothing here"""
    seat = next((candidate for candidate in seats if candidate.public_id == named), None)
    if seat is None:
        th, en = "ผู้นี้ไม่ได้มอบหมายงานนี้ให้คุณในวันนี้", "This person has not delegated this to you for today."
        raise invalid(POINTER, "not_delegated", th, en)
    return seat


def _can_take(definition: Definition, state: str, action: str, facts: Facts) -> bool:
    current_state = definition.states.get(state)
    step = current_state.on.get(action) if current_state else None
    return step is not None and decisions.in_charge(facts) and decisions.permitted(step.require, facts)


def several(people: Iterable[Caller]) -> Invalid:
    message = Text("ระบุว่าทำแทนผู้ใด เช่น {name} ({publicId})", "State whom you act for, such as {name} ({publicId}).")
    fields = [
        FieldProblem(POINTER, "ambiguous", message, {"name": person.display_name, "publicId": str(person.public_id)})
        for person in people
    ]
    return Invalid("Several people have delegated this to the caller: name one.", fields=fields)
