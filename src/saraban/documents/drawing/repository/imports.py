"""Many drawings at once: what a register has under some numbers, and the rows that an import adds to it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.models import ContractDrawing, Drawing, DrawingRevision
from saraban.documents.drawing.repository.tables import REFERENCES, tables_of
from saraban.identity.models import Organization
from saraban.kit.db import table_of
from saraban.kit.text import Spellings, sort_key
from saraban.projects.models import (
    Contract,
    ContractDrawingCategory,
    ContractDrawingCategoryPair,
    ContractDrawingSubCategory,
    Discipline,
)


class RegisteredDrawing(NamedTuple):
    """
    A drawing that a register has, with the codes of whose it is.

    :param classified: what it is classified by, by the columns of a sheet
    """

    key: int
    public_id: UUID
    number: str
    project_id: int
    contract_id: int | None
    originator_id: int | None
    audience_kind: int
    audience_id: int
    contract: str | None
    originator: str | None
    classified: Mapping[str, object]


class RegisteredRevision(NamedTuple):
    """
    :param printed: the number on it, where each revision is printed with one of its own
    """

    drawing: int
    key: int
    public_id: UUID
    place: int
    label: str | None
    title: str
    day: date | None
    current_from: datetime
    printed: str | None
    title_en: str | None
    status_code: str | None
    legacy_number: str | None


async def by_number(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str], lock: bool
) -> dict[str, RegisteredDrawing]:
    """
    Return what a register has under these numbers.

    :param lock: hold it until the end of the transaction, in one order, wherever
    """
    tables = tables_of(kind)
    head = tables.head
    if lock:
        held = sa.select(head.id).where(head.project_id == project_id, tables.is_numbered(numbers)).order_by(head.id)
        await session.execute(held.with_for_update())
    classified: dict[str, Any] = {
        "scale": head.scale,
        "sheet_size": head.sheet_size,
        "zone": head.zone,
        "discipline": Discipline.discipline_code,
        **{name: one.columns[0] for name, one in tables.lists.items()},
        **({"page": tables.page} if tables.page is not None else {}),
    }
    statement = (
        sa.select(
            head.id,
            head.public_id,
            tables.number,
            head.project_id,
            head.contract_id,
            head.originator_id,
            head.audience_kind,
            head.audience_id,
            Contract.contract_code,
            Organization.organization_code,
            *classified.values(),
        )
        .outerjoin(Contract, Contract.id == head.contract_id)
        .outerjoin(Organization, Organization.id == head.originator_id)
        .outerjoin(Discipline, Discipline.id == head.discipline_id)
        .where(head.project_id == project_id, tables.is_numbered(numbers))
    )
    for model, condition in (one for listed in tables.lists.values() for one in listed.joined):
        statement = statement.outerjoin(model, condition)
    own = len(RegisteredDrawing._fields) - 1
    found = [
        RegisteredDrawing._make((*row[:own], dict(zip(classified, row[own:], strict=True))))
        for row in await session.execute(statement)
    ]
    return Spellings({one.number: one for one in found}).of(numbers)


async def histories(
    session: AsyncSession, kind: DrawingKind, drawings: Collection[int]
) -> dict[int, list[RegisteredRevision]]:
    """Return the revisions of drawings by their keys, each in its order."""
    found: dict[int, list[RegisteredRevision]] = defaultdict(list)
    if not drawings:
        return found
    tables = tables_of(kind)
    revision = tables.revision
    statement = (
        sa.select(
            tables.drawing,
            revision.id,
            revision.public_id,
            revision.revision_number,
            revision.revision_label,
            revision.title,
            revision.revision_date,
            revision.current_from,
            revision.drawing_number,
            revision.title_en,
            revision.status_code,
            revision.legacy_drawing_number,
        )
        .where(tables.drawing.in_(drawings))
        .order_by(tables.drawing, revision.revision_number)
    )
    for row in await session.execute(statement):
        found[row[0]].append(RegisteredRevision._make(row))
    return found


async def current_revisions(
    session: AsyncSession, kind: DrawingKind, *, project_id: int, numbers: Collection[str]
) -> Sequence[UUID]:
    tables = tables_of(kind)
    statement = (
        sa.select(tables.revision.public_id)
        .join(tables.head, tables.head.id == tables.drawing)
        .where(tables.head.project_id == project_id, tables.is_numbered(numbers))
        .where(tables.revision.is_current == sa.true())
    )
    return (await session.scalars(statement)).all()


async def insert_rows(
    session: AsyncSession, model: type[Drawing | DrawingRevision], rows: Sequence[Mapping[str, object]]
) -> None:
    """:param rows: all with the same columns"""
    if rows:
        await session.execute(sa.insert(table_of(model)), rows)


async def link_revisions(session: AsyncSession, kind: DrawingKind, pairs: Sequence[tuple[UUID, UUID]]) -> None:
    """:param pairs: public ids of revisions, and of the drawings or revisions that they refer to"""
    if not pairs:
        return
    tables, other = REFERENCES[kind], tables_of(KINDS[kind.derives_from or ""])
    sources = await keys_of(session, tables_of(kind).revision, {source for source, _ in pairs})
    named = other.head if KINDS[kind.derives_from or ""].whole else other.revision
    targets = await keys_of(session, named, {target for _, target in pairs})
    rows = [{tables.source.key: sources[one], tables.target.key: targets[of]} for one, of in pairs]
    await session.execute(sa.insert(table_of(tables.link)), rows)


async def keys_of(
    session: AsyncSession, model: type[Drawing | DrawingRevision], public_ids: Collection[UUID]
) -> dict[UUID, int]:
    statement = sa.select(model.public_id, model.id).where(model.public_id.in_(public_ids))
    return {public_id: key for public_id, key in await session.execute(statement)}  # noqa: C416  the rows are no pairs


async def count_drawings(session: AsyncSession, *, project_id: int) -> int:
    """Count the drawings of a project in all registers, whoever is shown them."""
    heads = [tables_of(kind).head for kind in KINDS.values()]
    counts = [sa.select(sa.func.count()).where(head.project_id == project_id).scalar_subquery() for head in heads]
    return sum((await session.execute(sa.select(*counts))).one())


class EndedRevision(NamedTuple):
    """
    A current revision whose place another one takes.

    :param by: the label of that one, and `title` what it says
    """

    drawing: int
    key: int
    public_id: UUID
    until: datetime
    by: str
    title: str


async def end_current(
    session: AsyncSession, kind: DrawingKind, ended: Sequence[EndedRevision], *, user: int, now: datetime
) -> None:
    """End what was current of drawings, before something else is: one may be at a time."""
    if not ended:
        return
    tables = tables_of(kind)
    revision, head = table_of(tables.revision), table_of(tables.head)
    by_key = sa.update(revision).where(revision.c.id == sa.bindparam("of"))
    values = by_key.values(is_current=None, current_until=sa.bindparam("until"))
    await session.execute(values, [{"of": one.key, "until": one.until} for one in ended])
    titled: dict[str, Any] = {"title": sa.bindparam("named")} if tables.head is ContractDrawing else {}
    touched = (
        sa.update(head)
        .where(head.c.id == sa.bindparam("of"))
        .values(version=head.c.version + 1, updated_at=now, updated_by=user, **titled)
    )
    await session.execute(touched, [{"of": one.drawing, **({"named": one.title} if titled else {})} for one in ended])


async def renumber(session: AsyncSession, kind: DrawingKind, numbers: Mapping[int, str]) -> None:
    """Let drawings go by the numbers of their current revisions."""
    tables = tables_of(kind)
    for key, number in numbers.items():
        values = {tables.number: number, tables.head.number_sort: sort_key(number)}
        await session.execute(sa.update(tables.head).where(tables.head.id == key).values(values))


class CategoryPair(NamedTuple):
    category: str
    sub_category: str


async def pairs(session: AsyncSession, *, project_id: int) -> set[CategoryPair]:
    pair = ContractDrawingCategoryPair
    statement = (
        sa.select(ContractDrawingCategory.cat_code, ContractDrawingSubCategory.sub_cat_code)
        .join(pair, pair.cat_id == ContractDrawingCategory.id)
        .join(ContractDrawingSubCategory, ContractDrawingSubCategory.id == pair.sub_cat_id)
        .where(pair.project_id == project_id)
    )
    return {CategoryPair(*row) for row in await session.execute(statement)}
