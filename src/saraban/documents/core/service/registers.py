"""Pages of registers of any kind."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Generic, Protocol, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import NO_DUE, VIEW, KindRules, Reach
from saraban.documents.core.domain.registers import (
    COUNTED,
    FEW,
    Index,
    NarrowRow,
    Order,
    Places,
    ReaderKey,
    Sort,
    choose,
    merged,
    register_reach,
    sized,
)
from saraban.documents.core.repository import register_filters, registers
from saraban.documents.core.repository.register_filters import RegisterTables
from saraban.documents.core.repository.registers import After, Ask, FilterValues, TextMatches
from saraban.documents.core.schemas import RegisterQuery
from saraban.documents.core.service.register_cursor import RegisterCursor, sort_text, sort_value
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.models import Organization, User
from saraban.kit.clock import local_date
from saraban.kit.errors import invalid
from saraban.kit.pagination import Page, list_mark
from saraban.projects import service as projects
from saraban.projects.domain.master_data import ProjectRef
from saraban.search_index import service as search_index
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.query import parse_words
from saraban.search_index.domain.reach import DOCUMENT, SHEET
from saraban.search_index.service import IndexQuery

T = TypeVar("T")


class Identified(Protocol):
    @property
    def public_id(self) -> UUID: ...


Row = TypeVar("Row", bound=Identified)


def _day_starts(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone)


@dataclass(frozen=True, slots=True)
class CountedPage(Page[T], Generic[T]):
    """:param count: documents of all pages, at most 10,001; None if not counted"""

    count: int | None = None


@dataclass(frozen=True, slots=True)
class KindRegister:
    """
    :param reach: whose contracts count; None where contracts open nothing
    :param statuses: None reads them from the database
    :param types: finds the keys of a document type; None uses those of the rules
    :param due: returns the start of a day, for due dates
    """

    rules: KindRules
    tables: RegisterTables
    keys: Callable[[Places], list[ReaderKey]]
    reach: Reach | None = None
    statuses: Mapping[str, int] | None = None
    types: Callable[[AsyncSession, str], Awaitable[Mapping[int, int | None]]] | None = None
    due: Callable[[date, ZoneInfo], datetime] = _day_starts

    @property
    def home(self) -> dict[str, list[int]]:
        return {} if self.reach is None else home_of(self.reach)


def home_of(reach: Reach) -> dict[str, list[int]]:
    """Return the parameters of `_NOT_BEHIND` in `repository.registers`; none for a reader of everything."""
    if reach.everything:
        return {}
    names = ("organizations", "contracts", "member_of")
    # Nothing is in an empty list, and what is not in one is unknown to a database that is given NULL for it.
    return {f"home_{name}": sorted(getattr(reach, name)) or [register_filters.NOBODY] for name in names}


async def people_offered(
    ctx: RequestContext, session: AsyncSession, places: Collection[ProjectRef]
) -> list[identity.OrganizationMember]:
    """List the people whose documents a reader can filter by; those who have left come last."""
    fully_visible = [project for project in places if ctx.caller.may(VIEW, Scope(project=project.id))]
    organizations = ctx.caller.organization_ids | await projects.party_keys(session, fully_visible)
    people = await identity.users_of(session, organizations, closed=True)
    return sorted(people, key=lambda person: (not person.is_active, person.display_name))


async def read_page(
    ctx: RequestContext,
    session: AsyncSession,
    register: KindRegister,
    search: RegisterQuery,
    *,
    counted: bool,
    wide: Callable[[AsyncSession, Sequence[NarrowRow]], Awaitable[Sequence[Row]]],
) -> CountedPage[Row]:
    """
    :param wide: reads the shown rows of narrow rows, in their order
    :raises Invalid: naming the parameter
    """
    _check_query(register, search)
    order = Order.of(search.sort)
    mark = list_mark(register.rules.name, search.model_dump_json(exclude={"cursor", "limit"}))
    cursor = RegisterCursor.decode(search.cursor, mark) if search.cursor is not None else None
    places = await register_filters.find_places(session, register.reach, search.project)
    statuses = register.statuses or {}
    if register.statuses is None and (search.status is not None or order.sort is Sort.STATUS):
        statuses = await register_filters.status_keys(session)
    filter_keys = await _named_keys(session, register, search)
    words, text = await _text_filters(session, register, search, keys := register.keys(places))
    ask = Ask(
        register.tables,
        register.rules.register,
        order,
        filter_keys | _filter_values(ctx, register, search, statuses) | words,
        keys,
        register.home,
        {name: filter_keys[name] for name in ("types", "disciplines") if name in filter_keys},
        sees_all=register.reach is not None and register.reach.everything,
        text=text,
    )
    after = None if cursor is None else await _find_position(session, register, order, cursor, statuses)
    count = cursor.count if cursor is not None else None
    sizes = await _measure_filters(session, ask)
    narrow = await _find_rows(session, ask, sizes, after, search.limit)
    if counted and count is None:
        is_complete = cursor is None and len(narrow) <= search.limit
        count = len(narrow) if is_complete else await _count_documents(session, ask, sizes)
    rows = narrow[: search.limit]
    shown = await wide(session, rows) if rows else []
    following = None
    if len(narrow) > search.limit:
        value = sort_text(order.sort, rows[-1].value, {key: code for code, key in statuses.items()})
        following = RegisterCursor(rows[-1].created_at, shown[-1].public_id, value, count).encode(mark)
    return CountedPage(list(shown), following, count)


async def _find_position(
    session: AsyncSession, register: KindRegister, order: Order, cursor: RegisterCursor, statuses: Mapping[str, int]
) -> After:
    heads = register.tables.heads.c
    # Where the document is gone, nothing of its moment is passed over.
    last = await register_filters.key_of(session, heads.id, heads.uuid, cursor.public_id)
    return After(sort_value(order.sort, cursor.value, statuses), cursor.at, last)


def _check_query(register: KindRegister, search: RegisterQuery) -> None:
    states = register.rules.statuses
    if search.status is not None and search.status not in states:
        raise not_in_list("query:status", sorted(states))
    if search.type is not None and register.types is None and search.type not in register.rules.type_codes:
        raise not_in_list("query:type", sorted(register.rules.type_codes))
    for first, last, name in ((search.since, search.until, "until"), (search.due_from, search.due_until, "dueUntil")):
        if first is not None and last is not None and first > last:
            raise invalid(
                f"query:{name}",
                "out_of_range",
                "วันสุดท้ายต้องไม่อยู่ก่อนวันแรก",
                "The last day must not be before the first one.",
            )


def not_in_list(pointer: str, expected: list[str]) -> Exception:
    return invalid(
        pointer,
        "not_in_list",
        "ต้องเป็นค่าใดค่าหนึ่งต่อไปนี้: {expected}",
        "This must be one of: {expected}.",
        expected=", ".join(expected),
    )


async def _named_keys(session: AsyncSession, register: KindRegister, search: RegisterQuery) -> FilterValues:
    """Return the keys of the filters; an unknown code has none, like a code that the caller cannot see."""
    filter_keys: FilterValues = {}
    if search.type is not None and register.types is not None:
        filter_keys["types"] = await register.types(session, search.type)
    elif search.type is not None and len(register.rules.type_codes) > 1:
        filter_keys["types"] = await register_filters.type_keys(session, search.type)
    if search.discipline is not None:
        filter_keys["disciplines"] = await register_filters.discipline_keys(session, search.discipline)
    if search.party is not None:
        filter_keys["party"] = await register_filters.key_of(
            session, Organization.id, Organization.public_id, search.party
        )
    if search.person is not None:
        filter_keys["person"] = await register_filters.key_of(session, User.user_id, User.public_id, search.person)
    return filter_keys


def _filter_values(
    ctx: RequestContext, register: KindRegister, search: RegisterQuery, statuses: Mapping[str, int]
) -> FilterValues:
    values: FilterValues = {}
    if search.status is not None:
        codes = register.rules.status_codes(search.status)
        values["statuses"] = [statuses[code] for code in codes if code in statuses]
    if search.mine:
        values["mine"] = ctx.caller.user_id
    if search.pending_with_me:
        values |= {
            "caller": ctx.caller.user_id,
            "member_of": sorted(ctx.caller.organization_ids),
            "entity_type": register.rules.entity_type,
        }
    if search.about is not None:
        values["about"] = search.about
    return values | _date_filters(ctx, register, search)


async def _text_filters(
    session: AsyncSession, register: KindRegister, search: RegisterQuery, keys: Sequence[ReaderKey]
) -> tuple[FilterValues, TextMatches | None]:
    """
    Return the words as statement parameters, or as matches of the search index if they are many.

    :raises Invalid: for a text without words, naming `query:q`
    """
    parsed = parse_words(search.text or "")
    values: FilterValues = dict(zip(registers.WORDS, parsed.words, strict=False))
    values |= dict(zip(registers.WITHOUT, parsed.excluded, strict=False))
    index = search_index.index_of(session)
    if not values or index is None or not index.is_complete:
        return values, None
    kind = SearchKind(register.rules.register)
    changes = await search_index.waiting(session, limit=FEW + 1)
    if len(changes) <= FEW:
        public_ids = [change.head_uuid for change in changes if change.kind == kind]
        waiting = await registers.keys_of(session, register.tables, public_ids)
        values[registers.WAITING] = waiting or [register_filters.NOBODY]
    reach_kind = SHEET if kind is SearchKind.CIRCULATION else DOCUMENT
    query = IndexQuery(
        parsed.words, parsed.excluded, reach=register_reach(keys, register.home, reach_kind), kinds=[kind]
    )
    pairs = await asyncio.to_thread(index.pairs, query, most=FEW)
    if pairs is None:
        return {}, TextMatches(index, query, values)
    values[registers.MATCHED] = [document for document, _ in pairs] or [register_filters.NOBODY]
    values[registers.MATCHED_REVISIONS] = [revision for _, revision in pairs] or [register_filters.NOBODY]
    return values, None


_DAY = timedelta(days=1)


def _date_filters(ctx: RequestContext, register: KindRegister, search: RegisterQuery) -> FilterValues:
    values: FilterValues = {}
    if search.since is not None:
        values["created_from"] = _day_starts(search.since, ctx.zone)
    if search.until is not None:
        values["created_until"] = _day_starts(search.until + _DAY, ctx.zone)
    if search.due_from is not None:
        # What is due on no day stands behind all others.
        values |= {"due_from": register.due(search.due_from, ctx.zone), "due_until": NO_DUE}
    if search.due_until is not None:
        values["due_until"] = register.due(search.due_until + _DAY, ctx.zone)
    if search.overdue:
        today = register.due(local_date(ctx.now, ctx.zone), ctx.zone)
        values |= {"open": True, "due_until": min(today, values.get("due_until", today))}
    return values


@dataclass(frozen=True, slots=True)
class _Sizes:
    """
    :param of: rows that the filters of an index leave, at most `FEW` and one
    :param documents: by the index that looked them up
    :param many: whether a key of the reader has more than `COUNTED` rows; None if not counted
    """

    of: Mapping[Index, int] = field(default_factory=dict)
    documents: Mapping[Index, list[int]] = field(default_factory=dict)
    many: bool | None = None

    def few(self, index: Index) -> bool:
        return self.of.get(index, FEW + 1) <= FEW


async def _find_rows(
    session: AsyncSession, ask: Ask, sizes: _Sizes, after: After | None, limit: int
) -> list[NarrowRow]:
    index = choose(ask.order, ask.filters, sizes.of)
    if ask.text is None:
        return await _rows_along(session, ask, index, sizes, after, limit + 1)
    rows: list[NarrowRow] = []
    size = 2 * limit
    while True:
        part = await _rows_along(session, ask, index, sizes, after, size)
        rows += await _filter_by_words(session, ask, ask.text, part)
        if len(rows) > limit or len(part) < size:
            return rows[: limit + 1]
        after = After(part[-1].value, part[-1].created_at, part[-1].document_id)
        size = min(4 * size, FEW)


async def _rows_along(
    session: AsyncSession, ask: Ask, index: Index, sizes: _Sizes, after: After | None, most: int
) -> list[NarrowRow]:
    documents = sizes.documents.get(index, ())
    statements = registers.page_statements(ask, index, after=after, most=most, documents=documents)
    rows = await registers.narrow_rows(session, statements)
    return merged(rows, descending=ask.order.descending, limit=most)


async def _filter_by_words(
    session: AsyncSession, ask: Ask, text: TextMatches, rows: Sequence[NarrowRow]
) -> list[NarrowRow]:
    if not rows:
        return []
    documents = [row.document_id for row in rows]
    heads = [search_index.head_of(ask.kind, document) for document in documents]
    query = replace(text.query, reach=None, values={"head": heads})
    pairs = await asyncio.to_thread(text.index.pairs, query, most=len(heads) * 4) or set()
    pairs |= await registers.shown_pairs(session, ask, text.values, documents)
    return [row for row in rows if (row.document_id, row.revision_id) in pairs]


async def _measure_filters(session: AsyncSession, ask: Ask) -> _Sizes:
    """Count the rows of filters and look up their documents, where that saves reading."""
    if not ask.keys:
        return _Sizes()
    indexes = sorted(sized(ask.order, ask.filters))
    looked_up = [index for index in indexes if index in ask.tables.documents or index is Index.TEXT]
    many = None
    if any(index.of_others for index in looked_up):
        many = await _has_many_rows(session, ask, None)
        looked_up = [index for index in looked_up if many or ask.sees_all or not index.of_others]
    along = [index for index in indexes if not index.looks_up]
    by_text = _matched_documents(ask) if Index.TEXT in looked_up else None
    looked_up = [index for index in looked_up if index is not Index.TEXT]
    documents = {index: await registers.looked_up(session, ask, index) for index in looked_up}
    if by_text is not None:
        documents[Index.TEXT] = by_text
    sizes = {index: len(found) for index, found in documents.items()}
    for index in along:
        sizes[index] = await _count_filter_rows(session, ask, index)
    return _Sizes(sizes, documents, many)


def _matched_documents(ask: Ask) -> list[int] | None:
    if registers.WAITING not in ask.values or registers.MATCHED not in ask.values:
        return None
    return [*ask.values[registers.MATCHED], *ask.values[registers.WAITING]]


async def _count_filter_rows(session: AsyncSession, ask: Ask, index: Index) -> int:
    batches = _growing_batches(ask.keys)
    return sum(
        [count for keys in batches for count in await registers.count_rows(session, ask, keys, index, most=FEW + 1)]
    )


async def _has_many_rows(session: AsyncSession, ask: Ask, index: Index | None) -> bool:
    for keys in _growing_batches(ask.keys):
        if max(await registers.count_rows(session, ask, keys, index, most=COUNTED + 1)) > COUNTED:
            return True
    return False


def _growing_batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split into batches of 4, 8, 16, then 32: the first batch often suffices."""
    start, size = 0, 4
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, min(size * 2, 32)


async def _count_documents(session: AsyncSession, ask: Ask, sizes: _Sizes) -> int:
    """Count the documents, at most `COUNTED` and one; an upper bound where rows are not compared."""
    if ask.text is not None and not ask.filters:
        return min(await asyncio.to_thread(ask.text.index.count, ask.text.query, COUNTED + 1), COUNTED + 1)
    usable = [index for index in ask.filters if not index.looks_up or (index in sizes.documents and sizes.few(index))]
    best = min(usable, key=lambda index: (sizes.of.get(index, FEW + 1), index), default=None)
    if (
        best is not None
        and (sizes.of[best] if best in sizes.of else await _count_filter_rows(session, ask, best)) <= FEW
    ):
        return await _count_along(session, ask, best, sizes, most=None)
    # All that the reader sees, read in its order, rather than looked up along an index.
    if not sizes.many:
        most = COUNTED + 1 if sizes.many is None else None
        count = await _count_along(session, ask, Index.CREATED, sizes, most=most)
        if count <= COUNTED or best is None or most is None:
            return count
    return COUNTED + 1 if best is None else await _count_along(session, ask, best, sizes, most=COUNTED + 1)


async def _count_along(session: AsyncSession, ask: Ask, index: Index, sizes: _Sizes, *, most: int | None) -> int:
    """:param most: returned if the filters of the index leave that many rows of a key"""
    if ask.text is not None:
        if most is not None and await _has_many_rows(session, ask, index):
            return most
        rows = await _rows_along(session, ask, index, sizes, None, COUNTED + 1)
        parts = [rows[start : start + FEW] for start in range(0, len(rows), FEW)]
        return sum([len(await _filter_by_words(session, ask, ask.text, part)) for part in parts])
    total, documents = 0, sizes.documents.get(index, ())
    for groups in _growing_batches(registers.counted_keys(ask.keys)):
        total += await registers.count_documents(session, ask, groups, index, documents, most=most)
        if total > COUNTED:
            return COUNTED + 1
    return total
