"""Interventions in running instances: force, terminate, reassign (REQ-WFL-02)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.service import Severity
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.errors import Forbidden, Invalid, Text, invalid
from saraban.workflow.administration.schemas import ForceTargetOut, ForcibleActionOut, InterventionsOut
from saraban.workflow.engine.pending_assignees import PendingAssignees
from saraban.workflow.engine.pending_assignees import assignees_of as waiting_of
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import BranchStatus
from saraban.workflow.language.subject import InstanceStatus, SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.domain import interventions
from saraban.workflow.runtime.domain.review_response import BranchClosed
from saraban.workflow.runtime.models import WorkflowBranch
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import assignees, branches
from saraban.workflow.runtime.service.subjects import InstanceState, Subjects, find_instance
from saraban.workflow.runtime.service.transition_request import (
    Command,
    Decision,
    DecisionPolicy,
    HeldInstance,
    StepRecord,
    Transitioned,
    TransitionRequest,
    VersionLost,
)
from saraban.workflow.runtime.service.transitions import Transitions, check_running

MOST_PEOPLE = 200


class InterventionForbidden(Forbidden):
    """The caller may see the document but not force, terminate or reassign its workflow."""

    code = "WORKFLOW_STEERING_FORBIDDEN"
    says = Text(
        "คุณไม่มีสิทธิ์บังคับเปลี่ยนขั้นตอน ยุติกระบวนงาน หรือมอบหมายให้ผู้อื่น",
        "You do not have permission to override, terminate or reassign this workflow.",
    )
    recovery = (
        Text(
            "ให้เจ้าหน้าที่ควบคุมเอกสารของเจ้าของงาน หรือขององค์กรที่ขั้นตอนนี้อยู่ เป็นผู้ดำเนินการ",
            "Ask the document controller of the owner, or of the organization this step is pending with.",
        ),
    )


NO_INTERVENTIONS = InterventionsOut(actions=[], states=[], terminate=False, reassign=False, reassign_branches=False)


async def force(
    ctx: RequestContext,
    transitions: Transitions,
    *,
    public_id: UUID,
    command: Command,
    action: str | None,
    to: str | None,
) -> Transitioned:
    """
    Take an action for its assignees, or put the instance into another state.
    :raises InterventionForbidden, TransitionNotPossible, Invalid, VersionConflict, StaleInstance:
    """
    interventions.checked_reason(command.comment or "")
    return await transitions.take(ctx, public_id=public_id, command=command, policy=ForcedStep(action, to))


@dataclass(frozen=True, slots=True)
class ForcedStep(DecisionPolicy):
    path = "force"
    action: str | None
    to: str | None

    @property
    def details(self) -> Mapping[str, str | None]:
        return {"action": self.action, "to": self.to}

    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        await check_running(session, held, request)
        if self.action is None:
            _require(interventions.may_steer(held.caller, held.facts))
        else:
            _require(interventions.may_push(held.caller, held.facts, _pending_assignees(held)))
        reason, state = interventions.checked_reason(request.command.comment or ""), held.row.current_state
        step = interventions.forced(held.definition, state, action=self.action, to=self.to, reason=reason)
        record = StepRecord("workflow.force_proceed", Severity.WARN, {"forced": True, "reason": reason})
        return Decision(held, step, request.command, record)


async def terminate(
    ctx: RequestContext, transitions: Transitions, *, public_id: UUID, command: Command
) -> Transitioned:
    """:raises InterventionForbidden, TransitionNotPossible, Invalid, VersionConflict, StaleInstance:"""
    interventions.checked_reason(command.comment or "")
    return await transitions.take(ctx, public_id=public_id, command=command, policy=Termination())


class Termination(DecisionPolicy):
    path = "terminate"

    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        await check_running(session, held, request)
        _require(interventions.may_steer(held.caller, held.facts))
        reason = interventions.checked_reason(request.command.comment or "")
        step = interventions.terminated(held.definition, held.row.current_state, reason=reason)
        values, details = {"status": InstanceStatus.TERMINATED}, {"terminated": True, "reason": reason}
        return Decision(held, step, request.command, StepRecord("workflow.terminate", Severity.WARN, details, values))


@dataclass(frozen=True, slots=True)
class Reassignment(DecisionPolicy):
    path = "reassign"
    user_public_id: UUID
    branch_public_id: UUID | None = None

    @property
    def details(self) -> Mapping[str, str]:
        return {"userPublicId": str(self.user_public_id), "branchPublicId": str(self.branch_public_id)}

    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        await check_running(session, held, request)
        _require(interventions.may_give(held.caller, held.facts, _pending_assignees(held)))
        key = self.user_public_id
        person = (await identity.load_callers(session, [key])).get(key)
        if person is None or person.is_service:
            raise invalid("/userPublicId", "unknown", "ไม่พบผู้ใช้นี้", "There is no such person.")
        if self.branch_public_id is not None:
            branch = await _waiting_branch(session, held, self.branch_public_id)
            return await _give_branch(session, held, request, branch, person)
        row, reason = held.row, interventions.checked_reason(request.command.comment or "")
        if row.assigned_user_id == person.user_id:
            raise _same_person()
        step = interventions.reassigned(
            held.definition, row.current_state, person=person, facts=held.facts, reason=reason
        )
        change = {"before": await _current_assignee(session, held), "after": _person_reference(person)}
        record = _reassignment_record(held, change, reason=reason, assigned_user_id=person.user_id)
        return Decision(held, step, request.command, record)


async def reassign(
    ctx: RequestContext,
    transitions: Transitions,
    *,
    public_id: UUID,
    command: Command,
    reassignment: Reassignment,
) -> Transitioned:
    """
    Assign the current state or a branch to another person, who is notified.
    :raises InterventionForbidden, TransitionNotPossible, BranchClosed, Invalid, VersionConflict, StaleInstance:
    """
    interventions.checked_reason(command.comment or "")
    return await transitions.take(ctx, public_id=public_id, command=command, policy=reassignment)


async def _waiting_branch(session: AsyncSession, held: HeldInstance, public_id: UUID) -> WorkflowBranch:
    branch = await assignee_rows.branch(session, instance_id=held.row.id, public_id=public_id)
    if branch is None:
        th, en = "ไม่พบสายพิจารณานี้", "The instance has no such branch."
        raise invalid("/branchPublicId", "unknown", th, en)
    if branch.status != BranchStatus.PENDING:
        raise BranchClosed(f"The branch {branch.name} is {branch.status.lower()}.")
    return branch


def _same_person() -> Invalid:
    th, en = "ขั้นตอนนี้เป็นของบุคคลนี้อยู่แล้ว", "It waits for this person already."
    return invalid("/userPublicId", "same_person", th, en)


def _reassignment_record(
    held: HeldInstance, change: dict[str, Any], *, reason: str, assigned_user_id: int | None, asks: int | None = None
) -> StepRecord:
    values = {"assigned_user_id": assigned_user_id, "due_on": held.row.due_on}
    return StepRecord(
        "workflow.reassign", Severity.WARN, {"reassigned": change, "reason": reason}, values, applies=False, asks=asks
    )


async def _give_branch(
    session: AsyncSession, held: HeldInstance, request: TransitionRequest, branch: WorkflowBranch, person: Caller
) -> Decision:
    row, project = held.row, held.facts.scope.project
    reason = interventions.checked_reason(request.command.comment or "")
    assignee = branches.assignee_of(branch)
    if assignee.kind == "user" and assignee.name == str(person.public_id):
        raise _same_person()
    seats_by_user = await branches.seats_of(
        session, user_ids=[person.user_id], project_ids=[project] if project else []
    )
    seats = seats_by_user.get((person.user_id, project or 0), frozenset())
    step = interventions.reassigned_branch(
        row.current_state, assignee, person=person, subject=held.facts, seats=seats, reason=reason
    )
    before = (await identity.load_callers(session, [UUID(assignee.name)])).values() if assignee.kind == "user" else ()
    change = {
        "before": next((_person_reference(caller) for caller in before), None),
        "after": _person_reference(person),
        "branch": branch.name,
    }
    record = _reassignment_record(
        held, change, reason=reason, assigned_user_id=row.assigned_user_id, asks=person.user_id
    )
    values = {"assignee_kind": "user", "assignee_name": str(person.public_id), "updated_at": held.ctx.now}
    if not await assignee_rows.change(session, public_id=branch.id, expected=branch.version_no, values=values):
        raise VersionLost("The branch changed between the lock and the update.")
    return Decision(held, step, request.command, record)


async def _current_assignee(session: AsyncSession, held: HeldInstance) -> dict[str, str] | None:
    waiting = waiting_of(held.definition, held.row.current_state, held.facts)
    keys = [key for key in (held.row.assigned_user_id,) if key is not None]
    person_ids = list((await repository.user_public_ids(session, keys)).values()) or sorted(waiting.named)
    if len(person_ids) != 1:
        return None
    person = (await identity.load_callers(session, person_ids)).get(person_ids[0])
    return _person_reference(person) if person else {"publicId": str(person_ids[0]), "displayName": "–"}


def _person_reference(person: Caller) -> dict[str, str]:
    return {"publicId": str(person.public_id), "displayName": person.display_name}


async def people(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID
) -> tuple[Caller, ...]:
    """
    Return the possible assignees; empty for a caller who may not reassign.
    :raises NotFound:
    """
    return await people_for(ctx, session, await find_instance(ctx, session, subjects=subjects, public_id=public_id))


async def people_for(ctx: RequestContext, session: AsyncSession, instance: InstanceState) -> tuple[Caller, ...]:
    row, facts, definition, state = instance.row, instance.facts, instance.definition, instance.state
    waiting = waiting_of(definition, row.current_state, facts)
    if state.terminal or state.review is not None or not interventions.may_give(ctx.caller, facts, waiting):
        return ()
    places = waiting.organizations or facts.scope.organizations
    members = await identity.users_of(session, places)
    candidates = await identity.load_callers(session, [instance.public_id for instance in members][:MOST_PEOPLE])
    candidates |= {
        instance.public_id: instance
        for instance in (await assignees.people(session, waiting.holders, facts=facts)).values()
    }
    possible = [
        person
        for person in candidates.values()
        if person.user_id != row.assigned_user_id
        and interventions.may_take_over(definition, row.current_state, person, facts)
    ]
    return tuple(sorted(possible, key=lambda person: person.display_name))


def _pending_assignees(held: HeldInstance) -> PendingAssignees:
    return waiting_of(held.definition, held.row.current_state, held.facts)


def _require(is_permitted: bool) -> None:
    if not is_permitted:
        raise InterventionForbidden(f"The permission {interventions.PERMISSION} is needed in a place that counts here.")


async def find(ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID) -> InterventionsOut:
    """:raises NotFound:"""
    return permitted_to(ctx.caller, await find_instance(ctx, session, subjects=subjects, public_id=public_id))


def permitted_to(caller: Caller, instance: InstanceState) -> InterventionsOut:
    if instance.state.terminal:
        return NO_INTERVENTIONS
    state = instance.row.current_state
    return _permitted_interventions(
        instance.definition, state, caller, instance.facts, waiting_of(instance.definition, state, instance.facts)
    )


def _permitted_interventions(
    definition: Definition, state: str, caller: Caller, facts: SubjectFacts, waiting: PendingAssignees
) -> InterventionsOut:
    state_definition = definition.state(state)
    may_force_actions = interventions.may_push(caller, facts, waiting)
    may_steer = interventions.may_steer(caller, facts)
    targets = {
        name: ForceTargetOut(name=name, label=other_state.label) for name, other_state in definition.states.items()
    }
    actions = [
        ForcibleActionOut(code=step.action, label=step.label, targets=[targets[name] for name in step.targets])
        for step in state_definition.on.values()
    ]
    return InterventionsOut(
        actions=actions if may_force_actions else [],
        states=[target for name, target in targets.items() if name != state] if may_steer else [],
        terminate=may_steer,
        reassign=interventions.may_give(caller, facts, waiting) and state_definition.review is None,
        reassign_branches=may_force_actions and state_definition.review is not None,
    )
