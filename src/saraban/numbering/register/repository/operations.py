"""The audit of one number: each form it was printed in, and everything that was done with it."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.numbering.series.models import LedgerEntry, NumberAudit, NumberOperation, NumberRendering
from saraban.projects.models import Project


async def operations_of_number(session: AsyncSession, number: str) -> list[NumberOperation]:
    """Return every operation on whatever was ever printed as `number`, in order; several projects may have it."""
    printed = (
        sa.select(LedgerEntry.public_id)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(NumberRendering.document_number == number)
    )
    statement = (
        sa.select(NumberAudit, User.username, Project.project_code)
        .join(User, User.user_id == NumberAudit.user_id)
        .join(Project, Project.id == NumberAudit.project_id)
        .where(NumberAudit.reservation_uuid.in_(printed))
        .order_by(NumberAudit.id)
    )
    return [NumberOperation(*row) for row in (await session.execute(statement)).all()]


async def renderings(session: AsyncSession, entry: LedgerEntry) -> Sequence[NumberRendering]:
    """Return every form in which a number was printed, the first one first."""
    statement = sa.select(NumberRendering).where(NumberRendering.reservation_id == entry.id)
    return (await session.scalars(statement.order_by(NumberRendering.id))).all()


async def operations_on(session: AsyncSession, public_id: UUID) -> list[NumberOperation]:
    """Return what was done with a number, in order."""
    statement = (
        sa.select(NumberAudit, User.username, Project.project_code)
        .join(User, User.user_id == NumberAudit.user_id)
        .join(Project, Project.id == NumberAudit.project_id)
        .where(NumberAudit.reservation_uuid == public_id)
        .order_by(NumberAudit.id)
    )
    return [NumberOperation(*row) for row in (await session.execute(statement)).all()]


async def printed_numbers(session: AsyncSession, public_ids: Sequence[UUID]) -> Mapping[UUID, str]:
    """Return the present form of these numbers."""
    rows = await session.execute(
        sa.select(LedgerEntry.public_id, LedgerEntry.document_number).where(LedgerEntry.public_id.in_(public_ids))
    )
    return {row[0]: row[1] for row in rows}
