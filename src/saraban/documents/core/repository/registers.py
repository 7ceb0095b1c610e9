"""
Pages of registers: narrow rows from `document_reach`, along an index in the order asked for, for each key of the reader.

The keys, the choice of the index and the merging are decided in `domain.registers`; whoever asks reads the wide rows of the
page. Both databases are told the index: their statistics know nothing of a reader who sees one row in a thousand.
"""

from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from functools import cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import ReaderKind
from saraban.documents.core.domain.registers import Index, NarrowRow, Order, ReaderKey, Sort
from saraban.documents.core.models import DocumentReach
from saraban.documents.core.repository.register_filters import NOBODY, Condition, RegisterTables, many
from saraban.kit.db import AnySelect, table_of
from saraban.kit.statements import PreparedStatement, Query, Rows
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


@dataclass(frozen=True, slots=True)
class TextMatches:
    """
    The words of a register's box where the index finds many documents: each page of rows is compared with it.

    :param values: what is given to statements for documents that the index does not contain yet
    """

    index: SearchIndex
    query: IndexQuery
    values: Mapping[str, Any]


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
    values: Mapping[str, Any]
    keys: Sequence[ReaderKey] = ()
    home: Mapping[str, Sequence[int]] = field(default_factory=dict)
    within: Mapping[str, Mapping[int, int | None]] = field(default_factory=dict)
    sees_all: bool = False
    text: TextMatches | None = None

    @property
    def shared(self) -> dict[str, object]:
        """The parameters of all its statements."""
        return {"kind": self.kind, **self.values, **self.home}

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


@dataclass(frozen=True, slots=True)
class _Shape:
    """What makes one statement out of many: its values are given each time it is sent."""

    tables: RegisterTables
    given: frozenset[str]
    index: str
    split: Index | None = None
    at_home: bool = False  # the key is of a whole project
    own: bool = False  # only what the organization wrote in one contract
    rest: bool = False  # only what no contract of the reader shows too

    def conditions(self, suffix: str = "") -> list[Condition]:
        found = [*self._key(suffix), *self._filters()]
        return [*found, _IN_NO_CONTRACT] if self.rest else found

    def _key(self, suffix: str) -> list[Condition]:
        key = ("project_id", "reader_kind", "reader_id")
        found: list[Condition] = [_reach[name] == sa.bindparam(name + suffix) for name in key]
        found.append(_reach.kind == sa.bindparam("kind"))
        if self.own:
            found.append(_reach.contract_id == sa.bindparam(f"contract_id{suffix}"))
            found.append(_reach.originator_id == sa.bindparam(f"reader_id{suffix}"))
        if not self.at_home:
            found.append(_NOT_BEHIND)
        return found

    def _filters(self) -> list[Condition]:
        found = [make for name, make in _CONDITIONS.items() if name in self.given]
        own: Mapping[str, Callable[[], Condition]] = {
            "mine": lambda: self.tables.involves("mine"),
            "person": lambda: self.tables.involves("person"),
            "party": lambda: self.tables.party,
            "party_by_row": lambda: self.tables.party_by_row,
            "caller": lambda: self.tables.pending,
            "about": lambda: self.tables.about,
            "documents": lambda: _reach.document_id.in_(many("documents")),
        }
        found += [make() for name, make in own.items() if name in self.given]
        if not self.given.isdisjoint(WORDS):
            found.append(self.said())
        if self.split is not None:
            found.append(_SPLIT[self.split] == sa.bindparam("split"))
        return found

    def said(self) -> Condition:
        """What the index does not contain yet is found by what the register shows of it."""
        text = self.tables.text
        shown = sa.and_(
            *(text(name) for name in WORDS if name in self.given),
            *(sa.not_(text(name)) for name in WITHOUT if name in self.given),
        )
        if WAITING in self.given:
            shown = sa.and_(_reach.document_id.in_(many(WAITING)), shown)
        if MATCHED not in self.given:
            return shown
        matched = _reach.document_id.in_(many(MATCHED)), _reach.revision_id.in_(many(MATCHED_REVISIONS))
        return sa.or_(sa.and_(*matched), shown)


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
# What was issued in a contract stands under its key too, with the same revision.
_IN_NO_CONTRACT = sa.or_(_reach.is_draft == sa.true(), _reach.contract_id.not_in(many("of_contracts")))
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


def _from(index: str, *columns: Any) -> AnySelect:
    on_sqlite = "sqlite_autoindex_document_reach_1" if index == _PRIMARY else index
    forced = f"FORCE INDEX ({index})"
    return (
        sa.select(*columns)
        .select_from(_table)
        .with_hint(_table, forced, "mariadb")
        .with_hint(_table, forced, "mysql")
        .with_hint(_table, f"INDEXED BY {on_sqlite}", "sqlite")
    )


_PRIMARY: Final = "PRIMARY"
_MOST: Final = sa.bindparam("most", type_=sa.Integer())


class _Behind(Enum):
    """Rows behind a cursor: in one range they would begin with all that have its value, however many are before it."""

    ALIKE = auto()
    OTHERS = auto()


@cache
def _narrow(shape: _Shape, order: Order, behind: _Behind | None) -> PreparedStatement:
    value = _SORTED_BY.get(order.sort)
    ordered = (
        [_reach.created_at, _reach.document_id] if value is None else [value, _reach.created_at, _reach.document_id]
    )
    columns = [_reach.document_id, _reach.revision_id, _reach.created_at] + ([] if value is None else [value])
    statement = _from(shape.index, *columns).where(*shape.conditions())
    if behind is not None:
        statement = statement.where(*_after(order, value, behind))
    by = [column.desc() if order.descending else column for column in ordered]
    return PreparedStatement(statement.order_by(*by).limit(_MOST))


def _after(order: Order, value: Any, behind: _Behind) -> list[Condition]:
    """Begin behind the cursor, in words that both databases read as the end of a range."""
    at, document = sa.bindparam("after_at", type_=_reach.created_at.type), sa.bindparam("after_id", type_=sa.Integer())

    def beyond(column: Any, place: Any, *, also: bool = False) -> Condition:
        if order.descending:
            return column <= place if also else column < place  # type: ignore[no-any-return]
        return column >= place if also else column > place  # type: ignore[no-any-return]

    last = None if value is None else sa.bindparam("after_value", type_=value.type)
    if behind is _Behind.OTHERS:
        return [beyond(value, last)]
    later = sa.or_(beyond(_reach.created_at, at), beyond(_reach.document_id, document))
    return [*([] if value is None else [value == last]), beyond(_reach.created_at, at, also=True), later]


@cache
def _size(shape: _Shape) -> PreparedStatement:
    """Count the rows of one key that a filter leaves, up to a limit."""
    rows = _from(shape.index, sa.literal_column("1")).where(*shape.conditions()).limit(_MOST).subquery()
    return PreparedStatement(sa.select(sa.func.count()).select_from(rows))


async def keys_of(session: AsyncSession, tables: RegisterTables, public_ids: Collection[UUID]) -> list[int]:
    heads = tables.heads.c
    return list(await session.scalars(sa.select(heads.id).where(heads.uuid.in_(public_ids)))) if public_ids else []


def shown_pairs(
    tables: RegisterTables, values: Mapping[str, Any], documents: Sequence[int]
) -> Query[list[tuple[int, int]]]:
    """Ask which of the documents, with which revisions, show the words of `values`."""
    return Query(_shown(tables, frozenset(values)), {**values, "documents": list(documents)}, list)


@cache
def _shown(tables: RegisterTables, given: frozenset[str]) -> PreparedStatement:
    said = _Shape(tables, given, _BY_DOCUMENT).said()
    statement = _from(_BY_DOCUMENT, _reach.document_id, _reach.revision_id).distinct()
    kind = _reach.kind == sa.bindparam("kind")
    return PreparedStatement(statement.where(_reach.document_id.in_(many("documents")), kind, said))


@cache
def _listed(tables: RegisterTables, index: Index) -> PreparedStatement:
    return PreparedStatement(tables.documents[index])


@cache
def _count(shapes: tuple[_Shape, ...]) -> PreparedStatement:
    """Count the documents of keys, each once."""
    parts = [
        _from(shape.index, _reach.document_id).where(*shape.conditions(f"_{place}"))
        for place, shape in enumerate(shapes)
    ]
    if len(parts) == 1:
        return PreparedStatement(parts[0].with_only_columns(sa.func.count()))
    return PreparedStatement(sa.select(sa.func.count()).select_from(sa.union(*parts).subquery()))


def _shape(ask: Ask, key: ReaderKey, index: Index, given: Collection[str]) -> _Shape:
    looked_up = frozenset({"documents"}) if index.looks_up else frozenset()
    return _Shape(
        ask.tables,
        frozenset(given) | looked_up,
        _BY_DOCUMENT if index.looks_up else _NAMES.get(index, _PRIMARY),
        at_home=key.kind is ReaderKind.PROJECT or not ask.home,
        own=key.written_in is not None,
    )


def _of_key(key: ReaderKey, suffix: str = "") -> dict[str, object]:
    values = {
        "project_id": key.project,
        "reader_kind": int(key.kind),
        "reader_id": key.reader,
        "contract_id": key.written_in,
    }
    return {name + suffix: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class After:
    """Behind which row a page begins."""

    value: object
    at: datetime
    document_id: int


def narrow(
    ask: Ask, index: Index, *, after: After | None, most: int, documents: Sequence[int] = (), many: bool = False
) -> list[Query[Sequence[NarrowRow]]]:
    """
    Ask for the first rows, one query for each key and each value for which the index is in order by itself; behind a cursor one
    more for the rows of other values than its own.

    :param documents: those that an index which looks up has found
    :param many: more rows than are counted are open to the reader
    """
    given = {"party_by_row" if many and name == "party" else name for name in ask.values}
    shared: dict[str, object] = {**ask.shared, "most": most, "documents": list(documents)}
    if after is not None:
        shared |= {"after_value": after.value, "after_at": after.at, "after_id": after.document_id}
    parts: Sequence[_Behind | None] = [None]
    if after is not None:
        parts = [_Behind.ALIKE] if ask.order.sort is Sort.CREATED else [_Behind.ALIKE, _Behind.OTHERS]
    queries = []
    for key in ask.keys:
        shape, values = _shape(ask, key, index, given), shared | _of_key(key)
        for split in _splits(ask, index, key.project):
            # By one value alone: of several SQLite makes one range, and sorts it.
            one = shape if split is None else replace(shape, split=index, given=shape.given - {_VALUES.get(index, "")})
            prepared = [_narrow(one, ask.order, behind) for behind in parts]
            queries += [Query(part, values | {"split": split}, _narrow_rows) for part in prepared]
    return queries


def _narrow_rows(rows: Rows) -> Sequence[NarrowRow]:
    return [NarrowRow(*row) for row in rows]


def _splits(ask: Ask, index: Index, project: int) -> Sequence[object]:
    if index is Index.DUE:
        return (True,) if "open" in ask.values else (True, False)
    name = _VALUES.get(index, "")
    if name not in ask.values:
        return (None,)
    within = ask.within.get(name, {})
    return [one for one in sorted(ask.values[name]) if within.get(one) in {None, project}]


def size(ask: Ask, index: Index | None, *, most: int) -> list[Query[int]]:
    """
    Ask for the rows that the filters of one index leave, up to a limit, with one query for each key.

    What is behind counts too: whether it is has to be looked up row by row, and nobody is told this number.

    :param index: None for all that the reader sees
    """
    given = frozenset[str]() if index is None else _led_by(ask, index)
    shapes = [replace(_shape(ask, key, index or Index.CREATED, given), at_home=True) for key in ask.keys]
    return [
        Query(_size(shape), {**ask.shared, **_of_key(key), "most": most}, _first)
        for key, shape in zip(ask.keys, shapes, strict=True)
    ]


def _led_by(ask: Ask, index: Index) -> frozenset[str]:
    if index.looks_up:
        return frozenset()
    given = frozenset(name for name in ask.values if _FILTERS.get(name) is index)
    if index is Index.DUE:
        given |= {"open"} if "open" in ask.values else {"open_or_not"}
    return given


def _first(rows: Rows) -> int:
    return int(rows[0][0])


def looked_up(ask: Ask, index: Index) -> Query[list[int]]:
    """Ask for the documents that a filter finds outside `document_reach`, a few and one."""
    return Query(_listed(ask.tables, index), ask.shared, lambda rows: [row[0] for row in rows])


def count(ask: Ask, keys: Sequence[ReaderKey], index: Index, documents: Sequence[int]) -> list[Query[int]]:
    """
    Ask how many documents of one project are wanted, by queries whose answers are added.

    A document is of one contract, so what stands under contracts needs no comparing. Neither does the rest of one organization.

    :param keys: all of this project
    """
    contracts = [key.reader for key in keys if key.kind is ReaderKind.CONTRACT]
    shared = {**ask.shared, "documents": list(documents), "of_contracts": contracts or [NOBODY]}
    given = ask.values.keys() | ({"open_or_not"} if index is Index.DUE and "open" not in ask.values else set())
    rest = [key for key in keys if key.kind is ReaderKind.ORGANIZATION]
    queries = []
    for some in [*([key] for key in keys if key not in rest), *([rest] if rest else [])]:
        shapes = tuple(replace(_shape(ask, key, index, given), rest=key in rest) for key in some)
        values = [_of_key(key, f"_{place}") for place, key in enumerate(some)]
        queries.append(Query(_count(shapes), {**shared, **dict(ChainMap(*values))}, _first))
    return queries
