"""Statements of the audit trail and its blocks."""

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
    key: int
    line: bytes

    @property
    def mark(self) -> RowDigest:
        return digest_of_row(self.line)


def row_digests(rows: Sequence[JournalRow]) -> list[RowDigest]:
    return [row.mark for row in rows]


def _table(journal: Journal) -> sa.TableClause:
    return sa.table(
        journal.table, sa.column(journal.key, sa.BigInteger), *(sa.column(field.column) for field in journal.fields)
    )


def _between(column: sa.ColumnClause[Any], after: int | None, upto: int | None) -> list[sa.ColumnElement[bool]]:
    bounds = [] if after is None else [column > after]
    return bounds if upto is None else [*bounds, column <= upto]


async def rows(
    session: AsyncSession, journal: Journal, after: int | None, *, upto: int | None, limit: int
) -> list[JournalRow]:
    table = _table(journal)
    key = table.c[journal.key]
    source: sa.FromClause = table
    columns: list[sa.ColumnElement[Any]] = []
    for field in journal.fields:
        column = table.c[field.column]
        if field.kind == "user":
            source, column = source.outerjoin(_USERS, _USERS.c.user_id == column), _USERS.c.uuid
        elif field.kind == "project":
            source, column = source.outerjoin(_PROJECTS, _PROJECTS.c.id == column), _PROJECTS.c.uuid
        columns.append(column.label(f"f_{field.name}"))
    statement = sa.select(key, *columns).select_from(source).where(*_between(key, after, upto))
    statement = statement.order_by(key).limit(limit)
    return [JournalRow(int(row[0]), canonical_line(journal, row[1:])) for row in await session.execute(statement)]


async def rows_of_block(
    session: AsyncSession, journal: Journal, block: AuditBlock, *, after: int | None
) -> list[JournalRow]:
    """Return surplus rows as well, which show insertions."""
    return await rows(session, journal, after, upto=block.last_id, limit=2 * block.row_count + 1000)


async def keys_with_uncommitted(
    db: Database, journal: Journal, after: int | None, *, upto: int, limit: int
) -> list[int]:
    """
    Return the lowest keys, including those of open transactions.

    READ UNCOMMITTED needs no privilege and does not wait. SQLite has one writer.
    """
    key = _table(journal).c[journal.key]
    statement = sa.select(key).where(*_between(key, after, upto)).order_by(key).limit(limit)
    async with db.snapshot("READ UNCOMMITTED") as session:
        return [int(row_key) for row_key in await session.scalars(statement)]


async def highest_key(session: AsyncSession, journal: Journal) -> int:
    return int(await session.scalar(sa.select(sa.func.max(_table(journal).c[journal.key]))) or 0)


async def tail(session: AsyncSession, journal: Journal, *, after: int | None) -> tuple[int, datetime | None]:
    """Return the number of rows after a key, and the time of the oldest."""
    table = _table(journal)
    oldest = sa.func.min(table.c.created_at, type_=UtcDateTime())
    statement = sa.select(sa.func.count(), oldest).select_from(table)
    count, at = (await session.execute(statement.where(*_between(table.c[journal.key], after, None)))).one()
    return int(count), at


async def last_block(session: AsyncSession, journal: Journal) -> AuditBlock | None:
    statement = sa.select(AuditBlock).where(AuditBlock.journal == journal.name)
    return await session.scalar(statement.order_by(AuditBlock.number.desc()).limit(1))


async def blocks(
    session: AsyncSession, journal: str, *, above: int, limit: int, with_list: bool = False, sealing: bool = False
) -> Sequence[AuditBlock]:
    """:param sealing: only blocks whose rows exist"""
    statement = sa.select(AuditBlock).where(AuditBlock.journal == journal, AuditBlock.number > above)
    if with_list:
        statement = statement.options(undefer(AuditBlock.row_list))
    if sealing:
        statement = statement.where(AuditBlock.kind == BlockKind.SEAL, AuditBlock.row_list.is_not(None))
    return (await session.scalars(statement.order_by(AuditBlock.number).limit(limit))).all()


async def block_before(session: AsyncSession, journal: str, number: int) -> AuditBlock | None:
    statement = sa.select(AuditBlock).where(AuditBlock.journal == journal, AuditBlock.number < number)
    return await session.scalar(statement.order_by(AuditBlock.number.desc()).limit(1))


async def count_blocks(session: AsyncSession, journal: str) -> int:
    statement = sa.select(sa.func.count()).select_from(AuditBlock).where(AuditBlock.journal == journal)
    return int(await session.scalar(statement) or 0)


async def add_block(
    header: BlockHeader, session: AsyncSession, *, last_id: int, marks: Sequence[RowDigest] | None
) -> None:
    """:raises IntegrityError: when another process wrote this number"""
    row = AuditBlock(last_id=last_id, row_list=None if marks is None else pack(marks))
    for name in BlockHeader.__slots__:
        setattr(row, name, getattr(header, name))
    session.add(row)
    await session.flush()


async def delete_rows(session: AsyncSession, journal: Journal, after: int | None, *, upto: int) -> int:
    """The caller must check that the deletion is lawful."""
    table = _table(journal)
    statement = sa.delete(table).where(*_between(table.c[journal.key], after, upto))
    result = await session.execute(statement, execution_options={ALLOW_PURGE: True})
    return int(result.rowcount)  # type: ignore[attr-defined]


async def clear_row_lists(session: AsyncSession, journal: str, *, first: int, last: int) -> None:
    statement = sa.update(AuditBlock).where(AuditBlock.journal == journal, AuditBlock.number.between(first, last))
    options = {ALLOW_PURGE: True, "synchronize_session": False}
    await session.execute(statement.values(row_list=None), execution_options=options)


def header_of(row: AuditBlock) -> BlockHeader:
    return BlockHeader(**{name: getattr(row, name) for name in BlockHeader.__slots__} | {"kind": BlockKind(row.kind)})


def row_list(block: AuditBlock) -> list[RowDigest] | None:
    return None if block.row_list is None else unpack(block.row_list)


class AuditRecord(NamedTuple):
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
    """:param objects: rows about any of these entity ids"""

    objects: tuple[str, ...] = ()
    kind: str | None = None
    actions: tuple[str, ...] = ()
    people: frozenset[int] | None = None
    since: datetime | None = None
    until: datetime | None = None


_BRANCHES = 30  # with more people, a scan in order of time finds a page soon enough
_Conditions = list[sa.ColumnElement[bool]]


async def search(session: AsyncSession, wanted: AuditSearch, *, cursor: str | None, limit: int) -> list[AuditRecord]:
    """
    Return one row more than the page, newest first.

    An index returns rows of one person or object in order of time, so several are read separately and merged.
    """
    branches = [[*branch, *_further_conditions(wanted)] for branch in _branches(wanted)]
    if not branches or wanted.people == frozenset():
        return []
    if len(branches) == 1:
        statement = _newest_first(sa.select(*_RECORD).where(*branches[0]), cursor, limit)
    else:
        keys = [
            sa.select(*_newest_first(_KEYS.where(*branch), cursor, limit).subquery().columns.values())
            for branch in branches
        ]
        selected = sa.union_all(*keys).subquery()
        is_selected = sa.and_(AuditLog.audit_id == selected.c.audit_id, AuditLog.created_at == selected.c.created_at)
        statement = _newest_first(sa.select(*_RECORD).join(selected, is_selected), None, limit)
    records = map(AuditRecord._make, (await session.execute(statement)).all())
    return [record if record.details else record._replace(details={}) for record in records]


_KEYS = sa.select(AuditLog.audit_id, AuditLog.created_at)


def _newest_first(statement: AnySelect, cursor: str | None, limit: int) -> AnySelect:
    return newest_first(statement, at=AuditLog.created_at, public_id=AuditLog.public_id, cursor=cursor, limit=limit)


def _branches(wanted: AuditSearch) -> list[_Conditions]:
    """Return the first condition of each statement, for which there is an index."""
    if wanted.objects:
        return [[AuditLog.entity_id == entity_id] for entity_id in wanted.objects]
    people, has_one_action = wanted.people, len(wanted.actions) == 1
    if people is not None and not has_one_action and wanted.kind is None and len(people) <= _BRANCHES:
        return [[AuditLog.user_id == key] for key in sorted(people)]
    if wanted.people is None and len(wanted.actions) > 1:
        return [[AuditLog.action == action] for action in wanted.actions]
    return [[]]


def _further_conditions(wanted: AuditSearch) -> _Conditions:
    conditions: _Conditions = []
    if wanted.actions:
        conditions.append(AuditLog.action.in_(wanted.actions))
    if wanted.kind is not None:
        conditions.append(AuditLog.entity_type == wanted.kind)
    if wanted.people is not None:
        conditions.append(AuditLog.user_id.in_(sorted(wanted.people)))
    if wanted.since is not None:
        conditions.append(AuditLog.created_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(AuditLog.created_at < wanted.until)
    return conditions
