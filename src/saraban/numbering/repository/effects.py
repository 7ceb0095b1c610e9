"""Which parties number most now, for showing what another format would print for them."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.models import Organization
from saraban.numbering.domain.counter import PrintedCodes
from saraban.numbering.domain.narrowing import FormatKey, Narrowing
from saraban.numbering.models import LedgerEntry, NumberCounter, NumberFormat
from saraban.projects.models import CorrespondenceSubType, CorrespondenceType, Discipline, Project, RfaType

_recipient = aliased(Organization, name="recipient")
_NARROWED = (NumberFormat.sub_type_code, NumberFormat.rfa_type_code, NumberFormat.discipline_code)


async def recent_series(
    session: AsyncSession, *, project_id: int, key: FormatKey, limit: int
) -> Sequence[tuple[int, Narrowing, PrintedCodes]]:
    """
    Give the counters that moved last, of those that the format could number: type, what they count for, their codes.

    :param key: of the project's default: counters of the types that have no format of their own
    """
    own = sa.select(NumberFormat.type_key).where(
        NumberFormat.project_id == project_id, *(column == "" for column in _NARROWED)
    )
    kind = NumberCounter.correspondence_type_id
    counted = (CorrespondenceSubType.sub_type_code, RfaType.type_code, Discipline.discipline_code)
    statement = (
        sa.select(
            kind,
            *(sa.func.coalesce(column, "") for column in counted),
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
        .join(CorrespondenceType, CorrespondenceType.id == kind)
        .outerjoin(_recipient, _recipient.id == NumberCounter.recipient_organization_id)
        .outerjoin(CorrespondenceSubType, CorrespondenceSubType.id == NumberCounter.sub_type_id)
        .outerjoin(RfaType, RfaType.id == NumberCounter.rfa_type_id)
        .outerjoin(Discipline, Discipline.id == NumberCounter.discipline_id)
        .where(NumberCounter.project_id == project_id, NumberCounter.range == 0)
        .where(kind == key.type_id if key.type_id else kind.not_in(own))
        .where(*(column == code for column, code in zip(counted, key.narrowing, strict=True) if code))
        .order_by(NumberCounter.updated_at.desc(), NumberCounter.series)
        .limit(limit)
    )
    rows = (await session.execute(statement)).all()
    return [(row[0], Narrowing(*row[1:4]), PrintedCodes(*row[4:])) for row in rows]


async def number_issued_with(session: AsyncSession, saved: NumberFormat, templates: Collection[str]) -> str | None:
    """Give a number that this format has printed with one of its templates, if there is one."""
    # A number older than the formats' names in the ledger was printed by whatever format has the template.
    made = sa.or_(LedgerEntry.format_uuid == saved.public_id, LedgerEntry.format_source.is_(None))
    statement = sa.select(LedgerEntry.document_number).where(
        LedgerEntry.project_id == saved.project_id, LedgerEntry.format_template.in_(templates), made
    )
    if saved.correspondence_type_id is not None:
        statement = statement.where(LedgerEntry.correspondence_type_id == saved.correspondence_type_id)
    return await session.scalar(statement.limit(1))
