"""Find where a finished history would differ on another version, from what is recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from saraban.identity.domain.context import Caller
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.engine import decisions, step_data
from saraban.workflow.engine.decisions import Facts, Step
from saraban.workflow.language.definition import ENDS, Condition, Definition, Require, Transition
from saraban.workflow.language.review import ANSWER, FELL
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime.domain import review_response

# Facts about an actor that are not recorded.
_UNRECORDED_PATHS = frozenset({"*", "actor", "actor.roles", "actor.isAssignee"})


@dataclass(frozen=True, slots=True)
class RecordedActor:
    """
    :param seats: organizations they acted for; None if unknown, or for an administrator
    :param deputy_id: the person who acted for them
    """

    user_id: int
    public_id: UUID
    seats: frozenset[int] | None = None
    deputy_id: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """
    :param imposed: an administrator's intervention, valid wherever its state exists
    :param answers: codes by branch: of a review result all, of an answer its own unless it is hidden
    :param who: None if not recorded, and for automatic steps
    """

    action: str
    to_state: str
    comment: str | None
    payload: JsonObject
    imposed: bool = False
    response_code: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    with_files: bool | None = None
    who: RecordedActor | None = None
    automatic: bool = False
    given_to: UUID | None = None


WORDS: Mapping[str, Text] = {
    "no_action": Text("สถานะนี้ไม่มีการดำเนินการนี้แล้ว", "The status no longer has this action."),
    "no_review": Text("สถานะนี้ไม่มีการพิจารณาพร้อมกันแล้ว", "The status no longer has a parallel review."),
    "no_branch": Text("การพิจารณาพร้อมกันไม่มีสายพิจารณานี้แล้ว", "The review no longer has this branch."),
    "no_answer": Text("การพิจารณาพร้อมกันไม่มีคำตอบนี้แล้ว", "The review no longer has this answer."),
    "other_state": Text("ไปสถานะอื่น", "Goes to another status."),
    "condition": Text("เงื่อนไขใหม่ไม่เป็นจริงกับเอกสารนี้", "The condition is not met for this document."),
    "comment_required": Text("ต้องมีความเห็น ซึ่งตอนนั้นไม่มี", "A comment is required, and there was none."),
    "files_required": Text("ต้องมีไฟล์แนบ ซึ่งตอนนั้นไม่มี", "An attachment is required, and there was none."),
    "files_not_taken": Text("ขั้นตอนนี้ไม่รับไฟล์แนบ ซึ่งตอนนั้นมี", "The step takes no attachments, and there were some."),
    "response_code": Text("รหัสคำตอบของขั้นตอนนั้นใช้ไม่ได้แล้ว", "The response code of that step is no longer valid."),
    "automatic": Text(
        "ระบบจะดำเนินการต่อเองหลังขั้นตอนนี้", "The workflow would have continued automatically after this step."
    ),
    "not_ended": Text("เรื่องจะยังไม่สิ้นสุดที่ขั้นสุดท้ายนี้", "It would not have ended with its last step."),
    "values": Text("ขั้นตอนนี้ไม่รับค่าที่ระบุมาในตอนนั้น", "The step does not take a value that was given with it."),
    "context": Text("ค่าที่ระบุไว้ไม่ตรงกับ context_schema", "The values given do not fit the context_schema."),
    "not_submitter": Text("ผู้จัดทำเอกสารดำเนินการเองไม่ได้", "The person who created the document may not take this step."),
    "user": Text("ต้องเป็นบุคคลที่ระบุไว้ ซึ่งตอนนั้นเป็นผู้อื่น", "It is for one named person, and somebody else took it."),
    "party": Text("องค์กรที่ดำเนินการในตอนนั้นไม่ใช่ฝ่ายที่กำหนด", "The organization that took it is not of the required party."),
}


@dataclass(frozen=True, slots=True)
class DivergenceReason:
    code: str
    to: str | None = None
    faults: tuple[FieldProblem, ...] = ()

    @property
    def says(self) -> Text:
        return WORDS[self.code]


@dataclass(frozen=True, slots=True)
class Divergence:
    step: int
    state: str
    action: str
    went_to: str
    reason: DivergenceReason


def replay(
    definition: Definition, history: Sequence[RecordedStep], subject: SubjectFacts, caller: Caller
) -> Divergence | None:
    """
    Return the first difference. A withdrawal (`cancelled`) is always allowed.
    :param caller: the system, for automatic steps
    """
    state, context = definition.initial, dict[str, Json]()
    in_charge: UUID | None = None
    for place, step in enumerate(history, start=1):
        facts = _facts(step, subject, caller, context)
        is_review = step.action == ANSWER or step.action in FELL.values()
        reason = (
            _review_divergence(definition, state, step)
            if is_review
            else _step_divergence(definition, state, step, facts, in_charge)
        )
        if reason is not None:
            return Divergence(place, state, step.action, step.to_state, reason)
        previous_state, state = state, step.to_state
        stays = step.given_to is None and previous_state == state and (step.imposed or is_review)
        in_charge = in_charge if stays else step.given_to
        context = step_data.after(definition, context, step.payload)
        automatic_step = _automatic_step(definition, previous_state, step, Facts(caller, subject, context=context))
        if automatic_step is not None and not _follows(automatic_step, history[place:]):
            return Divergence(
                place, previous_state, step.action, state, DivergenceReason("automatic", automatic_step.next_state)
            )
    if history and not definition.state(state).terminal:
        last = history[-1]
        return Divergence(len(history), state, last.action, last.to_state, DivergenceReason("not_ended"))
    return None


def _facts(step: RecordedStep, subject: SubjectFacts, system: Caller, context: JsonObject) -> Facts:
    actor, deputy = step.who, None
    if actor is not None and actor.deputy_id is not None:
        deputy = _person(actor.deputy_id, actor.public_id, frozenset())
    return Facts(
        system if actor is None else _person(actor.user_id, actor.public_id, actor.seats or frozenset()),
        subject,
        step.comment,
        step.payload,
        context,
        response_code=step.response_code,
        deputy=deputy,
    )


def _person(user_id: int, public_id: UUID, seats: frozenset[int]) -> Caller:
    return Caller(user_id, public_id, "", "", None, seats, ())


def _automatic_step(definition: Definition, previous_state: str, step: RecordedStep, facts: Facts) -> Step | None:
    if step.to_state in ENDS:
        return None
    return decisions.automatic(definition, Step(previous_state, step.action, step.to_state, terminal=False), facts)


def _follows(automatic_step: Step, later: Sequence[RecordedStep]) -> bool:
    """An intervention, or the end, may also follow."""
    return bool(later) and (later[0].action == automatic_step.action or later[0].imposed or later[0].to_state in ENDS)


def _review_divergence(definition: Definition, state: str, step: RecordedStep) -> DivergenceReason | None:
    """Replay a review result from its answers."""
    state_definition = definition.states.get(state)
    review = state_definition.review if state_definition else None
    if review is None:
        return DivergenceReason("no_review")
    if not step.answers.keys() <= review.branches.keys():
        return DivergenceReason("no_branch")
    if not set(step.answers.values()) <= set(review.answers):
        return DivergenceReason("no_answer")
    if step.action == ANSWER:
        needs_comment = any(review.answers[code].comment_required for code in step.answers.values())
        if needs_comment and not (step.comment or "").strip():
            return DivergenceReason("comment_required")
        return DivergenceReason("files_not_taken") if step.with_files and review.hidden else None
    result = review_response.moved(definition, state, step.answers)
    if result is None or result.next_state != step.to_state:
        return DivergenceReason("other_state", result.next_state if result else None)
    return None


def _step_divergence(
    definition: Definition, state: str, step: RecordedStep, facts: Facts, in_charge: UUID | None
) -> DivergenceReason | None:
    if step.to_state in ENDS or (step.imposed and step.to_state in definition.states):
        return None
    state_definition = definition.states.get(state)
    transition = state_definition.on.get(step.action) if state_definition else None
    if transition is None:
        return DivergenceReason("no_action")
    reason = _actor_divergence(transition.require, step, facts, in_charge)
    if reason is not None:
        return DivergenceReason(reason)
    try:
        to, comment_required = decisions.outcome(transition, step.response_code)
    except Invalid:
        return DivergenceReason("response_code")
    missing = _input_divergence(definition, transition, step, facts, comment_required=comment_required)
    if missing is not None:
        return replace(missing, to=to)
    facts = replace(facts, response_code=transition.usual if step.response_code is None else step.response_code)
    condition = transition.condition
    can_evaluate = condition is not None and _can_evaluate(condition, step)
    if condition is not None and can_evaluate and not condition.holds(decisions.conditional_facts(facts, state)):
        return DivergenceReason("condition", to)
    return DivergenceReason("other_state", to) if to != step.to_state else None


def _actor_divergence(require: Require, step: RecordedStep, facts: Facts, in_charge: UUID | None) -> str | None:
    """The assignees of that time are unknown, so they are not checked."""
    actor, subject = step.who, facts.subject
    if actor is None or step.automatic:
        return None
    if require.not_submitter and facts.acts(subject.submitter_user_id):
        return "not_submitter"
    if require.user is not None and actor.public_id not in {require.user, in_charge}:
        return "user"
    if actor.seats is not None and "assignee" not in require.party and not decisions.seated(require, facts):
        return "party"
    return None


def _input_divergence(
    definition: Definition, transition: Transition, step: RecordedStep, facts: Facts, *, comment_required: bool
) -> DivergenceReason | None:
    if comment_required and not (step.comment or "").strip():
        return DivergenceReason("comment_required")
    if transition.attachments_required and step.with_files is False:
        return DivergenceReason("files_required")
    if step.with_files and not transition.attachments:
        return DivergenceReason("files_not_taken")
    if step.automatic:  # automatic steps have no input
        return None
    try:
        step_data.check(definition, transition, facts.context, step.payload)
    except Invalid as error:
        return DivergenceReason("values", faults=tuple(error.fields))
    try:
        step_data.check_context(definition, step_data.after(definition, facts.context, step.payload))
    except Invalid as error:
        return DivergenceReason("context", faults=tuple(error.fields))
    return None


def _can_evaluate(condition: Condition, step: RecordedStep) -> bool:
    """Whether all values that a condition reads are recorded."""
    if step.automatic:
        return True
    paths = condition.logic.variables
    if step.who is None:
        return not any(path == "*" or path.partition(".")[0] == "actor" for path in paths)
    return paths.isdisjoint(_UNRECORDED_PATHS)
