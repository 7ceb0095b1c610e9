"""What is shown around a document: what its reader may do with it, its revisions, and its life in one list, newest first."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.domain import DRAFT, day_of, reach
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.schemas import DocumentHistory, HistoryEntry, PersonAnswer, RevisionList
from saraban.documents.core.service.checks import require_create, require_edit, require_withdraw
from saraban.documents.core.service.kind import AnyKind
from saraban.documents.core.service.presentation import coded, file_answers, person, revision_answer
from saraban.documents.core.service.revisioned_kind import RevisionedKind
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import Forbidden
from saraban.projects.domain.master_data import CORRESPONDENCE_STATUSES
from saraban.workflow import service as workflow
from saraban.workflow.runtime.schemas import (
    ChangedValueOut,
    HistoryFileOut,
    LabelOut,
    ReassignedOut,
    VersionsOut,
    WorkflowItem,
)

_PAGE = 100
_ABSENT = "onBehalfOfPublicId"
_TOLD_ELSEWHERE = "workflow."  # its own history tells all of these better


@dataclass(frozen=True, slots=True)
class PermittedActions:
    edit: bool = False
    cancel: bool = False
    revise: bool = False


async def permitted_actions(
    ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, *, public_id: UUID
) -> PermittedActions:
    """
    Return which of edit, cancel and revise are open to the caller now.

    :raises NotFound: also when the caller may not know of the document
    """
    row = await kind.find(ctx, session, public_id=public_id)
    if row.document.cancelled_at is not None or not row.revision.is_current:
        return PermittedActions()
    found = await kind.envelopes(ctx, session, [row])
    envelope = found.get(str(row.revision.public_id))
    in_draft = envelope is not None and envelope.current_state == DRAFT
    never_issued = in_draft and not await repository.ever_issued(session, document_id=row.document.id)
    may_edit = _allowed(lambda: require_edit(ctx, kind.rules, row.document))
    if never_issued:
        may_cancel = may_edit
    elif in_draft and row.revision.issued_date is None:
        may_cancel = False
    else:
        may_cancel = kind.rules.cancel_after_issue and _allowed(lambda: require_withdraw(ctx, row.document))
    ended = envelope is not None and envelope.terminal
    # Who asked has closed the matter with the answer: there is nothing to ask anew.
    settled = envelope is not None and envelope.outcome == "closed" and row.type.type_code == "RFI"
    may_revise = ended and not settled and _allowed(lambda: require_create(ctx, kind.rules, row.document))
    # Whether a state may be edited is its definition's word, whatever the state is called.
    return PermittedActions(
        edit=envelope is not None and envelope.can_edit and may_edit, cancel=may_cancel, revise=may_revise
    )


def _allowed(require: Callable[[], None]) -> bool:
    try:
        require()
    except Forbidden:
        return False
    return True


async def list_revisions(
    ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, *, public_id: UUID
) -> RevisionList:
    """
    Return the revisions that the caller may see, newest first, each with its own workflow and files.

    :raises NotFound: also when the caller may not know of the document
    """
    await kind.find(ctx, session, public_id=public_id)
    rows = await repository.revisions(session, reach=reach(ctx.caller), public_id=public_id)
    where = await kind.envelopes(ctx, session, rows)
    files = await repository.files(session, revision_ids=[row.revision.id for row in rows])
    shown = kind.revision.model_fields
    extras = await kind.in_full(session, rows, reach(ctx.caller))
    items = []
    for row in rows:
        fields = revision_answer(row).model_dump() | {
            "subject": row.revision.subject,
            "due_date": day_of(row.revision.due_date, ctx.zone),
            "status": coded(CORRESPONDENCE_STATUSES, row.status.status_code, row.status.status_name),
            "created_at": row.revision.created_at,
            "created_by": person(row.reviser),
            "issued_at": row.revision.issued_date,
            "attachments": file_answers(files[row.revision.id]),
        }
        own = {name: value for name, value in extras.get(row.revision.id, {}).items() if name in shown}
        items.append(WorkflowItem.around(kind.revision(**(fields | own)), where.get(str(row.revision.public_id))))
    return kind.revisions(items=items)


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
