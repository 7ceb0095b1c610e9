"""
A definition played through before anybody's document depends on it.

Actors are described by what they would hold; nothing is read and nothing is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from uuid import UUID

from saraban.identity.domain.context import Caller, Grant, Scope
from saraban.kit.dates import read_date
from saraban.kit.errors import DomainError, Text
from saraban.kit.json import JsonObject, as_text
from saraban.workflow.engine import decisions, pending_assignees, step_data
from saraban.workflow.engine.decisions import Facts, Step
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.registers import DRAFT
from saraban.workflow.language.subject import ActionOut, SubjectFacts
from saraban.workflow.runtime.domain import review_response
from saraban.workflow.runtime.domain.review_response import ReviewAnswer, ReviewSeat

_NOBODY = UUID(int=0)
_ORIGINATOR, _RECIPIENT, _ELSEWHERE = 1, 2, 3
_SUBMITTER, _ACTOR, _SOMEBODY_ELSE = 1, 2, 3

_PLACED = Text(
    "องค์กรที่ขั้นนี้รอ เห็นเอกสารก็ต่อเมื่อเป็นผู้รับ หรือมีส่วนในสัญญาที่เอกสารสังกัด หากไม่ใช่ จะไม่มีผู้ดำเนินการต่อได้",
    "The organizations it is pending with see a document only as recipients or as parties to its contract; otherwise nobody can act.",
)
_UNISSUED = Text(
    "ผู้รับยังไม่เห็นเอกสารที่ไม่เคยพ้นจากสถานะร่าง จึงยังดำเนินการไม่ได้",
    "Recipients do not see a document that has never left draft, so they cannot act here yet.",
)
_NAMED = Text(
    "รอบุคคลเดียวที่ระบุไว้ ซึ่งต้องเป็นผู้ที่เห็นเอกสารนั้น หากไม่ใช่ จะไม่มีผู้ดำเนินการต่อได้",
    "It is pending with one person, who must have access to the document; otherwise nobody can act.",
)
_HELD = Text(
    "รอเฉพาะผู้ถือบทบาทหรือสิทธิ์นี้ที่เห็นเอกสาร หากไม่มี จะไม่มีผู้ดำเนินการต่อได้",
    "It is pending with those who have the role or permission and access to the document; if there are none, nobody can act.",
)


@dataclass(frozen=True, slots=True)
class SimulatedActor:
    """
    Somebody as a step of a simulation sees them.

    :param party: `originator`, `recipient`, both or neither: for whom they act
    :param organization_roles: what their organization is in the contract, as `CONTRACTOR`
    :param public_id: of the user whom a definition names, where they are that one
    :param teams: codes of the review teams they sit in
    :param disciplines: for which they sit in one
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
    def seats(self) -> frozenset[ReviewSeat]:
        return frozenset(
            {ReviewSeat(team) for team in self.teams} | {ReviewSeat("", discipline) for discipline in self.disciplines}
        )


@dataclass(frozen=True, slots=True)
class SimulationStep:
    """
    An action that somebody takes, or tries to.

    :param branch: of a review; then the action is the code of the answer for it
    """

    actor: SimulatedActor
    action: str
    comment: str | None = None
    payload: JsonObject = field(default_factory=dict)
    with_files: bool = False
    response_code: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """
    What came of it.

    :param automatic: the actions that the engine took by itself after it
    :param choices: what the actor could have done at that moment
    :param refusal: why it was refused; the document then stays where it is, and the next is tried there
    :param values: that the document remembers afterwards
    :param cautions: on what it depends that whoever is waited for then may see the document
    """

    state: str
    choices: tuple[ActionOut, ...]
    next_state: str
    terminal: bool
    refusal: DomainError | None = None
    automatic: tuple[str, ...] = ()
    values: JsonObject = field(default_factory=dict)
    cautions: tuple[Text, ...] = ()


def simulate(
    definition: Definition,
    tries: Sequence[SimulationStep],
    *,
    document: JsonObject,
    context: JsonObject | None = None,
) -> list[SimulationResult]:
    """
    Play the tries in their order, from the initial state on.

    :param document: what conditions shall read as `document.<name>`
    :param context: what the instance remembers from its start
    :raises Invalid: when that does not fit the definition's schema, or the document's `dueDate` is no date
    """
    due = _due_date(document)
    remembered = dict(context or {})
    step_data.check_context(definition, remembered)
    state = definition.initial
    tried: list[SimulationResult] = []
    given: dict[str, str] = {}
    in_charge: str | None = None
    for one in tries:
        facts = replace(_facts(one, document, due, remembered), assigned_user_id=_key(in_charge, one.actor))
        choices = decisions.available(definition, state, facts)
        step, refusal = None, None
        try:
            step = _step(definition, state, one, facts, given)
        except DomainError as fault:
            refusal = fault
        if step is None:
            ended, values = definition.state(state).terminal, step_data.remembered(remembered)
            tried.append(SimulationResult(state, choices, state, ended, refusal, values=values))
            continue
        given.clear()
        remembered = step_data.after(definition, remembered, one.payload)
        *_, last = steps = [
            step,
            *_by_itself(definition, step, _facts(SimulationStep(SimulatedActor(), ""), document, due, remembered)),
        ]
        ours = tuple(each.action for each in steps[1:])
        values = step_data.remembered(remembered)
        ahead = access_warnings(definition, last.next_state)
        tried.append(SimulationResult(state, choices, last.next_state, last.terminal, None, ours, values, ahead))
        state = last.next_state
        in_charge = next((event["target"] for event in last.events if event["type"] == "assign"), None)
    return tried


def _key(in_charge: str | None, actor: SimulatedActor) -> int | None:
    """To whom the state was given, as far as it is the actor; whether that person may act there only they could tell."""
    if in_charge is None:
        return None
    if in_charge == "submitter":
        return _SUBMITTER
    return _user(actor) if in_charge == str(actor.public_id) else _SOMEBODY_ELSE


def _user(actor: SimulatedActor) -> int:
    return _SUBMITTER if actor.is_submitter else _ACTOR


def _due_date(document: JsonObject) -> date | None:
    given = document.get("dueDate")
    return None if given is None else read_date(str(given), "/document/dueDate")


def _step(definition: Definition, state: str, one: SimulationStep, facts: Facts, given: dict[str, str]) -> Step | None:
    """None for an answer after which others are still waited for."""
    if one.branch is None:
        return decisions.advance(definition, state, one.action, facts)
    answers, step = review_response.answered(
        definition,
        state,
        one.branch,
        ReviewAnswer(one.action, one.comment, one.with_files),
        by=review_response.Respondent(facts.caller, one.actor.seats),
        subject=facts.subject,
        given=given,
    )
    given.update(answers)
    return step


def _by_itself(definition: Definition, step: Step, facts: Facts) -> Iterator[Step]:
    following = decisions.automatic(definition, step, facts)
    while following is not None:
        yield following
        following = decisions.automatic(definition, following, facts)


def _facts(one: SimulationStep, document: JsonObject, due: date | None, context: JsonObject) -> Facts:
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
        priority=as_text(document.get("priority")),
        context=dict(document),
    )
    return Facts(caller, subject, one.comment, one.payload, context, one.with_files, one.response_code)


def access_warnings(definition: Definition, state: str) -> tuple[Text, ...]:
    """Tell on what it depends that somebody whom a state asks may see the document; nothing where that is sure."""
    here = definition.state(state)
    if here.terminal:
        return ()
    found = []
    for require in definition.state(state).required:
        if require.user is not None:
            found.append(_NAMED)
        elif pending_assignees.asks_holders(require):
            found.append(_HELD)
        elif "originator" in require.party or "assignee" in require.party:
            return ()  # they see it always
        elif require.party and state == DRAFT:
            found.append(_UNISSUED)
        elif require.organization_roles and not require.party:
            found.append(_PLACED)
        else:
            return ()
    return tuple(dict.fromkeys(found))
