"""Reads registers, documents, revisions and history."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.domain import DRAFT, Reach, day_of, reach
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.rows import DocumentRow
from saraban.documents.core.schemas import CodeAnswer, HistoryEntry, RegisterQuery, RevisionDetail
from saraban.documents.core.service.document_change import version_tag
from saraban.documents.core.service.drafts import home_scope, may_withdraw
from saraban.documents.core.service.kind import AnyKind, DocumentHeader, OwnFields
from saraban.documents.core.service.presentation import file_answers, person, revision_answer, status_answer
from saraban.documents.core.service.registers import CountedPage
from saraban.documents.core.service.revisioned_kind import RevisionedKind
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.identity.schemas import PersonRef
from saraban.kit.operation import Receipt
from saraban.kit.schema import ShortList
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Envelope
from saraban.workflow.runtime.schemas import WorkflowEnvelope, WorkflowItem

_PAGE = 100
_PRINCIPAL = "onBehalfOfPublicId"
_ENTRY_FIELDS = {"at", "source", "revision_label", "details"}  # the other fields have the same name in a step
_WORKFLOW_ACTIONS = "workflow."  # the steps of the workflow show these


async def listing(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, *, search: RegisterQuery, counted: bool = False
) -> CountedPage[WorkflowItem[Any]]:
    """
    Use a fixed number of queries.

    :raises Invalid:
    """
    page = await kind.page(ctx, session, search=search, counted=counted)
    if not page.items:
        return page
    facts = await kind.facts(session, page.items, zone=ctx.zone)
    states = await kind.states(ctx, session, page.items, facts=facts, now=ctx.now)
    envelopes = await workflow.envelopes(ctx, session, states)
    summaries = await kind.summaries(ctx, session, page.items, facts, envelopes)
    rows = zip(page.items, summaries, strict=True)
    items = [WorkflowItem.around(summary, envelopes.get(row.entity_id)) for row, summary in rows]
    return CountedPage(items, page.next_cursor, page.count)


async def read(ctx: RequestContext, session: AsyncSession, kind: AnyKind, public_id: UUID) -> WorkflowEnvelope[Any]:
    """:raises NotFound:"""
    return await _read_full(ctx, session, kind, row=await kind.find(ctx, session, public_id))


async def _read_full(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, *, row: DocumentHeader
) -> WorkflowEnvelope[Any]:
    facts = await kind.facts(session, [row], zone=ctx.zone)
    states = await kind.states(ctx, session, [row], facts=facts, now=ctx.now)
    envelope = (await workflow.envelopes(ctx, session, states, alone=row.entity_id)).get(row.entity_id)
    parts = await kind.parts(ctx, session, row, [row], facts)
    return kind.envelope.around(kind.answer(ctx, row, parts, envelope), envelope)


async def show(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, receipt: Receipt, *, created: bool = False
) -> WorkflowEnvelope[Any]:
    """
    :param created: its author sees the new document even without the right to read
    :raises NotFound:
    """
    assert receipt.public_id is not None  # every receipt of a document names it
    if created and not receipt.repeated:
        row = await kind.find_written(session, public_id=receipt.public_id)
    else:
        row = await kind.find(ctx, session, public_id=receipt.public_id)
    return await _read_full(ctx, session, kind, row=row)


def etag(answer: WorkflowEnvelope[Any]) -> str:
    return version_tag(answer.data.version, answer.workflow)


@dataclass(frozen=True, slots=True)
class PermittedActions:
    edit: bool = False
    cancel: bool = False
    revise: bool = False


def permitted_actions(
    ctx: RequestContext, kind: RevisionedKind, rows: Sequence[DocumentRow], envelope: Envelope | None
) -> PermittedActions:
    """:param rows: visible revisions, newest first"""
    row = kind.newest(rows)
    if row.document.cancelled_at is not None or not row.revision.is_current:
        return PermittedActions()
    in_draft = envelope is not None and envelope.current_state == DRAFT
    # A reader who sees the draft sees every revision, so `rows` is complete.
    never_issued = in_draft and all(row.revision.issued_date is None for row in rows)
    scope = home_scope(ctx, row.document)
    may_edit = ctx.caller.may(kind.rules.edit, scope)
    if never_issued:
        may_cancel = may_edit
    elif in_draft and row.revision.issued_date is None:
        may_cancel = False
    else:
        may_cancel = kind.rules.cancel_after_issue and may_withdraw(ctx, row.document)
    ended = envelope is not None and envelope.terminal
    # An RFI that its originator has closed has its answer.
    settled = envelope is not None and envelope.outcome == "closed" and row.type_code == "RFI"
    may_revise = ended and not settled and ctx.caller.may(kind.rules.create, scope)
    return PermittedActions(
        edit=envelope is not None and envelope.can_edit and may_edit, cancel=may_cancel, revise=may_revise
    )


async def list_revisions(
    ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, public_id: UUID
) -> ShortList[WorkflowItem[RevisionDetail]]:
    """:raises NotFound:"""
    rows = await kind.seen(ctx, session, public_id)
    kind.newest(rows)
    envelopes = await workflow.envelopes(ctx, session, await kind.states(ctx, session, rows))
    files = await repository.files(session, revision_ids=[row.revision.id for row in rows if row.texts.has_files])
    extras = await kind.in_full(session, rows, reach(ctx.caller))
    return _revision_list(ctx, kind, rows, envelopes, files, extras)


def _revision_list(
    ctx: RequestContext,
    kind: RevisionedKind,
    rows: Sequence[DocumentRow],
    envelopes: Mapping[str, Envelope],
    files: Mapping[int, Sequence[repository.LinkedFile]],
    extras: OwnFields,
) -> ShortList[WorkflowItem[RevisionDetail]]:
    schema_fields = kind.revision.model_fields
    items = []
    for row in rows:
        fields = revision_answer(row).model_dump() | {
            "subject": row.revision.subject,
            "due_date": day_of(row.revision.due_date, ctx.zone),
            "status": status_answer(row),
            "created_at": row.texts.revised_at,
            "created_by": person(row.texts.reviser),
            "issued_at": row.revision.issued_date,
            "attachments": file_answers(files[row.revision.id]),
        }
        fields |= {name: value for name, value in extras.get(row.revision.id, {}).items() if name in schema_fields}
        items.append(WorkflowItem.around(kind.revision(**fields), envelopes.get(row.entity_id)))
    return kind.revisions(items=items)


async def history(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, public_id: UUID
) -> ShortList[HistoryEntry]:
    """:raises NotFound:"""
    rows = await kind.seen(ctx, session, public_id)
    kind.newest(rows)
    steps = await _steps_by_subject(session, await kind.states(ctx, session, rows))
    return _merge_history(rows, await _read_trail(session, kind, rows, public_id), steps)


@dataclass(frozen=True, slots=True)
class _AuditTrail:
    """:param names: of the people in the records"""

    records: Sequence[audit.AuditRecord]
    names: Mapping[UUID, PersonRef]


async def _read_trail(
    session: AsyncSession, kind: AnyKind, rows: Sequence[DocumentHeader], public_id: UUID
) -> _AuditTrail:
    labels = {None, *(row.revision_label for row in rows)}
    records = [
        record
        for record in await _list_records(session, kind.rules.name, public_id)
        if not record.action.startswith(_WORKFLOW_ACTIONS) and record.details.get("revision") in labels
    ]
    people = {record.actor_public_id for record in records} | {_principal(record) for record in records}
    users = await repository.people(session, public_ids={key for key in people if key is not None})
    return _AuditTrail(records, {public_id: person(user) for public_id, user in users.items()})


async def _steps_by_subject(
    session: AsyncSession, states: Mapping[str, workflow.InstanceState]
) -> dict[str, list[workflow.HistoryStep]]:
    by_instance: dict[UUID, list[workflow.HistoryStep]] = {}
    for step in await workflow.steps_of(session, states.values()):
        by_instance.setdefault(step.instance_public_id, []).append(step)
    return {key: by_instance.get(state.row.id, []) for key, state in states.items()}


def _merge_history(
    rows: Sequence[DocumentHeader], trail: _AuditTrail, steps: Mapping[str, Sequence[workflow.HistoryStep]]
) -> ShortList[HistoryEntry]:
    step_entries = [_step_entry(step, row.revision_label) for row in rows for step in steps.get(row.entity_id, ())]
    # The sort is stable: entries of one moment keep their order, the last on top.
    entries = [_audit_entry(record, trail.names) for record in reversed(trail.records)] + step_entries
    return ShortList[HistoryEntry](items=sorted(entries, key=lambda entry: entry.at)[::-1])


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """
    :param rows: visible revisions, newest first; contains `row`
    :param steps: of its workflow, oldest first
    :param recipients: keys and public ids, in order
    """

    rows: Sequence[Any]
    row: Any
    state: workflow.InstanceState | None
    envelope: Envelope | None
    shown: WorkflowEnvelope[Any]
    history: ShortList[HistoryEntry]
    steps: tuple[workflow.HistoryStep, ...]
    revisions: ShortList[WorkflowItem[RevisionDetail]] | None
    recipients: Sequence[tuple[int, UUID]]


async def read_whole(ctx: RequestContext, session: AsyncSession, kind: AnyKind, public_id: UUID) -> DocumentReading:
    """:raises NotFound:"""
    rows = await kind.seen(ctx, session, public_id)
    row = kind.newest(rows)
    facts = await kind.facts(session, rows, zone=ctx.zone)
    states = await kind.states(ctx, session, rows, facts=facts, now=ctx.now)
    envelopes = await workflow.envelopes(ctx, session, states, alone=row.entity_id)
    steps = await _steps_by_subject(session, states)
    parts = await kind.parts(ctx, session, row, rows, facts)
    envelope = envelopes.get(row.entity_id)
    revisions, recipients = None, []
    if isinstance(kind, RevisionedKind):
        revisions = _revision_list(ctx, kind, rows, envelopes, parts.files, parts.own)
        organizations = (recipient.organization for recipient in parts.recipients)
        recipients = [(organization.id, organization.public_id) for organization in organizations]
    return DocumentReading(
        rows=rows,
        row=row,
        state=states.get(row.entity_id),
        envelope=envelope,
        shown=kind.envelope.around(kind.answer(ctx, row, parts, envelope), envelope),
        history=_merge_history(rows, await _read_trail(session, kind, rows, public_id), steps),
        steps=tuple(steps.get(row.entity_id, ())),
        revisions=revisions,
        recipients=recipients,
    )


async def _list_records(session: AsyncSession, entity_type: str, public_id: UUID) -> Sequence[audit.AuditRecord]:
    records: list[audit.AuditRecord] = []
    cursor: str | None = None
    while True:
        page = await audit.list_records(
            session, entity_type=entity_type, entity_id=str(public_id), cursor=cursor, limit=_PAGE
        )
        records.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return records


def _step_entry(step: workflow.HistoryStep, label: str | None) -> HistoryEntry:
    fields = {name: getattr(step, name) for name in HistoryEntry.model_fields if name not in _ENTRY_FIELDS}
    return HistoryEntry.model_validate(
        {**fields, "at": step.created_at, "source": "workflow", "revision_label": label, "details": {}}
    )


def _principal(record: audit.AuditRecord) -> UUID | None:
    """Return the person for whom a delegate acted."""
    public_id = record.details.get(_PRINCIPAL)
    return UUID(str(public_id)) if public_id else None


def _audit_entry(record: audit.AuditRecord, names: Mapping[UUID, PersonRef]) -> HistoryEntry:
    details = dict(record.details)
    # Earlier texts of a draft are not for its recipients.
    details.pop("changes", None)
    details.pop(_PRINCIPAL, None)
    principal = _principal(record)
    return HistoryEntry(
        at=record.created_at,
        source="audit",
        action=record.action,
        actor=names.get(record.actor_public_id) if record.actor_public_id else None,
        on_behalf_of=names.get(principal) if principal else None,
        revision_label=details.pop("revision", None),
        details=details,
    )


async def known_to(
    session: AsyncSession, *, organization_id: int, author: UUID, public_ids: Collection[UUID]
) -> set[UUID]:
    """Return the documents visible to the organization or the author."""
    nowhere, organizations = frozenset[int](), frozenset({organization_id})
    organization_reach = Reach(
        everything=False, projects=nowhere, contracts=nowhere, organizations=organizations, member_of=organizations
    )
    visible = set(await repository.visible(session, reach=organization_reach, public_ids=public_ids))
    hidden = set(public_ids) - visible
    person = (await identity.load_callers(session, [author])).get(author) if hidden else None
    if person is None:
        return visible
    return visible | set(await repository.visible(session, reach=reach(person), public_ids=hidden))


async def visible(
    ctx: RequestContext, session: AsyncSession, *, public_ids: Collection[UUID]
) -> dict[UUID, DocumentRow]:
    return await repository.visible(session, reach=reach(ctx.caller), public_ids=public_ids)


async def statuses(session: AsyncSession, seen: Reach, public_ids: Collection[UUID]) -> dict[UUID, CodeAnswer]:
    rows = await repository.visible(session, reach=seen, public_ids=public_ids)
    return {public_id: status_answer(row) for public_id, row in rows.items()}


async def readable_revisions(ctx: RequestContext, session: AsyncSession, revision_ids: Collection[int]) -> set[int]:
    return await repository.readable_revisions(session, reach(ctx.caller), revision_ids)


async def document_files(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    return await repository.reaches_file(session, reach=reach(ctx.caller), attachment_id=attachment_id)
