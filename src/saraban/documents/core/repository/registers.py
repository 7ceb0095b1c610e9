"""
Pages of registers: narrow rows from `document_reach`, along an index in the order asked for, for each key of the reader.

`domain.registers` decides the keys and the index, and merges the rows; the caller reads the wide rows of the page.
The statements name the index: the statistics of both databases know nothing of a reader who sees one row in a thousand.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from functools import lru_cache
from itertools import count, groupby
from typing import Any, Final, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import ReaderKind
from saraban.documents.core.domain.registers import Index, NarrowRow, Order, ReaderKey, Sort
from saraban.documents.core.models import DocumentReach
from saraban.documents.core.repository.register_filters import NOBODY, Condition, RegisterTables, many
from saraban.kit.db import AnySelect, table_of
from saraban.search_index.domain.query import MOST_WORDS
from saraban.search_index.service import IndexQuery, SearchIndex

_table = table_of(DocumentReach)
_reach = _table.c
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
    def parameters(self) -> FilterValues:
        """The parameters of all its statements."""
        return {**self.values, **self.home, "register": int(self.kind)}

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


_AT_ONCE: Final = 60  # selects of one statement
_MOST: Final = sa.bindparam("most", type_=sa.Integer())


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


class _KeyShape(NamedTuple):
    """
    The shape of a select of one key, whose values are parameters that end in its place in the statement.

    :param is_written: only what an organization wrote in one contract
    :param skips_behind: without documents whose newer draft the reader finds by another key
    :param has_value: of one value of the filter that leads the index
    """

    is_written: bool
    skips_behind: bool
    has_value: bool = False
    behind: _Behind | None = None


def _shape_of(ask: Ask, key: ReaderKey) -> _KeyShape:
    return _KeyShape(key.written_in is not None, key.kind is not ReaderKind.PROJECT and bool(ask.home))


def _key_values(keys: Iterable[ReaderKey]) -> FilterValues:
    return {
        f"{name}_{place}": value if value is None else int(value)
        for place, key in enumerate(keys)
        for name, value in zip(ReaderKey._fields, key, strict=True)
    }


def _of_key(
    tables: RegisterTables, index: Index, given: Collection[str], place: int, part: _KeyShape, *columns: Any
) -> AnySelect:
    """
    Select from the rows of one key that satisfy the conditions `given`.

    :param given: names of conditions
    """
    name = _BY_DOCUMENT if index.looks_up else f"ix_reach_{index}"
    if index is Index.CREATED:
        name, on_sqlite = "PRIMARY", "sqlite_autoindex_document_reach_1"
    else:
        on_sqlite = name
    reader: sa.BindParameter[Any] = sa.bindparam(f"reader_{place}")
    conditions = [
        _reach.project_id == sa.bindparam(f"project_{place}"),
        _reach.reader_kind == sa.bindparam(f"kind_{place}"),
        _reach.reader_id == reader,
        _reach.kind == sa.bindparam("register"),
    ]
    if part.is_written:
        conditions += [_reach.contract_id == sa.bindparam(f"written_in_{place}"), _reach.originator_id == reader]
    conditions += [condition for name, condition in {**_CONDITIONS, **tables.conditions}.items() if name in given]
    if not frozenset(WORDS).isdisjoint(given):
        conditions.append(_said(tables, given))
    if index.looks_up:
        conditions.append(_reach.document_id.in_(many("documents")))
    if part.has_value:
        conditions.append(_SPLIT[index] == sa.bindparam(f"value_{place}"))
    return (
        sa.select(*columns)
        .select_from(_table)
        .where(*conditions)
        .with_hint(_table, f"FORCE INDEX ({name})", "mariadb")
        .with_hint(_table, f"INDEXED BY {on_sqlite}", "sqlite")
    )


def _together(selects: Sequence[AnySelect]) -> Any:
    return selects[0] if len(selects) == 1 else sa.union_all(*(sa.select(one.subquery()) for one in selects))


# It takes longer to make these statements than to send them.
@lru_cache(maxsize=256)
def page_statement(
    tables: RegisterTables, index: Index, given: frozenset[str], order: Order, parts: tuple[_KeyShape, ...]
) -> Any:
    """Select the first rows of each part, in order."""
    value = [] if order.sort is Sort.CREATED else [_SORTED_BY[order.sort]]
    by = [column.desc() if order.descending else column for column in (*value, _reach.created_at, _reach.document_id)]
    columns = _reach.document_id, _reach.revision_id, _reach.created_at, *value
    selects = []
    for place, part in enumerate(parts):
        # By one value alone: of several SQLite makes one range, and sorts it.
        names = given - {_VALUES.get(index, "")} if part.has_value else given
        statement = _of_key(tables, index, names, place, part, *columns).order_by(*by).limit(_MOST)
        if part.skips_behind:
            statement = statement.where(_NOT_BEHIND)
        if part.behind is not None:
            statement = statement.where(*_after(order, value, part.behind))
        selects.append(statement)
    return _together(selects)


def page_statements(
    ask: Ask, index: Index, *, after: After | None, most: int, documents: Sequence[int] = ()
) -> list[tuple[Any, FilterValues]]:
    """
    Return statements of the first rows, with their parameters: one select for each key and each value for which the index is in
    order by itself; behind a cursor one more for the rows of other values than its own.

    :param documents: those that an index which looks up has found
    """
    behind: Sequence[_Behind | None] = [None]
    values = ask.parameters | {"most": most, "documents": documents}
    if after is not None:
        behind = [_Behind.ALIKE] if ask.order.sort is Sort.CREATED else [_Behind.ALIKE, _Behind.OTHERS]
        values |= {"after_value": after.value, "after_at": after.at, "after_document": after.document_id}
    branches = [
        (key, value, _shape_of(ask, key)._replace(has_value=value is not None, behind=place))
        for key in ask.keys
        for value in _splits(ask, index, key.project)
        for place in behind
    ]
    statements = []
    for start in range(0, len(branches), _AT_ONCE):
        keys, split, parts = zip(*branches[start : start + _AT_ONCE], strict=True)
        statement = page_statement(ask.tables, index, frozenset(ask.values), ask.order, parts)
        own = {f"value_{place}": value for place, value in enumerate(split)}
        statements.append((statement, values | _key_values(keys) | own))
    return statements


async def narrow_rows(session: AsyncSession, statements: Sequence[tuple[Any, FilterValues]]) -> list[NarrowRow]:
    return [NarrowRow(*row) for statement in statements for row in (await session.execute(*statement)).all()]


def _after(order: Order, value: Sequence[Any], behind: _Behind) -> list[Condition]:
    """Begin behind the cursor, in words that both databases read as the end of a range."""
    of_cursor: sa.BindParameter[Any] = sa.bindparam("after_value")
    if behind is _Behind.OTHERS:
        return [column < of_cursor if order.descending else column > of_cursor for column in value]
    at, document = _reach.created_at, _reach.document_id
    moment: sa.BindParameter[Any] = sa.bindparam("after_at")
    last: sa.BindParameter[Any] = sa.bindparam("after_document")
    if order.descending:
        begin = [at <= moment, sa.or_(at < moment, document < last)]
    else:
        begin = [at >= moment, sa.or_(at > moment, document > last)]
    return [*(column == of_cursor for column in value), *begin]


def _splits(ask: Ask, index: Index, project: int) -> Sequence[object]:
    if index is Index.DUE:
        return (True,) if "open" in ask.values else (True, False)
    name = _VALUES.get(index, "")
    if name not in ask.values:
        return (None,)
    within = ask.within.get(name, {})
    return [one for one in sorted(ask.values[name]) if within.get(one) in {None, project}]


@lru_cache(maxsize=256)
def _size_statement(tables: RegisterTables, index: Index, led: frozenset[str], parts: tuple[_KeyShape, ...]) -> Any:
    # What is behind counts too: whether it is has to be looked up row by row.
    rows = [_of_key(tables, index, led, *part, sa.literal_column("1")).limit(_MOST) for part in enumerate(parts)]
    return _together([sa.select(sa.func.count()).select_from(one.subquery()) for one in rows])


async def count_rows(
    session: AsyncSession, ask: Ask, keys: Sequence[ReaderKey], index: Index | None, *, most: int
) -> list[int]:
    """
    Count the rows that the filters of one index leave of each key, up to a limit; nobody is told this number.

    :param index: None for all that the reader sees
    """
    led = frozenset[str]() if index is None else _led_by(ask, index)
    parts = tuple(_shape_of(ask, key) for key in keys)
    statement = _size_statement(ask.tables, index or Index.CREATED, led, parts)
    return list(await session.scalars(statement, ask.parameters | {"most": most} | _key_values(keys)))


def _led_by(ask: Ask, index: Index) -> frozenset[str]:
    given = frozenset(name for name in ask.values if _FILTERS.get(name) is index)
    if index is Index.DUE:
        given |= {"open"} if "open" in ask.values else {"open_or_not"}
    return given


async def looked_up(session: AsyncSession, ask: Ask, index: Index) -> list[int]:
    """Return the documents that a filter finds outside `document_reach`, a few and one."""
    return list(await session.scalars(ask.tables.documents[index], ask.parameters))


class CountedKeys(NamedTuple):
    """
    Keys of one project whose documents are counted together, because a document can be found by several of them.

    :param contracts: whose documents are counted by keys of their own
    """

    keys: tuple[ReaderKey, ...]
    contracts: tuple[int, ...] = ()


def counted_keys(keys: Sequence[ReaderKey]) -> list[CountedKeys]:
    """A document is of one contract, so what stands under contracts needs no comparing. Neither does the rest of one organization."""
    groups = []
    for _, several in groupby(keys, key=lambda key: key.project):
        of_project = list(several)
        rest = tuple(key for key in of_project if key.kind is ReaderKind.ORGANIZATION)
        contracts = tuple(key.reader for key in of_project if key.kind is ReaderKind.CONTRACT)
        groups += [CountedKeys((key,)) for key in of_project if key.kind is not ReaderKind.ORGANIZATION]
        groups += [CountedKeys(rest, contracts or (NOBODY,))] if rest else []
    return groups


@lru_cache(maxsize=256)
def _count_statement(
    tables: RegisterTables,
    index: Index,
    given: frozenset[str],
    led: frozenset[str] | None,
    groups: tuple[tuple[bool, tuple[_KeyShape, ...]], ...],
) -> Any:
    selects: list[AnySelect] = []
    places = count()
    for number, (of_organizations, parts) in enumerate(groups):
        # What was issued in a contract stands under its key too, with the same revision.
        elsewhere = _reach.contract_id.not_in(many(f"contracts_{number}"))
        wanted = [sa.or_(_reach.is_draft == sa.true(), elsewhere)] if of_organizations else []
        rows, exceeds = [], []
        for part in parts:
            place = next(places)
            found = _of_key(tables, index, given, place, part, _reach.document_id).where(*wanted)
            rows.append(found.where(_NOT_BEHIND) if part.skips_behind else found)
            if led is not None:
                row = _of_key(tables, index, led, place, part, sa.literal_column("1")).limit(1)
                exceeds.append(row.offset(sa.bindparam("beyond", type_=sa.Integer())).scalar_subquery().is_not(None))
        counted = rows[0].with_only_columns(sa.func.count())
        if len(rows) > 1:
            counted = sa.select(sa.func.count()).select_from(sa.union(*rows).subquery())
        # The second is not looked at where the first is true.
        selects.append(
            sa.select(sa.case((sa.or_(*exceeds), _MOST), else_=counted.scalar_subquery())) if exceeds else counted
        )
    return _together(selects)


async def count_documents(
    session: AsyncSession,
    ask: Ask,
    groups: Sequence[CountedKeys],
    index: Index,
    documents: Sequence[int],
    *,
    most: int | None,
) -> int:
    """
    Count how many documents are wanted.

    :param most: where given, the count of keys of which the filters of the index leave as many rows
    """
    given = ask.values.keys() | ({"open_or_not"} if index is Index.DUE and "open" not in ask.values else set())
    values = ask.parameters | {"most": most, "beyond": (most or 1) - 1, "documents": documents}
    values |= _key_values(key for group in groups for key in group.keys)
    values |= {f"contracts_{number}": group.contracts for number, group in enumerate(groups)}
    shapes = tuple((bool(group.contracts), tuple(_shape_of(ask, key) for key in group.keys)) for group in groups)
    led = None if most is None else _led_by(ask, index)
    statement = _count_statement(ask.tables, index, frozenset(given), led, shapes)
    return sum(await session.scalars(statement, values))
