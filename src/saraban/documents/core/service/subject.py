"""What the workflow asks of documents and tells them: `SubjectPort` for every kind that shares the master's rows."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import CANCELLED, DRAFT, TERMINATED
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.facts import facts_of
from saraban.documents.core.service.presenting import reach
from saraban.documents.core.service.register import Register
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import local_date
from saraban.projects import service as projects
from saraban.workflow.domain.engine import Step
from saraban.workflow.domain.subject import SubjectFacts


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
        rows = await repository.by_revision(
            session,
            reach=reach(caller),
            revision_ids=ids_of(entity_ids),
            type_codes=self.register.kind.type_codes,
        )
        return await facts_of(session, self.register.kind, rows=rows, zone=self.zone)

    async def moved(
        self,
        session: AsyncSession,
        *,
        caller: Caller,  # noqa: ARG002  the port's signature; who moved it does not matter here
        entity_id: str,
        step: Step,
        now: datetime,
    ) -> None:
        rows = await repository.by_revision(
            session, reach=None, revision_ids=[UUID(entity_id)], type_codes=self.register.kind.type_codes
        )
        await show_state(
            session, self.register, row=rows[0], state=step.next_state, left=step.state, now=now, zone=self.zone
        )


async def show_state(
    session: AsyncSession,
    register: Register,
    *,
    row: DocumentRow,
    state: str,
    now: datetime,
    zone: ZoneInfo,
    left: str | None = None,
) -> None:
    """
    This will set the status columns of a revision for a workflow state, and the moment it was issued.

    What was issued once stays issued, whatever a workflow does next: its recipients keep what they have read.
    """
    role = await _role_of_main_recipient(session, row)
    code = register.kind.status_code(state, role, left=left)
    values: dict[str, Any] = {"correspondence_status_id": await repository.status_id(session, code=code)}
    if state not in {DRAFT, CANCELLED, TERMINATED} and row.revision.issued_date is None:
        values["issued_date"] = now
    await writes.change_revision(session, revision_id=row.revision.id, values=values)
    await register.moved(session, row.revision.id, state, local_date(now, zone))


async def _role_of_main_recipient(session: AsyncSession, row: DocumentRow) -> str | None:
    found = (await repository.recipients(session, document_ids=[row.head.id]))[row.head.id]
    main = next((one.organization.id for one in found if one.recipient_type == "TO"), None)
    parties = await projects.parties(session, project_id=row.head.project_id, contract_id=row.head.contract_id)
    return next((role for role, organizations in sorted(parties.items()) if main in organizations), None)
