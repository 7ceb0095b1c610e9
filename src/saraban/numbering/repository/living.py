"""The statements that take a number from one state to the next: each conditional, so that of two at once one wins."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.models import LedgerEntry, NumberRendering
from saraban.projects.models import CorrespondenceType, Project


async def by_public_id(session: AsyncSession, public_id: UUID, *, lock: bool = False) -> LedgerEntry | None:
    statement = sa.select(LedgerEntry).where(LedgerEntry.public_id == public_id)
    statement = statement.execution_options(populate_existing=True)
    return await session.scalar(statement.with_for_update() if lock else statement)


async def end_reservation(
    session: AsyncSession, *, public_id: UUID, source: str, user_id: int, now: datetime, values: dict[str, Any]
) -> bool:
    """
    Take a reservation of this user that nobody holds out of the state `source`, and say whether it did.

    :param now: the database's clock: what has expired by it stays as it is
    """
    conditions = [
        LedgerEntry.public_id == public_id,
        LedgerEntry.user_id == user_id,
        LedgerEntry.document_number_status == source,
        LedgerEntry.holder_public_id.is_(None),
        LedgerEntry.expires_at > now,
    ]
    return await _changed(session, conditions, values)


async def void_number(session: AsyncSession, *, public_id: UUID, source: str, values: dict[str, Any]) -> bool:
    """Take a number out of the state `source`, and say whether it was in it."""
    return await _changed(
        session, [LedgerEntry.public_id == public_id, LedgerEntry.document_number_status == source], values
    )


async def link_replacement(session: AsyncSession, *, public_id: UUID, replaces: UUID) -> None:
    await _changed(session, [LedgerEntry.public_id == public_id], {"replaces_uuid": replaces})


async def _changed(session: AsyncSession, conditions: Sequence[Any], values: dict[str, Any]) -> bool:
    statement = sa.update(LedgerEntry).where(*conditions).values(**values)
    done: Any = await session.execute(statement.execution_options(synchronize_session=False))
    return bool(done.rowcount == 1)


async def overdue(session: AsyncSession, *, source: str, now: datetime, limit: int) -> Sequence[LedgerEntry]:
    """Return reservations past their expiry, locked, the oldest first."""
    statement = (
        sa.select(LedgerEntry)
        .where(
            LedgerEntry.holder_public_id.is_(None),
            LedgerEntry.document_number_status == source,
            LedgerEntry.expires_at <= now,
        )
        .order_by(LedgerEntry.expires_at)
        .limit(limit)
        .with_for_update()
    )
    return (await session.scalars(statement)).all()


async def project_and_type_of(session: AsyncSession, entry: LedgerEntry) -> tuple[UUID, str, str]:
    """Return the project's public id and code, and the code of the document type, of a number."""
    row = (
        await session.execute(
            sa.select(Project.public_id, Project.project_code, CorrespondenceType.type_code)
            .select_from(LedgerEntry)
            .join(Project, Project.id == LedgerEntry.project_id)
            .join(CorrespondenceType, CorrespondenceType.id == LedgerEntry.correspondence_type_id)
            .where(LedgerEntry.id == entry.id)
        )
    ).one()
    return row[0], row[1], row[2]


async def printed_as(session: AsyncSession, *, project_id: int, number: str) -> LedgerEntry | None:
    """Return the entry that was ever printed like this."""
    statement = (
        sa.select(LedgerEntry)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(NumberRendering.project_id == project_id, NumberRendering.document_number == number)
    )
    return await session.scalar(statement)
