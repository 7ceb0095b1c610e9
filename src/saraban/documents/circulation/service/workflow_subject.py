"""What the workflow is told about circulations, and what it tells them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.domain import may_see
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.service.assignees import NotAssigned, close_open, reach, state_of, take_answer
from saraban.documents.core import service as core
from saraban.identity.domain.context import Caller, Scope
from saraban.kit.pipeline import Pipeline
from saraban.workflow import service as workflow

RESPOND = "respond"


def facts_of(row: CirculationRow) -> workflow.SubjectFacts:
    circulation = row.circulation
    waiting = frozenset(
        one.routing.assigned_to for one in row.assignees if one.routing.assigned_to and domain.is_open(state_of(one))
    )
    return workflow.SubjectFacts(
        entity_id=str(circulation.public_id),
        scope=Scope(frozenset({circulation.organization_id}), circulation.project_id),
        originator_organization_id=circulation.organization_id,
        recipient_organization_ids=frozenset(),
        parties={},
        submitter_user_id=circulation.created_by_user_id,
        assignee_user_ids=waiting,
        kind=domain.KIND,
        public_id=circulation.public_id,
        number=circulation.circulation_no,
        title=circulation.circulation_subject,
        due_date=circulation.deadline_date,
        priority=circulation.priority,
        context={
            "documentType": domain.TYPE_CODE,
            "projectPublicId": str(row.project.public_id),
            "projectCode": row.project.project_code,
            "originatorCode": row.organization.organization_code,
            "openRoutings": domain.still_to_answer(state_of(one) for one in row.assignees),
        },
        organizations={circulation.organization_id: (row.organization.public_id, row.organization.organization_code)},
        edit_permission=domain.CREATE,
        seen_by=lambda person, _state: may_see(
            reach(person),
            organization=circulation.organization_id,
            project=circulation.project_id,
        ),
        open_to=lambda organization, _state: organization == circulation.organization_id,
    )


@dataclass(frozen=True)
class CirculationSubject:
    """The port of circulation sheets; the workflow knows a sheet by its public id."""

    @property
    def entity_type(self) -> str:
        return domain.ENTITY_TYPE

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, workflow.SubjectFacts]:
        rows = await repository.visible(session, reach=reach(caller), public_ids=core.ids_of(entity_ids))
        return {row.entity_id: facts_of(row) for row in rows}

    async def facts_for(self, session: AsyncSession, callers: Mapping[str, Caller]) -> dict[str, workflow.SubjectFacts]:
        found: dict[str, workflow.SubjectFacts] = {}
        for key, caller in callers.items():
            found |= await self.facts(session, caller=caller, entity_ids=[key])
        return found

    async def apply(self, pipeline: Pipeline, steps: Sequence[workflow.SubjectStep]) -> Collection[str]:
        for one in steps:
            await self._apply(pipeline.session, one)
        return [one.entity_id for one in steps]  # who has still to answer is another

    async def _apply(self, session: AsyncSession, one: workflow.SubjectStep) -> None:
        step, now = one.step, one.now
        row = (await repository.visible(session, reach=None, public_ids=[UUID(one.entity_id)]))[0]
        status = domain.status_code(step.next_state, ended=step.terminal, outcome=one.meaning.outcome)
        values: dict[str, Any] = {
            "circulation_status_code": status,
            "updated_at": now,
        }
        if status == domain.STATUSES[domain.ROUTING] and row.circulation.submitted_at is None:
            values["submitted_at"] = now
        if step.terminal:
            values["closed_at"] = now
        await repository.change(session, circulation_id=row.circulation.id, values=values)
        if step.action == RESPOND:
            own = _own_row(one.caller, row.assignees)
            await take_answer(session, own, status="COMPLETED", comment=step.comment, now=now)
        if status in domain.WITHOUT_ANSWERS or (step.forced and step.terminal):
            await close_open(session, row.assignees, reason=step.comment, now=now)


def _own_row(caller: Caller, assignees: Sequence[AssigneeRow]) -> AssigneeRow:
    own = next((one for one in assignees if one.routing.assigned_to == caller.user_id), None)
    if own is None:
        raise NotAssigned
    return own
