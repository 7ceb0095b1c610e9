"""Simulate a definition with described actors, without I/O."""

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

_ORGANIZATION_WARNING = Text(
    "องค์กรที่ขั้นนี้รอ เห็นเอกสารก็ต่อเมื่อเป็นผู้รับ หรือมีส่วนในสัญญาที่เอกสารสังกัด หากไม่ใช่ จะไม่มีผู้ดำเนินการต่อได้",
    "The organizations it is pending with see a document only as recipients or as parties to its contract; otherwise nobody can act.",
)
_DRAFT_WARNING = Text(
    "ผู้รับยังไม่เห็นเอกสารที่ไม่เคยพ้นจากสถานะร่าง จึงยังดำเนินการไม่ได้",
    "Recipients do not see a document that has never left draft, so they cannot act here yet.",
)
_PERSON_WARNING = Text(
    "รอบุคคลเดียวที่ระบุไว้ ซึ่งต้องเป็นผู้ที่เห็นเอกสารนั้น หากไม่ใช่ จะไม่มีผู้ดำเนินการต่อได้",
    "It is pending with one person, who must have access to the document; otherwise nobody can act.",
)
_ROLE_WARNING = Text(
    "รอเฉพาะผู้ถือบทบาทหรือสิทธิ์นี้ที่เห็นเอกสาร หากไม่มี จะไม่มีผู้ดำเนินการต่อได้",
    "It is pending with those who have the role or permission and access to the document; if there are none, nobody can act.",
)


@dataclass(frozen=True, slots=True)
class SimulatedActor:
    """
    :param party: `originator`, `recipient`, both or neither
    :param organization_roles: roles of their organization in the contract, as `CONTRACTOR`
    :param public_id: if the actor is a user named in the definition
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
    """:param branch: of a review; then `action` is the code of the answer"""

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
    :param choices: actions that the actor had
    :param refusal: the document then stays in its state for the next attempt
    :param cautions: conditions for the next assignees to see the document
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
    attempts: Sequence[SimulationStep],
    *,
    document: JsonObject,
    context: JsonObject | None = None,
) -> list[SimulationResult]:
    """
    :param document: facts that conditions read as `document.<name>`
    :param context: initial values of the instance
    :raises Invalid: for a context that the schema refuses, or an invalid `dueDate`
    """
    due = _due_date(document)
    remembered = dict(context or {})
    step_data.check_context(definition, remembered)
    state = definition.initial
    results: list[SimulationResult] = []
    answers: dict[str, str] = {}
    in_charge: str | None = None
    for attempt in attempts:
        facts = replace(
            _facts(attempt, document, due, remembered), assigned_user_id=_assigned_key(in_charge, attempt.actor)
        )
        choices = decisions.available(definition, state, facts)
        step, refusal = None, None
        try:
            step = _step(definition, state, attempt, facts, answers)
        except DomainError as fault:
            refusal = fault
        if step is None:
            is_final, values = definition.state(state).terminal, step_data.remembered(remembered)
            results.append(SimulationResult(state, choices, state, is_final, refusal, values=values))
            continue
        answers.clear()
        remembered = step_data.after(definition, remembered, attempt.payload)
        *_, last = steps = [
            step,
            *_automatic_steps(
                definition, step, _facts(SimulationStep(SimulatedActor(), ""), document, due, remembered)
            ),
        ]
        automatic_actions = tuple(automatic_step.action for automatic_step in steps[1:])
        values = step_data.remembered(remembered)
        ahead = access_warnings(definition, last.next_state)
        results.append(
            SimulationResult(state, choices, last.next_state, last.terminal, None, automatic_actions, values, ahead)
        )
        state = last.next_state
        in_charge = next((event["target"] for event in last.events if event["type"] == "assign"), None)
    return results


def _assigned_key(in_charge: str | None, actor: SimulatedActor) -> int | None:
    if in_charge is None:
        return None
    if in_charge == "submitter":
        return _SUBMITTER
    return _user(actor) if in_charge == str(actor.public_id) else _SOMEBODY_ELSE


def _user(actor: SimulatedActor) -> int:
    return _SUBMITTER if actor.is_submitter else _ACTOR


def _due_date(document: JsonObject) -> date | None:
    value = document.get("dueDate")
    return None if value is None else read_date(str(value), "/document/dueDate")


def _step(
    definition: Definition, state: str, attempt: SimulationStep, facts: Facts, answers: dict[str, str]
) -> Step | None:
    """Return None for an answer that does not complete the review."""
    if attempt.branch is None:
        return decisions.advance(definition, state, attempt.action, facts)
    new_answers, step = review_response.answered(
        definition,
        state,
        attempt.branch,
        ReviewAnswer(attempt.action, attempt.comment, attempt.with_files),
        by=review_response.Respondent(facts.caller, attempt.actor.seats),
        subject=facts.subject,
        given=answers,
    )
    answers.update(new_answers)
    return step


def _automatic_steps(definition: Definition, step: Step, facts: Facts) -> Iterator[Step]:
    following = decisions.automatic(definition, step, facts)
    while following is not None:
        yield following
        following = decisions.automatic(definition, following, facts)


def _facts(attempt: SimulationStep, document: JsonObject, due: date | None, context: JsonObject) -> Facts:
    actor = attempt.actor
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
    return Facts(caller, subject, attempt.comment, attempt.payload, context, attempt.with_files, attempt.response_code)


def access_warnings(definition: Definition, state: str) -> tuple[Text, ...]:
    state_definition = definition.state(state)
    if state_definition.terminal:
        return ()
    warnings = []
    for require in definition.state(state).required:
        if require.user is not None:
            warnings.append(_PERSON_WARNING)
        elif pending_assignees.asks_holders(require):
            warnings.append(_ROLE_WARNING)
        elif "originator" in require.party or "assignee" in require.party:
            return ()  # they always see it
        elif require.party and state == DRAFT:
            warnings.append(_DRAFT_WARNING)
        elif require.organization_roles and not require.party:
            warnings.append(_ORGANIZATION_WARNING)
        else:
            return ()
    return tuple(dict.fromkeys(warnings))
