"""What the workflow asks of documents and tells them: `SubjectPort` for every kind that shares the master's rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import counts_as_issued
from saraban.documents.core.domain.visibility import Reach, may_see
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import workflow_subject, writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.facts import SubjectContext, facts_in, placement, subject_contexts
from saraban.documents.core.service.kind import DocumentKind, ReachedState
from saraban.documents.core.service.presentation import reach
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import local_date
from saraban.kit.pipeline import SqlStatement, send
from saraban.workflow.domain.subject import SubjectFacts
from saraban.workflow.runtime.service.subjects import AppliedSteps, SubjectStep

_READ = "saraban_documents_read"


def ids_of(entity_ids: Collection[str]) -> list[UUID]:
    """Return the public ids among texts that should be some."""
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

    register: DocumentKind
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

    async def facts_for(self, session: AsyncSession, callers: Mapping[str, Caller]) -> dict[str, SubjectFacts]:
        around = await self._read(session, reach=None, revision_ids=ids_of(callers))
        session.info.setdefault(_READ, {}).update(around)
        # Not by person: one who was given a right meanwhile asks with and without it.
        reaches = {id(caller): reach(caller) for caller in callers.values()}
        return {
            key: facts_in(self.register.kind, one, zone=self.zone)
            for key, one in around.items()
            if may_see(reaches[id(callers[key])], placement(one))
        }

    async def moved(self, session: AsyncSession, moves: Sequence[SubjectStep]) -> AppliedSteps:
        """One statement for all that come to the same status."""
        known: dict[str, SubjectContext] = session.info.get(_READ, {})
        unread = [UUID(move.entity_id) for move in moves if move.entity_id not in known]
        around = {**known, **(await self._read(session, reach=None, revision_ids=unread) if unread else {})}
        statuses: dict[tuple[str, datetime | None], list[int]] = {}
        reached: dict[ReachedState, list[int]] = {}
        for move in moves:
            row, step = around[move.entity_id].row, move.step
            main = around[move.entity_id].main_role
            meaning = move.meaning
            code = self.register.kind.status_code(
                step.next_state, main, left=step.state, ended=step.terminal, meaning=meaning
            )
            issued_at = (
                move.now if counts_as_issued(step.next_state, meaning.outcome) and row.issued_date is None else None
            )
            statuses.setdefault((code, issued_at), []).append(row.revision_id)
            day = local_date(move.now, self.zone)
            issued = issued_at is not None
            there = ReachedState(
                step.next_state, day, step.response_code, step.automatic, step.terminal, meaning, issued
            )
            reached.setdefault(there, []).append(row.revision_id)
        due: list[SqlStatement] = []
        for (code, issued_at), revisions in statuses.items():
            due += await workflow_subject.status_update(session, revision_ids=revisions, code=code, issued_at=issued_at)
        for there, revisions in reached.items():
            due += await self.register.moved(session, revisions, there)
        return AppliedSteps(due=due)

    async def _read(
        self, session: AsyncSession, *, reach: Reach | None, revision_ids: Collection[UUID]
    ) -> dict[str, SubjectContext]:
        rows = await workflow_subject.subject_rows(
            session, reach=reach, revision_ids=revision_ids, type_codes=self.register.kind.type_codes
        )
        return await subject_contexts(session, rows=rows)


async def show_status(
    session: AsyncSession,
    register: DocumentKind,
    *,
    row: DocumentRow,
    state: str,
    now: datetime,
    zone: ZoneInfo,
) -> None:
    """
    Set the status columns of a revision for a workflow state, and the moment it was issued.

    What was issued once stays issued, whatever a workflow does next: its recipients keep what they have read.
    """
    (around,) = (await subject_contexts(session, rows=[workflow_subject.SubjectRow.of(row)])).values()
    code = register.kind.status_code(state, around.main_role)
    values: dict[str, Any] = {"correspondence_status_id": await repository.status_id(session, code=code)}
    if counts_as_issued(state) and row.revision.issued_date is None:
        values["issued_date"] = now
    await writes.change_revision(session, revision_id=row.revision.id, values=values)
    await send(session, await register.moved(session, [row.revision.id], ReachedState(state, local_date(now, zone))))
