"""What the ids in the books stand for, in codes: they still mean something in twenty years."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.numbering.models import LedgerEntry, NumberAudit, NumberCounter
from saraban.projects.models import CorrespondenceSubType, CorrespondenceType, Discipline, Project, RfaType

_ISSUED_BY = ("GENERATE", "RESERVE", "OVERRIDE", "IMPORT")


async def of_issue(session: AsyncSession, public_id: UUID) -> tuple[str | None, str] | None:
    """Return the type and the counter key that a number was issued for, as its audit keeps them."""
    row: Any = (
        await session.execute(
            sa.select(NumberAudit.document_type, NumberAudit.counter_key).where(
                NumberAudit.reservation_uuid == public_id,
                NumberAudit.operation.in_(_ISSUED_BY),
                NumberAudit.counter_key.is_not(None),
            )
        )
    ).first()
    return (row[0], row[1]) if row is not None else None


async def of_counter(session: AsyncSession, counter: NumberCounter) -> Mapping[str, Any]:
    return await _named(
        session,
        project=_code(Project.project_code, Project.id, counter.project_id),
        originator=_code(Organization.organization_code, Organization.id, counter.originator_organization_id),
        recipient=_code(Organization.organization_code, Organization.id, counter.recipient_organization_id),
        type=_code(CorrespondenceType.type_code, CorrespondenceType.id, counter.correspondence_type_id),
        subType=_code(CorrespondenceSubType.sub_type_code, CorrespondenceSubType.id, counter.sub_type_id),
        rfaType=_code(RfaType.type_code, RfaType.id, counter.rfa_type_id),
        discipline=_code(Discipline.discipline_code, Discipline.id, counter.discipline_id),
    )


async def of_entry(session: AsyncSession, entry: LedgerEntry) -> Mapping[str, Any]:
    """Return what the ledger itself knows of a number whose issue no audit row tells: it was taken over."""
    return await _named(
        session,
        project=_code(Project.project_code, Project.id, entry.project_id),
        originator=_code(Organization.organization_code, Organization.id, entry.originator_organization_id),
        recipient=_code(Organization.organization_code, Organization.id, entry.recipient_organization_id),
        type=_code(CorrespondenceType.type_code, CorrespondenceType.id, entry.correspondence_type_id),
    )


def _code(code: Any, key: Any, value: int) -> Any:
    return sa.select(code).where(key == value).scalar_subquery()


async def _named(session: AsyncSession, **wanted: Any) -> Mapping[str, Any]:
    statement: Any = sa.select(*(one.label(name) for name, one in wanted.items()))
    return dict((await session.execute(statement)).mappings().one())
