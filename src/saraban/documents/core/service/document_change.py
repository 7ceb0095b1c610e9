"""What every change of a document does: hold it as it stands now; write its files, workflow, event and audit row with it."""

import hashlib
from collections.abc import Sequence
from enum import Enum
from typing import Self
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.documents.core.domain import KindRules
from saraban.documents.core.repository import search, writes
from saraban.documents.core.service.kind import AnyKind, DocumentHeader, DocumentKind, Draft, Row, WrittenDocument
from saraban.events import service as events
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.etags import Stale
from saraban.kit.operation import Receipt
from saraban.workflow import service as workflow
from saraban.workflow.language.registers import REGISTERS, Matter
from saraban.workflow.language.subject import Envelope
from saraban.workflow.runtime.schemas import WorkflowOut


class DocumentChanged(Stale):
    """Somebody changed the document since the client read it."""

    code = "DOCUMENT_CHANGED"
    says = Text("มีผู้แก้ไขเอกสารนี้หลังจากที่คุณเปิดดู", "Somebody has changed this document since you opened it.")


class DocumentIsCancelled(DomainError):
    """A cancelled document stays as it is."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_CANCELLED"
    says = Text("เอกสารนี้ถูกยกเลิกแล้ว", "This document has been cancelled.")
    recovery = (Text("สร้างเอกสารฉบับใหม่", "Create a new document."),)


async def hold_current(
    ctx: RequestContext, session: AsyncSession, kind: DocumentKind[Row, Draft], public_id: UUID
) -> tuple[Row, Envelope | None]:
    """
    Hold a document for a change and return it as it stands now; no step is taken until the change is done.

    :raises NotFound: also when the caller may not know of it
    :raises DocumentIsCancelled: when there is nothing left to change
    """
    row = await kind.find(ctx, session, public_id)
    await kind.lock(session, row)
    row = await kind.find(ctx, session, public_id)
    if row.cancelled_at is not None:
        raise DocumentIsCancelled
    found = await kind.envelopes(ctx, session, [row])
    return row, found.get(row.entity_id)


class DocumentAct(Enum):
    """What people do to a document: `<kind>.<value>` in the audit trail, `document.<event>` in the outbox."""

    CREATE = "create", "created"
    EDIT = "edit", "edited"
    REVISE = "revise", "revised"
    WITHDRAW_REVISION = "withdraw-revision", "withdrawn"
    CANCEL = "cancel", "cancelled"
    RESPOND = "respond", "answered"

    event: str

    def __new__(cls, value: str, event: str) -> Self:
        made = object.__new__(cls)
        made._value_, made.event = value, event
        return made


def version_tag(version: int, instance: Envelope | WorkflowOut | None) -> str:
    """Return a document's version as an ETag: another text after every write to it, and every step of its workflow."""
    step = f"{instance.instance_public_id}|{instance.version_no}" if instance else ""
    return f'"{hashlib.sha256(f"{step}|{version}".encode()).hexdigest()[:32]}"'


def receipt_of(kind: AnyKind, row: DocumentHeader | WrittenDocument) -> Receipt:
    return Receipt(kind.rules.name, row.public_id, {"number": row.number})


async def claim_files(
    ctx: RequestContext,
    session: AsyncSession,
    revision_id: int,
    public_ids: Sequence[UUID],
    *,
    project_id: int,
    pointer: str = "/attachmentPublicIds",
    main_first: bool = True,
) -> None:
    """Make uploaded files permanent and attach them to a revision."""
    if public_ids:
        rows = await attachments.claim(ctx, session, public_ids=public_ids, pointer=pointer, project_id=project_id)
        await writes.link_files(
            session, revision_id=revision_id, attachment_ids=[row.id for row in rows], main_first=main_first
        )


def started_by(rules: KindRules, project_id: int, type_code: str) -> tuple[str, Matter]:
    """
    Return by what the workflow is found that a document starts on: the shipped one, and what comes before it.

    :param type_code: by what documents of its kind differ: the document type, or the RFA's
    """
    return REGISTERS[rules.name].of_type(type_code).code, Matter(rules.name, project_id, type_code)


async def begin(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, act: DocumentAct, written: WrittenDocument
) -> None:
    """Start the workflow that is chosen for a new revision, and record it, in the transaction that writes it."""
    code, matter = started_by(kind.rules, written.project.id, written.type_code)
    entity_type, facts = kind.rules.entity_type, written.facts
    await workflow.start(ctx, session, code=code, entity_type=entity_type, facts=facts, matter=matter)
    await record(ctx, session, kind, act, written)


async def begin_found(
    ctx: RequestContext,
    session: AsyncSession,
    kind: AnyKind,
    act: DocumentAct,
    written: WrittenDocument,
    starting: workflow.StartingWorkflow,
) -> None:
    """Do the same for a new document, with the workflow that was found before."""
    entity_type, facts = kind.rules.entity_type, written.facts
    await workflow.start_found(ctx, session, starting, entity_type=entity_type, facts=facts)
    event, entry = _told(ctx, kind, act, written)
    await events.record(session, event)
    await audit.record(ctx, session, entry)
    await search.note_changes(session, int(kind.rules.register), [written.public_id])


async def record(
    ctx: RequestContext,
    session: AsyncSession,
    kind: AnyKind,
    act: DocumentAct,
    row: DocumentHeader | WrittenDocument,
    *,
    details: dict[str, object] | None = None,
    audited: dict[str, object] | None = None,
    notify: Sequence[UUID] = (),
) -> None:
    """
    Record the event of an act, and write its audit row.

    :param audited: details for the audit trail alone
    :param notify: people who are told of the event, for a kind that names them itself
    """
    event, entry = _told(ctx, kind, act, row, details=details, audited=audited, notify=notify)
    await events.record(session, event)
    await audit.record(ctx, session, entry)
    await search.note_changes(session, int(kind.rules.register), [row.public_id])


def _told(
    ctx: RequestContext,
    kind: AnyKind,
    act: DocumentAct,
    row: DocumentHeader | WrittenDocument,
    *,
    details: dict[str, object] | None = None,
    audited: dict[str, object] | None = None,
    notify: Sequence[UUID] = (),
) -> tuple[events.NewEvent, audit.AuditEntry]:
    name = kind.rules.name
    said: dict[str, object] = {"documentNumber": row.number}
    if row.revision_label is not None:
        said["revision"] = row.revision_label
    said |= details or {}
    event = events.NewEvent(
        f"document.{act.event}",
        "document",
        str(row.public_id),
        {
            "documentPublicId": str(row.public_id),
            "kind": name,
            "subject": row.subject,
            "projectPublicId": str(row.project.public_id),
            "actorPublicId": str(ctx.caller.public_id),
            **kind.event_fields(row.entity_id, notify),
            **said,
        },
        ctx.now,
    )
    return event, audit.AuditEntry(f"{name}.{act.value}", name, str(row.public_id), {**said, **(audited or {})})
