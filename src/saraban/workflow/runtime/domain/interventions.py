"""Steps of an administrator, against a definition or beside it. Saves nothing."""

from collections.abc import Collection
from typing import Final

from saraban.identity.domain.context import EVERYTHING, Caller, Scope
from saraban.kit.errors import Invalid, Text, invalid, required
from saraban.kit.text import fold
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Step, TransitionNotPossible
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.language.definition import TERMINATED, Definition, Transition
from saraban.workflow.language.review import LABELS, Assignee
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime.domain.review_response import ReviewSeat, may_answer

PERMISSION = "workflow.force_proceed"
SHORTEST, LONGEST = 10, 500
OWNER = "OWNER"

CANCEL, FORCE, TERMINATE, REASSIGN, MIGRATE = "cancel", "force", "terminate", "reassign", "migrate"
# Labels of steps that no definition has.
WORDS: Final[dict[str, Text]] = {
    CANCEL: Text("ยกเลิกแล้ว", "Cancelled"),
    FORCE: Text("บังคับเปลี่ยนขั้นตอนแล้ว", "Step overridden"),
    TERMINATE: Text("ยุติแล้ว", "Terminated"),
    REASSIGN: Text("มอบหมายให้ผู้อื่นแล้ว", "Reassigned"),
    MIGRATE: Text("ย้ายเวอร์ชันกระบวนงานแล้ว", "Migrated to another workflow version"),
    **LABELS,
}

# Keys in the details of such a step.
IMPOSED: Final = frozenset({"forced", "terminated", "reassigned", "migrated"})

_SIDES = ("originator", "recipient", "submitter", "assignee")
EVERYBODY: Final[tuple[dict[str, str], ...]] = tuple({"type": "notify", "target": side} for side in _SIDES)
_NOTIFY_ORIGINATOR: Final[tuple[dict[str, str], ...]] = tuple(
    {"type": "notify", "target": side} for side in ("originator", "submitter")
)


def checked_reason(reason: str) -> str:
    """
    Return a reason folded and stripped.

    :raises Invalid: at `/reason`, when it is too short or too long
    """
    text = fold(reason).strip()
    if not text:
        raise required("/reason")
    if len(text) < SHORTEST:
        th, en = "ต้องมีอย่างน้อย {least} ตัวอักษร", "At least {least} characters are required."
        raise invalid("/reason", "too_short", th, en, least=SHORTEST)
    if len(text) > LONGEST:
        th, en = "ยาวได้ไม่เกิน {most} ตัวอักษร", "At most {most} characters are allowed."
        raise invalid("/reason", "too_long", th, en, most=LONGEST)
    return text


def may_push(caller: Caller, subject: SubjectFacts, waiting: PendingAssignees) -> bool:
    return _can_intervene(caller, subject, waiting.organizations)


def may_give(caller: Caller, subject: SubjectFacts, waiting: PendingAssignees) -> bool:
    """Return whether the caller may reassign a step; the author may while it is inside their organization."""
    is_inside = subject.scope.organizations <= {subject.originator_organization_id} and bool(waiting.users)
    return may_push(caller, subject, waiting) or (is_inside and caller.user_id == subject.submitter_user_id)


def may_steer(caller: Caller, subject: SubjectFacts) -> bool:
    return _can_intervene(caller, subject, frozenset())


def _can_intervene(caller: Caller, subject: SubjectFacts, waited_for: frozenset[int]) -> bool:
    """
    Return whether the caller may do everything, or has the permission over this subject.

    People of the originator have it only over a document that stays inside their organization.
    """
    if caller.may(EVERYTHING, subject.scope):
        return True
    originator = subject.originator_organization_id
    if subject.scope.organizations <= {originator}:
        return caller.may(PERMISSION, subject.scope)
    if originator in caller.organization_ids:
        return False
    seats = (waited_for | subject.parties.get(OWNER, frozenset())) - {originator}
    return caller.may(PERMISSION, Scope(seats, subject.scope.project, subject.scope.contract))


def forced(definition: Definition, state: str, *, action: str | None, to: str | None, reason: str) -> Step:
    """
    Decide a step without checking its permission or condition.

    :param action: of the present state, or None to go to `to` directly
    :raises TransitionNotPossible: when the state has no such action, or is final
    :raises Invalid: at `/to`, when it is unknown or the present state, or is needed and missing
    """
    if definition.state(state).terminal:
        raise TransitionNotPossible("There is no way out of an end.")
    if action is None:
        target, name, events = _check_target(definition, state, to), FORCE, EVERYBODY
    else:
        transition = definition.states[state].on.get(action)
        if transition is None:
            raise TransitionNotPossible(f"The state {state} has no action {action[:50]}.")
        target, name = _find_target(transition, to), action
        events = transition.events + EVERYBODY
    return Step(state, name, target, definition.states[target].terminal, events, reason, forced=True)


def _check_target(definition: Definition, state: str, to: str | None) -> str:
    if to is None:
        raise invalid("/to", "required", "ระบุการดำเนินการ หรือสถานะปลายทาง", "Name an action, or a state to go to.")
    if to not in definition.states:
        raise _unknown_state(to)
    if to == state:
        raise invalid("/to", "same_state", "เอกสารอยู่ในสถานะนี้แล้ว", "It is in this state already.")
    return to


def _find_target(transition: Transition, to: str | None) -> str:
    targets = transition.targets
    if to is None and len(targets) == 1:
        return targets[0]
    if to is None:
        th, en = "การดำเนินการนี้ไปได้หลายสถานะ: {states}", "This action leads to several states; name one of {states}."
        raise invalid("/to", "required", th, en, states=", ".join(targets))
    if to not in targets:
        raise _unknown_state(to)
    return to


def _unknown_state(to: str) -> Invalid:
    return invalid(
        "/to", "unknown_state", "ไม่มีสถานะ “{name}” ให้ไป", "There is no state “{name}” to go to.", name=to[:50]
    )


def terminated(definition: Definition, state: str, *, reason: str) -> Step:
    """
    Decide the end of an instance without an outcome.

    :raises TransitionNotPossible: when it has ended already
    """
    current_state = definition.state(state)
    if current_state.terminal:
        raise TransitionNotPossible("It has come to its end already.")
    events = _NOTIFY_ORIGINATOR if current_state.initial else EVERYBODY
    return Step(state, TERMINATE, TERMINATED.name, terminal=True, events=events, comment=reason)


def reassigned(definition: Definition, state: str, *, person: Caller, facts: SubjectFacts, reason: str) -> Step:
    """
    Decide that a state awaits one person instead of its assignees.

    :raises TransitionNotPossible: when the instance has ended
    :raises Invalid: at `/userPublicId`, when the person may not see the subject or act, or the state is a review
    """
    if definition.state(state).terminal:
        raise TransitionNotPossible("It has come to its end already.")
    if definition.state(state).review is not None:
        th, en = (
            "การพิจารณาพร้อมกันถามหลายฝ่าย จึงมอบให้บุคคลเดียวไม่ได้",
            "A parallel review asks several at once, so it cannot be given to one.",
        )
        raise invalid("/userPublicId", "in_review", th, en)
    check_seen(state, person=person, facts=facts)
    if not may_take_over(definition, state, person, facts):
        th, en = "บุคคลนี้ไม่มีสิทธิ์ดำเนินการในขั้นตอนนี้", "This person may not act in this step."
        raise invalid("/userPublicId", "not_permitted", th, en)
    return Step(state, REASSIGN, state, terminal=False, comment=reason)


def check_seen(state: str, *, person: Caller, facts: SubjectFacts) -> None:
    """:raises Invalid: at `/userPublicId`, when the person may not see the subject"""
    if not facts.seen_by(person, state):
        th, en = "บุคคลนี้ไม่มีสิทธิ์เห็นเอกสารนี้", "This person may not see the document."
        raise invalid("/userPublicId", "not_visible", th, en)


def reassigned_branch(
    state: str, assignee: Assignee, *, person: Caller, subject: SubjectFacts, seats: Collection[ReviewSeat], reason: str
) -> Step:
    """
    Decide that a branch of a parallel review asks one person from now on.

    A named person is replaced by somebody of another organization that the document concerns.

    :param seats: of the person, in the project of the document
    :raises Invalid: at `/userPublicId`, when the person does not belong to the assignee
    """
    if assignee.kind == "user":
        others = subject.scope.organizations - {subject.originator_organization_id}
        is_concerned = bool(person.organization_ids & others)
        fits = is_concerned and subject.originator_organization_id not in person.organization_ids
    else:
        fits = may_answer(assignee, person, subject, seats)
    if not fits or person.user_id == subject.submitter_user_id:
        th, en = "บุคคลนี้ตอบแทนสายพิจารณานี้ไม่ได้", "This person may not answer for this branch."
        raise invalid("/userPublicId", "not_permitted", th, en)
    check_seen(state, person=person, facts=subject)
    return Step(state, REASSIGN, state, terminal=False, comment=reason)


def may_take_over(definition: Definition, state: str, person: Caller, facts: SubjectFacts) -> bool:
    return facts.seen_by(person, state) and decisions.may_act(
        definition, state, decisions.Facts(person, facts, assigned_user_id=person.user_id)
    )


def words_of(definition: Definition, state: str, action: str) -> Text:
    return definition.action_label(state, action) or WORDS.get(action, Text(action, action))
