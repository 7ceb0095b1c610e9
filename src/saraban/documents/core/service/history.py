"""A document's life in one list: what its workflow did and what people did to it, newest first, with names."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.schemas import DocumentHistory, HistoryEntry, PersonAnswer
from saraban.documents.core.service.kind import AnyKind
from saraban.documents.core.service.presentation import person
from saraban.identity.domain.context import RequestContext
from saraban.workflow import service as workflow
from saraban.workflow.runtime.schemas import HistoryFileOut, LabelOut
from saraban.workflow.runtime.schemas.interventions import ReassignedOut, VersionsOut
from saraban.workflow.runtime.schemas.step_data import ChangedValueOut

_PAGE = 100
_ABSENT = "onBehalfOfPublicId"
_TOLD_ELSEWHERE = "workflow."  # its own history tells all of these better


async def history(ctx: RequestContext, session: AsyncSession, kind: AnyKind, *, public_id: UUID) -> DocumentHistory:
    """
    Return what happened to the revisions that the caller may see.

    :raises NotFound: also when the caller may not know of the document
    """
    row = await kind.find(ctx, session, public_id=public_id)
    labels = await kind.revision_labels(ctx, session, row)
    taken = [
        _step(step, label)
        for subject, label in labels.items()
        for step in await workflow.steps_of(session, entity_type=kind.rules.entity_type, entity_ids=[subject])
    ]
    trail = [
        entry
        for entry in await _trail(session, kind.rules.name, public_id)
        if not entry.action.startswith(_TOLD_ELSEWHERE) and entry.details.get("revision") in {None, *labels.values()}
    ]
    named = {entry.actor_public_id for entry in trail} | {_absent(entry) for entry in trail}
    names = await _names(session, {one for one in named if one is not None})
    # What one moment did stands in its order, the last on top: an answer is followed by the verdict that it makes.
    entries = [_deed(entry, names) for entry in reversed(trail)] + taken
    return DocumentHistory(items=sorted(entries, key=lambda entry: entry.at)[::-1])


async def _trail(session: AsyncSession, entity_type: str, public_id: UUID) -> Sequence[audit.AuditRecord]:
    found: list[audit.AuditRecord] = []
    cursor: str | None = None
    while True:
        page = await audit.list_records(
            session, entity_type=entity_type, entity_id=str(public_id), cursor=cursor, limit=_PAGE
        )
        found.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _names(session: AsyncSession, public_ids: Collection[UUID]) -> dict[UUID, PersonAnswer]:
    found = await repository.people(session, public_ids=public_ids)
    return {public_id: person(user) for public_id, user in found.items()}


def _step(step: workflow.HistoryStep, label: str | None) -> HistoryEntry:
    return HistoryEntry(
        at=step.created_at,
        source="workflow",
        action=step.action,
        action_label=LabelOut.model_validate(step.action_label),
        actor=PersonAnswer.model_validate(step.actor) if step.actor else None,
        on_behalf_of=PersonAnswer.model_validate(step.on_behalf_of) if step.on_behalf_of else None,
        revision_label=label,
        from_state=step.from_state,
        from_label=LabelOut.model_validate(step.from_label),
        to_state=step.to_state,
        to_label=LabelOut.model_validate(step.to_label),
        comment=step.comment,
        forced=step.forced,
        nobody=step.nobody,
        reassigned=ReassignedOut.model_validate(step.reassigned) if step.reassigned else None,
        migrated=VersionsOut.model_validate(step.migrated) if step.migrated else None,
        attachments=[HistoryFileOut.model_validate(file) for file in step.attachments],
        values=[ChangedValueOut.model_validate(value) for value in step.values],
    )


def _absent(entry: audit.AuditRecord) -> UUID | None:
    told = entry.details.get(_ABSENT)
    return UUID(str(told)) if told else None


def _deed(entry: audit.AuditRecord, names: dict[UUID, PersonAnswer]) -> HistoryEntry:
    details = dict(entry.details)
    # What a draft said before it was issued is the originator's; the audit trail keeps it.
    details.pop("changes", None)
    details.pop(_ABSENT, None)
    absent = _absent(entry)
    return HistoryEntry(
        at=entry.created_at,
        source="audit",
        action=entry.action,
        actor=names.get(entry.actor_public_id) if entry.actor_public_id else None,
        on_behalf_of=names.get(absent) if absent else None,
        revision_label=details.pop("revision", None),
        details=details,
    )
