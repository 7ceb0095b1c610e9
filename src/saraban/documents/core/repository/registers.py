"""
Pages of registers: narrow rows of `document_reach`, read along an index for each key of the reader.

The statements name the index: the statistics of both databases do not know that a reader sees one row in a thousand.
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
    """:param values: statement parameters for documents that the index does not contain yet"""

    index: SearchIndex
    query: IndexQuery
    values: FilterValues


@dataclass(frozen=True, slots=True)
class Ask:
    """
    :param values: by the names of conditions; an absent name is no condition
    :param home: the parameters of `_NOT_BEHIND`, for a reader with several keys
    :param within: by the names of conditions, the project of each value that belongs to one project only
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
        return {**self.values, **self.home, "register": int(self.kind)}

    @property
    def filters(self) -> frozenset[Index]:
        return frozenset(_FILTERS[name] for name in self.values if name in _FILTERS)


WORDS: Final = tuple(f"word_{place}" for place in range(MOST_WORDS))
WITHOUT: Final = tuple(f"without_{place}" for place in range(MOST_WORDS))
WAITING: Final = "waiting"  # a few documents that the search index does not contain yet
MATCHED, MATCHED_REVISIONS = "matched", "matched_revisions"  # found by the search index
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


def _text_condition(tables: RegisterTables, condition_names: Collection[str]) -> Condition:
    """Match the words in the search index, or in the shown columns of what it does not contain yet."""
    shows_words = sa.and_(
        *(tables.text(name) for name in WORDS if name in condition_names),
        *(sa.not_(tables.text(name)) for name in WITHOUT if name in condition_names),
    )
    if WAITING in condition_names:
        shows_words = sa.and_(_reach.document_id.in_(many(WAITING)), shows_words)
    if MATCHED not in condition_names:
        return shows_words
    is_matched = _reach.document_id.in_(many(MATCHED)), _reach.revision_id.in_(many(MATCHED_REVISIONS))
    return sa.or_(sa.and_(*is_matched), shows_words)


async def shown_pairs(
    session: AsyncSession, ask: Ask, values: FilterValues, documents: Sequence[int]
) -> set[tuple[int, int]]:
    """Return (document id, revision id) of the documents whose shown columns match the words."""
    statement = sa.select(_reach.document_id, _reach.revision_id).distinct()
    statement = statement.where(_reach.document_id.in_(documents), _reach.kind == int(ask.kind))
    statement = statement.where(_text_condition(ask.tables, values)).with_hint(
        _table, f"INDEXED BY {_BY_DOCUMENT}", "sqlite"
    )
    return {(document, revision) for document, revision in await session.execute(statement, values)}


async def keys_of(session: AsyncSession, tables: RegisterTables, public_ids: Collection[UUID]) -> list[int]:
    heads = tables.heads.c
    return list(await session.scalars(sa.select(heads.id).where(heads.uuid.in_(public_ids)))) if public_ids else []


# A reader at home finds the newer draft of a document by another key, instead of this row.
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


_SELECTS_PER_STATEMENT: Final = 60
_MOST: Final = sa.bindparam("most", type_=sa.Integer())


class _Behind(Enum):
    """One range would begin with all rows of the value, however many are before the cursor."""

    ALIKE = auto()
    OTHERS = auto()


@dataclass(frozen=True, slots=True)
class After:
    value: Any
    at: datetime
    document_id: int


class _KeyShape(NamedTuple):
    """
    :param is_written: only documents that an organization originated in one contract
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
        f"{name}_{position}": value if value is None else int(value)
        for position, key in enumerate(keys)
        for name, value in zip(ReaderKey._fields, key, strict=True)
    }


def _select_of_key(
    tables: RegisterTables,
    index: Index,
    condition_names: Collection[str],
    position: int,
    shape: _KeyShape,
    *columns: Any,
) -> AnySelect:
    name = _BY_DOCUMENT if index.looks_up else f"ix_reach_{index}"
    if index is Index.CREATED:
        name, on_sqlite = "PRIMARY", "sqlite_autoindex_document_reach_1"
    else:
        on_sqlite = name
    reader: sa.BindParameter[Any] = sa.bindparam(f"reader_{position}")
    conditions = [
        _reach.project_id == sa.bindparam(f"project_{position}"),
        _reach.reader_kind == sa.bindparam(f"kind_{position}"),
        _reach.reader_id == reader,
        _reach.kind == sa.bindparam("register"),
    ]
    if shape.is_written:
        conditions += [_reach.contract_id == sa.bindparam(f"written_in_{position}"), _reach.originator_id == reader]
    conditions += [
        condition for name, condition in {**_CONDITIONS, **tables.conditions}.items() if name in condition_names
    ]
    if not frozenset(WORDS).isdisjoint(condition_names):
        conditions.append(_text_condition(tables, condition_names))
    if index.looks_up:
        conditions.append(_reach.document_id.in_(many("documents")))
    if shape.has_value:
        conditions.append(_SPLIT[index] == sa.bindparam(f"value_{position}"))
    return (
        sa.select(*columns)
        .select_from(_table)
        .where(*conditions)
        .with_hint(_table, f"FORCE INDEX ({name})", "mariadb")
        .with_hint(_table, f"INDEXED BY {on_sqlite}", "sqlite")
    )


def _union(selects: Sequence[AnySelect]) -> Any:
    return selects[0] if len(selects) == 1 else sa.union_all(*(sa.select(select.subquery()) for select in selects))


# Cached: building these statements takes longer than running them.
@lru_cache(maxsize=256)
def page_statement(
    tables: RegisterTables, index: Index, condition_names: frozenset[str], order: Order, shapes: tuple[_KeyShape, ...]
) -> Any:
    value = [] if order.sort is Sort.CREATED else [_SORTED_BY[order.sort]]
    order_columns = [
        column.desc() if order.descending else column for column in (*value, _reach.created_at, _reach.document_id)
    ]
    columns = _reach.document_id, _reach.revision_id, _reach.created_at, *value
    selects = []
    for position, shape in enumerate(shapes):
        # One value each: SQLite sorts a range of several values.
        names = condition_names - {_VALUES.get(index, "")} if shape.has_value else condition_names
        statement = (
            _select_of_key(tables, index, names, position, shape, *columns).order_by(*order_columns).limit(_MOST)
        )
        if shape.skips_behind:
            statement = statement.where(_NOT_BEHIND)
        if shape.behind is not None:
            statement = statement.where(*_after_conditions(order, value, shape.behind))
        selects.append(statement)
    return _union(selects)


def page_statements(
    ask: Ask, index: Index, *, after: After | None, most: int, documents: Sequence[int] = ()
) -> list[tuple[Any, FilterValues]]:
    """
    Return statements with one select for each key and each value whose rows an index has in order.

    Behind a cursor there is one more for the rows of other values. `documents` are those that were looked up.
    """
    behind: Sequence[_Behind | None] = [None]
    values = ask.parameters | {"most": most, "documents": documents}
    if after is not None:
        behind = [_Behind.ALIKE] if ask.order.sort is Sort.CREATED else [_Behind.ALIKE, _Behind.OTHERS]
        values |= {"after_value": after.value, "after_at": after.at, "after_document": after.document_id}
    branches = [
        (key, value, _shape_of(ask, key)._replace(has_value=value is not None, behind=place))
        for key in ask.keys
        for value in _split_values(ask, index, key.project)
        for place in behind
    ]
    statements = []
    for start in range(0, len(branches), _SELECTS_PER_STATEMENT):
        keys, split, shapes = zip(*branches[start : start + _SELECTS_PER_STATEMENT], strict=True)
        statement = page_statement(ask.tables, index, frozenset(ask.values), ask.order, shapes)
        split_values = {f"value_{place}": value for place, value in enumerate(split)}
        statements.append((statement, values | _key_values(keys) | split_values))
    return statements


async def narrow_rows(session: AsyncSession, statements: Sequence[tuple[Any, FilterValues]]) -> list[NarrowRow]:
    return [NarrowRow(*row) for statement in statements for row in (await session.execute(*statement)).all()]


def _after_conditions(order: Order, value: Sequence[Any], behind: _Behind) -> list[Condition]:
    """Begin behind the cursor, with conditions that both databases use as the end of a range."""
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


def _split_values(ask: Ask, index: Index, project: int) -> Sequence[object]:
    if index is Index.DUE:
        return (True,) if "open" in ask.values else (True, False)
    name = _VALUES.get(index, "")
    if name not in ask.values:
        return (None,)
    within = ask.within.get(name, {})
    return [value for value in sorted(ask.values[name]) if within.get(value) in {None, project}]


@lru_cache(maxsize=256)
def _size_statement(
    tables: RegisterTables, index: Index, index_conditions: frozenset[str], shapes: tuple[_KeyShape, ...]
) -> Any:
    # What is behind counts too: whether it is has to be looked up row by row.
    rows = [
        _select_of_key(tables, index, index_conditions, *shape, sa.literal_column("1")).limit(_MOST)
        for shape in enumerate(shapes)
    ]
    return _union([sa.select(sa.func.count()).select_from(row.subquery()) for row in rows])


async def count_rows(
    session: AsyncSession, ask: Ask, keys: Sequence[ReaderKey], index: Index | None, *, most: int
) -> list[int]:
    """Count the rows that filters of an index leave of each key, at most `most`; without index all rows."""
    names = frozenset[str]() if index is None else _index_conditions(ask, index)
    shapes = tuple(_shape_of(ask, key) for key in keys)
    statement = _size_statement(ask.tables, index or Index.CREATED, names, shapes)
    return list(await session.scalars(statement, ask.parameters | {"most": most} | _key_values(keys)))


def _index_conditions(ask: Ask, index: Index) -> frozenset[str]:
    names = frozenset(name for name in ask.values if _FILTERS.get(name) is index)
    if index is Index.DUE:
        names |= {"open"} if "open" in ask.values else {"open_or_not"}
    return names


async def looked_up(session: AsyncSession, ask: Ask, index: Index) -> list[int]:
    """Return the documents that a filter finds outside `document_reach`, at most `FEW` and one."""
    return list(await session.scalars(ask.tables.documents[index], ask.parameters))


class CountedKeys(NamedTuple):
    """Keys of one project that can find the same document; documents of `contracts` are counted elsewhere."""

    keys: tuple[ReaderKey, ...]
    contracts: tuple[int, ...] = ()


def counted_keys(keys: Sequence[ReaderKey]) -> list[CountedKeys]:
    """Group the keys; only those of organizations can find the same document."""
    groups = []
    for _, project_keys in groupby(keys, key=lambda key: key.project):
        of_project = list(project_keys)
        organization_keys = tuple(key for key in of_project if key.kind is ReaderKind.ORGANIZATION)
        contracts = tuple(key.reader for key in of_project if key.kind is ReaderKind.CONTRACT)
        groups += [CountedKeys((key,)) for key in of_project if key.kind is not ReaderKind.ORGANIZATION]
        groups += [CountedKeys(organization_keys, contracts or (NOBODY,))] if organization_keys else []
    return groups


@lru_cache(maxsize=256)
def _count_statement(
    tables: RegisterTables,
    index: Index,
    condition_names: frozenset[str],
    index_conditions: frozenset[str] | None,
    groups: tuple[tuple[bool, tuple[_KeyShape, ...]], ...],
) -> Any:
    selects: list[AnySelect] = []
    positions = count()
    for number, (of_organizations, shapes) in enumerate(groups):
        # The key of a contract has its issued documents too, with the same revision.
        elsewhere = _reach.contract_id.not_in(many(f"contracts_{number}"))
        conditions = [sa.or_(_reach.is_draft == sa.true(), elsewhere)] if of_organizations else []
        rows, exceeds = [], []
        for shape in shapes:
            position = next(positions)
            select = _select_of_key(tables, index, condition_names, position, shape, _reach.document_id).where(
                *conditions
            )
            rows.append(select.where(_NOT_BEHIND) if shape.skips_behind else select)
            if index_conditions is not None:
                row = _select_of_key(tables, index, index_conditions, position, shape, sa.literal_column("1")).limit(1)
                exceeds.append(row.offset(sa.bindparam("beyond", type_=sa.Integer())).scalar_subquery().is_not(None))
        counted = rows[0].with_only_columns(sa.func.count())
        if len(rows) > 1:
            counted = sa.select(sa.func.count()).select_from(sa.union(*rows).subquery())
        # The count is not evaluated where `exceeds` is true.
        selects.append(
            sa.select(sa.case((sa.or_(*exceeds), _MOST), else_=counted.scalar_subquery())) if exceeds else counted
        )
    return _union(selects)


async def count_documents(
    session: AsyncSession,
    ask: Ask,
    groups: Sequence[CountedKeys],
    index: Index,
    documents: Sequence[int],
    *,
    most: int | None,
) -> int:
    """:param most: if given, returned for keys of which the filters of the index leave that many rows"""
    names = ask.values.keys() | ({"open_or_not"} if index is Index.DUE and "open" not in ask.values else set())
    values = ask.parameters | {"most": most, "beyond": (most or 1) - 1, "documents": documents}
    values |= _key_values(key for group in groups for key in group.keys)
    values |= {f"contracts_{number}": group.contracts for number, group in enumerate(groups)}
    shapes = tuple((bool(group.contracts), tuple(_shape_of(ask, key) for key in group.keys)) for group in groups)
    index_conditions = None if most is None else _index_conditions(ask, index)
    statement = _count_statement(ask.tables, index, frozenset(names), index_conditions, shapes)
    return sum(await session.scalars(statement, values))
