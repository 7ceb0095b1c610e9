"""Answers in a parallel review, in the order of REQ-WFL-02; the versions are those of the branch (REQ-WFL-12)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.errors import NotFound, Text, invalid
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.kit.operation import Receipt
from saraban.workflow.engine.decisions import ActionForbidden, Step
from saraban.workflow.language.review import ANSWER, BranchStatus
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.domain import delegation, review_response
from saraban.workflow.runtime.domain.review_response import BranchClosed, ReviewAnswer, ReviewSeat
from saraban.workflow.runtime.models import WorkflowBranch, WorkflowHistory
from saraban.workflow.runtime.repository import assignee_rows
from saraban.workflow.runtime.service import assignment, branches, persist_transition
from saraban.workflow.runtime.service.delegations import delegators_of
from saraban.workflow.runtime.service.subjects import ItemPort
from saraban.workflow.runtime.service.transition_request import (
    Command,
    Decision,
    DecisionPolicy,
    HeldInstance,
    StepRecord,
    Transitioned,
    TransitionRequest,
    VersionLost,
    acting_organization,
    behalf_of,
    check_version,
    item_details,
)
from saraban.workflow.runtime.service.transitions import Transitions

ANSWERED_EVENT = "workflow.answered"


@dataclass(frozen=True, slots=True)
class AcceptedAnswer:
    """:param step: the verdict, None while other answers are missing"""

    held: HeldInstance
    branch: WorkflowBranch
    command: Command
    answers: Mapping[str, str]
    step: Step | None
    hidden: bool


async def answer(
    ctx: RequestContext, transitions: Transitions, *, public_id: UUID, branch_public_id: UUID, command: Command
) -> Transitioned:
    """
    Give one answer, once for an idempotency key; committed when it returns.

    :param command: `response_code` is the answer, the versions are the branch's
    :raises NotFound: when the caller may not see the instance, or it has no such branch
    :raises VersionConflict, StaleInstance: when the branch is another version than the client saw
    :raises BranchClosed: when it has its answer, or the review is over
    :raises ActionForbidden: when it asks somebody else
    :raises Invalid: also when the caller could answer for several delegators and names none, and for answers to single items while
        the answers of the review are hidden
    """
    policy = BranchAnswer(branch_public_id)
    return await transitions.take(ctx, public_id=public_id, command=command, policy=policy)


@dataclass(frozen=True, slots=True)
class BranchAnswer(DecisionPolicy):
    path = "branches/answers"
    branch_public_id: UUID

    @property
    def details(self) -> Mapping[str, str]:
        return {"branchPublicId": str(self.branch_public_id)}

    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        accepted = await _accept_answer(session, held, self.branch_public_id, request.command)
        history, branch, step = _build_history(accepted), accepted.branch, accepted.step
        await _save_answer(session, accepted, history)
        outcome: dict[str, str | int | None] = {
            "instance": str(held.row.id),
            "history": str(history.id),
            "version": branch.version_no + 1,
        }
        command = Command(step.action if step is not None else ANSWER)
        record = StepRecord(details={"answers": dict(accepted.answers)})
        return Decision(accepted.held, step, command, record, Receipt("workflow_branch", branch.id, outcome))


async def _accept_answer(
    session: AsyncSession, held: HeldInstance, branch_public_id: UUID, command: Command
) -> AcceptedAnswer:
    row = held.row
    rows = await assignee_rows.of_instances(session, [row.id])
    branch = next((row for row in rows if row.id == branch_public_id), None)
    if branch is None:
        raise NotFound(f"The instance has no branch {branch_public_id}.")
    check_version(command, branch.version_no)
    if branch.status != BranchStatus.PENDING or row.status != InstanceStatus.ACTIVE or held.state.review is None:
        raise BranchClosed(f"The branch {branch.name} is {branch.status.lower()}.")
    round_rows = [row for row in rows if row.opened_version == branch.opened_version]
    answers = {row.name: row.answer for row in round_rows if row.answer is not None}
    if command.item_results and held.state.review.hidden:
        th, en = "ระหว่างที่ยังปิดคำตอบ จะตอบทีละรายการไม่ได้", "While answers are hidden, items are not answered one by one."
        raise invalid("/payload/itemResults", "hidden", th, en)
    if command.on_behalf_of in {None, held.caller.public_id}:
        try:
            return _build_answer(
                held, branch, command, await _decide_answer(session, held, branch, command, answers, held.caller)
            )
        except ActionForbidden:
            if command.on_behalf_of is not None:
                raise
    project = held.facts.scope.project
    lent = await delegators_of(held.ctx, session, workflow_code=held.definition.code, project_id=project)
    delegators = lent if command.on_behalf_of is None else [delegation.seat_of(lent, command.on_behalf_of)]
    accepted = {}
    for seat in delegators:
        with suppress(ActionForbidden):
            accepted[seat.user_id] = (
                seat,
                await _decide_answer(session, held, branch, command, answers, seat),
            )
    if not accepted:
        raise ActionForbidden(f"The branch {branch.name} asks somebody else.")
    if len(accepted) > 1:
        raise delegation.several(seat for seat, _ in accepted.values())
    ((seat, decided),) = accepted.values()
    return _build_answer(replace(held, seat=seat, seats=tuple(lent)), branch, command, decided)


def _build_answer(
    held: HeldInstance, branch: WorkflowBranch, command: Command, decided: tuple[Mapping[str, str], Step | None]
) -> AcceptedAnswer:
    at = replace(held.ctx, now=held.row.not_before(held.ctx.now))
    held = replace(held, ctx=at, has_files=held.has_files or bool(command.attachment_public_ids))
    review = held.state.review
    return AcceptedAnswer(held, branch, command, *decided, hidden=review is not None and review.hidden)


async def _decide_answer(
    session: AsyncSession,
    held: HeldInstance,
    branch: WorkflowBranch,
    command: Command,
    answers: Mapping[str, str],
    seat: Caller,
) -> tuple[dict[str, str], Step | None]:
    seats: frozenset[ReviewSeat] = frozenset()
    project = held.facts.scope.project
    if branch.assignee_kind in branches.SEATED and project is not None:
        seats_by_person = await branches.seats_of(session, user_ids=[seat.user_id], project_ids=[project])
        seats = seats_by_person.get((seat.user_id, project), seats)
    return review_response.answered(
        held.definition,
        held.row.current_state,
        branch.name,
        ReviewAnswer(command.response_code or "", command.comment, bool(command.attachment_public_ids)),
        by=review_response.Respondent(seat, seats, held.caller if seat.user_id != held.caller.user_id else None),
        subject=held.facts,
        given=answers,
        assignee=branches.assignee_of(branch),
    )


async def _save_answer(session: AsyncSession, accepted: AcceptedAnswer, history: WorkflowHistory) -> None:
    held, branch, command = accepted.held, accepted.branch, accepted.command
    session.add(history)
    await session.flush()
    if command.item_results:
        assert isinstance(held.port, ItemPort)  # `check_payload` has asked whether it carries any
        await held.port.answer_items(session, held.facts, command.item_results)
    if command.attachment_public_ids:
        await attachments.attach_to_step(
            held.ctx, session, command.attachment_public_ids, history.id, held.facts.scope.project
        )
    values = {
        "status": BranchStatus.ANSWERED,
        "answer": command.response_code,
        "comment": command.comment,
        "answered_by_user_id": held.caller.user_id,
        "answered_by_user_uuid": str(held.caller.public_id),
        "history_id": history.id,
        "answered_at": held.ctx.now,
        "updated_at": held.ctx.now,
        **behalf_of(held),
    }
    if not await assignee_rows.change(session, public_id=branch.id, expected=branch.version_no, values=values):
        raise VersionLost("The branch changed between the lock and the update.")
    await _record_event(session, accepted, history.id)
    await _audit(session, held, branch)
    if accepted.step is None:  # others are still waited for
        await assignee_rows.touch(session, public_id=held.row.id, now=held.ctx.now)
        await assignment.renew_people(session, held, now=held.ctx.now)


def _build_history(accepted: AcceptedAnswer) -> WorkflowHistory:
    """Build the history row; a hidden answer is in the branch alone."""
    held, command = accepted.held, accepted.command
    answer = {} if accepted.hidden else {"answer": command.response_code, **item_details(command)}
    return WorkflowHistory(
        id=new_id(),
        instance_id=held.row.id,
        from_state=held.row.current_state,
        to_state=held.row.current_state,
        action=ANSWER,
        action_by_user_id=held.caller.user_id,
        action_by_user_uuid=str(held.caller.public_id),
        comment=None if accepted.hidden else command.comment,
        details={"branch": accepted.branch.name, "branchPublicId": str(accepted.branch.id), **answer},
        created_at=held.ctx.now,
        acting_organization_id=acting_organization(held),
        **behalf_of(held),
    )


async def _record_event(session: AsyncSession, accepted: AcceptedAnswer, history_id: UUID) -> None:
    held, now, review = accepted.held, accepted.held.ctx.now, accepted.held.state.review
    label = review.branches[accepted.branch.name].label if review is not None else Text("", "")
    payload: dict[str, Json] = {
        **persist_transition.subject_fields(held, history_id),
        "state": held.row.current_state,
        "branchPublicId": str(accepted.branch.id),
        "branch": accepted.branch.name,
        "branchLabel": {"th": label.th, "en": label.en},
        "hidden": accepted.hidden,
        "answer": None if accepted.hidden else accepted.command.response_code,
        "comment": None if accepted.hidden else accepted.command.comment,
        "actor": None if accepted.hidden else persist_transition.actor_of(held),
        "occurredAt": now.isoformat(),
    }
    await events.record(session, events.NewEvent(ANSWERED_EVENT, "workflow_instance", str(held.row.id), payload, now))


async def _audit(session: AsyncSession, held: HeldInstance, branch: WorkflowBranch) -> None:
    """Record who answered, not the answer."""
    details = {
        "instancePublicId": str(held.row.id),
        "number": held.facts.number,
        "branch": branch.name,
        "branchPublicId": str(branch.id),
    }
    entry = audit.AuditEntry("workflow.answer", held.facts.kind, str(held.facts.public_id), details)
    await audit.record(held.ctx, session, entry)
