"""
A finished history played again through another version: where it would have gone another way, and why.

What is asked again is what the record still knows: comments, codes, files, values, who acted and for which organizations.
Roles and permissions of that day are not kept, so they are not asked.
"""

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

# What conditions can read of an actor that no record says of them.
_UNKNOWN = frozenset({"*", "actor", "actor.roles", "actor.isAssignee"})


@dataclass(frozen=True, slots=True)
class RecordedActor:
    """
    Whose right a step was taken by.

    :param seats: the organizations that they acted for; None where that was not recorded, or did not count (an administrator)
    :param deputy_id: who really acted, in their place
    """

    user_id: int
    public_id: UUID
    seats: frozenset[int] | None = None
    deputy_id: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """
    A step that was taken.

    :param imposed: an administrator's deed, which no definition provides: it counts wherever its state still is
    :param answers: of a verdict, the codes by branch that it came from; of an answer its own, unless it is kept from readers
    :param with_files: whether files came with it, None where that is not known
    :param who: None where nobody is recorded, and for what the engine did by itself
    :param given_to: the one person in charge of the state that it led to
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
    """
    :param code: one of `WORDS`
    :param to: where the step would have led
    :param faults: of single values
    """

    code: str
    to: str | None = None
    faults: tuple[FieldProblem, ...] = ()

    @property
    def says(self) -> Text:
        return WORDS[self.code]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a history would go another way: which step, counted from 1, and why."""

    step: int
    state: str
    action: str
    went_to: str
    reason: DivergenceReason


def replay(
    definition: Definition, past: Sequence[RecordedStep], subject: SubjectFacts, caller: Caller
) -> Divergence | None:
    """
    Return where a finished history would have gone another way, or None.

    The way by which a document was withdrawn (`cancelled`) is open from every state and is no difference.

    :param caller: the system, in whose name the engine acts
    """
    state, context = definition.initial, dict[str, Json]()
    in_charge: UUID | None = None
    for place, step in enumerate(past, start=1):
        facts = _facts(step, subject, caller, context)
        reviewed = step.action == ANSWER or step.action in FELL.values()
        parting = _falling(definition, state, step) if reviewed else _parting(definition, state, step, facts, in_charge)
        if parting is not None:
            return Divergence(place, state, step.action, step.to_state, parting)
        left, state = state, step.to_state
        stays = step.given_to is None and left == state and (step.imposed or reviewed)
        in_charge = in_charge if stays else step.given_to
        context = step_data.after(definition, context, step.payload)
        ours = _unasked(definition, left, step, Facts(caller, subject, context=context))
        if ours is not None and not _follows(ours, past[place:]):
            return Divergence(place, left, step.action, state, DivergenceReason("automatic", ours.next_state))
    if past and not definition.state(state).terminal:
        last = past[-1]
        return Divergence(len(past), state, last.action, last.to_state, DivergenceReason("not_ended"))
    return None


def _facts(step: RecordedStep, subject: SubjectFacts, system: Caller, context: JsonObject) -> Facts:
    who, deputy = step.who, None
    if who is not None and who.deputy_id is not None:
        deputy = _person(who.deputy_id, who.public_id, frozenset())
    return Facts(
        system if who is None else _person(who.user_id, who.public_id, who.seats or frozenset()),
        subject,
        step.comment,
        step.payload,
        context,
        response_code=step.response_code,
        deputy=deputy,
    )


def _person(user_id: int, public_id: UUID, seats: frozenset[int]) -> Caller:
    return Caller(user_id, public_id, "", "", None, seats, ())


def _unasked(definition: Definition, left: str, step: RecordedStep, facts: Facts) -> Step | None:
    """What the engine would do by itself after a step that was taken."""
    if step.to_state in ENDS:
        return None
    return decisions.automatic(definition, Step(left, step.action, step.to_state, terminal=False), facts)


def _follows(ours: Step, later: Sequence[RecordedStep]) -> bool:
    """Whether the same came next, by whomever; or somebody ended or moved it against any definition."""
    return bool(later) and (later[0].action == ours.action or later[0].imposed or later[0].to_state in ENDS)


def _falling(definition: Definition, state: str, step: RecordedStep) -> DivergenceReason | None:
    """A verdict is played again from its answers; while they come in there need only be a review."""
    here = definition.states.get(state)
    review = here.review if here else None
    if review is None:
        return DivergenceReason("no_review")
    if not step.answers.keys() <= review.branches.keys():
        return DivergenceReason("no_branch")
    if not set(step.answers.values()) <= set(review.answers):
        return DivergenceReason("no_answer")
    if step.action == ANSWER:
        needed = any(review.answers[code].comment_required for code in step.answers.values())
        if needed and not (step.comment or "").strip():
            return DivergenceReason("comment_required")
        return DivergenceReason("files_not_taken") if step.with_files and review.hidden else None
    fell = review_response.moved(definition, state, step.answers)
    if fell is None or fell.next_state != step.to_state:
        return DivergenceReason("other_state", fell.next_state if fell else None)
    return None


def _parting(
    definition: Definition, state: str, step: RecordedStep, facts: Facts, in_charge: UUID | None
) -> DivergenceReason | None:
    if step.to_state in ENDS or (step.imposed and step.to_state in definition.states):
        return None
    here = definition.states.get(state)
    transition = here.on.get(step.action) if here else None
    if transition is None:
        return DivergenceReason("no_action")
    refused = _by(transition.require, step, facts, in_charge)
    if refused is not None:
        return DivergenceReason(refused)
    try:
        to, comment_required = decisions.outcome(transition, step.response_code)
    except Invalid:
        return DivergenceReason("response_code")
    lacking = _brought(definition, transition, step, facts, comment_required=comment_required)
    if lacking is not None:
        return replace(lacking, to=to)
    facts = replace(facts, response_code=transition.usual if step.response_code is None else step.response_code)
    condition = transition.condition
    asked = condition is not None and _known(condition, step)
    if condition is not None and asked and not condition.holds(decisions.conditional_facts(facts, state)):
        return DivergenceReason("condition", to)
    return DivergenceReason("other_state", to) if to != step.to_state else None


def _by(require: Require, step: RecordedStep, facts: Facts, in_charge: UUID | None) -> str | None:
    """What is known of who took it, asked again; an assignee of that day is not known any more."""
    who, subject = step.who, facts.subject
    if who is None or step.automatic:
        return None
    if require.not_submitter and facts.acts(subject.submitter_user_id):
        return "not_submitter"
    if require.user is not None and who.public_id not in {require.user, in_charge}:
        return "user"
    if who.seats is not None and "assignee" not in require.party and not decisions.seated(require, facts):
        return "party"
    return None


def _brought(
    definition: Definition, transition: Transition, step: RecordedStep, facts: Facts, *, comment_required: bool
) -> DivergenceReason | None:
    if comment_required and not (step.comment or "").strip():
        return DivergenceReason("comment_required")
    if transition.attachments_required and step.with_files is False:
        return DivergenceReason("files_required")
    if step.with_files and not transition.attachments:
        return DivergenceReason("files_not_taken")
    if step.automatic:  # the engine brings nothing, and is not asked for anything
        return None
    try:
        step_data.check(definition, transition, facts.context, step.payload)
    except Invalid as refused:
        return DivergenceReason("values", faults=tuple(refused.fields))
    try:
        step_data.check_context(definition, step_data.after(definition, facts.context, step.payload))
    except Invalid as refused:
        return DivergenceReason("context", faults=tuple(refused.fields))
    return None


def _known(condition: Condition, step: RecordedStep) -> bool:
    """Whether all that a condition reads can be given to it again; the system's own roles are what they were."""
    if step.automatic:
        return True
    read = condition.logic.variables
    if step.who is None:
        return not any(path == "*" or path.partition(".")[0] == "actor" for path in read)
    return read.isdisjoint(_UNKNOWN)
