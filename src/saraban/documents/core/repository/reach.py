"""
`document_reach`: the rows by which each kind of reader finds documents in registers.

They are derived from the rows of the document; a change of those calls `renew` in the same transaction.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.documents.core.domain import NO_DATE, NO_DUE, KindRules, ReaderKind, RegisterCode
from saraban.documents.core.models import Document, DocumentReach, DocumentRecipient, DocumentRevision
from saraban.documents.core.repository.documents import status_key
from saraban.kit.db import AnySelect, table_of
from saraban.projects.models import CorrespondenceStatus, CorrespondenceType, Project
from saraban.search_index import service as search_index

Column = sa.SQLColumnExpression[Any]
# Whose rows, and the column that holds their key.
Reader = tuple[ReaderKind, Column]

_reach = table_of(DocumentReach)
_documents: sa.BindParameter[Sequence[int]] = sa.bindparam("documents", expanding=True)
_ZERO = sa.literal_column("0", sa.Integer())


@dataclass(frozen=True, slots=True)
class ReachHeads:
    """:param held: keys of the rows to lock, in this order"""

    rows: AnySelect
    table: sa.Table
    key: Column
    project: Column
    held: Sequence[Column]


class ReachIndex:
    """
    The rows of one register in `document_reach`.

    :param at_home: selects the rows of `documents`, in the order of the table's columns
    :param away: the same for issued revisions
    :param status: the value of the column for the bound `code`
    """

    def __init__(
        self,
        register: RegisterCode,
        heads: ReachHeads,
        *,
        at_home: Sequence[AnySelect],
        away: Sequence[AnySelect] = (),
        status: Column,
    ) -> None:
        self.register, self._heads = register, heads
        rows = sa.union_all(*at_home, *away)
        self._mine = _reach.c.kind == _number(register)
        mine = self._mine, _reach.c.document_id.in_(_documents)
        self._differing = _differing_documents(rows.subquery(), sa.select(_reach).where(*mine).subquery())
        columns = [column.name for column in _reach.c]
        self._insert_new = sa.insert(_reach).from_select(columns, sa.union_all(*at_home))
        self._insert = sa.insert(_reach).from_select(columns, rows)
        on_mariadb, on_sqlite = (
            mysql.insert(_reach).from_select(columns, rows),
            sqlite.insert(_reach).from_select(columns, rows),
        )
        shown = [column.name for column in _reach.c if not column.primary_key]
        self._upsert = {
            "mariadb": on_mariadb.on_duplicate_key_update({name: on_mariadb.inserted[name] for name in shown}),
            "sqlite": on_sqlite.on_conflict_do_update(
                index_elements=_reach.primary_key, set_={name: on_sqlite.excluded[name] for name in shown}
            ),
        }
        self._delete = sa.delete(_reach).where(*mine)
        self._follow = (
            sa.update(_reach)
            .where(*mine, _reach.c.revision_id.in_(sa.bindparam("revisions", expanding=True)))
            .values(status=status, is_open=sa.bindparam("still_open", type_=sa.Boolean()))
        )

    async def add(self, session: AsyncSession, *, documents: Collection[int]) -> None:
        """Insert the rows of new documents; search is notified by their creation."""
        await session.execute(self._insert_new, {"documents": list(documents)})

    async def renew(self, session: AsyncSession, *, documents: Collection[int]) -> None:
        """Replace the rows of documents, and reindex them for search."""
        await session.execute(self._delete, {"documents": list(documents)})
        await session.execute(self._insert, {"documents": list(documents)})
        await self._reindex(session, documents)

    async def issue(self, session: AsyncSession, *, documents: Collection[int]) -> None:
        """Upsert the rows after the newest revision was issued, which only adds readers; reindex for search."""
        await session.execute(self._upsert[session.get_bind().dialect.name], {"documents": list(documents)})
        await self._reindex(session, documents)

    async def follow(
        self,
        session: AsyncSession,
        *,
        documents: Collection[int],
        code: str,
        is_open: bool,
        revisions: Collection[int] = (0,),
    ) -> None:
        """Update the status of the rows that show one of the revisions, and reindex for search."""
        values = {"documents": list(documents), "revisions": list(revisions), "code": code, "still_open": is_open}
        await session.execute(self._follow, values)
        await self._reindex(session, documents)

    async def _reindex(self, session: AsyncSession, documents: Collection[int]) -> None:
        await search_index.note_keys(session, int(self.register), self._heads.table, documents)

    async def count(self, session: AsyncSession, *, project: UUID | None) -> int:
        return (
            await session.scalar(sa.select(sa.func.count()).select_from(self._heads_in_project(project).subquery()))
            or 0
        )

    async def slice(self, session: AsyncSession, *, after: int, limit: int, project: UUID | None) -> list[int]:
        """Return the next keys of documents, and of rows whose document is gone, in order."""
        heads = self._heads_in_project(project).where(self._heads.key > after).order_by(self._heads.key).limit(limit)
        place = _reach.c.document_id
        rows = sa.select(place).distinct().where(self._mine, place > after).order_by(place).limit(limit)
        if project is not None:
            rows = rows.where(_reach.c.project_id == _project_key(project))
        keys = {*await session.scalars(heads), *await session.scalars(rows)}
        return sorted(keys)[:limit]

    def _heads_in_project(self, project: UUID | None) -> AnySelect:
        rows = self._heads.rows
        return rows if project is None else rows.where(self._heads.project == _project_key(project))

    async def differing(self, session: AsyncSession, *, documents: Collection[int]) -> list[int]:
        """Return the documents whose rows are wrong; one statement sees one snapshot."""
        return list(await session.scalars(self._differing, {"documents": list(documents)}))

    async def numbers(self, session: AsyncSession, *, documents: Collection[int]) -> dict[int, str]:
        place = _reach.c.document_id
        left = sa.select(place, _reach.c.document_number).where(self._mine, place.in_(documents))
        heads = self._heads.rows.where(self._heads.key.in_(documents))
        return {row[0]: row[1] for statement in (left, heads) for row in await session.execute(statement)}

    async def hold(self, session: AsyncSession, *, documents: Collection[int]) -> None:
        for key in self._heads.held:
            await session.execute(sa.select(key).where(key.in_(documents)).order_by(key).with_for_update())


def _differing_documents(one: sa.Subquery, other: sa.Subquery) -> sa.CompoundSelect[int]:
    lone = [sa.except_(sa.select(left), sa.select(right)).subquery() for left, right in ((one, other), (other, one))]
    return sa.union(*(sa.select(each.c.document_id) for each in lone))


@dataclass(frozen=True, slots=True)
class OpenRow:
    due: datetime
    created_at: datetime
    document_id: int
    revision_id: int


async def open_rows(
    session: AsyncSession,
    *,
    project_id: int,
    register: RegisterCode,
    before: datetime,
    after: OpenRow | None,
    limit: int,
) -> list[OpenRow]:
    """List open documents due before a moment, the longest due first, along an index."""
    place = _reach.c.due_date, _reach.c.created_at, _reach.c.document_id
    reader = _reach.c.reader_kind == _number(ReaderKind.PROJECT), _reach.c.reader_id == _ZERO
    statement = sa.select(*place, _reach.c.revision_id).where(
        *reader, _reach.c.project_id == project_id, _reach.c.kind == _number(register)
    )
    statement = statement.where(_reach.c.is_open == sa.true(), _reach.c.due_date < before)
    if after is not None:
        due, created, document = place
        later = sa.or_(created > after.created_at, sa.and_(created == after.created_at, document > after.document_id))
        # The first condition says nothing new, and is the one that MariaDB can begin to read at.
        statement = statement.where(due >= after.due, sa.or_(due > after.due, later))
    return [OpenRow(*row) for row in await session.execute(statement.order_by(*place).limit(limit))]


def _project_key(project: UUID) -> sa.ScalarSelect[int]:
    return sa.select(Project.id).where(Project.public_id == project).scalar_subquery()


def reach_of_sheets(
    register: RegisterCode, heads: ReachHeads, organization: Column, columns: Mapping[str, Column], *, status: Column
) -> ReachIndex:
    """Return the index of documents that one organization keeps for itself and its project."""
    readers = (ReaderKind.PROJECT, _ZERO), (ReaderKind.ORGANIZATION, organization)
    at_home = [sa.select(*_columns(register, one, {"document_id": heads.key, **columns})) for one in readers]
    return ReachIndex(register, heads, at_home=[one.where(heads.key.in_(_documents)) for one in at_home], status=status)


def _columns(register: RegisterCode, reader: Reader, given: Mapping[str, Column]) -> list[Column]:
    kind, reader_id = reader
    fixed = {"reader_kind": _number(kind), "reader_id": reader_id, "kind": _number(register)}
    columns = {**given, **fixed}
    columns["document_date"] = _day_or_default(columns.get("document_date"), NO_DATE.isoformat())
    columns["due_date"] = _day_or_default(columns.get("due_date"), f"{NO_DUE:%Y-%m-%d %H:%M:%S.%f}")
    return [columns.get(column.name, _ZERO).label(column.name) for column in _reach.c]


def _number(value: int) -> Column:
    return sa.literal_column(str(int(value)), sa.Integer())


def _day_or_default(day: Column | None, none: str) -> Column:
    # As a text: what should stand is compared with what does, and on MariaDB both print alike.
    text = sa.literal(none, sa.String())
    return text if day is None else sa.func.coalesce(day, text)


_head, _revision, _link = Document, DocumentRevision, DocumentRecipient
_newest, _issued = aliased(_revision, name="newest"), aliased(_revision, name="issued")


def reach_of_documents(rules: KindRules, type_id: Column = _head.correspondence_type_id) -> ReachIndex:
    """
    Return the index of documents with revisions.

    Readers of the project and the originator see the newest revision, those of the contract and the recipients the newest issued.

    :param type_id: the column of the head by which the register filters types
    """
    newest_rows = [
        _newest_rows(rules, type_id, (ReaderKind.PROJECT, _ZERO)),
        _newest_rows(rules, type_id, (ReaderKind.ORGANIZATION, _head.originator_id)),
    ]
    issued_rows = [
        _issued_rows(rules, type_id, (ReaderKind.CONTRACT, _head.contract_id)).where(_head.contract_id.is_not(None)),
        _issued_rows(rules, type_id, (ReaderKind.ORGANIZATION, _link.recipient_organization_id))
        .join(_link, _link.correspondence_id == _head.id)
        .where(_link.recipient_organization_id != _head.originator_id)
        .distinct(),  # one may be a recipient twice, to act and to know
    ]
    status: Column = status_key(sa.bindparam("code"))
    return ReachIndex(rules.register, _heads_of(rules), at_home=newest_rows, away=issued_rows, status=status)


def _heads_of(rules: KindRules) -> ReachHeads:
    rows = (
        sa.select(_head.id, _head.correspondence_number)
        .join(CorrespondenceType, CorrespondenceType.id == _head.correspondence_type_id)
        .where(_head.deleted_at.is_(None), CorrespondenceType.type_code.in_(sorted(rules.type_codes)))
        .prefix_with("STRAIGHT_JOIN", dialect="mariadb")  # along the keys, not along each type
    )
    # Its revisions too: a step of a workflow holds them, and not the head.
    return ReachHeads(rows, table_of(_head), _head.id, _head.project_id, (_head.id, _revision.correspondence_id))


def _newest_rows(rules: KindRules, type_id: Column, reader: Reader) -> AnySelect:
    statement = (
        sa.select(*_reach_columns(rules, type_id, reader, _newest)).select_from(_head).join(_newest, _is_newest())
    )
    return _within_kind(statement, rules, _newest)


def _issued_rows(rules: KindRules, type_id: Column, reader: Reader) -> AnySelect:
    statement = (
        sa.select(*_reach_columns(rules, type_id, reader, _issued)).select_from(_head).join(_newest, _is_newest())
    )
    return _within_kind(statement.join(_issued, _is_newest(issued=True)), rules, _issued)


def _is_newest(*, issued: bool = False) -> sa.ColumnElement[bool]:
    """Match the newest standing revision of the head, or the newest issued one."""
    shown, other = _issued if issued else _newest, aliased(_revision)
    standing = [other.correspondence_id == _head.id, other.withdrawn_at.is_(None)]
    if issued:
        standing.append(other.issued_date.is_not(None))
    number = sa.select(sa.func.max(other.revision_number)).where(*standing).correlate(_head).scalar_subquery()
    return sa.and_(shown.correspondence_id == _head.id, shown.revision_number == number)


def _within_kind(statement: AnySelect, rules: KindRules, shown: type[DocumentRevision]) -> AnySelect:
    return (
        statement.join(CorrespondenceType, CorrespondenceType.id == _head.correspondence_type_id)
        .join(CorrespondenceStatus, CorrespondenceStatus.id == shown.correspondence_status_id)
        .where(
            _head.id.in_(_documents),
            _head.deleted_at.is_(None),
            CorrespondenceType.type_code.in_(sorted(rules.type_codes)),
        )
        # From the heads: MariaDB would otherwise begin with a type or a status, and read all that ever had it.
        .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    )


def _reach_columns(rules: KindRules, type_id: Column, reader: Reader, shown: type[DocumentRevision]) -> list[Column]:
    given: dict[str, Column] = {
        "project_id": _head.project_id,
        "created_at": _head.created_at,
        "document_id": _head.id,
        "revision_id": shown.id,
        "is_draft": shown.issued_date.is_(None),
        "behind": shown.id != _newest.id,
        "is_open": CorrespondenceStatus.status_code.not_in(sorted(rules.finished_codes)),
        "status": shown.correspondence_status_id,
        "type_id": type_id,
        "discipline_id": sa.func.coalesce(_head.discipline_id, 0),
        "contract_id": sa.func.coalesce(_head.contract_id, 0),
        "originator_id": _head.originator_id,
        "author_id": _head.created_by,
        "document_date": shown.document_date,
        "due_date": shown.due_date,
        "document_number": shown.correspondence_number,
        "number_sort": shown.number_sort,
    }
    return _columns(rules.register, reader, given)
