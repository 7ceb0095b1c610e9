"""What the workflow asks of documents and tells them: `SubjectPort` for every kind that shares the master's rows."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import issues
from saraban.documents.core.domain.visibility import Reach
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import moving, writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.facts import Surroundings, facts_in, surroundings
from saraban.documents.core.service.presenting import reach
from saraban.documents.core.service.register import Register
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import local_date
from saraban.workflow.domain.engine import Step
from saraban.workflow.domain.subject import SubjectFacts

_READ = "saraban_documents_read"


def ids_of(entity_ids: Collection[str]) -> list[UUID]:
    """This will give the public ids among texts that should be some."""
    found = []
    for text in entity_ids:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


@dataclass(frozen=True)
class DocumentSubject:
    """The port of one register; the workflow knows a revision by its public id."""

    register: Register
    zone: ZoneInfo

    @property
    def entity_type(self) -> str:
        return self.register.kind.entity_type

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, SubjectFacts]:
        around = await self._read(session, reach=reach(caller), revision_ids=ids_of(entity_ids))
        # A step that follows in this transaction changes what was read here, and need not read it again.
        session.info.setdefault(_READ, {}).update(around)
        return {key: facts_in(self.register.kind, one, zone=self.zone) for key, one in around.items()}

    async def moved(
        self,
        session: AsyncSession,
        *,
        caller: Caller,  # noqa: ARG002  the port's signature; who moved it does not matter here
        entity_id: str,
        step: Step,
        now: datetime,
    ) -> bool:
        around = session.info.get(_READ, {}).get(entity_id)
        if around is None:
            around = (await self._read(session, reach=None, revision_ids=[UUID(entity_id)]))[entity_id]
        row = around.row
        code = self.register.kind.status_code(step.next_state, around.main_role, left=step.state, ended=step.terminal)
        issued_at = now if issues(step.next_state) and row.issued_date is None else None
        await moving.set_status(session, revision_id=row.revision_id, code=code, issued_at=issued_at)
        await self.register.moved(session, row.revision_id, step.next_state, local_date(now, self.zone))
        return False

    async def _read(
        self, session: AsyncSession, *, reach: Reach | None, revision_ids: Collection[UUID]
    ) -> dict[str, Surroundings]:
        rows = await moving.movable(
            session, reach=reach, revision_ids=revision_ids, type_codes=self.register.kind.type_codes
        )
        return await surroundings(session, rows=rows)


async def show_state(
    session: AsyncSession,
    register: Register,
    *,
    row: DocumentRow,
    state: str,
    now: datetime,
    zone: ZoneInfo,
) -> None:
    """
    This will set the status columns of a revision for a workflow state, and the moment it was issued.

    What was issued once stays issued, whatever a workflow does next: its recipients keep what they have read.
    """
    (around,) = (await surroundings(session, rows=[moving.Movable.of(row)])).values()
    code = register.kind.status_code(state, around.main_role)
    values: dict[str, Any] = {"correspondence_status_id": await repository.status_id(session, code=code)}
    if issues(state) and row.revision.issued_date is None:
        values["issued_date"] = now
    await writes.change_revision(session, revision_id=row.revision.id, values=values)
    await register.moved(session, row.revision.id, state, local_date(now, zone))
