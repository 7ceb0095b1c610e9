"""The rows that only an RFA has, beside the master's."""

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.rfa.models import Rfa, RfaItem, RfaRevision
from saraban.kit.db import table_of
from saraban.kit.keys import is_spelled
from saraban.projects.models import Contract, RfaApproveCode, RfaStatusCode, RfaType


class RfaFacts(NamedTuple):
    type_code: str
    type_name_en: str
    type_name_th: str
    status_code: str
    status_name: str
    status_name_en: str | None
    approve_code: str | None
    approve_name: str | None
    approve_name_en: str | None
    approved_date: date | None


_FACTS = (
    sa.select(
        RfaRevision.id,
        RfaType.type_code,
        RfaType.type_name_en,
        RfaType.type_name_th,
        RfaStatusCode.status_code,
        RfaStatusCode.status_name,
        RfaStatusCode.status_name_en,
        RfaApproveCode.approve_code,
        RfaApproveCode.approve_name,
        RfaApproveCode.approve_name_en,
        RfaRevision.approved_date,
    )
    .select_from(RfaRevision)
    .join(DocumentRevision, DocumentRevision.id == RfaRevision.id)
    .join(Rfa, Rfa.id == DocumentRevision.correspondence_id)
    .join(RfaType, RfaType.id == Rfa.rfa_type_id)
    .join(RfaStatusCode, RfaStatusCode.id == RfaRevision.rfa_status_code_id)
    .outerjoin(RfaApproveCode, RfaApproveCode.id == RfaRevision.rfa_approve_code_id)
    .where(RfaRevision.id.in_(sa.bindparam("revisions", expanding=True)))
    # In this order: MariaDB would otherwise begin with the statuses, and read all revisions that have one.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
)


async def facts(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, RfaFacts]:
    rows = await session.execute(_FACTS, {"revisions": list(revision_ids)})
    return {row[0]: RfaFacts._make(row[1:]) for row in rows}


def type_key() -> sa.ScalarSelect[int]:
    """Return the key of the RFA type of a document, in a statement about documents."""
    return sa.select(Rfa.rfa_type_id).where(Rfa.id == Document.id).correlate(Document).scalar_subquery()


async def type_keys(session: AsyncSession, code: str) -> dict[int, int | None]:
    """Return the RFA types of this code, one for each contract that has it, with their projects."""
    statement = sa.select(RfaType.id, Contract.project_id).join(Contract, Contract.id == RfaType.contract_id)
    return dict((await session.execute(statement.where(is_spelled(RfaType.type_code, [code])))).all())


async def type_code(session: AsyncSession, *, document_id: int) -> str:
    statement = sa.select(RfaType.type_code).join(Rfa, Rfa.rfa_type_id == RfaType.id).where(Rfa.id == document_id)
    return (await session.scalars(statement)).one()


async def items_rule(session: AsyncSession, *, document_id: int) -> str:
    """Return whether RFAs of a document's RFA type carry drawings and documents."""
    statement = sa.select(RfaType.items).join(Rfa, Rfa.rfa_type_id == RfaType.id).where(Rfa.id == document_id)
    return str((await session.scalars(statement)).one())


async def item_counts(session: AsyncSession, revision_ids: Collection[int]) -> list[tuple[str, int]]:
    """Return for each revision whether RFAs of its type carry something, and how much it carries."""
    carried = sa.select(sa.func.count(RfaItem.id)).where(RfaItem.rfa_revision_id == DocumentRevision.id)
    statement = (
        sa.select(RfaType.items, carried.correlate(DocumentRevision).scalar_subquery())
        .select_from(DocumentRevision)
        .join(Rfa, Rfa.id == DocumentRevision.correspondence_id)
        .join(RfaType, RfaType.id == Rfa.rfa_type_id)
        .where(DocumentRevision.id.in_(revision_ids))
        # In this order: MariaDB would otherwise begin with the types, and read all RFAs that have one.
        .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    )
    return [(str(rule), count) for rule, count in await session.execute(statement)]


async def create(session: AsyncSession, row: Mapping[str, object], *, revision: int, status: str) -> None:
    await session.execute(sa.insert(table_of(Rfa)).values(row))
    values = {"id": revision, "rfa_status_code_id": status_key(status)}
    await session.execute(sa.insert(table_of(RfaRevision)).values(values))


async def add(session: AsyncSession, row: RfaRevision) -> None:
    session.add(row)
    await session.flush()


async def set_verdict(
    session: AsyncSession,
    *,
    revision_ids: Collection[int],
    status: str,
    answered: str | None,
    approve_code: str | None,
    keeps: bool,
    day: date | None,
) -> None:
    """
    Set the status of revisions, and the approve code and the day of the approval where they are given.

    :param answered: the code that somebody gave, which is the approve code when there is one of this name
    :param approve_code: what it is otherwise
    :param keeps: whether a code that says the same in other words stays: one of the same first digit
    """
    table = table_of(RfaRevision)
    values: dict[str, Any] = {"rfa_status_code_id": status_key(status)}
    if answered is not None or approve_code is not None:
        values["rfa_approve_code_id"] = _approve_key(table.c.rfa_approve_code_id, answered, approve_code, keeps=keeps)
    if day is not None:
        values["approved_date"] = day
    await session.execute(sa.update(table).where(table.c.id.in_(revision_ids)).values(values))


def _approve_key(before: Any, answered: str | None, approve_code: str | None, *, keeps: bool) -> Any:
    code = RfaApproveCode.approve_code
    found = before if approve_code is None else _approve_code_key(approve_code)
    if keeps and approve_code is not None:
        group = sa.select(sa.func.substr(code, 1, 1)).where(RfaApproveCode.id == before).scalar_subquery()
        found = sa.case((group == approve_code[:1], before), else_=found)
    return found if answered is None else sa.func.coalesce(_approve_code_key(answered), found)


def _approve_code_key(code: str) -> sa.ScalarSelect[int]:
    return sa.select(RfaApproveCode.id).where(RfaApproveCode.approve_code == code).scalar_subquery()


def status_key(code: str) -> sa.ScalarSelect[int]:
    """Return the key of a status, to be looked up by the statement that writes it."""
    return sa.select(RfaStatusCode.id).where(RfaStatusCode.status_code == code).scalar_subquery()
