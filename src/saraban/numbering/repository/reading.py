"""The plain reads of numbering, and the single rows that operations other than drawing write."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.pagination import Page, newest_first, page_of
from saraban.numbering.domain.narrowing import DEFAULT_FORMAT, FormatKey
from saraban.numbering.models import LedgerEntry, NumberAudit, NumberFormat, NumberRendering
from saraban.projects.models import CorrespondenceType, Project

RENDERINGS = cast(sa.Table, NumberRendering.__table__)
AUDIT = cast(sa.Table, NumberAudit.__table__)

_INSERT_RENDERING = sa.insert(RENDERINGS)
_INSERT_AUDIT = sa.insert(AUDIT)


async def format_of_number(session: AsyncSession, public_id: UUID) -> Any | None:
    """Give what the ledger keeps of a number's format, with what that format is for."""
    statement = (
        sa.select(
            LedgerEntry.format_template,
            LedgerEntry.source,
            LedgerEntry.format_source,
            CorrespondenceType.type_code,
            NumberFormat.public_id,
            NumberFormat.sub_type_code,
            NumberFormat.rfa_type_code,
            NumberFormat.discipline_code,
        )
        .join(CorrespondenceType, CorrespondenceType.id == LedgerEntry.correspondence_type_id)
        .outerjoin(NumberFormat, NumberFormat.public_id == LedgerEntry.format_uuid)
        .where(LedgerEntry.public_id == public_id)
    )
    return (await session.execute(statement)).first()


async def insert_rendering(session: AsyncSession, row: dict[str, Any]) -> None:
    await session.execute(_INSERT_RENDERING, row)


async def printed_by(session: AsyncSession, *, project_id: int, number: str) -> int | None:
    """Return the key of the ledger entry that was ever printed like this."""
    return await session.scalar(
        sa.select(NumberRendering.reservation_id).where(
            NumberRendering.project_id == project_id, NumberRendering.document_number == number
        )
    )


async def insert_audit(session: AsyncSession, row: dict[str, Any]) -> None:
    """Write the row of an operation that waits for no lock of a series, unless the row says otherwise."""
    await session.execute(_INSERT_AUDIT, {"retry_count": 0, "lock_wait_ms": 0} | row)


async def by_holder(session: AsyncSession, holder: UUID, *, lock: bool = False) -> LedgerEntry | None:
    """Return the number a document carries now; one that was replaced keeps its holder, and is left out."""
    statement = sa.select(LedgerEntry).where(
        LedgerEntry.holder_public_id == holder, LedgerEntry.replaced_by_uuid.is_(None)
    )
    return await session.scalar(statement.with_for_update() if lock else statement)


async def format_for(session: AsyncSession, *, project_id: int, keys: Sequence[FormatKey]) -> NumberFormat | None:
    """
    Give the format in force.

    :param keys: those that fit, the best first
    """
    types = {key.type_id for key in keys}
    rows = await session.scalars(
        sa.select(NumberFormat).where(NumberFormat.project_id == project_id, NumberFormat.type_key.in_(types))
    )
    saved = {row.key: row for row in rows}
    return next((saved[key] for key in keys if key in saved), None)


@dataclass(frozen=True, slots=True)
class FormatRow:
    """A format with the codes it is shown by."""

    format: NumberFormat
    project_id: int
    project_public_id: UUID
    project_code: str
    type_code: str | None


def _formats() -> Any:
    return (
        sa.select(NumberFormat, Project.id, Project.public_id, Project.project_code, CorrespondenceType.type_code)
        .join(Project, Project.id == NumberFormat.project_id)
        .outerjoin(CorrespondenceType, CorrespondenceType.id == NumberFormat.correspondence_type_id)
    )


async def formats_page(
    session: AsyncSession, *, project_ids: Sequence[int] | None, cursor: str | None, limit: int
) -> Page[FormatRow]:
    """Return the formats of these projects, or of all where `project_ids` is None."""
    statement = _formats()
    if project_ids is not None:
        statement = statement.where(NumberFormat.project_id.in_(project_ids))
    statement = newest_first(
        statement, at=NumberFormat.created_at, public_id=NumberFormat.public_id, cursor=cursor, limit=limit
    )
    rows = [FormatRow(*row) for row in (await session.execute(statement)).all()]
    return page_of(rows, limit=limit, key=lambda row: (row.format.created_at, row.format.public_id))


async def format_by_public_id(session: AsyncSession, public_id: UUID) -> FormatRow | None:
    row = (await session.execute(_formats().where(NumberFormat.public_id == public_id))).first()
    return None if row is None else FormatRow(*row)


async def format_of(session: AsyncSession, *, project_id: int, key: FormatKey = DEFAULT_FORMAT) -> FormatRow | None:
    """Give the format saved for exactly this."""
    statement = _formats().where(
        NumberFormat.project_id == project_id,
        NumberFormat.type_key == key.type_id,
        NumberFormat.sub_type_code == key.narrowing.sub_type,
        NumberFormat.rfa_type_code == key.narrowing.rfa_type,
        NumberFormat.discipline_code == key.narrowing.discipline,
    )
    row = (await session.execute(statement)).first()
    return None if row is None else FormatRow(*row)


async def lock_format(session: AsyncSession, saved: NumberFormat) -> bool:
    """Hold a format, as it stands now, until the transaction ends; False when it is gone."""
    statement = (
        sa.select(NumberFormat)
        .where(NumberFormat.id == saved.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return await session.scalar(statement) is not None


async def formats_of_project(session: AsyncSession, project_id: int) -> list[FormatRow]:
    rows = (await session.execute(_formats().where(NumberFormat.project_id == project_id))).all()
    return [FormatRow(*row) for row in rows]


async def format_audits(session: AsyncSession, saved: NumberFormat) -> Sequence[tuple[NumberAudit, str]]:
    """Return the changes of a format, newest first, with who made them."""
    statement = (
        sa.select(NumberAudit, User.username)
        .join(User, User.user_id == NumberAudit.user_id)
        .where(NumberAudit.format_uuid == saved.public_id, NumberAudit.operation == "FORMAT_CHANGE")
        .order_by(NumberAudit.id.desc())
    )
    return [(row[0], row[1]) for row in (await session.execute(statement)).all()]


@dataclass(frozen=True, slots=True)
class NumberOperation:
    """One operation on a number, with the account that did it."""

    audit: NumberAudit
    username: str
    project_code: str


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
