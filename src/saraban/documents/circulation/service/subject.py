"""What the workflow asks of sheets and tells them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import AssigneeRow
from saraban.documents.circulation.service.answering import NotAssigned, take_answer
from saraban.documents.circulation.service.changing import close_parts
from saraban.documents.circulation.service.presenting import facts_of, reach
from saraban.documents.core import service as core
from saraban.identity.domain.caller import Caller
from saraban.workflow import service as workflow

RESPOND = "respond"


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
        parts = await repository.parts(session, sheet_ids=[row.sheet.id for row in rows])
        return {str(row.sheet.public_id): facts_of(row, parts[row.sheet.id]) for row in rows}

    async def facts_for(self, session: AsyncSession, callers: Mapping[str, Caller]) -> dict[str, workflow.SubjectFacts]:
        found: dict[str, workflow.SubjectFacts] = {}
        for key, caller in callers.items():
            found |= await self.facts(session, caller=caller, entity_ids=[key])
        return found

    async def moved(self, session: AsyncSession, moves: Sequence[workflow.SubjectStep]) -> workflow.AppliedSteps:
        for move in moves:
            await self._moved(session, move)
        return workflow.AppliedSteps([move.entity_id for move in moves])  # who has still to answer is another

    async def _moved(self, session: AsyncSession, move: workflow.SubjectStep) -> None:
        step, now = move.step, move.now
        row = (await repository.visible(session, reach=None, public_ids=[UUID(move.entity_id)]))[0]
        parts = (await repository.parts(session, sheet_ids=[row.sheet.id]))[row.sheet.id]
        status = domain.status_code(step.next_state, ended=step.terminal, outcome=move.meaning.outcome)
        values: dict[str, Any] = {
            "circulation_status_code": status,
            "updated_at": now,
        }
        if status == domain.STATUSES[domain.ROUTING] and row.sheet.submitted_at is None:
            values["submitted_at"] = now
        if step.terminal:
            values["closed_at"] = now
        await repository.change(session, sheet_id=row.sheet.id, values=values)
        if step.action == RESPOND:
            own = _part_of(move.caller, parts)
            await take_answer(session, own, status="COMPLETED", comment=step.comment, now=now)
        if status in domain.WITHOUT_ANSWERS or (step.forced and step.terminal):
            await close_parts(session, parts, reason=step.comment, now=now)


def _part_of(caller: Caller, parts: list[AssigneeRow]) -> AssigneeRow:
    own = next((one for one in parts if one.routing.assigned_to == caller.user_id), None)
    if own is None:
        raise NotAssigned
    return own
