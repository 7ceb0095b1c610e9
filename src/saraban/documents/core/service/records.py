"""What goes with every change of a document: its workflow, its files, its event and its row in the audit trail."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.documents.core.domain.kind import KindRules
from saraban.documents.core.repository import writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.facts import facts_of
from saraban.documents.core.service.kind import DocumentKind
from saraban.events import service as events
from saraban.identity.domain.caller import Caller
from saraban.workflow import service as workflow
from saraban.workflow.domain.registers import REGISTERS, Matter


async def claim_files(
    session: AsyncSession,
    *,
    caller: Caller,
    public_ids: Sequence[UUID],
    revision_id: int,
    pointer: str,
    main_first: bool,
    now: datetime,
) -> None:
    """Make uploaded files permanent and attach them to a revision."""
    if public_ids:
        rows = await attachments.claim(session, caller=caller, public_ids=public_ids, pointer=pointer, now=now)
        await writes.link_files(
            session, revision_id=revision_id, attachment_ids=[row.id for row in rows], main_first=main_first
        )


async def start_workflow(
    session: AsyncSession, register: DocumentKind, *, caller: Caller, row: DocumentRow, now: datetime, zone: ZoneInfo
) -> None:
    """Start the workflow of a revision, the one that is chosen for it, in the transaction that writes it."""
    kind = register.kind
    facts = await facts_of(session, kind, rows=[row], zone=zone)
    type_code = await register.type_code(session, row)
    await workflow.start(
        session,
        code=REGISTERS[kind.name].of_type(type_code).code,
        entity_type=kind.entity_type,
        facts=facts[str(row.revision.public_id)],
        caller=caller,
        now=now,
        matter=Matter(kind.name, row.project.id, type_code),
    )


async def record(
    session: AsyncSession,
    kind: KindRules,
    event: str,
    action: str,
    *,
    caller: Caller,
    row: DocumentRow,
    address: str,
    now: datetime,
    details: dict[str, object] | None = None,
    audited: dict[str, object] | None = None,
) -> None:
    """
    Record `document.<event>` and write the audit row `<kind>.<action>`.

    :param audited: details for the audit trail alone
    """
    said = {
        "documentNumber": row.revision.correspondence_number,
        "revision": row.revision.revision_label,
        **(details or {}),
    }
    await events.record(
        session,
        name=f"document.{event}",
        aggregate_type="document",
        aggregate_id=str(row.head.public_id),
        payload={
            "documentPublicId": str(row.head.public_id),
            "kind": kind.name,
            "subject": row.revision.subject,
            "projectPublicId": str(row.project.public_id),
            "actorPublicId": str(caller.public_id),
            **said,
        },
        now=now,
    )
    await audit.write(
        session,
        action=f"{kind.name}.{action}",
        caller=caller,
        entity_type=kind.name,
        entity_id=str(row.head.public_id),
        details={**said, **(audited or {})},
        address=address,
        now=now,
    )
