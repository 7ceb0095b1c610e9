"""Creates, renumbers and locks documents, and records changes."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Self
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.documents.core.domain import KindRules, WrittenDocument
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.service.kind import (
    AnyKind,
    DocumentHeader,
    DocumentKind,
    DocumentServices,
    Draft,
    Row,
    UnnumberedDraft,
)
from saraban.events import service as events
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.etags import Stale
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Schema
from saraban.numbering import service as numbering
from saraban.search_index import service as search_index
from saraban.workflow import service as workflow
from saraban.workflow.language.registers import REGISTERS, Matter
from saraban.workflow.language.subject import Envelope
from saraban.workflow.runtime.schemas import WorkflowOut

RENUMBERS = "numbering.override"


class DocumentChanged(Stale):
    """Somebody has changed the document since the client read it."""

    code = "DOCUMENT_CHANGED"
    says = Text("มีผู้แก้ไขเอกสารนี้หลังจากที่คุณเปิดดู", "Somebody has changed this document since you opened it.")


class DocumentIsCancelled(DomainError):
    """A cancelled document cannot be changed."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_CANCELLED"
    says = Text("เอกสารนี้ถูกยกเลิกแล้ว", "This document has been cancelled.")
    recovery = (Text("สร้างเอกสารฉบับใหม่", "Create a new document."),)


async def hold_current(
    ctx: RequestContext, session: AsyncSession, kind: DocumentKind[Row, Draft], public_id: UUID
) -> tuple[Row, Envelope | None]:
    """
    Lock a document and its workflow, and return both with fresh values.

    :raises NotFound, DocumentIsCancelled:
    """
    row = await kind.find(ctx, session, public_id)
    await kind.lock(session, row)
    row = await kind.find(ctx, session, public_id)
    if row.cancelled_at is not None:
        raise DocumentIsCancelled
    envelopes = await workflow.envelopes(ctx, session, await kind.states(ctx, session, [row]))
    return row, envelopes.get(row.entity_id)


class DocumentAct(Enum):
    """`<kind>.<value>` in the audit trail, `document.<event>` in the outbox."""

    CREATE = "create", "created"
    EDIT = "edit", "edited"
    REVISE = "revise", "revised"
    WITHDRAW_REVISION = "withdraw-revision", "withdrawn"
    CANCEL = "cancel", "cancelled"
    RESPOND = "respond", "answered"

    event: str

    def __new__(cls, value: str, event: str) -> Self:
        act = object.__new__(cls)
        act._value_, act.event = value, event
        return act


def version_tag(version: int, instance: Envelope | WorkflowOut | None) -> str:
    """Return an ETag that changes with every write and workflow step."""
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
    if public_ids:
        rows = await attachments.claim(ctx, session, public_ids=public_ids, pointer=pointer, project_id=project_id)
        await repository.link_files(
            session, revision_id=revision_id, attachment_ids=[row.id for row in rows], main_first=main_first
        )


def started_by(rules: KindRules, project_id: int, type_code: str) -> tuple[str, Matter]:
    """
    Return the shipped workflow's code, and the matter that may select another.

    :param type_code: document type or RFA type
    """
    return REGISTERS[rules.name].of_type(type_code).code, Matter(rules.name, project_id, type_code)


async def begin(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, act: DocumentAct, written: WrittenDocument
) -> None:
    code, matter = started_by(kind.rules, written.project.id, written.type_code)
    entity_type, facts = kind.rules.entity_type, written.facts
    await workflow.start(ctx, session, code=code, entity_type=entity_type, facts=facts, matter=matter)
    await record(ctx, session, kind, act, written)


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
    :param audited: details for the audit trail only
    :param notify: users to notify, for kinds that list them
    """
    name = kind.rules.name
    values: dict[str, object] = {"documentNumber": row.number}
    if row.revision_label is not None:
        values["revision"] = row.revision_label
    values |= details or {}
    fields = {
        "documentPublicId": str(row.public_id),
        "kind": name,
        "subject": row.subject,
        "projectPublicId": str(row.project.public_id),
        "actorPublicId": str(ctx.caller.public_id),
        **kind.event_fields(row.entity_id, notify),
        **values,
    }
    event = events.NewEvent(f"document.{act.event}", "document", str(row.public_id), fields, ctx.now)
    await events.record(session, event)
    entry = audit.AuditEntry(f"{name}.{act.value}", name, str(row.public_id), {**values, **(audited or {})})
    await audit.record(ctx, session, entry)
    await search_index.note_changes(session, int(kind.rules.register), [row.public_id])


@dataclass(frozen=True, slots=True)
class Creation:
    ctx: RequestContext
    kind: AnyKind
    draft: UnnumberedDraft

    async def write(self, session: AsyncSession, issued: numbering.Issued) -> None:
        """Keep no state, call no other system: it runs again after a rollback."""
        ctx, kind = self.ctx, self.kind
        written = await kind.insert(ctx, session, self.draft, issued)
        await workflow.start_found(
            ctx, session, self.draft.starting, entity_type=kind.rules.entity_type, facts=written.facts
        )
        await record(ctx, session, kind, DocumentAct.CREATE, written)


async def create(ctx: RequestContext, services: DocumentServices, kind: AnyKind, new: Schema) -> Receipt:
    """
    Create a draft, or return the receipt of an earlier request with the same key.

    One transaction commits number, rows, workflow, event, audit row and receipt (REQ-NUM-10).

    :raises Invalid:
    """
    operation = Operation.of(ctx, f"POST /{kind.rules.path}", new)
    async with services.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return claim.receipt
        while True:
            async with services.db.reading() as session:
                draft: UnnumberedDraft = await kind.check(ctx, session, new=new)
            request = numbering.IssueRequest(
                ctx,
                draft.plan,
                operation.token,
                claim,
                holder=numbering.Holder(kind.rules.name, draft.public_id),
                write=Creation(ctx, kind, draft).write,
                reservation=draft.reservation_token,
                fields=kind.reserved_fields,
            )
            try:
                return request.receipt(await services.allocator.issue(request))
            except workflow.StartingWorkflowChanged:
                continue  # another version was activated since the check
            except IntegrityError as error:
                raise (kind.conflict(error) or error) from error


@dataclass(frozen=True, slots=True)
class Renumbering:
    """:param before: when the number was planned"""

    ctx: RequestContext
    kind: AnyKind
    before: DocumentHeader
    reason: str

    async def write(self, session: AsyncSession, issued: numbering.Issued) -> None:
        ctx, kind, number = self.ctx, self.kind, self.before.number_uuid
        row, _ = await hold_current(ctx, session, kind, public_id=self.before.public_id)
        assert number is not None  # `renumber` has checked it
        holder = numbering.Holder(kind.rules.name, row.public_id)
        await numbering.replace_held_number(
            ctx, session, holder=holder, number=number, replacement=issued, reason=self.reason
        )
        details = {"documentNumber": issued.number, "oldNumber": row.number, "reason": self.reason}
        name = kind.rules.name
        await audit.record(ctx, session, audit.AuditEntry(f"{name}.renumber", name, str(row.public_id), details))
        await kind.change_number(session, row, issued, now=ctx.now)
        await search_index.note_changes(session, int(kind.rules.register), [row.public_id])
        session.expire_all()


async def renumber(
    ctx: RequestContext, services: DocumentServices, kind: AnyKind, public_id: UUID, reason: str
) -> Receipt:
    """
    Issue the format's next number; the old one becomes a void alias (REQ-NUM-32).

    :raises NotFound, Forbidden:
    :raises DocumentIsCancelled: also for a document without a number
    """
    operation = Operation.of(ctx, f"POST /{kind.rules.path}/{public_id}/renumber", {"reason": reason})
    async with services.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return claim.receipt
        async with services.db.reading() as session:
            before: DocumentHeader = await kind.find(ctx, session, public_id)
            ctx.caller.require(RENUMBERS, Scope(project=before.project.id))
            if before.cancelled_at is not None or before.number_uuid is None:
                raise DocumentIsCancelled
            plan = await numbering.plan(ctx, session, await kind.number_request(session, before))
        request = numbering.IssueRequest(
            ctx,
            plan,
            operation.token,
            claim,
            holder=numbering.Holder(kind.rules.name, public_id),
            write=Renumbering(ctx, kind, before, reason).write,
        )
        return request.receipt(await services.allocator.issue(request))
