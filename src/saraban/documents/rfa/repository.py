"""The rows that only an RFA has, beside the master's."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.models import CorrespondenceRevision
from saraban.documents.rfa.models import Rfa, RfaRevision
from saraban.kit.db import table_of
from saraban.projects.models import RfaApproveCode, RfaStatusCode, RfaType


@dataclass(frozen=True, slots=True)
class RfaFacts:
    type: RfaType
    status: RfaStatusCode
    approve_code: RfaApproveCode | None
    approved_date: date | None


async def facts(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, RfaFacts]:
    statement = (
        sa.select(RfaRevision.id, RfaType, RfaStatusCode, RfaApproveCode, RfaRevision.approved_date)
        .join(CorrespondenceRevision, CorrespondenceRevision.id == RfaRevision.id)
        .join(Rfa, Rfa.id == CorrespondenceRevision.correspondence_id)
        .join(RfaType, RfaType.id == Rfa.rfa_type_id)
        .join(RfaStatusCode, RfaStatusCode.id == RfaRevision.rfa_status_code_id)
        .outerjoin(RfaApproveCode, RfaApproveCode.id == RfaRevision.rfa_approve_code_id)
        .where(RfaRevision.id.in_(revision_ids))
    )
    return {row[0]: RfaFacts(*row[1:]) for row in await session.execute(statement)}


async def add(session: AsyncSession, row: Rfa | RfaRevision) -> None:
    session.add(row)
    await session.flush()


async def change(session: AsyncSession, *, revision_ids: Collection[int], values: dict[str, Any]) -> None:
    table = table_of(RfaRevision)
    await session.execute(sa.update(table).where(table.c.id.in_(revision_ids)).values(values))


async def status_id(session: AsyncSession, *, code: str) -> int:
    return (await session.execute(sa.select(RfaStatusCode.id).where(RfaStatusCode.status_code == code))).scalar_one()


def id_of_status(code: str) -> sa.ScalarSelect[int]:
    """The key of a status, for a statement that writes it."""
    return sa.select(RfaStatusCode.id).where(RfaStatusCode.status_code == code).scalar_subquery()


def id_of_approve_code(code: str) -> sa.ScalarSelect[int]:
    """The key of an approve code, for a statement that writes it."""
    return sa.select(RfaApproveCode.id).where(RfaApproveCode.approve_code == code).scalar_subquery()
