"""What is recorded of a sheet: an event for whoever reacts, a row for whoever asks later."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.circulation import domain
from saraban.documents.circulation.repository import CirculationRow
from saraban.events import service as events
from saraban.identity.domain.caller import Caller


async def record(
    session: AsyncSession,
    event: str,
    action: str,
    *,
    caller: Caller,
    row: CirculationRow,
    address: str,
    now: datetime,
    details: dict[str, object] | None = None,
    audited: dict[str, object] | None = None,
    concerned: Iterable[UUID] = (),
) -> None:
    """
    Record `document.<event>` and write the audit row `circulation.<action>`.

    :param audited: details for the audit trail alone
    :param concerned: people who are told of the event
    """
    said = {"documentNumber": row.sheet.circulation_no, **(details or {})}
    await events.record(
        session,
        name=f"document.{event}",
        aggregate_type="document",
        aggregate_id=str(row.sheet.public_id),
        payload={
            "documentPublicId": str(row.sheet.public_id),
            "entityType": domain.ENTITY_TYPE,  # so that only those are told who may see it
            "entityId": str(row.sheet.public_id),
            "kind": domain.KIND,
            "subject": row.sheet.circulation_subject,
            "projectPublicId": str(row.project.public_id),
            "actorPublicId": str(caller.public_id),
            "notify": {"users": [str(one) for one in concerned]},
            **said,
        },
        now=now,
    )
    await audit.write(
        session,
        action=f"{domain.KIND}.{action}",
        caller=caller,
        entity_type=domain.KIND,
        entity_id=str(row.sheet.public_id),
        details={**said, **(audited or {})},
        address=address,
        now=now,
    )
