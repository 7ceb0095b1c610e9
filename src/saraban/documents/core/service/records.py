"""What goes with every change of a document: its workflow, its event and its row in the audit trail."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.documents.core.repository import writes
from saraban.documents.core.service.kind import AnyKind, DocumentHeader
from saraban.events import service as events
from saraban.identity.domain.context import RequestContext
from saraban.workflow import service as workflow
from saraban.workflow.language.registers import REGISTERS, Matter


async def claim_files(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    public_ids: Sequence[UUID],
    revision_id: int,
    pointer: str,
    main_first: bool,
) -> None:
    """Make uploaded files permanent and attach them to a revision."""
    if public_ids:
        rows = await attachments.claim(ctx, session, public_ids=public_ids, pointer=pointer)
        await writes.link_files(
            session, revision_id=revision_id, attachment_ids=[row.id for row in rows], main_first=main_first
        )


async def start_workflow(ctx: RequestContext, session: AsyncSession, kind: AnyKind, *, row: DocumentHeader) -> None:
    """Start the workflow that is chosen for a document or its revision, in the transaction that writes it."""
    facts = await kind.facts(session, [row], zone=ctx.zone)
    type_code = await kind.type_code(session, row)
    await workflow.start(
        ctx,
        session,
        code=REGISTERS[kind.rules.name].of_type(type_code).code,
        entity_type=kind.rules.entity_type,
        facts=facts[row.entity_id],
        matter=Matter(kind.rules.name, row.project.id, type_code),
    )


async def record(
    ctx: RequestContext,
    session: AsyncSession,
    kind: AnyKind,
    event: str,
    action: str,
    *,
    row: DocumentHeader,
    details: dict[str, object] | None = None,
    audited: dict[str, object] | None = None,
    notify: Sequence[UUID] = (),
) -> None:
    """
    Record `document.<event>` and write the audit row `<kind>.<action>`.

    :param audited: details for the audit trail alone
    :param notify: people who are told of the event, for a kind that names them itself
    """
    name = kind.rules.name
    said: dict[str, object] = {"documentNumber": row.number}
    if row.revision_label is not None:
        said["revision"] = row.revision_label
    said |= details or {}
    await events.record(
        session,
        events.NewEvent(
            f"document.{event}",
            "document",
            str(row.public_id),
            {
                "documentPublicId": str(row.public_id),
                "kind": name,
                "subject": row.subject,
                "projectPublicId": str(row.project.public_id),
                "actorPublicId": str(ctx.caller.public_id),
                **kind.event_fields(row, notify),
                **said,
            },
            ctx.now,
        ),
    )
    await audit.record(
        ctx, session, audit.AuditEntry(f"{name}.{action}", name, str(row.public_id), {**said, **(audited or {})})
    )
