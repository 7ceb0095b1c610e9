"""The rows that only an RFA has, beside the master's."""

from collections.abc import Collection, Mapping
from datetime import date
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.rfa.models import Rfa, RfaItem, RfaRevision
from saraban.kit.db import table_of
from saraban.kit.keys import key_column
from saraban.kit.statements import PreparedStatement, Query
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


_FACTS = PreparedStatement(
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
    rows = await _FACTS.rows(session, revisions=list(revision_ids))
    return {row[0]: RfaFacts._make(row[1:]) for row in rows}


def type_key() -> sa.ScalarSelect[int]:
    """Return the key of the RFA type of a document, in a statement about documents."""
    return sa.select(Rfa.rfa_type_id).where(Rfa.id == Document.id).correlate(Document).scalar_subquery()


_TYPES = PreparedStatement(
    sa.select(RfaType.id, Contract.project_id)
    .join(Contract, Contract.id == RfaType.contract_id)
    .where(sa.or_(RfaType.type_code == sa.bindparam("code"), key_column(RfaType.type_code) == sa.bindparam("key")))
)


def type_keys(code: str) -> Query[Mapping[int, int | None]]:
    """Ask for the RFA types of this code, one for each contract that has it, with their projects."""
    return Query(_TYPES, {"code": code, "key": code}, dict)


async def type_code(session: AsyncSession, *, document_id: int) -> str:
    statement = sa.select(RfaType.type_code).join(Rfa, Rfa.rfa_type_id == RfaType.id).where(Rfa.id == document_id)
    return (await session.scalars(statement)).one()


async def items_rule(session: AsyncSession, *, document_id: int) -> str:
    """Return whether RFAs of a document's RFA type carry drawings and documents."""
    statement = sa.select(RfaType.items).join(Rfa, Rfa.rfa_type_id == RfaType.id).where(Rfa.id == document_id)
    return str((await session.scalars(statement)).one())


_ITEM_COUNTS = PreparedStatement(
    sa.select(
        RfaType.items,
        sa.select(sa.func.count(RfaItem.id))
        .where(RfaItem.rfa_revision_id == DocumentRevision.id)
        .correlate(DocumentRevision)
        .scalar_subquery(),
    )
    .select_from(DocumentRevision)
    .join(Rfa, Rfa.id == DocumentRevision.correspondence_id)
    .join(RfaType, RfaType.id == Rfa.rfa_type_id)
    .where(DocumentRevision.id.in_(sa.bindparam("revisions", expanding=True)))
    # In this order: MariaDB would otherwise begin with the types, and read all RFAs that have one.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
)


async def item_counts(session: AsyncSession, revision_ids: Collection[int]) -> list[tuple[str, int]]:
    """Return for each revision whether RFAs of its type carry something, and how much it carries."""
    return [(str(rule), count) for rule, count in await _ITEM_COUNTS.rows(session, revisions=list(revision_ids))]


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
    given = {"status": status, "answered": answered, "approve_code": approve_code, "day": day}
    asked = {name: value for name, value in given.items() if value is not None}
    statement = _verdict(frozenset(asked), keeps=keeps).statement
    await session.execute(statement, {"revisions": list(revision_ids), **asked})


@cache
def _verdict(names: frozenset[str], *, keeps: bool) -> PreparedStatement:
    """Made once for each set of columns: every step of an RFA sends one."""
    table = table_of(RfaRevision)
    values: dict[str, Any] = {"rfa_status_code_id": _key_of(RfaStatusCode.id, RfaStatusCode.status_code, "status")}
    if names & {"answered", "approve_code"}:
        values["rfa_approve_code_id"] = _approve_code(table.c.rfa_approve_code_id, names, keeps=keeps)
    if "day" in names:
        values["approved_date"] = sa.bindparam("day")
    return PreparedStatement(
        sa.update(table).where(table.c.id.in_(sa.bindparam("revisions", expanding=True))).values(values)
    )


def _approve_code(before: Any, names: frozenset[str], *, keeps: bool) -> Any:
    code = RfaApproveCode.approve_code
    found: Any = _key_of(RfaApproveCode.id, code, "approve_code") if "approve_code" in names else before
    if keeps and "approve_code" in names:
        there = sa.select(sa.func.substr(code, 1, 1)).where(RfaApproveCode.id == before).scalar_subquery()
        found = sa.case((there == sa.func.substr(sa.bindparam("approve_code"), 1, 1), before), else_=found)
    return sa.func.coalesce(_key_of(RfaApproveCode.id, code, "answered"), found) if "answered" in names else found


def _key_of(key: Any, code: Any, name: str) -> sa.ScalarSelect[int]:
    return sa.select(key).where(code == sa.bindparam(name)).scalar_subquery()


def status_key(code: str) -> sa.ScalarSelect[int]:
    """Return the key of a status, to be looked up by the statement that writes it."""
    return sa.select(RfaStatusCode.id).where(RfaStatusCode.status_code == code).scalar_subquery()
