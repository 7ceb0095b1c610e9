"""Rows that only an RFA has: its type and verdict, what it asks approval for, and the claims on drawing revisions."""

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
    """Return whether RFAs of a revision's type carry something, and how much it carries."""
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
    Set the status of a revision, and the approve code and the day of the approval where they are given.

    :param answered: the code that somebody gave, which is the approve code when there is one of this name
    :param approve_code: what it is otherwise
    :param keeps: whether a code that says the same in other words stays: one of the same first digit
    """
    statement = _setting_verdict(answered is not None, approve_code is not None, keeps)
    given = {"answered": answered, "approve_code": approve_code, "approved_date": day}
    values = {name: value for name, value in given.items() if value is not None}
    await session.execute(statement, {"revision": revision_id, "status": status, **values})


@cache
def _setting_verdict(is_answered: bool, has_code: bool, keeps: bool) -> sa.Update:
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
    """Where an item names a revision of one kind of drawing, and where a claim does."""

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
    """
    What an RFA carries.

    :param kind: None for a document
    :param key: of the revision of the drawing, or of the document
    """

    kind: DrawingKind | None
    key: int


class RfaItemRow(NamedTuple):
    """
    An item with what it is called.

    :param public_id: of the revision of the drawing, or of the document
    :param drawing: public id of the drawing, None for a document
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


def _items() -> sa.CompoundSelect[*tuple[Any, ...]]:
    listed = [
        _items_of(
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
    listed.append(
        _items_of(
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
    return sa.union_all(*listed).order_by("item")


def _items_of(key: InstrumentedAttribute[int | None], *columns: Any) -> AnySelect:
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


_ITEMS = _items()  # made once: it takes longer to write it than to send it


async def items(session: AsyncSession, *, revision_ids: Collection[int]) -> dict[int, list[RfaItemRow]]:
    """Return what revisions of RFAs carry, each in the order of its list."""
    found: dict[int, list[RfaItemRow]] = defaultdict(list)
    rows = await session.execute(_ITEMS, {"revisions": list(revision_ids)}) if revision_ids else ()
    for _, item_type, rfa_revision_id, key, *named in rows:
        found[rfa_revision_id].append(RfaItemRow(rfa_revision_id, ItemKey(_KINDS.get(item_type), key), *named))
    return found


async def carried(session: AsyncSession, revision_id: int) -> dict[UUID, ItemKey]:
    """Return what a revision of an RFA carries, by public id, in the order of its list."""
    rows = (await items(session, revision_ids=[revision_id])).get(revision_id, ())
    return {row.public_id: row.carries for row in rows}


class ClaimedRevision(NamedTuple):
    key: int | None
    rfa_public_id: UUID
    rfa_number: str


async def claims(
    session: AsyncSession, kind: DrawingKind, keys: Collection[int], *, but: int = 0
) -> list[ClaimedRevision]:
    """
    Return which revisions an open RFA carries.

    :param but: a revision of an RFA that does not count
    """
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
    """Add what a revision of an RFA carries, and claim the drawings among it."""
    if keys:
        await session.execute(sa.insert(table_of(RfaItem)), [_item(revision, one) for one in keys])
    claims: list[dict[str, int | None]] = [
        {
            "rfa_revision_id": revision,
            **{columns.claim.key: one.key if kind is one.kind else None for kind, columns in DRAWINGS.items()},
        }
        for one in keys
        if one.kind is not None
    ]
    if claims:
        await session.execute(sa.insert(table_of(RfaItemClaim)), claims)


def _item(revision: int, one: ItemKey) -> dict[str, object]:
    return {
        "rfa_revision_id": revision,
        "item_type": DOCUMENT if one.kind is None else DRAWINGS[one.kind].item_type,
        **{columns.item.key: one.key if kind is one.kind else None for kind, columns in DRAWINGS.items()},
        "document_revision_id": one.key if one.kind is None else None,
    }


async def remove_items(session: AsyncSession, revision_id: int) -> None:
    """Take everything out of a revision of an RFA that nobody has been given yet."""
    await release(session, revision_id)
    await session.execute(sa.delete(RfaItem).where(RfaItem.rfa_revision_id == revision_id))


async def release(session: AsyncSession, revision_id: int) -> None:
    """Let the drawings that a revision of an RFA carries be asked for anew."""
    await session.execute(sa.delete(RfaItemClaim).where(RfaItemClaim.rfa_revision_id == revision_id))


async def approve_codes(session: AsyncSession) -> list[RfaApproveCode]:
    code = RfaApproveCode
    statement = sa.select(code).where(code.is_active).order_by(code.sort_order, code.approve_code)
    return list(await session.scalars(statement))


async def answer(
    session: AsyncSession, revision_id: int, carried: Sequence[ItemKey], *, code: int, comment: str | None
) -> None:
    values: dict[str, object] = {"rfa_approve_code_id": code, "comment": comment}
    named = {kind: columns.item.key for kind, columns in DRAWINGS.items()}
    for kind in (*DRAWINGS, None):
        keys = [one.key for one in carried if one.kind is kind]
        if keys:
            column = "document_revision_id" if kind is None else named[kind]
            table = table_of(RfaItem)
            where = (table.c.rfa_revision_id == revision_id, table.c[column].in_(keys))
            await session.execute(sa.update(table).where(*where).values(values))


async def close_items(session: AsyncSession, revision_id: int) -> None:
    """
    Give items without an answer that of their RFA, and the answers to the drawings.

    The statements join, and start from the items: MariaDB would look at every row of a register for an `IN` with a subquery.
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


class AskedRevision(NamedTuple):
    key: int
    public_id: UUID
    approve_code: str | None


async def asked_revisions(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[AskedRevision]:
    revision = DRAWINGS[kind].revision
    statement = (
        sa.select(revision.id, revision.public_id, RfaApproveCode.approve_code)
        .outerjoin(RfaApproveCode, RfaApproveCode.id == revision.rfa_approve_code_id)
        .where(revision.id.in_(keys))
    )
    return [AskedRevision(*row) for row in await session.execute(statement)] if keys else []


class CarryingRfa(NamedTuple):
    key: int | None
    rfa_revision_id: int
    rfa_public_id: UUID
    approve_code: str | None
    approve_name: str | None
    approve_name_en: str | None


async def carriers(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> list[CarryingRfa]:
    """Return the revisions of RFAs that carry revisions of drawings, the newest first."""
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
