"""Statements of RFAs, items and claims."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.drawing.domain import ASBUILT, SHOP, DrawingKind
from saraban.documents.drawing.models import (
    AsbuiltDrawing,
    AsbuiltDrawingRevision,
    DrawingRevision,
    RfaItemClaim,
    ShopDrawing,
    ShopDrawingRevision,
)
from saraban.documents.rfa.models import Rfa, RfaItem, RfaRevision
from saraban.kit.db import AnySelect, table_of
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
    has_items: bool


_revision, _document, _rfa, _type, _status, _code = (
    table_of(mapped) for mapped in (RfaRevision, DocumentRevision, Rfa, RfaType, RfaStatusCode, RfaApproveCode)
)
_FACTS = (
    sa.select(
        _revision.c.id,
        *(_type.c[name] for name in RfaFacts._fields[:3]),
        *(_status.c[name] for name in RfaFacts._fields[3:6]),
        *(_code.c[name] for name in RfaFacts._fields[6:9]),
        _revision.c.approved_date,
        sa.exists().where(table_of(RfaItem).c.rfa_revision_id == _revision.c.id),
    )
    .select_from(_revision)
    .join(_document, _document.c.id == _revision.c.id)
    .join(_rfa, _rfa.c.id == _document.c.correspondence_id)
    .join(_type, _type.c.id == _rfa.c.rfa_type_id)
    .join(_status, _status.c.id == _revision.c.rfa_status_code_id)
    .outerjoin(_code, _code.c.id == _revision.c.rfa_approve_code_id)
    .where(_revision.c.id.in_(sa.bindparam("revisions", expanding=True)))
    # MariaDB would begin with the statuses, and read all their revisions.
    .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
)


async def facts(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, RfaFacts]:
    rows = (await session.execute(_FACTS, {"revisions": list(revision_ids)})).all()
    return {row[0]: RfaFacts._make(row[1:]) for row in rows}


def type_key() -> sa.ScalarSelect[int]:
    """Return a subquery correlated to `Document`."""
    return sa.select(Rfa.rfa_type_id).where(Rfa.id == Document.id).correlate(Document).scalar_subquery()


async def type_keys(session: AsyncSession, code: str) -> dict[int, int | None]:
    """Return RFA types, one per contract, with their projects."""
    statement = sa.select(RfaType.id, Contract.project_id).join(Contract, Contract.id == RfaType.contract_id)
    return dict((await session.execute(statement.where(is_spelled(RfaType.type_code, [code])))).all())


async def type_code(session: AsyncSession, *, document_id: int) -> str:
    statement = sa.select(RfaType.type_code).join(Rfa, Rfa.rfa_type_id == RfaType.id).where(Rfa.id == document_id)
    return (await session.scalars(statement)).one()


async def items_rule(session: AsyncSession, *, document_id: int) -> str:
    statement = sa.select(RfaType.items).join(Rfa, Rfa.rfa_type_id == RfaType.id).where(Rfa.id == document_id)
    return str((await session.scalars(statement)).one())


_CARRIED = sa.select(sa.func.count(RfaItem.id)).where(RfaItem.rfa_revision_id == sa.bindparam("revision"))
_ITEM_COUNT = (
    sa.select(RfaType.items, _CARRIED.scalar_subquery())
    .join(Rfa, Rfa.rfa_type_id == RfaType.id)
    .join(DocumentRevision, DocumentRevision.correspondence_id == Rfa.id)
    .where(DocumentRevision.id == sa.bindparam("revision"))
)


async def item_count(session: AsyncSession, revision_id: int) -> tuple[str, int]:
    """Return the type's items rule, and the number of items."""
    rule, count = (await session.execute(_ITEM_COUNT, {"revision": revision_id})).one()
    return str(rule), count


async def create(session: AsyncSession, row: Mapping[str, object], *, revision: int, status: str) -> None:
    await session.execute(_INSERT_RFA, row)
    await session.execute(_INSERT_REVISION, {"id": revision, "status_code": status})


async def add(session: AsyncSession, row: RfaRevision) -> None:
    session.add(row)
    await session.flush()


_REVISIONS = table_of(RfaRevision)


async def set_verdict(
    session: AsyncSession,
    *,
    revision_id: int,
    status: str,
    answered: str | None,
    approve_code: str | None,
    keeps: bool,
    day: date | None,
) -> None:
    """
    :param answered: becomes the approve code if one has this name
    :param approve_code: the approve code otherwise
    :param keeps: keep an approve code with the same first digit
    """
    statement = _update_verdict(answered is not None, approve_code is not None, keeps)
    parameters = {"answered": answered, "approve_code": approve_code, "approved_date": day}
    values = {name: value for name, value in parameters.items() if value is not None}
    await session.execute(statement, {"revision": revision_id, "status": status, **values})


@cache
def _update_verdict(is_answered: bool, has_code: bool, keeps: bool) -> sa.Update:
    values: dict[str, Any] = {"rfa_status_code_id": status_key(sa.bindparam("status"))}
    before = _REVISIONS.c.rfa_approve_code_id
    key: sa.ColumnElement[Any] = before
    code, approve_code = (
        RfaApproveCode.approve_code,
        sa.bindparam("approve_code", type_=RfaApproveCode.approve_code.type),
    )
    if has_code:
        key = _approve_code_key(approve_code)
    if has_code and keeps:
        group = sa.select(sa.func.substr(code, 1, 1)).where(RfaApproveCode.id == before).scalar_subquery()
        key = sa.case((group == sa.func.substr(approve_code, 1, 1), before), else_=key)
    if is_answered:
        key = sa.func.coalesce(_approve_code_key(sa.bindparam("answered")), key)
    if is_answered or has_code:
        values["rfa_approve_code_id"] = key
    return sa.update(_REVISIONS).where(_REVISIONS.c.id == sa.bindparam("revision")).values(values)


def _approve_code_key(code: str | sa.BindParameter[str]) -> sa.ScalarSelect[int]:
    return sa.select(RfaApproveCode.id).where(RfaApproveCode.approve_code == code).scalar_subquery()


def status_key(code: str | sa.BindParameter[str]) -> sa.ScalarSelect[int]:
    return sa.select(RfaStatusCode.id).where(RfaStatusCode.status_code == code).scalar_subquery()


_INSERT_RFA = sa.insert(table_of(Rfa))
_INSERT_REVISION = sa.insert(table_of(RfaRevision)).values(rfa_status_code_id=status_key(sa.bindparam("status_code")))


DOCUMENT: Final = "DOCUMENT"


@dataclass(frozen=True, slots=True)
class ItemColumns:
    item_type: str
    item: InstrumentedAttribute[int | None]
    claim: InstrumentedAttribute[int | None]
    revision: type[DrawingRevision]
    head: type[ShopDrawing | AsbuiltDrawing]
    drawing: InstrumentedAttribute[int]
    number: InstrumentedAttribute[str]


DRAWINGS: Final[Mapping[DrawingKind, ItemColumns]] = {
    SHOP: ItemColumns(
        "SHOP",
        RfaItem.shop_drawing_revision_id,
        RfaItemClaim.shop_drawing_revision_id,
        ShopDrawingRevision,
        ShopDrawing,
        ShopDrawingRevision.shop_drawing_id,
        ShopDrawing.drawing_number,
    ),
    ASBUILT: ItemColumns(
        "AS_BUILT",
        RfaItem.asbuilt_drawing_revision_id,
        RfaItemClaim.asbuilt_drawing_revision_id,
        AsbuiltDrawingRevision,
        AsbuiltDrawing,
        AsbuiltDrawingRevision.asbuilt_drawing_id,
        AsbuiltDrawing.drawing_number,
    ),
}


class ItemKey(NamedTuple):
    """:param kind: None for a document"""

    kind: DrawingKind | None
    key: int


class RfaItemRow(NamedTuple):
    """
    :param public_id: of the drawing revision or the document
    :param drawing: public id; None for a document
    """

    rfa_revision_id: int
    carries: ItemKey
    approve_code: str | None
    approve_name: str | None
    approve_name_en: str | None
    comment: str | None
    public_id: UUID
    number: str
    label: str | None
    title: str
    title_en: str | None
    is_current: bool | None
    drawing: UUID | None


_KINDS: Final = {columns.item_type: kind for kind, columns in DRAWINGS.items()}


def _select_items() -> sa.CompoundSelect[*tuple[Any, ...]]:
    selects = [
        _select_item_type(
            columns.item,
            columns.revision.public_id,
            sa.func.coalesce(columns.revision.drawing_number, columns.number),
            columns.revision.revision_label,
            columns.revision.title,
            columns.revision.title_en,
            columns.revision.is_current,
            columns.head.public_id.label("drawing"),
        )
        .join(columns.revision, columns.revision.id == columns.item)
        .join(columns.head, columns.head.id == columns.drawing)
        for columns in DRAWINGS.values()
    ]
    revision = DocumentRevision
    selects.append(
        _select_item_type(
            RfaItem.document_revision_id,
            Document.public_id,
            revision.correspondence_number,
            revision.revision_label,
            revision.subject,
            sa.null(),
            revision.is_current,
            sa.null(),
        )
        .join(revision, revision.id == RfaItem.document_revision_id)
        .join(Document, Document.id == revision.correspondence_id)
    )
    return sa.union_all(*selects).order_by("item")


def _select_item_type(key: InstrumentedAttribute[int | None], *columns: Any) -> AnySelect:
    return (
        sa.select(
            RfaItem.id.label("item"),
            RfaItem.item_type,
            RfaItem.rfa_revision_id,
            key.label("carried"),
            RfaApproveCode.approve_code,
            RfaApproveCode.approve_name,
            RfaApproveCode.approve_name_en,
            RfaItem.comment,
            *columns,
        )
        .outerjoin(RfaApproveCode, RfaApproveCode.id == RfaItem.rfa_approve_code_id)
        .where(RfaItem.rfa_revision_id.in_(sa.bindparam("revisions", expanding=True)), key.is_not(None))
    )


_ITEMS = _select_items()  # built once: building takes longer than sending


async def items(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, list[RfaItemRow]]:
    items: dict[int, list[RfaItemRow]] = defaultdict(list)
    rows = await session.execute(_ITEMS, {"revisions": list(revision_ids)}) if revision_ids else ()
    for _, item_type, rfa_revision_id, key, *values in rows:
        items[rfa_revision_id].append(RfaItemRow(rfa_revision_id, ItemKey(_KINDS.get(item_type), key), *values))
    return items


async def carried(session: AsyncSession, revision_id: int) -> dict[UUID, ItemKey]:
    rows = (await items(session, revision_ids=[revision_id])).get(revision_id, ())
    return {row.public_id: row.carries for row in rows}


class ClaimedRevision(NamedTuple):
    key: int | None
    rfa_public_id: UUID
    rfa_number: str


async def claims(
    session: AsyncSession, kind: DrawingKind, keys: Collection[int], *, but: int = 0
) -> list[ClaimedRevision]:
    """:param but: RFA revision to ignore"""
    if not keys:
        return []
    column = DRAWINGS[kind].claim
    statement = (
        sa.select(column, Document.public_id, Document.correspondence_number)
        .join(DocumentRevision, DocumentRevision.id == RfaItemClaim.rfa_revision_id)
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .where(column.in_(keys), RfaItemClaim.rfa_revision_id != but)
    )
    return [ClaimedRevision(*row) for row in await session.execute(statement)]


async def add_items(session: AsyncSession, revision: int, keys: Sequence[ItemKey]) -> None:
    """Add items, and claim their drawing revisions."""
    if keys:
        await session.execute(sa.insert(table_of(RfaItem)), [_item_values(revision, item) for item in keys])
    claims: list[dict[str, int | None]] = [
        {
            "rfa_revision_id": revision,
            **{columns.claim.key: item.key if kind is item.kind else None for kind, columns in DRAWINGS.items()},
        }
        for item in keys
        if item.kind is not None
    ]
    if claims:
        await session.execute(sa.insert(table_of(RfaItemClaim)), claims)


def _item_values(revision: int, item: ItemKey) -> dict[str, object]:
    return {
        "rfa_revision_id": revision,
        "item_type": DOCUMENT if item.kind is None else DRAWINGS[item.kind].item_type,
        **{columns.item.key: item.key if kind is item.kind else None for kind, columns in DRAWINGS.items()},
        "document_revision_id": item.key if item.kind is None else None,
    }


async def remove_items(session: AsyncSession, revision_id: int) -> None:
    """Only for a revision that was never issued."""
    await release(session, revision_id)
    await session.execute(sa.delete(RfaItem).where(RfaItem.rfa_revision_id == revision_id))


async def release(session: AsyncSession, revision_id: int) -> None:
    """Delete claims, so that other RFAs can carry the drawings."""
    await session.execute(sa.delete(RfaItemClaim).where(RfaItemClaim.rfa_revision_id == revision_id))


async def approve_codes(session: AsyncSession) -> list[RfaApproveCode]:
    code = RfaApproveCode
    statement = sa.select(code).where(code.is_active).order_by(code.sort_order, code.approve_code)
    return list(await session.scalars(statement))


async def answer(
    session: AsyncSession, revision_id: int, carried: Sequence[ItemKey], *, code: int, comment: str | None
) -> None:
    values: dict[str, object] = {"rfa_approve_code_id": code, "comment": comment}
    for kind in (*DRAWINGS, None):
        keys = [item.key for item in carried if item.kind is kind]
        if keys:
            column = "document_revision_id" if kind is None else DRAWINGS[kind].item.key
            table = table_of(RfaItem)
            where = (table.c.rfa_revision_id == revision_id, table.c[column].in_(keys))
            await session.execute(sa.update(table).where(*where).values(values))


async def close_items(session: AsyncSession, revision_id: int) -> None:
    """
    Set the RFA's code on items without one, and copy codes to drawings.

    The statements join from the items: for an `IN` with a subquery MariaDB would read the whole register.
    """
    item = table_of(RfaItem)
    of_rfa = item.c.rfa_revision_id == revision_id
    verdict = sa.select(RfaRevision.rfa_approve_code_id).where(RfaRevision.id == item.c.rfa_revision_id)
    unanswered = sa.update(item).where(of_rfa, item.c.rfa_approve_code_id.is_(None))
    await session.execute(unanswered.values(rfa_approve_code_id=verdict.scalar_subquery()))
    for columns in DRAWINGS.values():
        revision, head = table_of(columns.revision), table_of(columns.head)
        carried = (of_rfa, item.c[columns.item.key] == revision.c.id, item.c.rfa_approve_code_id.is_not(None))
        answers = {revision.c.rfa_approve_code_id: item.c.rfa_approve_code_id}
        await session.execute(sa.update(revision).where(*carried).values(answers))
        heads = sa.update(head).where(*carried, revision.c[columns.drawing.key] == head.c.id)
        await session.execute(heads.values({head.c.version: head.c.version + 1}))


class RevisionCode(NamedTuple):
    key: int
    public_id: UUID
    approve_code: str | None


async def revision_codes(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[RevisionCode]:
    revision = DRAWINGS[kind].revision
    statement = (
        sa.select(revision.id, revision.public_id, RfaApproveCode.approve_code)
        .outerjoin(RfaApproveCode, RfaApproveCode.id == revision.rfa_approve_code_id)
        .where(revision.id.in_(keys))
    )
    return [RevisionCode(*row) for row in await session.execute(statement)] if keys else []


class CarryingRfa(NamedTuple):
    key: int | None
    rfa_revision_id: int
    rfa_public_id: UUID
    approve_code: str | None
    approve_name: str | None
    approve_name_en: str | None


async def carriers(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[CarryingRfa]:
    """Return the newest first."""
    column = DRAWINGS[kind].item
    statement = (
        sa.select(
            column,
            DocumentRevision.id,
            Document.public_id,
            RfaApproveCode.approve_code,
            RfaApproveCode.approve_name,
            RfaApproveCode.approve_name_en,
        )
        .select_from(RfaItem)
        .join(DocumentRevision, DocumentRevision.id == RfaItem.rfa_revision_id)
        .join(Document, Document.id == DocumentRevision.correspondence_id)
        .outerjoin(RfaApproveCode, RfaApproveCode.id == RfaItem.rfa_approve_code_id)
        .where(column.in_(keys))
        .order_by(DocumentRevision.id.desc())
    )
    return [CarryingRfa(*row) for row in await session.execute(statement)]
