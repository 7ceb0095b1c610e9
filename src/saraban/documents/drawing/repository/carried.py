"""Statements for carried drawing revisions."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.models import CarriedDrawing
from saraban.kit.db import AnySelect, table_of

CarrierTable = type[CarriedDrawing]
_COLUMNS: Final[Mapping[DrawingKind, str]] = {kind: f"{kind.path}_drawing_revision_id" for kind in KINDS.values()}


class CarriedRow(NamedTuple):
    """The texts are those of the sent document; None before it is sent."""

    item_id: int
    carrier_id: int
    kind: DrawingKind
    key: int
    number: str | None = None
    label: str | None = None
    title: str | None = None
    title_en: str | None = None


@cache
def _select_carried(carrier: CarrierTable) -> AnySelect:
    columns = table_of(carrier).c
    names = ("id", carrier.CARRIER, *_COLUMNS.values(), *carrier.WRITTEN)
    is_carried = columns[carrier.CARRIER].in_(sa.bindparam("carriers", expanding=True))
    return sa.select(*(columns[name] for name in names)).where(is_carried).order_by(columns.id)


async def rows(session: AsyncSession, carrier: CarrierTable, carriers: Collection[int]) -> list[CarriedRow]:
    carried = []
    for item, key, *rest in await session.execute(_select_carried(carrier), {"carriers": list(carriers)}):
        keys, texts = rest[: len(_COLUMNS)], rest[len(_COLUMNS) :]
        kind, revision = next((kind, key) for kind, key in zip(_COLUMNS, keys, strict=True) if key is not None)
        carried.append(CarriedRow(item, key, kind, revision, *texts))
    return carried


async def add(
    session: AsyncSession, carrier: CarrierTable, key: int, carried: Sequence[tuple[DrawingKind, int]]
) -> None:
    rows: list[dict[str, int | None]] = [
        {carrier.CARRIER: key, **{column: revision if of is kind else None for of, column in _COLUMNS.items()}}
        for kind, revision in carried
    ]
    if rows:
        await session.execute(sa.insert(table_of(carrier)), rows)


async def remove(session: AsyncSession, carrier: CarrierTable, key: int) -> None:
    table = table_of(carrier)
    await session.execute(sa.delete(table).where(table.c[carrier.CARRIER] == key))


async def carriers(
    session: AsyncSession, carrier: CarrierTable, kind: DrawingKind, revisions: Collection[int]
) -> list[int]:
    columns = table_of(carrier).c
    statement = sa.select(columns[carrier.CARRIER]).distinct().where(columns[_COLUMNS[kind]].in_(revisions))
    return list(await session.scalars(statement))
