"""Saved formats and their history."""

from collections.abc import Collection, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.models import Organization, User
from saraban.kit.db import AnySelect
from saraban.kit.pagination import Page, newest_first, page_of
from saraban.numbering.series.domain.counter import PrintedCodes
from saraban.numbering.series.domain.states import OperationCode
from saraban.numbering.series.domain.template import DEFAULT_FORMAT, FormatKey, Narrowing
from saraban.numbering.series.models import (
    FormatRow,
    LedgerEntry,
    NumberAudit,
    NumberCounter,
    NumberFormat,
)
from saraban.projects.models import CorrespondenceSubType, CorrespondenceType, Discipline, Project, RfaType

_recipient = aliased(Organization, name="recipient")
_NARROWING_COLUMNS = (NumberFormat.sub_type_code, NumberFormat.rfa_type_code, NumberFormat.discipline_code)


def _format_statement() -> AnySelect:
    return (
        sa.select(NumberFormat, Project.id, Project.public_id, Project.project_code, CorrespondenceType.type_code)
        .join(Project, Project.id == NumberFormat.project_id)
        .outerjoin(CorrespondenceType, CorrespondenceType.id == NumberFormat.correspondence_type_id)
    )


async def formats_page(
    session: AsyncSession, *, project_ids: Sequence[int] | None, cursor: str | None, limit: int
) -> Page[FormatRow]:
    statement = _format_statement()
    if project_ids is not None:
        statement = statement.where(NumberFormat.project_id.in_(project_ids))
    statement = newest_first(
        statement, at=NumberFormat.created_at, public_id=NumberFormat.public_id, cursor=cursor, limit=limit
    )
    rows = [FormatRow(*row) for row in (await session.execute(statement)).all()]
    return page_of(rows, limit=limit, key=lambda row: (row.format.created_at, row.format.public_id))


async def format_by_public_id(session: AsyncSession, public_id: UUID) -> FormatRow | None:
    row = (await session.execute(_format_statement().where(NumberFormat.public_id == public_id))).first()
    return None if row is None else FormatRow(*row)


async def format_of(session: AsyncSession, *, project_id: int, key: FormatKey = DEFAULT_FORMAT) -> FormatRow | None:
    statement = _format_statement().where(
        NumberFormat.project_id == project_id,
        NumberFormat.type_key == key.type_id,
        NumberFormat.sub_type_code == key.narrowing.sub_type,
        NumberFormat.rfa_type_code == key.narrowing.rfa_type,
        NumberFormat.discipline_code == key.narrowing.discipline,
    )
    row = (await session.execute(statement)).first()
    return None if row is None else FormatRow(*row)


async def lock_format(session: AsyncSession, saved: NumberFormat) -> bool:
    """Lock and reload; False for a deleted format."""
    statement = (
        sa.select(NumberFormat)
        .where(NumberFormat.id == saved.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return await session.scalar(statement) is not None


async def formats_of_project(session: AsyncSession, project_id: int) -> list[FormatRow]:
    rows = (await session.execute(_format_statement().where(NumberFormat.project_id == project_id))).all()
    return [FormatRow(*row) for row in rows]


async def format_audits(session: AsyncSession, saved: NumberFormat) -> Sequence[tuple[NumberAudit, str]]:
    statement = (
        sa.select(NumberAudit, User.username)
        .join(User, User.user_id == NumberAudit.user_id)
        .where(NumberAudit.format_uuid == saved.public_id, NumberAudit.operation == OperationCode.FORMAT_CHANGE)
        .order_by(NumberAudit.id.desc())
    )
    return [(row[0], row[1]) for row in (await session.execute(statement)).all()]


async def recent_series(
    session: AsyncSession, *, project_id: int, key: FormatKey, limit: int
) -> Sequence[tuple[int, Narrowing, PrintedCodes]]:
    """
    Return the most recent counters that the format could number: type, codes for the choice, printed codes.

    :param key: for the project's default, only counters of types without a format
    """
    types_with_format = sa.select(NumberFormat.type_key).where(
        NumberFormat.project_id == project_id, *(column == "" for column in _NARROWING_COLUMNS)
    )
    type_id = NumberCounter.correspondence_type_id
    code_columns = (CorrespondenceSubType.sub_type_code, RfaType.type_code, Discipline.discipline_code)
    statement = (
        sa.select(
            type_id,
            *(sa.func.coalesce(column, "") for column in code_columns),
            Project.project_code,
            Organization.organization_code,
            CorrespondenceType.type_code,
            sa.func.coalesce(_recipient.organization_code, ""),
            sa.func.coalesce(CorrespondenceSubType.sub_type_number, ""),
            sa.func.coalesce(RfaType.type_code, ""),
            sa.func.coalesce(Discipline.discipline_code, ""),
        )
        .select_from(NumberCounter)
        .join(Project, Project.id == NumberCounter.project_id)
        .join(Organization, Organization.id == NumberCounter.originator_organization_id)
        .join(CorrespondenceType, CorrespondenceType.id == type_id)
        .outerjoin(_recipient, _recipient.id == NumberCounter.recipient_organization_id)
        .outerjoin(CorrespondenceSubType, CorrespondenceSubType.id == NumberCounter.sub_type_id)
        .outerjoin(RfaType, RfaType.id == NumberCounter.rfa_type_id)
        .outerjoin(Discipline, Discipline.id == NumberCounter.discipline_id)
        .where(NumberCounter.project_id == project_id, NumberCounter.range == 0)
        .where(type_id == key.type_id if key.type_id else type_id.not_in(types_with_format))
        .where(*(column == code for column, code in zip(code_columns, key.narrowing, strict=True) if code))
        .order_by(NumberCounter.updated_at.desc(), NumberCounter.series)
        .limit(limit)
    )
    rows = (await session.execute(statement)).all()
    return [(row[0], Narrowing(*row[1:4]), PrintedCodes(*row[4:])) for row in rows]


async def number_issued_with(session: AsyncSession, saved: NumberFormat, templates: Collection[str]) -> str | None:
    # Older ledger rows have no format id; they match by template alone.
    is_printed = sa.or_(LedgerEntry.format_uuid == saved.public_id, LedgerEntry.format_source.is_(None))
    statement = sa.select(LedgerEntry.document_number).where(
        LedgerEntry.project_id == saved.project_id, LedgerEntry.format_template.in_(templates), is_printed
    )
    if saved.correspondence_type_id is not None:
        statement = statement.where(LedgerEntry.correspondence_type_id == saved.correspondence_type_id)
    return await session.scalar(statement.limit(1))
