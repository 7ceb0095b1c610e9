"""Which parties number most now, for showing what another format would print for them."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.models import Organization
from saraban.numbering.domain.counter import Codes
from saraban.numbering.models import LedgerEntry, NumberCounter, NumberFormat
from saraban.projects.models import CorrespondenceSubType, CorrespondenceType, Discipline, Project, RfaType

_recipient = aliased(Organization, name="recipient")


async def busiest(session: AsyncSession, *, project_id: int, type_id: int | None, limit: int) -> Sequence[Codes]:
    """
    This will give the codes of the counters that moved last.

    :param type_id: None for the types that have no format of their own
    """
    own = sa.select(NumberFormat.type_key).where(NumberFormat.project_id == project_id)
    kind = NumberCounter.correspondence_type_id
    statement = (
        sa.select(
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
        .where(kind == type_id if type_id is not None else kind.not_in(own))
        .order_by(NumberCounter.updated_at.desc(), NumberCounter.series)
        .limit(limit)
    )
    return [Codes(*row) for row in (await session.execute(statement)).all()]


async def number_made_with(session: AsyncSession, saved: NumberFormat, templates: Collection[str]) -> str | None:
    """This will give a number that this format has printed with one of its templates, if there is one."""
    statement = sa.select(LedgerEntry.document_number).where(
        LedgerEntry.project_id == saved.project_id, LedgerEntry.format_template.in_(templates)
    )
    if saved.correspondence_type_id is not None:
        statement = statement.where(LedgerEntry.correspondence_type_id == saved.correspondence_type_id)
    return await session.scalar(statement.limit(1))
