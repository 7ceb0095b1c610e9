"""
Answers in a parallel review: one at a time under the instance's row lock, and the step they come to in the same commit.

The order is that of REQ-WFL-02; the version that a client states is the branch's own (REQ-WFL-12).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.errors import NotFound, Text
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.workflow.engine.decisions import ActionForbidden, Step
from saraban.workflow.language.review import ANSWER, BranchStatus
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.domain import delegation, review_response
from saraban.workflow.runtime.domain.review_response import BranchClosed, ReviewAnswer, ReviewSeat
from saraban.workflow.runtime.models import WorkflowBranch, WorkflowHistory
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import assignment, branches
from saraban.workflow.runtime.service.delegations import delegators_of
from saraban.workflow.runtime.service.transition_request import (
    Command,
    Decision,
    DecisionPolicy,
    HeldInstance,
    StepRecord,
    Transitioned,
    TransitionRequest,
    VersionLost,
    check_version,
)
from saraban.workflow.runtime.service.transitions import Transitions

TOLD = "workflow.answered"


@dataclass(frozen=True, slots=True)
class BranchAnswer:
    """
    What a client answers for a branch; nothing in it says who.

    :param client_version_no: the branch's `versionNo` that the client saw; when it is old the answer is 409
    :param if_match: versions from `If-Match`; when none is the present one the answer is 412
    :param on_behalf_of: the person in whose place the caller means to answer; the caller himself for his own right alone
    """

    code: str
    comment: str | None = None
    attachment_public_ids: tuple[UUID, ...] = ()
    client_version_no: int | None = None
    if_match: frozenset[str] | None = None
    on_behalf_of: UUID | None = None


@dataclass(frozen=True, slots=True)
class AcceptedAnswer:
    """
    An answer that has been decided, and what all of them come to.

    :param lender: in whose place it is given, None in the caller's own right
    :param seats: all in whose place the caller could, as far as they had to be asked for
    """

    branch: WorkflowBranch
    lender: Caller | None
    seats: tuple[Caller, ...]
    answers: Mapping[str, str]
    step: Step | None
    hidden: bool


async def answer(
    ctx: RequestContext,
    transitions: Transitions,
    *,
    public_id: UUID,
    branch_public_id: UUID,
    reply: BranchAnswer,
) -> Transitioned:
    """
    Give one answer, once for a key; committed when it returns.

    :raises NotFound: when the caller may not see the instance, or it has no such branch
    :raises VersionConflict, StaleInstance: when the branch is another version than the client saw
    :raises BranchClosed: when it has its answer, or the review is over
    :raises ActionForbidden: when it asks somebody else
    :raises Invalid: also when the caller could answer for several who are away, and names none
    """
    command = Command(
        ANSWER, reply.comment, attachment_public_ids=reply.attachment_public_ids, on_behalf_of=reply.on_behalf_of
    )
    said = {"branchPublicId": str(branch_public_id), "answer": reply.code, "branchVersionNo": reply.client_version_no}
    policy = DecisionPolicy("branches/answers", partial(_decide, branch_public_id, reply), said)
    return await transitions.take(ctx, public_id=public_id, command=command, policy=policy)


async def _decide(
    branch_public_id: UUID,
    reply: BranchAnswer,
    session: AsyncSession,
    held: HeldInstance,
    request: TransitionRequest,
    _alone: bool,
) -> Decision:
    given = await _accepted(session, held, branch_public_id, reply)
    at = replace(held.ctx, now=held.row.not_before(held.ctx.now))
    files = held.has_files or bool(reply.attachment_public_ids)
    held = replace(held, ctx=at, seat=given.lender, seats=given.seats, has_files=files)
    history = _history(held, given, reply)
    branch = given.branch
    outcome: dict[str, str | int | None] = {
        "instance": str(held.row.id),
        "history": str(history.id),
        "version": branch.version_no + 1,
    }
    step = given.step
    return Decision(
        held,
        step,
        Command(step.action if step is not None else ANSWER),
        at.now,
        StepRecord(details={"answers": dict(given.answers)}),
        request.trace or None,
        partial(_write, held, given, reply, history),
        Receipt("workflow_branch", branch.id, outcome),
    )


async def _accepted(
    session: AsyncSession, held: HeldInstance, branch_public_id: UUID, reply: BranchAnswer
) -> AcceptedAnswer:
    row = held.row
    branch = await assignee_rows.branch(session, instance_id=row.id, public_id=branch_public_id)
    if branch is None:
        raise NotFound(f"The instance has no branch {branch_public_id}.")
    version = Command(ANSWER, client_version_no=reply.client_version_no, if_match=reply.if_match)
    check_version(version, branch.version_no)
    review = held.definition.state(row.current_state).review
    if branch.status != BranchStatus.PENDING or row.status != InstanceStatus.ACTIVE or review is None:
        raise BranchClosed(f"The branch {branch.name} is {branch.status.lower()}.")
    round_ = await assignee_rows.of_round(session, instance_id=row.id, opened_version=branch.opened_version)
    given = {each.name: each.answer for each in round_ if each.answer is not None}
    said = ReviewAnswer(reply.code, reply.comment, bool(reply.attachment_public_ids))
    if reply.on_behalf_of in {None, held.caller.public_id}:
        try:
            own = await _answered(session, held, held.caller, branch, said, given)
            return AcceptedAnswer(branch, None, (), *own, review.hidden)
        except ActionForbidden:
            if reply.on_behalf_of is not None:
                raise
    project = held.facts.scope.project
    lent = await delegators_of(held.ctx, session, workflow_code=held.definition.code, project_id=project)
    asked = lent if reply.on_behalf_of is None else [delegation.seat_of(lent, reply.on_behalf_of)]
    able = {}
    for seat in asked:
        with suppress(ActionForbidden):
            able[seat.user_id] = (seat, await _answered(session, held, seat, branch, said, given))
    if not able:
        raise ActionForbidden(f"The branch {branch.name} asks somebody else.")
    if len(able) > 1:
        raise delegation.several(seat for seat, _ in able.values())
    ((seat, answered),) = able.values()
    return AcceptedAnswer(branch, seat, tuple(lent), *answered, review.hidden)


async def _answered(
    session: AsyncSession,
    held: HeldInstance,
    seat: Caller,
    branch: WorkflowBranch,
    said: ReviewAnswer,
    given: Mapping[str, str],
) -> tuple[dict[str, str], Step | None]:
    seats: frozenset[ReviewSeat] = frozenset()
    project = held.facts.scope.project
    if branch.assignee_kind in branches.SEATED and project is not None:
        known = await branches.seats_of(session, user_ids=[seat.user_id], project_ids=[project])
        seats = known.get((seat.user_id, project), seats)
    return review_response.answered(
        held.definition,
        held.row.current_state,
        branch.name,
        said,
        by=review_response.Respondent(seat, seats, held.caller if seat.user_id != held.caller.user_id else None),
        subject=held.facts,
        given=given,
        assignee=branches.assignee_of(branch),
    )


async def _write(
    held: HeldInstance,
    given: AcceptedAnswer,
    reply: BranchAnswer,
    history: WorkflowHistory,
    session: AsyncSession,
) -> None:
    """The answer's history row, its files, the branch, what is told of it, and the audit trail."""
    caller, branch, now = held.caller, given.branch, held.ctx.now
    session.add(history)
    await session.flush()
    if reply.attachment_public_ids:
        await attachments.attach_to_step(
            held.ctx,
            session,
            public_ids=reply.attachment_public_ids,
            history_id=history.id,
        )
    values = {
        "status": BranchStatus.ANSWERED,
        "answer": reply.code,
        "comment": reply.comment,
        "answered_by_user_id": caller.user_id,
        "answered_by_user_uuid": str(caller.public_id),
        "history_id": history.id,
        "answered_at": now,
        "updated_at": now,
        **_behalf(given),
    }
    if not await assignee_rows.change(session, public_id=branch.id, expected=branch.version_no, values=values):
        raise VersionLost("The branch changed between the lock and the update.")
    await _tell(session, held, given, reply, history.id)
    await _audit(session, held, branch)
    if given.step is None:
        await _wait_on(session, held)


def _behalf(given: AcceptedAnswer) -> dict[str, Any]:
    return {
        "on_behalf_of_user_id": given.lender.user_id if given.lender else None,
        "on_behalf_of_user_uuid": str(given.lender.public_id) if given.lender else None,
    }


def _history(held: HeldInstance, given: AcceptedAnswer, reply: BranchAnswer) -> WorkflowHistory:
    """While the others must not know it, the branch alone keeps what was said."""
    said = {} if given.hidden else {"answer": reply.code}
    return WorkflowHistory(
        id=new_id(),
        instance_id=held.row.id,
        from_state=held.row.current_state,
        to_state=held.row.current_state,
        action=ANSWER,
        action_by_user_id=held.caller.user_id,
        action_by_user_uuid=str(held.caller.public_id),
        comment=None if given.hidden else reply.comment,
        details={"branch": given.branch.name, "branchPublicId": str(given.branch.id), **said},
        created_at=held.ctx.now,
        **_behalf(given),
    )


async def _tell(
    session: AsyncSession,
    held: HeldInstance,
    given: AcceptedAnswer,
    reply: BranchAnswer,
    history_id: UUID,
) -> None:
    facts, caller, review = held.facts, held.caller, held.definition.states[held.row.current_state].review
    known = review is not None and not given.hidden
    label = review.branches[given.branch.name].label if review is not None else Text("", "")
    payload: dict[str, Any] = {
        "instancePublicId": str(held.row.id),
        "historyPublicId": str(history_id),
        "workflowCode": held.definition.code,
        "entityType": held.row.entity_type,
        "entityId": facts.entity_id,
        "documentPublicId": str(facts.public_id),
        "documentKind": facts.kind,
        "number": facts.number,
        "title": facts.title,
        "state": held.row.current_state,
        "branchPublicId": str(given.branch.id),
        "branch": given.branch.name,
        "branchLabel": {"th": label.th, "en": label.en},
        "hidden": given.hidden,
        "answer": reply.code if known else None,
        "comment": reply.comment if known else None,
        "actor": {**_named(caller), "onBehalfOf": _named(given.lender) if given.lender else None} if known else None,
        "occurredAt": held.ctx.now.isoformat(),
    }
    await events.record(session, events.NewEvent(TOLD, "workflow_instance", str(held.row.id), payload, held.ctx.now))


def _named(person: Caller) -> dict[str, str]:
    return {"publicId": str(person.public_id), "displayName": person.display_name}


async def _audit(session: AsyncSession, held: HeldInstance, branch: WorkflowBranch) -> None:
    """Who answered, as of every deed, and not what; a document's own history leaves this row out."""
    await audit.record(
        held.ctx,
        session,
        audit.AuditEntry(
            "workflow.answer",
            held.facts.kind,
            str(held.facts.public_id),
            {
                "instancePublicId": str(held.row.id),
                "number": held.facts.number,
                "branch": branch.name,
                "branchPublicId": str(branch.id),
            },
        ),
    )


async def _wait_on(session: AsyncSession, held: HeldInstance) -> None:
    """The answer is given, and others are still waited for."""
    row, now = held.row, held.ctx.now
    await assignee_rows.touch(session, public_id=row.id, now=now)
    await assignment.renew_people(session, row=row, definition=held.definition, facts=held.facts, now=now)
