"""
What an administrator does to a running instance: a step by force, an end without an outcome, another person.

The choreography is that of every transition (REQ-WFL-02); what differs is who may, and what the record says.
"""

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
    """The caller may see the document, and is not one who may take its workflow out of its course."""

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
    Take an action in place of those who should, or put the instance into a state of its definition.

    :param command: its comment is the reason
    :raises InterventionForbidden, TransitionNotPossible, Invalid, VersionConflict, StaleInstance: nothing happened
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
            _require(interventions.may_push(held.caller, held.facts, _waiting(held)))
        reason, state = interventions.checked_reason(request.command.comment or ""), held.row.current_state
        step = interventions.forced(held.definition, state, action=self.action, to=self.to, reason=reason)
        record = StepRecord("workflow.force_proceed", Severity.WARN, {"forced": True, "reason": reason})
        return Decision(held, step, request.command, record)


async def terminate(
    ctx: RequestContext, transitions: Transitions, *, public_id: UUID, command: Command
) -> Transitioned:
    """
    End an instance without an outcome; its subject stays, and shows that it was ended.

    :param command: its comment is the reason
    :raises InterventionForbidden, TransitionNotPossible, Invalid, VersionConflict, StaleInstance: nothing happened
    """
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
    """
    To whom the present state is given.

    :param branch_public_id: in a parallel review, the branch that shall ask this person
    """

    path = "reassign"
    user_public_id: UUID
    branch_public_id: UUID | None = None

    @property
    def details(self) -> Mapping[str, str]:
        return {"userPublicId": str(self.user_public_id), "branchPublicId": str(self.branch_public_id)}

    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        await check_running(session, held, request)
        _require(interventions.may_give(held.caller, held.facts, _waiting(held)))
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
        told = {"before": await _in_charge(session, held), "after": _named(person)}
        record = _kept_reassignment(held, told, reason=reason, assigned_user_id=person.user_id)
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
    Give the present state to one person, in the place of whomever it waits for; they are told, and find it in
    their inbox.

    :param command: its comment is the reason
    :raises InterventionForbidden, TransitionNotPossible, BranchClosed, Invalid, VersionConflict, StaleInstance: nothing
        happened
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


def _kept_reassignment(
    held: HeldInstance, told: dict[str, Any], *, reason: str, assigned_user_id: int | None, asks: int | None = None
) -> StepRecord:
    values = {"assigned_user_id": assigned_user_id, "due_on": held.row.due_on}
    return StepRecord(
        "workflow.reassign", Severity.WARN, {"reassigned": told, "reason": reason}, values, applies=False, asks=asks
    )


async def _give_branch(
    session: AsyncSession, held: HeldInstance, request: TransitionRequest, branch: WorkflowBranch, person: Caller
) -> Decision:
    """The branch asks the person from here on; the rest of the step finds it so."""
    row, project = held.row, held.facts.scope.project
    reason = interventions.checked_reason(request.command.comment or "")
    asked = branches.assignee_of(branch)
    if asked.kind == "user" and asked.name == str(person.public_id):
        raise _same_person()
    known = await branches.seats_of(session, user_ids=[person.user_id], project_ids=[project] if project else [])
    seats = known.get((person.user_id, project or 0), frozenset())
    step = interventions.reassigned_branch(
        row.current_state, asked, person=person, subject=held.facts, seats=seats, reason=reason
    )
    before = (await identity.load_callers(session, [UUID(asked.name)])).values() if asked.kind == "user" else ()
    told = {"before": next((_named(one) for one in before), None), "after": _named(person), "branch": branch.name}
    record = _kept_reassignment(held, told, reason=reason, assigned_user_id=row.assigned_user_id, asks=person.user_id)
    values = {"assignee_kind": "user", "assignee_name": str(person.public_id), "updated_at": held.ctx.now}
    if not await assignee_rows.change(session, public_id=branch.id, expected=branch.version_no, values=values):
        raise VersionLost("The branch changed between the lock and the update.")
    return Decision(held, step, request.command, record)


async def _in_charge(session: AsyncSession, held: HeldInstance) -> dict[str, str] | None:
    """The one person for whom it has waited: to whom it was given, or whom the definition names; None for organizations."""
    waiting = waiting_of(held.definition, held.row.current_state, held.facts)
    keys = [key for key in (held.row.assigned_user_id,) if key is not None]
    named = list((await repository.user_public_ids(session, keys)).values()) or sorted(waiting.named)
    if len(named) != 1:
        return None
    person = (await identity.load_callers(session, named)).get(named[0])
    return _named(person) if person else {"publicId": str(named[0]), "displayName": "–"}


def _named(person: Caller) -> dict[str, str]:
    return {"publicId": str(person.public_id), "displayName": person.display_name}


async def people(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID
) -> tuple[Caller, ...]:
    """
    Return those to whom the present state can be given, by name; none for those who may not give it.

    :raises NotFound: when there is none, or the caller may not see what it moves
    """
    return await people_for(ctx, session, await find_instance(ctx, session, subjects=subjects, public_id=public_id))


async def people_for(ctx: RequestContext, session: AsyncSession, one: InstanceState) -> tuple[Caller, ...]:
    """Return the same for an instance that was read."""
    row, facts, definition, here = one.row, one.facts, one.definition, one.state
    waiting = waiting_of(definition, row.current_state, facts)
    if here.terminal or here.review is not None or not interventions.may_give(ctx.caller, facts, waiting):
        return ()
    places = waiting.organizations or facts.scope.organizations
    members = await identity.users_of(session, places)
    found = await identity.load_callers(session, [one.public_id for one in members][:MOST_PEOPLE])
    found |= {one.public_id: one for one in (await assignees.people(session, waiting.holders, facts=facts)).values()}
    able = [
        person
        for person in found.values()
        if person.user_id != row.assigned_user_id
        and interventions.may_take_over(definition, row.current_state, person, facts)
    ]
    return tuple(sorted(able, key=lambda person: person.display_name))


def _waiting(held: HeldInstance) -> PendingAssignees:
    return waiting_of(held.definition, held.row.current_state, held.facts)


def _require(is_permitted: bool) -> None:
    if not is_permitted:
        raise InterventionForbidden(f"The permission {interventions.PERMISSION} is needed in a place that counts here.")


async def find(ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID) -> InterventionsOut:
    """
    Return what a caller may do to an instance besides its actions.

    :raises NotFound: when there is none, or the caller may not see what it moves
    """
    return permitted_to(ctx.caller, await find_instance(ctx, session, subjects=subjects, public_id=public_id))


def permitted_to(caller: Caller, one: InstanceState) -> InterventionsOut:
    """Return the same of an instance that was read."""
    if one.state.terminal:
        return NO_INTERVENTIONS
    state = one.row.current_state
    return _offered(one.definition, state, caller, one.facts, waiting_of(one.definition, state, one.facts))


def _offered(
    definition: Definition, state: str, caller: Caller, facts: SubjectFacts, waiting: PendingAssignees
) -> InterventionsOut:
    here = definition.state(state)
    pushes = interventions.may_push(caller, facts, waiting)
    steers = interventions.may_steer(caller, facts)
    targets = {name: ForceTargetOut(name=name, label=each.label) for name, each in definition.states.items()}
    actions = [
        ForcibleActionOut(code=step.action, label=step.label, targets=[targets[name] for name in step.targets])
        for step in here.on.values()
    ]
    return InterventionsOut(
        actions=actions if pushes else [],
        states=[target for name, target in targets.items() if name != state] if steers else [],
        terminate=steers,
        reassign=interventions.may_give(caller, facts, waiting) and here.review is None,
        reassign_branches=pushes and here.review is not None,
    )
