"""Pages of a project's number audit, newest first; each filter has an index."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.pagination import newest_first
from saraban.numbering.series.domain.states import OperationCode
from saraban.numbering.series.models import PERSON_NAME, LedgerEntry, NumberAudit, NumberOperation, NumberRendering
from saraban.projects.models import Project


@dataclass(frozen=True, slots=True)
class OperationSearch:
    """:param until: exclusive"""

    project_id: int
    operation: OperationCode | None = None
    person: int | None = None
    numbers: Sequence[UUID] | None = None
    series: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def operations_page(
    session: AsyncSession, filters: OperationSearch, *, cursor: str | None, limit: int
) -> list[NumberOperation]:
    """Return up to `limit` + 1 rows."""
    statement = (
        sa.select(NumberAudit, User.username, Project.project_code, PERSON_NAME)
        .outerjoin(User, User.user_id == NumberAudit.user_id)  # outer joins, so that every plan starts with the audit
        .outerjoin(Project, Project.id == NumberAudit.project_id)
        .where(NumberAudit.project_id == filters.project_id)
    )
    equal = {
        NumberAudit.operation: filters.operation,
        NumberAudit.user_id: filters.person,
        NumberAudit.series: filters.series,
    }
    statement = statement.where(*(column == value for column, value in equal.items() if value is not None))
    if filters.numbers is not None:
        statement = statement.where(NumberAudit.reservation_uuid.in_(filters.numbers))
    if filters.since is not None:
        statement = statement.where(NumberAudit.created_at >= filters.since)
    if filters.until is not None:
        statement = statement.where(NumberAudit.created_at < filters.until)
    statement = newest_first(
        statement, at=NumberAudit.created_at, public_id=NumberAudit.public_id, cursor=cursor, limit=limit
    )
    return [NumberOperation(*row) for row in (await session.execute(statement)).all()]


async def entries_printed_as(session: AsyncSession, *, project_id: int, number: str) -> Sequence[UUID]:
    statement = (
        sa.select(LedgerEntry.public_id)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(NumberRendering.project_id == project_id, NumberRendering.document_number == number)
    )
    return (await session.scalars(statement)).all()
