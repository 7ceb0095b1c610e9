"""Decides whether an action may happen, for this person, and what it leads to. Saves nothing."""

from dataclasses import dataclass, field
from enum import StrEnum

from saraban.identity.domain.context import EVERYTHING, Caller, Scope
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text, invalid
from saraban.kit.json import Json, JsonObject, as_object
from saraban.workflow.engine import step_data
from saraban.workflow.language.definition import Definition, Require, State, Transition
from saraban.workflow.language.subject import ActionOut, SubjectFacts

ASSIGNEE_ALONE = frozenset({"assignee"})


class TransitionNotPossible(DomainError):
    """
    The state has no such action, or somebody else moved the document first.

    :param raced: it was possible when the request arrived
    """

    kind, code = ErrorKind.CONFLICT, "WF_INVALID_TRANSITION"
    says = Text("ไม่สามารถดำเนินการนี้ได้ในสถานะปัจจุบัน", "This action is not possible in the current status.")
    recovery = (Text("กรุณาตรวจสอบขั้นตอนการอนุมัติ", "Check the current step of the document."), REFRESH)

    def __init__(self, detail: str = "", *, raced: bool = False) -> None:
        super().__init__(detail)
        self.raced = raced


class ActionForbidden(DomainError):
    """The action exists here, and is somebody else's to take."""

    kind, code = ErrorKind.FORBIDDEN, "WORKFLOW_ACTION_FORBIDDEN"
    says = Text("คุณไม่มีสิทธิ์ดำเนินการในขั้นตอนนี้", "You do not have permission to act in this step.")
    recovery = (
        Text("ตรวจสอบว่าขั้นตอนนี้อยู่ที่ผู้ใด", "Check who this step is pending with."),
        Text("ขอสิทธิ์จากผู้ดูแลโครงการ", "Ask the project administrator for the permission."),
    )


class ConditionNotMet(DomainError):
    """Everything fits but the condition that the definition sets for this action."""

    kind, code = ErrorKind.CONFLICT, "WORKFLOW_CONDITION_NOT_MET"
    says = Text("เงื่อนไขสำหรับการดำเนินการนี้ไม่ผ่าน", "The condition for this action is not met.")
    recovery = (Text("ตรวจสอบข้อมูลของเอกสารและขั้นตอนที่ยังค้างอยู่", "Check the document and what is still pending."),)


@dataclass(frozen=True, slots=True)
class Facts:
    """
    :param context: what the instance remembers, read by conditions as `context.<name>`
    :param payload: what the client sent, read as `payload.<name>`
    :param assigned_user_id: the one user to whom the present state was assigned
    :param deputy: the actor, on behalf of `caller`
    """

    caller: Caller
    subject: SubjectFacts
    comment: str | None = None
    payload: JsonObject = field(default_factory=dict)
    context: JsonObject = field(default_factory=dict)
    with_files: bool = False
    response_code: str | None = None
    assigned_user_id: int | None = None
    deputy: Caller | None = None

    def acts(self, user_id: int | None) -> bool:
        return user_id == self.caller.user_id or (self.deputy is not None and user_id == self.deputy.user_id)


@dataclass(frozen=True, slots=True)
class Step:
    """
    :param forced: taken against the definition
    :param automatic: taken by the engine
    """

    state: str
    action: str
    next_state: str
    terminal: bool
    events: tuple[dict[str, str], ...] = ()
    comment: str | None = None
    forced: bool = False
    response_code: str | None = None
    automatic: bool = False

    @property
    def goes_on(self) -> bool:
        return any(event["type"] == "auto_action" for event in self.events)


def advance(definition: Definition, state: str, action: str, facts: Facts) -> Step:
    """
    Decide one transition.

    :raises TransitionNotPossible: when the state has no such action
    :raises ActionForbidden: when the caller may not take it
    :raises ConditionNotMet: when its condition does not hold
    :raises Invalid: for a comment, file, response code or value that is missing or not taken, or does not fit the schema
    """
    current_state = definition.states.get(state)
    transition = current_state.on.get(action) if current_state else None
    if transition is None:
        raise TransitionNotPossible(f"The state {state} has no action {action[:50]}.")
    if not (in_charge(facts) and permitted(transition.require, facts)):
        raise ActionForbidden(f"The caller does not meet what {action} requires in {state}.")
    code = transition.usual if facts.response_code is None else facts.response_code
    next_state, comment_required = outcome(transition, code)
    if facts.payload:
        step_data.check(definition, transition, facts.context, facts.payload)
    _check_condition(transition, facts, state, code)
    _check_input(transition, facts, comment_required)
    step_data.check_context(definition, step_data.after(definition, facts.context, facts.payload))
    terminal = definition.states[next_state].terminal
    return Step(state, action, next_state, terminal, transition.events, facts.comment, response_code=code)


def automatic(definition: Definition, step: Step, facts: Facts) -> Step | None:
    """
    Return the automatic step after `step`: the first whose condition holds.

    :param facts: of the state after `step`, with the system as the caller; no permission is checked
    """
    previous = next((way for way in definition.states[step.state].ways if way.name == step.action), None)
    if previous is None:  # an administrator's step
        return None
    current_state = definition.states[step.next_state]
    for action in previous.automatic:
        transition = current_state.on.get(action)
        if transition is None or transition.to is None:
            continue
        if transition.condition is None or transition.condition.holds(conditional_facts(facts, current_state.name)):
            terminal = definition.states[transition.to].terminal
            return Step(current_state.name, action, transition.to, terminal, transition.events, automatic=True)
    return None


def outcome(transition: Transition, response_code: str | None) -> tuple[str, bool]:
    """
    Return the next state for a response code, and whether a comment is required.

    :raises Invalid: when a code is missing, unknown, or not taken
    """
    if transition.to is not None:
        if response_code is not None:
            th, en = "การดำเนินการนี้ไม่รับรหัสคำตอบ", "This action takes no response code."
            raise invalid("/responseCode", "not_taken", th, en)
        return transition.to, transition.comment_required
    code = transition.usual if response_code is None else response_code
    response = transition.responses.get(code or "")
    if response is None:
        choices = ", ".join(transition.responses)
        if response_code is None:
            th, en = "จำเป็นต้องระบุรหัสคำตอบ: {choices}", "A response code is required: one of {choices}."
            raise invalid("/responseCode", "required", th, en, choices=choices)
        th, en = "รหัสคำตอบต้องเป็นหนึ่งใน {choices}", "The response code is one of {choices}."
        raise invalid("/responseCode", "choice", th, en, choices=choices)
    return response.to, transition.comment_required or response.comment_required


def _check_condition(transition: Transition, facts: Facts, state: str, code: str | None) -> None:
    condition = transition.condition
    if condition is None:
        return
    readable = conditional_facts(facts, state) | {"responseCode": code}
    if not condition.holds(readable):
        detail = f"The condition of {transition.action} in {state} does not hold."
        raise ConditionNotMet(detail, words=condition.message, values=as_object(readable["document"]))


def _check_input(transition: Transition, facts: Facts, comment_required: bool) -> None:
    if comment_required and not (facts.comment or "").strip():
        raise invalid("/comment", "required", "จำเป็นต้องระบุเหตุผลหรือความเห็น", "A reason or comment is required.")
    if facts.with_files and not transition.attachments:
        raise invalid("/attachmentPublicIds", "not_taken", "ขั้นตอนนี้ไม่รับไฟล์แนบ", "This step takes no files.")
    if transition.attachments_required and not facts.with_files:
        raise invalid("/attachmentPublicIds", "required", "จำเป็นต้องแนบไฟล์", "An attachment is required.")


class Obstacle(StrEnum):
    NO_ACTION = "no_action"  # the state has no such action, or is an end
    ASSIGNED = "assigned"  # the state was given to another person
    SUBMITTER = "submitter"  # the submitter does not decide
    NAMED = "named"  # the definition names another person
    ROLE = "role"
    SEAT = "seat"  # no organization of the caller is of the party that may
    PERMISSION = "permission"
    CONDITION = "condition"
    NOT_EDITABLE = "not_editable"


def available(definition: Definition, state: str, facts: Facts) -> tuple[ActionOut, ...]:
    current_state = definition.states.get(state)
    if current_state is None or not in_charge(facts):
        return ()
    return tuple(step.choice for step in current_state.on.values() if _obstacle_of(step, facts, state) is None)


def obstacle_to(definition: Definition, state: str, action: str, facts: Facts) -> Obstacle | None:
    current_state = definition.states.get(state)
    step = current_state.on.get(action) if current_state else None
    if step is None:
        return Obstacle.NO_ACTION
    return _obstacle_of(step, facts, state) if in_charge(facts) else Obstacle.ASSIGNED


def _obstacle_of(step: Transition, facts: Facts, state: str) -> Obstacle | None:
    return obstacle(step.require, facts) or (None if _can_hold(step, facts, state) else Obstacle.CONDITION)


def _can_hold(step: Transition, facts: Facts, state: str) -> bool:
    # `advance` checks a condition on the payload.
    if step.condition is None or step.condition.reads_payload:
        return True
    return step.condition.holds(conditional_facts(facts, state))


def in_charge(facts: Facts) -> bool:
    """Return whether the state is unassigned or assigned to the caller, or the caller may do everything."""
    assignee = facts.assigned_user_id
    return assignee is None or assignee == facts.caller.user_id or facts.caller.may(EVERYTHING, facts.subject.scope)


def may_act(definition: Definition, state: str, facts: Facts) -> bool:
    """Return whether the caller is permitted any action of a state, whatever its condition."""
    return any(permitted(step.require, facts) for step in definition.states[state].on.values())


def permitted(require: Require, facts: Facts) -> bool:
    return obstacle(require, facts) is None


def obstacle(require: Require, facts: Facts) -> Obstacle | None:
    """
    Return the first requirement that the caller does not meet.

    One organization of the caller must satisfy party, organization role and permission together.
    """
    caller, subject = facts.caller, facts.subject
    if require.not_submitter and facts.acts(subject.submitter_user_id):
        return Obstacle.SUBMITTER
    if require.user is not None and caller.public_id != require.user and facts.assigned_user_id != caller.user_id:
        return Obstacle.NAMED
    if caller.may(EVERYTHING, subject.scope):
        # An assignee is not replaced by the right to everything.
        has_seat = require.party != ASSIGNEE_ALONE or caller.user_id in subject.assignee_user_ids
        return None if has_seat else Obstacle.SEAT
    if require.roles and not _holds_role(require, facts):
        return Obstacle.ROLE
    scope = seat_scope(require, facts)
    if scope is None:
        return Obstacle.SEAT
    has_permission = not require.permissions or any(caller.may(name, scope) for name in require.permissions)
    return None if has_permission else Obstacle.PERMISSION


def seat_scope(require: Require, facts: Facts) -> Scope | None:
    seats = _seats(require, facts)
    return None if seats is None else Scope(seats, facts.subject.scope.project, facts.subject.scope.contract)


def _holds_role(require: Require, facts: Facts) -> bool:
    scope = facts.subject.scope
    return any(grant.role in require.roles and grant.covers(scope) for grant in facts.caller.grants)


def seated(require: Require, facts: Facts) -> bool:
    return _seats(require, facts) is not None


def _seats(require: Require, facts: Facts) -> frozenset[int] | None:
    """Return the caller's organizations that may take the step, or None if it needs one."""
    caller, subject = facts.caller, facts.subject
    seats = caller.organization_ids
    is_assignee = "assignee" in require.party and caller.user_id in subject.assignee_user_ids
    if require.party and not is_assignee:
        seats &= party(require, subject)
    if require.organization_roles:
        seats &= with_part(require, subject)
    if not require.party and not require.organization_roles:
        # Rights in an organization that the subject does not concern do not count.
        seats &= subject.scope.organizations
    needs_a_seat = (require.party and not is_assignee) or require.organization_roles
    return seats if seats or not needs_a_seat else None


def party(require: Require, subject: SubjectFacts) -> frozenset[int]:
    organizations: frozenset[int] = frozenset()
    if "originator" in require.party:
        organizations |= {subject.originator_organization_id}
    if "recipient" in require.party:
        organizations |= subject.recipient_organization_ids
    return organizations


def with_part(require: Require, subject: SubjectFacts) -> frozenset[int]:
    members = [subject.parties.get(role, frozenset()) for role in require.organization_roles]
    return members[0] if len(members) == 1 else frozenset[int]().union(*members)


def conditional_facts(facts: Facts, state: str) -> dict[str, Json]:
    """Return what a condition can read; `actor` never comes from the client."""
    subject, caller = facts.subject, facts.caller
    document: dict[str, Json] = {
        **subject.context,
        "kind": subject.kind,
        "number": subject.number,
        "title": subject.title,
        "priority": subject.priority,
        "dueDate": subject.due_date.isoformat() if subject.due_date else None,
    }
    actor: dict[str, Json] = {
        "publicId": str(caller.public_id),
        "roles": sorted(caller.roles),
        "isSubmitter": facts.acts(subject.submitter_user_id),
        "isAssignee": caller.user_id in subject.assignee_user_ids,
    }
    return {
        "state": state,
        "comment": facts.comment,
        "responseCode": facts.response_code,
        "context": dict(facts.context),
        "document": document,
        "payload": dict(facts.payload),
        "actor": actor,
    }


def can_edit(state: State, caller: Caller, subject: SubjectFacts) -> bool:
    return obstacle_to_edit(state, caller, subject) is None


def obstacle_to_edit(state: State, caller: Caller, subject: SubjectFacts) -> Obstacle | None:
    scope = originators_scope(subject)
    if not state.editable:
        return Obstacle.NOT_EDITABLE
    if not (caller.organization_ids & scope.organizations or caller.may(EVERYTHING, scope)):
        return Obstacle.SEAT
    return None if caller.may(subject.edit_permission, scope) else Obstacle.PERMISSION


def originators_scope(subject: SubjectFacts) -> Scope:
    return Scope(frozenset({subject.originator_organization_id}), subject.scope.project, subject.scope.contract)


def expected_path(definition: Definition, name: str) -> tuple[State, ...]:
    """Return the states ahead: the first target of each state that was not visited before."""
    states: list[State] = []
    visited = {name}
    while True:
        targets = [target for target in definition.states[name].targets if target not in visited]
        if not targets:
            return tuple(states)
        name = targets[0]
        visited.add(name)
        states.append(definition.states[name])
