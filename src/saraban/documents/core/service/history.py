"""A document's life in one list: what its workflow did and what people did to it, newest first, with names."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import steps
from saraban.documents.core.schemas import HistoryEntry, HistoryList, PersonAnswer
from saraban.documents.core.service.presenting import person, reach
from saraban.documents.core.service.reading import find
from saraban.documents.core.service.register import Register
from saraban.identity.domain.caller import Caller

_PAGE = 100
# The workflow's own history tells these better.
_TOLD_ELSEWHERE = {"workflow.transition"}


async def history(
    session: AsyncSession, register: Register, *, caller: Caller, public_id: UUID
) -> HistoryList:
    """
    This will give what happened to the revisions that the caller may see.

    :raises NotFound: also when the caller may not know of the document
    """
    await find(session, register.kind, caller=caller, public_id=public_id)
    rows = await repository.revisions(session, reach=reach(caller), public_id=public_id)
    return await merged(
        session,
        entity_type=register.kind.entity_type,
        labels={str(row.revision.public_id): row.revision.revision_label for row in rows},
        audited_as=register.kind.name,
        public_id=public_id,
    )


async def merged(
    session: AsyncSession, *, entity_type: str, labels: dict[str, str | None], audited_as: str, public_id: UUID
) -> HistoryList:
    """
    This will merge the workflow histories of the subjects in `labels` with the audit trail of one document.

    :param labels: subject of the workflow to the revision label it stands for; audit rows of other labels are left out
    """
    taken = await steps.taken(session, entity_type=entity_type, entity_ids=list(labels))
    trail = [
        entry
        for entry in await _trail(session, audited_as, public_id)
        if entry.action not in _TOLD_ELSEWHERE and entry.details.get("revision") in {None, *labels.values()}
    ]
    actors = {step.actor for step in taken if step.actor} | {
        entry.actor_public_id for entry in trail if entry.actor_public_id
    }
    names = await _names(session, actors)
    entries = [_step(step, labels, names) for step in taken] + [_deed(entry, names) for entry in trail]
    return HistoryList(items=sorted(entries, key=lambda entry: entry.at, reverse=True))


async def _trail(session: AsyncSession, entity_type: str, public_id: UUID) -> Sequence[audit.AuditEntry]:
    found: list[audit.AuditEntry] = []
    cursor: str | None = None
    while True:
        page = await audit.listing(
            session, entity_type=entity_type, entity_id=str(public_id), cursor=cursor, limit=_PAGE
        )
        found.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _names(session: AsyncSession, public_ids: Collection[UUID]) -> dict[UUID, PersonAnswer]:
    found = await repository.people(session, public_ids=public_ids)
    return {public_id: person(user) for public_id, user in found.items()}


def _step(step: steps.StepTaken, labels: dict[str, str | None], names: dict[UUID, PersonAnswer]) -> HistoryEntry:
    return HistoryEntry(
        at=step.at,
        source="workflow",
        action=step.action,
        actor=names.get(step.actor) if step.actor else None,
        revision_label=labels.get(step.entity_id),
        from_state=step.from_state,
        to_state=step.to_state,
        comment=step.comment,
    )


def _deed(entry: audit.AuditEntry, names: dict[UUID, PersonAnswer]) -> HistoryEntry:
    at: datetime = entry.created_at
    details = dict(entry.details)
    return HistoryEntry(
        at=at,
        source="audit",
        action=entry.action,
        actor=names.get(entry.actor_public_id) if entry.actor_public_id else None,
        revision_label=details.pop("revision", None),
        details=details,
    )
