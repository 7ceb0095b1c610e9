"""
Pages of registers: narrow rows from `document_reach`, along an index in the order asked for, for each key of the reader.

`domain.registers` decides the keys and the index, and merges the rows; the caller reads the wide rows of the page.
The statements name the index: the statistics of both databases know nothing of a reader who sees one row in a thousand.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import ReaderKind
from saraban.documents.core.domain.registers import Index, NarrowRow, Order, ReaderKey, Sort
from saraban.documents.core.models import DocumentReach
from saraban.documents.core.repository.register_filters import NOBODY, Condition, RegisterTables, many
from saraban.kit.db import AnyRow, AnySelect, table_of
from saraban.search_index.domain.query import MOST_WORDS
from saraban.search_index.service import IndexQuery, SearchIndex

_table = table_of(DocumentReach)
_reach = _table.c
_NAMES: Final[Mapping[Index, str]] = {
    Index.STATUS: "ix_reach_status",
    Index.TYPE: "ix_reach_type",
    Index.DISCIPLINE: "ix_reach_discipline",
    Index.DUE: "ix_reach_due",
    Index.DATE: "ix_reach_date",
    Index.NUMBER: "ix_reach_number",
}
_BY_DOCUMENT: Final = "ix_reach_document"
_SORTED_BY: Final[Mapping[Sort, Any]] = {
    Sort.NUMBER: _reach.number_sort,
    Sort.DATE: _reach.document_date,
    Sort.DUE: _reach.due_date,
    Sort.STATUS: _reach.status,
}
_SPLIT: Final[Mapping[Index, Any]] = {
    Index.STATUS: _reach.status,
    Index.TYPE: _reach.type_id,
    Index.DISCIPLINE: _reach.discipline_id,
    Index.DUE: _reach.is_open,
}


FilterValues = dict[str, Any]  # by the names of conditions


@dataclass(frozen=True, slots=True)
class TextMatches:
    """
    The words of a register's box where the index finds many documents: each page of rows is compared with it.

    :param values: what is given to statements for documents that the index does not contain yet
    """

    index: SearchIndex
    query: IndexQuery
    values: FilterValues


@dataclass(frozen=True, slots=True)
class Ask:
    """
    What is wanted of a register, by keys.

    :param values: what is asked for, by the names of conditions; a name that is absent asks for nothing
    :param home: what a reader by several keys is at home in, for documents of which a newer draft stands
    :param within: by the names of conditions, the project of each of their values that is of one project only
    :param sees_all: nothing is hidden from the reader
    """

    tables: RegisterTables
    kind: int
    order: Order
    values: FilterValues
    keys: Sequence[ReaderKey] = ()
    home: Mapping[str, Sequence[int]] = field(default_factory=dict)
    within: Mapping[str, Mapping[int, int | None]] = field(default_factory=dict)
    sees_all: bool = False
    text: TextMatches | None = None

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of all its statements."""
        return {**self.values, **self.home}

    @property
    def filters(self) -> frozenset[Index]:
        return frozenset(_FILTERS[name] for name in self.values if name in _FILTERS)


WORDS: Final = tuple(f"word_{place}" for place in range(MOST_WORDS))
WITHOUT: Final = tuple(f"without_{place}" for place in range(MOST_WORDS))
WAITING: Final = "waiting"  # documents that the index of search does not contain yet, where these are few
MATCHED, MATCHED_REVISIONS = "matched", "matched_revisions"  # what the index finds for the reader
_FILTERS: Final[Mapping[str, Index]] = {
    **dict.fromkeys(WORDS, Index.TEXT),
    "statuses": Index.STATUS,
    "types": Index.TYPE,
    "disciplines": Index.DISCIPLINE,
    "created_from": Index.CREATED,
    "created_until": Index.CREATED,
    "due_from": Index.DUE,
    "due_until": Index.DUE,
    "person": Index.PERSON,
    "mine": Index.MINE,
    "party": Index.PARTY,
    "caller": Index.PENDING,
    "about": Index.ABOUT,
}


_VALUES: Final[Mapping[Index, str]] = {
    Index.STATUS: "statuses",
    Index.TYPE: "types",
    Index.DISCIPLINE: "disciplines",
}


_AT_ONCE: Final = 60  # selects of one statement


async def fetch_rows(session: AsyncSession, selects: Sequence[AnySelect], ask: Ask) -> list[AnyRow]:
    """Return the rows of selects with the same columns, in few statements."""
    rows: list[AnyRow] = []
    for start in range(0, len(selects), _AT_ONCE):
        some = selects[start : start + _AT_ONCE]
        parts = some[0] if len(some) == 1 else sa.union_all(*(sa.select(one.subquery()) for one in some))
        rows += (await session.execute(parts, ask.parameters)).all()
    return rows


def _said(tables: RegisterTables, given: Collection[str]) -> Condition:
    """What the index does not contain yet is found by what the register shows of it."""
    shown = sa.and_(
        *(tables.text(name) for name in WORDS if name in given),
        *(sa.not_(tables.text(name)) for name in WITHOUT if name in given),
    )
    if WAITING in given:
        shown = sa.and_(_reach.document_id.in_(many(WAITING)), shown)
    if MATCHED not in given:
        return shown
    matched = _reach.document_id.in_(many(MATCHED)), _reach.revision_id.in_(many(MATCHED_REVISIONS))
    return sa.or_(sa.and_(*matched), shown)


async def shown_pairs(
    session: AsyncSession, ask: Ask, values: FilterValues, documents: Sequence[int]
) -> set[tuple[int, int]]:
    """Return which of the documents, with which revisions, show the words of `values`."""
    statement = sa.select(_reach.document_id, _reach.revision_id).distinct()
    statement = statement.where(_reach.document_id.in_(documents), _reach.kind == int(ask.kind))
    statement = statement.where(_said(ask.tables, values)).with_hint(_table, f"INDEXED BY {_BY_DOCUMENT}", "sqlite")
    return {(document, revision) for document, revision in await session.execute(statement, values)}


async def keys_of(session: AsyncSession, tables: RegisterTables, public_ids: Collection[UUID]) -> list[int]:
    heads = tables.heads.c
    return list(await session.scalars(sa.select(heads.id).where(heads.uuid.in_(public_ids)))) if public_ids else []


# Of a document whose newer draft this key does not show, the draft is shown to whoever is at home.
_NOT_BEHIND = sa.or_(
    _reach.behind == sa.false(),
    sa.not_(
        sa.or_(
            _reach.originator_id.in_(many("home_organizations")),
            sa.and_(_reach.contract_id.in_(many("home_contracts")), _reach.originator_id.in_(many("home_member_of"))),
        )
    ),
)
_CONDITIONS: Final[Mapping[str, Condition]] = {
    "statuses": _reach.status.in_(many("statuses")),
    "types": _reach.type_id.in_(many("types")),
    "disciplines": _reach.discipline_id.in_(many("disciplines")),
    "created_from": _reach.created_at >= sa.bindparam("created_from"),
    "created_until": _reach.created_at < sa.bindparam("created_until"),
    "due_from": _reach.due_date >= sa.bindparam("due_from"),
    "due_until": _reach.due_date < sa.bindparam("due_until"),
    "open": _reach.is_open == sa.true(),
    "open_or_not": _reach.is_open.in_([True, False]),  # so that what follows in the index is a range
}


def _of_key(ask: Ask, key: ReaderKey, index: Index, given: Collection[str], *columns: Any) -> AnySelect:
    """
    Select from the rows of one key that satisfy the conditions `given`.

    :param given: names of conditions
    """
    name = _BY_DOCUMENT if index.looks_up else _NAMES.get(index, _PRIMARY)
    on_sqlite = "sqlite_autoindex_document_reach_1" if name == _PRIMARY else name
    found = [
        _reach.project_id == key.project,
        _reach.reader_kind == int(key.kind),
        _reach.reader_id == key.reader,
        _reach.kind == int(ask.kind),
    ]
    if key.written_in is not None:
        found += [_reach.contract_id == key.written_in, _reach.originator_id == key.reader]
    conditions = {**_CONDITIONS, **ask.tables.conditions}
    found += [condition for name, condition in conditions.items() if name in given]
    if not frozenset(WORDS).isdisjoint(given):
        found.append(_said(ask.tables, given))
    return (
        sa.select(*columns)
        .select_from(_table)
        .where(*found)
        .with_hint(_table, f"FORCE INDEX ({name})", "mariadb")
        .with_hint(_table, f"FORCE INDEX ({name})", "mysql")
        .with_hint(_table, f"INDEXED BY {on_sqlite}", "sqlite")
    )


def _not_behind(ask: Ask, key: ReaderKey) -> list[Condition]:
    return [] if key.kind is ReaderKind.PROJECT or not ask.home else [_NOT_BEHIND]


_PRIMARY: Final = "PRIMARY"


class _Behind(Enum):
    """Rows behind a cursor: in one range they would begin with all that have its value, however many are before it."""

    ALIKE = auto()
    OTHERS = auto()


@dataclass(frozen=True, slots=True)
class After:
    """Behind which row a page begins."""

    value: Any
    at: datetime
    document_id: int


def narrow(
    ask: Ask, index: Index, *, after: After | None, most: int, documents: Sequence[int] = (), many: bool = False
) -> list[AnySelect]:
    """
    Select the first rows: one select for each key and each value for which the index is in order by itself; behind a cursor one
    more for the rows of other values than its own.

    :param documents: those that an index which looks up has found
    :param many: more rows than are counted are open to the reader
    """
    given = {"party_by_row" if many and name == "party" else name for name in ask.values}
    value = _SORTED_BY.get(ask.order.sort)
    order = [_reach.created_at, _reach.document_id] if value is None else [value, _reach.created_at, _reach.document_id]
    columns = [_reach.document_id, _reach.revision_id, _reach.created_at] + ([] if value is None else [value])
    parts: Sequence[_Behind | None] = [None]
    if after is not None:
        parts = [_Behind.ALIKE] if ask.order.sort is Sort.CREATED else [_Behind.ALIKE, _Behind.OTHERS]
    selects = []
    for key in ask.keys:
        for split in _splits(ask, index, key.project):
            # By one value alone: of several SQLite makes one range, and sorts it.
            wanted = given if split is None else given - {_VALUES.get(index, "")}
            statement = _of_key(ask, key, index, wanted, *columns).where(*_not_behind(ask, key))
            statement = statement.order_by(*(column.desc() if ask.order.descending else column for column in order))
            if index.looks_up:
                statement = statement.where(_reach.document_id.in_(documents))
            if split is not None:
                statement = statement.where(_SPLIT[index] == split)
            for behind in parts:
                begin = [] if after is None or behind is None else _after(ask.order, value, after, behind)
                selects.append(statement.where(*begin).limit(most))
    return selects


async def narrow_rows(session: AsyncSession, selects: Sequence[AnySelect], ask: Ask) -> list[NarrowRow]:
    return [NarrowRow(*row) for row in await fetch_rows(session, selects, ask)]


def _after(order: Order, value: Any, after: After, behind: _Behind) -> list[Condition]:
    """Begin behind the cursor, in words that both databases read as the end of a range."""
    if behind is _Behind.OTHERS:
        return [value < after.value if order.descending else value > after.value]
    at, document = _reach.created_at, _reach.document_id
    if order.descending:
        begin = [at <= after.at, sa.or_(at < after.at, document < after.document_id)]
    else:
        begin = [at >= after.at, sa.or_(at > after.at, document > after.document_id)]
    return begin if value is None else [value == after.value, *begin]


def _splits(ask: Ask, index: Index, project: int) -> Sequence[object]:
    if index is Index.DUE:
        return (True,) if "open" in ask.values else (True, False)
    name = _VALUES.get(index, "")
    if name not in ask.values:
        return (None,)
    within = ask.within.get(name, {})
    return [one for one in sorted(ask.values[name]) if within.get(one) in {None, project}]


def size(ask: Ask, index: Index | None, *, most: int) -> list[AnySelect]:
    """
    Count the rows that the filters of one index leave, up to a limit, with one select for each key.

    What is behind counts too: whether it is has to be looked up row by row, and nobody is told this number.

    :param index: None for all that the reader sees
    """
    given = frozenset[str]() if index is None else _led_by(ask, index)
    rows = [_of_key(ask, key, index or Index.CREATED, given, sa.literal_column("1")).limit(most) for key in ask.keys]
    return [sa.select(sa.func.count()).select_from(one.subquery()) for one in rows]


def _led_by(ask: Ask, index: Index) -> frozenset[str]:
    given = frozenset(name for name in ask.values if _FILTERS.get(name) is index)
    if index is Index.DUE:
        given |= {"open"} if "open" in ask.values else {"open_or_not"}
    return given


async def looked_up(session: AsyncSession, ask: Ask, index: Index) -> list[int]:
    """Return the documents that a filter finds outside `document_reach`, a few and one."""
    return list(await session.scalars(ask.tables.documents[index], ask.parameters))


def count(ask: Ask, keys: Sequence[ReaderKey], index: Index, documents: Sequence[int]) -> list[AnySelect]:
    """
    Count how many documents of one project are wanted, by selects whose answers are added.

    A document is of one contract, so what stands under contracts needs no comparing. Neither does the rest of one organization.

    :param keys: all of this project
    """
    contracts = [key.reader for key in keys if key.kind is ReaderKind.CONTRACT] or [NOBODY]
    # What was issued in a contract stands under its key too, with the same revision.
    in_no_contract = sa.or_(_reach.is_draft == sa.true(), _reach.contract_id.not_in(contracts))
    given = ask.values.keys() | ({"open_or_not"} if index is Index.DUE and "open" not in ask.values else set())
    looked_up = [_reach.document_id.in_(documents)] if index.looks_up else []
    selects, rest = [], []
    for key in keys:
        found = _of_key(ask, key, index, given, _reach.document_id).where(*_not_behind(ask, key), *looked_up)
        if key.kind is ReaderKind.ORGANIZATION:
            rest.append(found.where(in_no_contract))
        else:
            selects.append(found.with_only_columns(sa.func.count()))
    if len(rest) == 1:
        selects.append(rest[0].with_only_columns(sa.func.count()))
    elif rest:
        selects.append(sa.select(sa.func.count()).select_from(sa.union(*rest).subquery()))
    return selects
