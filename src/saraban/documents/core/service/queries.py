"""
Reading documents: the pages of a register, one document, its revisions and its life in one list, what its reader may do with
it, and who may read the files of it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.service import AccessRule
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
_ABSENT = "onBehalfOfPublicId"
_OWN = {"at", "source", "revision_label", "details"}  # all else of an entry is of the same name in a step
_TOLD_ELSEWHERE = "workflow."  # its own history tells all of these better


async def listing(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, *, search: RegisterQuery, counted: bool = False
) -> CountedPage[WorkflowItem[Any]]:
    """
    Return a page of what the caller may see, with a fixed number of queries.

    :param counted: say of how many documents it is a page
    :raises Invalid: naming the parameter that cannot be used
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
    """
    :raises NotFound: also when the caller may not know of the document
    """
    return await _full(ctx, session, kind, row=await kind.find(ctx, session, public_id))


async def _full(
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
    Return the document of a receipt as it stands now.

    :param created: by this request: then it is shown to who wrote it, who may have no right to read
    :raises NotFound: when the caller may not know of it any more
    """
    assert receipt.public_id is not None  # every receipt of a document names it
    if created and not receipt.repeated:
        row = await kind.find_written(session, public_id=receipt.public_id)
    else:
        row = await kind.find(ctx, session, public_id=receipt.public_id)
    return await _full(ctx, session, kind, row=row)


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
    """
    Return which of edit, cancel and revise are open to the caller now.

    :param rows: what the caller may see of the document, newest first
    """
    row = kind.newest(rows)
    if row.document.cancelled_at is not None or not row.revision.is_current:
        return PermittedActions()
    in_draft = envelope is not None and envelope.current_state == DRAFT
    # Whoever sees a draft sees every revision of it.
    never_issued = in_draft and all(one.revision.issued_date is None for one in rows)
    scope = home_scope(ctx, row.document)
    may_edit = ctx.caller.may(kind.rules.edit, scope)
    if never_issued:
        may_cancel = may_edit
    elif in_draft and row.revision.issued_date is None:
        may_cancel = False
    else:
        may_cancel = kind.rules.cancel_after_issue and may_withdraw(ctx, row.document)
    ended = envelope is not None and envelope.terminal
    # Who asked has closed the matter with the answer: there is nothing to ask anew.
    settled = envelope is not None and envelope.outcome == "closed" and row.type_code == "RFI"
    may_revise = ended and not settled and ctx.caller.may(kind.rules.create, scope)
    # Whether a state may be edited is its definition's word, whatever the state is called.
    return PermittedActions(
        edit=envelope is not None and envelope.can_edit and may_edit, cancel=may_cancel, revise=may_revise
    )


async def list_revisions(
    ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, public_id: UUID
) -> ShortList[WorkflowItem[RevisionDetail]]:
    """
    Return the revisions that the caller may see, newest first, each with its own workflow and files.

    :raises NotFound: also when the caller may not know of the document
    """
    rows = await kind.seen(ctx, session, public_id)
    kind.newest(rows)
    envelopes = await kind.envelopes(ctx, session, rows)
    files = await repository.files(session, revision_ids=[row.revision.id for row in rows if row.texts.has_files])
    own = await kind.in_full(session, rows, reach(ctx.caller))
    return _revisions(ctx, kind, rows, envelopes, files, own)


def _revisions(
    ctx: RequestContext,
    kind: RevisionedKind,
    rows: Sequence[DocumentRow],
    envelopes: Mapping[str, Envelope],
    files: Mapping[int, Sequence[repository.LinkedFile]],
    extras: OwnFields,
) -> ShortList[WorkflowItem[RevisionDetail]]:
    shown = kind.revision.model_fields
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
        own = {name: value for name, value in extras.get(row.revision.id, {}).items() if name in shown}
        items.append(WorkflowItem.around(kind.revision(**(fields | own)), envelopes.get(row.entity_id)))
    return kind.revisions(items=items)


async def history(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, public_id: UUID
) -> ShortList[HistoryEntry]:
    """
    Return what happened to the revisions that the caller may see.

    :raises NotFound: also when the caller may not know of the document
    """
    rows = await kind.seen(ctx, session, public_id)
    kind.newest(rows)
    taken = await _taken(session, await kind.states(ctx, session, rows))
    return _history(rows, await _told(session, kind, rows, public_id), taken)


@dataclass(frozen=True, slots=True)
class _Told:
    """What the audit trail says of a document, with the names of those whom it names."""

    trail: Sequence[audit.AuditRecord]
    names: Mapping[UUID, PersonRef]


async def _told(session: AsyncSession, kind: AnyKind, rows: Sequence[DocumentHeader], public_id: UUID) -> _Told:
    labels = {None, *(row.revision_label for row in rows)}
    trail = [
        entry
        for entry in await _trail(session, kind.rules.name, public_id)
        if not entry.action.startswith(_TOLD_ELSEWHERE) and entry.details.get("revision") in labels
    ]
    named = {entry.actor_public_id for entry in trail} | {_absent(entry) for entry in trail}
    found = await repository.people(session, public_ids={one for one in named if one is not None})
    return _Told(trail, {public_id: person(user) for public_id, user in found.items()})


async def _taken(
    session: AsyncSession, states: Mapping[str, workflow.InstanceState]
) -> dict[str, list[workflow.HistoryStep]]:
    """Return the steps of each subject, oldest first."""
    found: dict[UUID, list[workflow.HistoryStep]] = {}
    for step in await workflow.steps_of(session, states.values()):
        found.setdefault(step.instance_public_id, []).append(step)
    return {key: found.get(one.row.id, []) for key, one in states.items()}


def _history(
    rows: Sequence[DocumentHeader], told: _Told, taken: Mapping[str, Sequence[workflow.HistoryStep]]
) -> ShortList[HistoryEntry]:
    steps = [_step(step, row.revision_label) for row in rows for step in taken.get(row.entity_id, ())]
    # What one moment did stands in its order, the last on top: an answer is followed by the verdict that it makes.
    entries = [_deed(entry, told.names) for entry in reversed(told.trail)] + steps
    return ShortList[HistoryEntry](items=sorted(entries, key=lambda entry: entry.at)[::-1])


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """
    One document with all that its page shows of it, read once.

    :param rows: what the reader may see of it, newest first; one of them is the document
    :param state: where its workflow stands, None without one
    :param steps: of its workflow, oldest first
    :param recipients: the organizations it was sent to, in their order
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
    """
    :raises NotFound: also when the caller may not know of the document
    """
    rows = await kind.seen(ctx, session, public_id)
    row = kind.newest(rows)
    facts = await kind.facts(session, rows, zone=ctx.zone)
    states = await kind.states(ctx, session, rows, facts=facts, now=ctx.now)
    envelopes = await workflow.envelopes(ctx, session, states, alone=row.entity_id)
    taken = await _taken(session, states)
    parts = await kind.parts(ctx, session, row, rows, facts)
    envelope = envelopes.get(row.entity_id)
    revisions, recipients = None, []
    if isinstance(kind, RevisionedKind):
        revisions = _revisions(ctx, kind, rows, envelopes, parts.files, parts.own)
        recipients = [(one.organization.id, one.organization.public_id) for one in parts.recipients]
    return DocumentReading(
        rows=rows,
        row=row,
        state=states.get(row.entity_id),
        envelope=envelope,
        shown=kind.envelope.around(kind.answer(ctx, row, parts, envelope), envelope),
        history=_history(rows, await _told(session, kind, rows, public_id), taken),
        steps=tuple(taken.get(row.entity_id, ())),
        revisions=revisions,
        recipients=recipients,
    )


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


def _step(step: workflow.HistoryStep, label: str | None) -> HistoryEntry:
    same = {name: getattr(step, name) for name in HistoryEntry.model_fields if name not in _OWN}
    return HistoryEntry.model_validate(
        {**same, "at": step.created_at, "source": "workflow", "revision_label": label, "details": {}}
    )


def _absent(entry: audit.AuditRecord) -> UUID | None:
    told = entry.details.get(_ABSENT)
    return UUID(str(told)) if told else None


def _deed(entry: audit.AuditRecord, names: Mapping[UUID, PersonRef]) -> HistoryEntry:
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


async def known_to(
    session: AsyncSession, *, organization_id: int, author: UUID, public_ids: Collection[UUID]
) -> set[UUID]:
    """Say which documents are open to an organization, or to the person who writes for it."""
    nowhere, own = frozenset[int](), frozenset({organization_id})
    found = set(
        await repository.visible(
            session,
            reach=Reach(everything=False, projects=nowhere, contracts=nowhere, organizations=own, member_of=own),
            public_ids=public_ids,
        )
    )
    hidden = set(public_ids) - found
    person = (await identity.load_callers(session, [author])).get(author) if hidden else None
    if person is None:
        return found
    return found | set(await repository.visible(session, reach=reach(person), public_ids=hidden))


async def visible(
    ctx: RequestContext, session: AsyncSession, *, public_ids: Collection[UUID]
) -> dict[UUID, DocumentRow]:
    return await repository.visible(session, reach=reach(ctx.caller), public_ids=public_ids)


async def statuses(session: AsyncSession, seen: Reach, public_ids: Collection[UUID]) -> dict[UUID, CodeAnswer]:
    rows = await repository.visible(session, reach=seen, public_ids=public_ids)
    return {public_id: status_answer(row) for public_id, row in rows.items()}


async def readable_revisions(ctx: RequestContext, session: AsyncSession, revision_ids: Collection[int]) -> set[int]:
    """Return which revisions among `revision_ids` the caller may see: of a document that is open, a draft may be none."""
    return await repository.readable_revisions(session, reach(ctx.caller), revision_ids)


async def document_files(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    return await repository.reaches_file(session, reach=reach(ctx.caller), attachment_id=attachment_id)


def step_files(subjects: workflow.Subjects) -> AccessRule:
    """Return the rule for files that came with a workflow step: whoever sees its subject may read them."""
    return partial(workflow.may_read_step_file, subjects=subjects)
