"""
A definition played through before anybody's document depends on it, and finished histories played through it again.

Actors are described by what they would hold; nothing is read and nothing is kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any
from uuid import UUID

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Grant, Scope
from saraban.kit.errors import DomainError, Invalid, Text, invalid
from saraban.workflow.domain import answering, engine
from saraban.workflow.domain.answering import Answer, Seat
from saraban.workflow.domain.definition import ENDS, Definition
from saraban.workflow.domain.engine import Facts, Step
from saraban.workflow.domain.review import ANSWER, FELL
from saraban.workflow.domain.subject import ActionChoice, SubjectFacts

_NOBODY = UUID(int=0)
_ORIGINATOR, _RECIPIENT, _ELSEWHERE = 1, 2, 3
_SUBMITTER, _ACTOR, _SOMEBODY_ELSE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Actor:
    """
    Somebody as a step of a rehearsal sees him.

    :param party: `originator`, `recipient`, both or neither: for whom he acts
    :param organization_roles: what his organization is in the contract, as `CONTRACTOR`
    :param public_id: of the user whom a definition names, where he is that one
    :param teams: codes of the review teams he sits in
    :param disciplines: for which he sits in one
    """

    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    party: frozenset[str] = frozenset()
    organization_roles: frozenset[str] = frozenset()
    is_submitter: bool = False
    is_assignee: bool = False
    public_id: UUID | None = None
    teams: frozenset[str] = frozenset()
    disciplines: frozenset[str] = frozenset()

    @property
    def seats(self) -> frozenset[Seat]:
        return frozenset(
            {Seat(team) for team in self.teams} | {Seat("", discipline) for discipline in self.disciplines}
        )


@dataclass(frozen=True, slots=True)
class Try:
    """
    An action that somebody takes, or tries to.

    :param branch: of a review; then the action is the code of the answer for it
    """

    actor: Actor
    action: str
    comment: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    with_files: bool = False
    response_code: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """
    What came of it.

    :param automatic: the actions that the engine took by itself after it
    :param choices: what the actor could have done at that moment
    :param refusal: why it was refused; the document then stays where it is, and the next is tried there
    """

    state: str
    choices: tuple[ActionChoice, ...]
    next_state: str
    terminal: bool
    refusal: DomainError | None = None
    automatic: tuple[str, ...] = ()


def rehearse(
    definition: Definition,
    tries: Sequence[Try],
    *,
    document: Mapping[str, Any],
    context: Mapping[str, Any] | None = None,
) -> list[Tried]:
    """
    This will play the tries in their order, from the initial state on.

    :param document: what conditions shall read as `document.<name>`
    :param context: what the instance remembers from its start
    :raises Invalid: when that does not fit the definition's schema, or the document's `dueDate` is no date
    """
    due = _due_date(document)
    remembered = dict(context or {})
    engine.check_context(definition, remembered)
    state = definition.initial
    tried: list[Tried] = []
    given: dict[str, str] = {}
    in_charge: str | None = None
    for one in tries:
        facts = replace(_facts(one, document, due, remembered), assigned_user_id=_key(in_charge, one.actor))
        choices = engine.available(definition, state, facts)
        try:
            step = _step(definition, state, one, facts, given)
        except DomainError as refusal:
            tried.append(Tried(state, choices, state, definition.state(state).terminal, refusal))
            continue
        if step is None:
            tried.append(Tried(state, choices, state, terminal=False))
            continue
        given.clear()
        remembered = engine.context_after(remembered, one.payload)
        *_, last = steps = [step, *_by_itself(definition, step, _facts(Try(Actor(), ""), document, due, remembered))]
        ours = tuple(each.action for each in steps[1:])
        tried.append(Tried(state, choices, last.next_state, last.terminal, automatic=ours))
        state = last.next_state
        in_charge = next((event["target"] for event in last.events if event["type"] == "assign"), None)
    return tried


def _key(in_charge: str | None, actor: Actor) -> int | None:
    """To whom the state was given, as far as it is the actor; whether that person may act there only he could tell."""
    if in_charge is None:
        return None
    if in_charge == "submitter":
        return _SUBMITTER
    return _user(actor) if in_charge == str(actor.public_id) else _SOMEBODY_ELSE


def _user(actor: Actor) -> int:
    return _SUBMITTER if actor.is_submitter else _ACTOR


def _due_date(document: Mapping[str, Any]) -> date | None:
    given = document.get("dueDate")
    if given is None:
        return None
    try:
        return date.fromisoformat(str(given))
    except ValueError:
        th, en = "ต้องเป็นวันที่ เช่น 2026-11-21", "This is a date, like 2026-11-21."
        raise invalid("/document/dueDate", "date", th, en) from None


def _step(definition: Definition, state: str, one: Try, facts: Facts, given: dict[str, str]) -> Step | None:
    """None for an answer after which others are still waited for."""
    if one.branch is None:
        return engine.advance(definition, state, one.action, facts)
    answers, step = answering.answered(
        definition,
        state,
        one.branch,
        Answer(one.action, one.comment, one.with_files),
        caller=facts.caller,
        subject=facts.subject,
        seats=one.actor.seats,
        given=given,
    )
    given.update(answers)
    return step


def _by_itself(definition: Definition, step: Step, facts: Facts) -> Iterator[Step]:
    following = engine.automatic(definition, step, facts)
    while following is not None:
        yield following
        following = engine.automatic(definition, following, facts)


def _facts(one: Try, document: Mapping[str, Any], due: date | None, context: Mapping[str, Any]) -> Facts:
    actor = one.actor
    seats = {_ORIGINATOR} if "originator" in actor.party else set()
    seats |= {_RECIPIENT} if "recipient" in actor.party else set()
    seats = seats or {_ELSEWHERE}
    user = _user(actor)
    grants = tuple(Grant(role, actor.permissions) for role in actor.roles or {"rehearsal"})
    caller = Caller(
        user_id=user,
        public_id=actor.public_id or _NOBODY,
        username="rehearsal",
        display_name="",
        organization_id=min(seats),
        organization_ids=frozenset(seats),
        grants=grants,
    )
    subject = SubjectFacts(
        entity_id="rehearsal",
        scope=Scope(frozenset({_ORIGINATOR, _RECIPIENT, _ELSEWHERE})),
        originator_organization_id=_ORIGINATOR,
        recipient_organization_ids=frozenset({_RECIPIENT}),
        parties={role: frozenset(seats) for role in actor.organization_roles},
        submitter_user_id=_SUBMITTER,
        assignee_user_ids=frozenset({user} if actor.is_assignee else ()),
        kind=str(document.get("kind", "")),
        public_id=_NOBODY,
        number=str(document.get("number", "")),
        title=str(document.get("title", "")),
        due_date=due,
        priority=document.get("priority"),
        context=dict(document),
    )
    return Facts(caller, subject, one.comment, one.payload, context, one.with_files, one.response_code)


@dataclass(frozen=True, slots=True)
class Past:
    """
    A step that was taken.

    :param imposed: an administrator's deed, which no definition provides: it counts wherever its state still is
    :param answers: of a verdict, the codes by branch that it came from; of an answer its own, as far as they are known
    :param with_files: whether files came with it, None where that is not known
    """

    action: str
    to_state: str
    comment: str | None
    payload: Mapping[str, Any]
    imposed: bool = False
    response_code: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    with_files: bool | None = None


@dataclass(frozen=True, slots=True)
class Parting:
    """Where a history would go another way: which step, counted from 1, and why."""

    step: int
    state: str
    action: str
    went_to: str
    code: str
    says: Text
    would_go_to: str | None = None


_NO_ACTION = Text("สถานะนี้ไม่มีการดำเนินการนี้แล้ว", "The state has no such action any more.")
_OTHER_STATE = Text("ไปสถานะอื่น", "It goes to another state.")
_CONDITION = Text("เงื่อนไขใหม่ไม่เป็นจริงกับเอกสารนี้", "The condition does not hold for this document.")
_COMMENT = Text("ต้องมีความเห็น ซึ่งตอนนั้นไม่มี", "A comment is needed, and there was none.")
_FILES = Text("ต้องมีไฟล์แนบ ซึ่งตอนนั้นไม่มี", "A file is needed, and there was none.")
_NO_FILES = Text("ขั้นตอนนี้ไม่รับไฟล์แนบ ซึ่งตอนนั้นมี", "The step takes no files, and there were some.")
_RESPONSE = Text("รหัสคำตอบของขั้นตอนนั้นใช้ไม่ได้แล้ว", "The response code of that step does not fit any more.")
_AUTOMATIC = Text("ระบบจะดำเนินการต่อเองหลังขั้นตอนนี้", "The engine would have gone on by itself after this step.")
_NOT_ENDED = Text("สายงานจะยังไม่จบที่ขั้นสุดท้ายนี้", "It would not have ended with its last step.")


def replay(definition: Definition, past: Sequence[Past], subject: SubjectFacts, caller: Caller) -> Parting | None:
    """
    This will say where a finished history would have gone another way, or None.

    Rights are not played again: who held which role on that day is not kept. The way by which a document was withdrawn
    (`cancelled`) is open from every state and is no difference.
    """
    state, context = definition.initial, dict[str, Any]()
    for place, step in enumerate(past, start=1):
        facts = Facts(caller, subject, step.comment, step.payload, context, response_code=step.response_code)
        reviewed = step.action == ANSWER or step.action in FELL.values()
        parting = (_falling if reviewed else _parting)(definition, state, step, facts)
        if parting is not None:
            code, says, to = parting
            return Parting(place, state, step.action, step.to_state, code, says, to)
        left, state = state, step.to_state
        context = engine.context_after(context, step.payload)
        ours = _unasked(definition, left, step, Facts(caller, subject, context=context))
        if ours is not None and not _follows(ours, past[place:]):
            return Parting(place, left, step.action, state, "automatic", _AUTOMATIC, ours.next_state)
    if past and not definition.state(state).terminal:
        last = past[-1]
        return Parting(len(past), state, last.action, last.to_state, "not_ended", _NOT_ENDED)
    return None


def _unasked(definition: Definition, left: str, step: Past, facts: Facts) -> Step | None:
    """What the engine would do by itself after a step that was taken."""
    if step.to_state in ENDS:
        return None
    return engine.automatic(definition, Step(left, step.action, step.to_state, terminal=False), facts)


def _follows(ours: Step, later: Sequence[Past]) -> bool:
    """Whether the same came next, by whomever; or somebody ended or moved it against any definition."""
    return bool(later) and (later[0].action == ours.action or later[0].imposed or later[0].to_state in ENDS)


def _falling(definition: Definition, state: str, step: Past, _facts: Facts) -> tuple[str, Text, str | None] | None:
    """A verdict is played again from its answers; while they come in there need only be a review."""
    here = definition.states.get(state)
    review = here.review if here else None
    known = review is not None and step.answers.keys() <= review.branches.keys()
    if review is None or not known or not set(step.answers.values()) <= set(review.answers):
        return "no_action", _NO_ACTION, None
    if step.action == ANSWER:
        needed = any(review.answers[code].comment_required for code in step.answers.values())
        if needed and not (step.comment or "").strip():
            return "comment_required", _COMMENT, None
        return ("files_not_taken", _NO_FILES, None) if step.with_files and review.hidden else None
    fell = answering.moved(definition, state, step.answers)
    if fell is None or fell.next_state != step.to_state:
        return "other_state", _OTHER_STATE, fell.next_state if fell else None
    return None


def _parting(definition: Definition, state: str, step: Past, facts: Facts) -> tuple[str, Text, str | None] | None:
    if step.to_state in ENDS or (step.imposed and step.to_state in definition.states):
        return None
    here = definition.states.get(state)
    transition = here.on.get(step.action) if here else None
    if transition is None:
        return "no_action", _NO_ACTION, None
    try:
        to, comment_required = engine.outcome(transition, step.response_code)
    except Invalid:
        return "response_code", _RESPONSE, None
    if comment_required and not (step.comment or "").strip():
        return "comment_required", _COMMENT, to
    if transition.attachments_required and step.with_files is False:
        return "files_required", _FILES, to
    if step.with_files and not transition.attachments:
        return "files_not_taken", _NO_FILES, to
    if transition.condition is not None and not transition.condition.holds(engine.conditional_facts(facts, state)):
        return "condition", _CONDITION, to
    if to != step.to_state:
        return "other_state", _OTHER_STATE, to
    return None
