"""The statements of the trail and of sealing. The two journals' tables are named as text: one belongs to a feature above this one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import undefer

from saraban.audit.domain.journals import (
    BlockHeader,
    BlockKind,
    Journal,
    RowDigest,
    canonical_line,
    digest_of_row,
    pack,
    unpack,
)
from saraban.audit.models import ALLOW_PURGE, AuditBlock, AuditLog
from saraban.kit.db import AnySelect, Database, UtcDateTime
from saraban.kit.json import JsonObject
from saraban.kit.pagination import newest_first

_USERS = sa.table("users", sa.column("user_id"), sa.column("uuid"))
_PROJECTS = sa.table("projects", sa.column("id"), sa.column("uuid"))


@dataclass(frozen=True, slots=True)
class JournalRow:
    """A row in its canonical form, with the key that only this process knows."""

    key: int
    line: bytes

    @property
    def mark(self) -> RowDigest:
        return digest_of_row(self.line)


def marks_of(rows: Sequence[JournalRow]) -> list[RowDigest]:
    return [row.mark for row in rows]


def _table(journal: Journal) -> sa.TableClause:
    return sa.table(
        journal.table, sa.column(journal.key, sa.BigInteger), *(sa.column(field.column) for field in journal.fields)
    )


def _within(column: sa.ColumnClause[Any], after: int | None, upto: int | None) -> list[sa.ColumnElement[bool]]:
    bounds = [] if after is None else [column > after]
    return bounds if upto is None else [*bounds, column <= upto]


async def rows(
    session: AsyncSession, journal: Journal, after: int | None, *, upto: int | None, limit: int
) -> list[JournalRow]:
    """Return rows by ascending key, from the one behind `after` to `upto`."""
    table = _table(journal)
    key = table.c[journal.key]
    source: sa.FromClause = table
    told: list[sa.ColumnElement[Any]] = []
    for field in journal.fields:
        column = table.c[field.column]
        if field.kind == "user":
            source, column = source.outerjoin(_USERS, _USERS.c.user_id == column), _USERS.c.uuid
        elif field.kind == "project":
            source, column = source.outerjoin(_PROJECTS, _PROJECTS.c.id == column), _PROJECTS.c.uuid
        told.append(column.label(f"f_{field.name}"))
    statement = sa.select(key, *told).select_from(source).where(*_within(key, after, upto)).order_by(key).limit(limit)
    return [JournalRow(int(found[0]), canonical_line(journal, found[1:])) for found in await session.execute(statement)]


async def rows_of_block(
    session: AsyncSession, journal: Journal, block: AuditBlock, *, after: int | None
) -> list[JournalRow]:
    """Return the rows in a block's place. Whoever inserts more than a block has is found out by the first of them."""
    return await rows(session, journal, after, upto=block.last_id, limit=2 * block.row_count + 1000)


async def keys_with_uncommitted(
    db: Database, journal: Journal, after: int | None, *, upto: int, limit: int
) -> list[int]:
    """
    Return the lowest keys there are, those of transactions that have not ended among them.

    READ UNCOMMITTED needs no privilege and waits for nobody. SQLite has one writer, whose keys follow each other.
    """
    key = _table(journal).c[journal.key]
    statement = sa.select(key).where(*_within(key, after, upto)).order_by(key).limit(limit)
    async with db.reading() as session:
        if not db.is_sqlite:
            await session.connection(execution_options={"isolation_level": "READ UNCOMMITTED"})
        return [int(found) for found in await session.scalars(statement)]


async def highest_key(session: AsyncSession, journal: Journal) -> int:
    """Return the highest key that is committed; every lower one was given out before."""
    return int(await session.scalar(sa.select(sa.func.max(_table(journal).c[journal.key]))) or 0)


async def tail(session: AsyncSession, journal: Journal, *, after: int | None) -> tuple[int, datetime | None]:
    """Return how many rows stand behind `after`, and the time of the oldest."""
    table = _table(journal)
    oldest = sa.func.min(table.c.created_at, type_=UtcDateTime())
    statement = sa.select(sa.func.count(), oldest).select_from(table)
    count, at = (await session.execute(statement.where(*_within(table.c[journal.key], after, None)))).one()
    return int(count), at


async def last_block(session: AsyncSession, journal: Journal) -> AuditBlock | None:
    statement = sa.select(AuditBlock).where(AuditBlock.journal == journal.name)
    return await session.scalar(statement.order_by(AuditBlock.number.desc()).limit(1))


async def blocks(
    session: AsyncSession, journal: str, *, above: int, limit: int, with_list: bool = False, sealing: bool = False
) -> Sequence[AuditBlock]:
    """
    Return the next blocks by ascending number.

    :param sealing: only those whose rows are still there
    """
    statement = sa.select(AuditBlock).where(AuditBlock.journal == journal, AuditBlock.number > above)
    if with_list:
        statement = statement.options(undefer(AuditBlock.row_list))
    if sealing:
        statement = statement.where(AuditBlock.kind == BlockKind.SEAL, AuditBlock.row_list.is_not(None))
    return (await session.scalars(statement.order_by(AuditBlock.number).limit(limit))).all()


async def block_below(session: AsyncSession, journal: str, number: int) -> AuditBlock | None:
    """Return the block before `number`, whose last key bounds the rows of the next."""
    statement = sa.select(AuditBlock).where(AuditBlock.journal == journal, AuditBlock.number < number)
    return await session.scalar(statement.order_by(AuditBlock.number.desc()).limit(1))


async def count_blocks(session: AsyncSession, journal: str) -> int:
    statement = sa.select(sa.func.count()).select_from(AuditBlock).where(AuditBlock.journal == journal)
    return int(await session.scalar(statement) or 0)


async def add_block(
    header: BlockHeader, session: AsyncSession, *, last_id: int, marks: Sequence[RowDigest] | None
) -> None:
    """:raises IntegrityError: when another process wrote the block of this number"""
    row = AuditBlock(last_id=last_id, row_list=None if marks is None else pack(marks))
    for name in BlockHeader.__slots__:
        setattr(row, name, getattr(header, name))
    session.add(row)
    await session.flush()


async def delete_rows(session: AsyncSession, journal: Journal, after: int | None, *, upto: int) -> int:
    """Delete the rows of blocks; `purging` has made sure that it is lawful."""
    table = _table(journal)
    statement = sa.delete(table).where(*_within(table.c[journal.key], after, upto))
    result = await session.execute(statement, execution_options={ALLOW_PURGE: True})
    return int(result.rowcount)  # type: ignore[attr-defined]


async def clear_row_lists(session: AsyncSession, journal: str, *, first: int, last: int) -> None:
    statement = sa.update(AuditBlock).where(AuditBlock.journal == journal, AuditBlock.number.between(first, last))
    options = {ALLOW_PURGE: True, "synchronize_session": False}
    await session.execute(statement.values(row_list=None), execution_options=options)


def header_of(row: AuditBlock) -> BlockHeader:
    return BlockHeader(**{name: getattr(row, name) for name in BlockHeader.__slots__} | {"kind": BlockKind(row.kind)})


def listed_rows(row: AuditBlock) -> list[RowDigest] | None:
    """Return a block's own list of its rows; None once they were deleted."""
    return None if row.row_list is None else unpack(row.row_list)


class AuditRecord(NamedTuple):
    """One row of the trail, without integer keys."""

    public_id: UUID
    action: str
    severity: str
    entity_type: str | None
    entity_id: str | None
    details: JsonObject
    actor_public_id: UUID | None
    address: str | None
    request_id: str | None
    created_at: datetime


_RECORD = (
    *(AuditLog.public_id, AuditLog.action, AuditLog.severity, AuditLog.entity_type, AuditLog.entity_id),
    *(AuditLog.details_json, AuditLog.actor_uuid, AuditLog.ip_address, AuditLog.request_id, AuditLog.created_at),
)


@dataclass(frozen=True, slots=True)
class AuditSearch:
    """
    Which rows are asked for; what is left open takes every value.

    :param objects: what they are about, by any of these ids
    :param people: keys of accounts; None for everybody's
    """

    objects: tuple[str, ...] = ()
    kind: str | None = None
    actions: tuple[str, ...] = ()
    people: frozenset[int] | None = None
    since: datetime | None = None
    until: datetime | None = None


_BRANCHES = 30  # more people than that are busy enough for the order of time
_Conditions = list[sa.ColumnElement[bool]]


async def search(session: AsyncSession, asked: AuditSearch, *, cursor: str | None, limit: int) -> list[AuditRecord]:
    """
    Return rows newest first, one more than the page has.

    An index gives the rows of one person, or of one object, in the order of time, but not those of several: they are asked
    one by one for as many as the page has, and merged.
    """
    branches = [[*branch, *_others(asked)] for branch in _branches(asked)]
    if not branches or asked.people == frozenset():
        return []
    if len(branches) == 1:
        found = _newest_of(sa.select(*_RECORD).where(*branches[0]), cursor, limit)
    else:
        keys = [
            sa.select(*_newest_of(_KEYS.where(*branch), cursor, limit).subquery().columns.values())
            for branch in branches
        ]
        picked = sa.union_all(*keys).subquery()
        same = sa.and_(AuditLog.audit_id == picked.c.audit_id, AuditLog.created_at == picked.c.created_at)
        found = _newest_of(sa.select(*_RECORD).join(picked, same), None, limit)
    records = map(AuditRecord._make, (await session.execute(found)).all())
    return [record if record.details else record._replace(details={}) for record in records]


_KEYS = sa.select(AuditLog.audit_id, AuditLog.created_at)


def _newest_of(statement: AnySelect, cursor: str | None, limit: int) -> AnySelect:
    return newest_first(statement, at=AuditLog.created_at, public_id=AuditLog.public_id, cursor=cursor, limit=limit)


def _branches(asked: AuditSearch) -> list[_Conditions]:
    """The first condition of each statement: what its index begins with."""
    if asked.objects:
        return [[AuditLog.entity_id == one] for one in asked.objects]
    if asked.people is not None and len(asked.actions) != 1 and asked.kind is None and len(asked.people) <= _BRANCHES:
        return [[AuditLog.user_id == key] for key in sorted(asked.people)]
    if asked.people is None and len(asked.actions) > 1:
        return [[AuditLog.action == one] for one in asked.actions]
    return [[]]


def _others(asked: AuditSearch) -> _Conditions:
    given: _Conditions = []
    if asked.actions:
        given.append(AuditLog.action.in_(asked.actions))
    if asked.kind is not None:
        given.append(AuditLog.entity_type == asked.kind)
    if asked.people is not None:
        given.append(AuditLog.user_id.in_(sorted(asked.people)))
    if asked.since is not None:
        given.append(AuditLog.created_at >= asked.since)
    if asked.until is not None:
        given.append(AuditLog.created_at < asked.until)
    return given
