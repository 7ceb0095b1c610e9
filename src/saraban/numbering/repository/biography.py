"""Reading one number's life: each form it was printed in, and everything that was done with it."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.numbering.models import LedgerEntry, NumberAudit, NumberRendering
from saraban.numbering.repository.reading import NumberOperation
from saraban.projects.models import Project


async def renderings(session: AsyncSession, entry: LedgerEntry) -> Sequence[NumberRendering]:
    """Return every form in which a number was printed, the first one first."""
    statement = sa.select(NumberRendering).where(NumberRendering.reservation_id == entry.id)
    return (await session.scalars(statement.order_by(NumberRendering.id))).all()


async def operations(session: AsyncSession, public_id: UUID) -> list[NumberOperation]:
    """Return what was done with a number, in order."""
    statement = (
        sa.select(NumberAudit, User.username, Project.project_code)
        .join(User, User.user_id == NumberAudit.user_id)
        .join(Project, Project.id == NumberAudit.project_id)
        .where(NumberAudit.reservation_uuid == public_id)
        .order_by(NumberAudit.id)
    )
    return [NumberOperation(*row) for row in (await session.execute(statement)).all()]


async def printed(session: AsyncSession, public_ids: Sequence[UUID]) -> Mapping[UUID, str]:
    """Return the present form of these numbers."""
    rows = await session.execute(
        sa.select(LedgerEntry.public_id, LedgerEntry.document_number).where(LedgerEntry.public_id.in_(public_ids))
    )
    return {row[0]: row[1] for row in rows}
