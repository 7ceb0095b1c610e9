"""
Pages of registers of any kind: what was asked for becomes keys, then the narrow rows of a page are found, and its kind reads
the wide ones.
"""

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
    """
    :param count: documents of all pages, up to 10,000 and one; None where nobody asked
    """

    count: int | None = None


@dataclass(frozen=True, slots=True)
class KindRegister:
    """
    What a kind says of its register, for one reader.

    :param keys: gives the reader's keys
    :param reach: whose contracts count; None where contracts open nothing
    :param statuses: keys of status codes, None where the database has them
    :param types: finds the keys of a type of document; None where they are those of the rules
    :param due: gives the moment at which a day begins for what is due
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
    """Return what a reader is at home in, by the names of the conditions of `repository.registers`; nothing for who sees all."""
    if reach.everything:
        return {}
    names = ("organizations", "contracts", "member_of")
    # Nothing is in an empty list, and what is not in one is unknown to a database that is given NULL for it.
    return {f"home_{name}": sorted(getattr(reach, name)) or [register_filters.NOBODY] for name in names}


async def people_offered(
    ctx: RequestContext, session: AsyncSession, places: Collection[ProjectRef]
) -> list[identity.OrganizationMember]:
    """
    Return whose documents a reader of registers can look for: people of their organizations, and of a whole project for who
    sees all of its documents. Those who have left come last.

    :param places: projects that the caller may see
    """
    whole = [one for one in places if ctx.caller.may(VIEW, Scope(project=one.id))]
    organizations = ctx.caller.organization_ids | await projects.party_keys(session, whole)
    found = await identity.users_of(session, organizations, closed=True)
    return sorted(found, key=lambda one: (not one.is_active, one.display_name))


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
    :param wide: reads what is shown of narrow rows, in their order
    :raises Invalid: naming the parameter that cannot be used
    """
    _check(register, search)
    order = Order.of(search.sort)
    mark = list_mark(register.rules.name, search.model_dump_json(exclude={"cursor", "limit"}))
    cursor = RegisterCursor.decode(search.cursor, mark) if search.cursor is not None else None
    places = await register_filters.find_places(session, register.reach, search.project)
    statuses = register.statuses or {}
    if register.statuses is None and (search.status is not None or order.sort is Sort.STATUS):
        statuses = await register_filters.status_keys(session)
    named = await _named_keys(session, register, search)
    words, text = await _words(session, register, search, keys := register.keys(places))
    ask = Ask(
        register.tables,
        register.rules.register,
        order,
        named | _values(ctx, register, search, statuses) | words,
        keys,
        register.home,
        {name: named[name] for name in ("types", "disciplines") if name in named},
        sees_all=register.reach is not None and register.reach.everything,
        text=text,
    )
    after = None if cursor is None else await _after(session, register, order, cursor, statuses)
    count = cursor.count if cursor is not None else None
    sizes = await _sizes(session, ask)
    found = await _narrow(session, ask, sizes, after, search.limit)
    if counted and count is None:
        count = await _count(session, ask, sizes)
    rows = found[: search.limit]
    shown = await wide(session, rows) if rows else []
    following = None
    if len(found) > search.limit:
        value = sort_text(order.sort, rows[-1].value, {key: code for code, key in statuses.items()})
        following = RegisterCursor(rows[-1].created_at, shown[-1].public_id, value, count).encode(mark)
    return CountedPage(list(shown), following, count)


async def _after(
    session: AsyncSession, register: KindRegister, order: Order, cursor: RegisterCursor, statuses: Mapping[str, int]
) -> After:
    heads = register.tables.heads.c
    # Where the document is gone, nothing of its moment is passed over.
    last = await register_filters.key_of(session, heads.id, heads.uuid, cursor.public_id)
    return After(sort_value(order.sort, cursor.value, statuses), cursor.at, last)


def _check(register: KindRegister, search: RegisterQuery) -> None:
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
    """
    Return the keys of what a query names, by the names of the conditions of `repository.registers`.

    An unknown code returns no keys, like a code of a contract that the caller cannot see.
    """
    named: FilterValues = {}
    if search.type is not None and register.types is not None:
        named["types"] = await register.types(session, search.type)
    elif search.type is not None and len(register.rules.type_codes) > 1:
        named["types"] = await register_filters.type_keys(session, search.type)
    if search.discipline is not None:
        named["disciplines"] = await register_filters.discipline_keys(session, search.discipline)
    if search.party is not None:
        named["party"] = await register_filters.key_of(session, Organization.id, Organization.public_id, search.party)
    if search.person is not None:
        named["person"] = await register_filters.key_of(session, User.user_id, User.public_id, search.person)
    return named


def _values(
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
    return values | _days(ctx, register, search)


async def _words(
    session: AsyncSession, register: KindRegister, search: RegisterQuery, keys: Sequence[ReaderKey]
) -> tuple[FilterValues, TextMatches | None]:
    """
    Return what is looked for: values of statements where the index finds a few documents for the reader, or it does not know;
    else what each page of rows is compared with.

    :raises Invalid: for a text that leads to nothing, naming `query:q`
    """
    said = parse_words(search.text or "")
    values: FilterValues = dict(zip(registers.WORDS, said.words, strict=False))
    values |= dict(zip(registers.WITHOUT, said.excluded, strict=False))
    index = search_index.index_of(session)
    if not values or index is None or not index.is_complete:
        return values, None
    kind = SearchKind(register.rules.register)
    changes = await search_index.waiting(session, limit=FEW + 1)
    if len(changes) <= FEW:
        public_ids = [change.head_uuid for change in changes if change.kind == kind]
        waiting = await registers.keys_of(session, register.tables, public_ids)
        values[registers.WAITING] = waiting or [register_filters.NOBODY]
    what = SHEET if kind is SearchKind.CIRCULATION else DOCUMENT
    query = IndexQuery(said.words, said.excluded, reach=register_reach(keys, register.home, what), kinds=[kind])
    pairs = await asyncio.to_thread(index.pairs, query, most=FEW)
    if pairs is None:
        return {}, TextMatches(index, query, values)
    values[registers.MATCHED] = [document for document, _ in pairs] or [register_filters.NOBODY]
    values[registers.MATCHED_REVISIONS] = [revision for _, revision in pairs] or [register_filters.NOBODY]
    return values, None


_DAY = timedelta(days=1)


def _days(ctx: RequestContext, register: KindRegister, search: RegisterQuery) -> FilterValues:
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
    What the index was chosen by.

    :param of: the rows that the filters of an index leave, up to `FEW` and one
    :param documents: what was looked up
    :param many: whether a key of the reader has more rows than are counted; None where nobody asked
    """

    of: Mapping[Index, int] = field(default_factory=dict)
    documents: Mapping[Index, list[int]] = field(default_factory=dict)
    many: bool | None = None

    def few(self, index: Index) -> bool:
        return self.of.get(index, FEW + 1) <= FEW


async def _narrow(session: AsyncSession, ask: Ask, sizes: _Sizes, after: After | None, limit: int) -> list[NarrowRow]:
    """Return the rows of a page and the next one."""
    index = choose(ask.order, ask.filters, sizes.of)
    if ask.text is None:
        return await _rows_along(session, ask, index, sizes, after, limit + 1)
    rows: list[NarrowRow] = []
    size = 2 * limit
    while True:
        part = await _rows_along(session, ask, index, sizes, after, size)
        rows += await _with_text(session, ask, ask.text, part)
        if len(rows) > limit or len(part) < size:
            return rows[: limit + 1]
        after = After(part[-1].value, part[-1].created_at, part[-1].document_id)
        size = min(4 * size, FEW)


async def _rows_along(
    session: AsyncSession, ask: Ask, index: Index, sizes: _Sizes, after: After | None, most: int
) -> list[NarrowRow]:
    found = sizes.documents.get(index, ())
    statements = registers.page_statements(ask, index, after=after, most=most, documents=found, many=bool(sizes.many))
    rows = await registers.narrow_rows(session, statements)
    return merged(rows, descending=ask.order.descending, limit=most)


async def _with_text(session: AsyncSession, ask: Ask, text: TextMatches, rows: Sequence[NarrowRow]) -> list[NarrowRow]:
    """Return the rows that have the words."""
    if not rows:
        return []
    documents = [row.document_id for row in rows]
    heads = [search_index.head_of(ask.kind, document) for document in documents]
    query = replace(text.query, reach=None, values={"head": heads})
    pairs = await asyncio.to_thread(text.index.pairs, query, most=len(heads) * 4) or set()
    pairs |= await registers.shown_pairs(session, ask, text.values, documents)
    return [row for row in rows if (row.document_id, row.revision_id) in pairs]


async def _sizes(session: AsyncSession, ask: Ask) -> _Sizes:
    """Count the rows of filters, and look up their documents. Who sees little looks through that, whatever others have."""
    if not ask.keys:
        return _Sizes()
    wanted = sorted(sized(ask.order, ask.filters))
    elsewhere = [one for one in wanted if one in ask.tables.documents or one is Index.TEXT]
    many = None
    if any(one.of_others for one in elsewhere):
        many = await _exceeds(session, ask, None)
        elsewhere = [one for one in elsewhere if many or ask.sees_all or not one.of_others]
    along = [one for one in wanted if not one.looks_up]
    by_text = _with_words(ask) if Index.TEXT in elsewhere else None
    elsewhere = [one for one in elsewhere if one is not Index.TEXT]
    documents = {one: await registers.looked_up(session, ask, one) for one in elsewhere}
    if by_text is not None:
        documents[Index.TEXT] = by_text
    sizes = {one: len(found) for one, found in documents.items()}
    for one in along:
        sizes[one] = await _size(session, ask, one)
    return _Sizes(sizes, documents, many)


def _with_words(ask: Ask) -> list[int] | None:
    """Return the documents that may have the words, None where these are many."""
    if registers.WAITING not in ask.values or registers.MATCHED not in ask.values:
        return None
    return [*ask.values[registers.MATCHED], *ask.values[registers.WAITING]]


async def _size(session: AsyncSession, ask: Ask, index: Index) -> int:
    return sum(await registers.count_rows(session, ask, ask.keys, index, most=FEW + 1))


async def _exceeds(session: AsyncSession, ask: Ask, index: Index | None) -> bool:
    """Return whether one key of the reader gives more than is counted; most have such a key among the first, or none."""
    for keys in _growing(ask.keys):
        if max(await registers.count_rows(session, ask, keys, index, most=COUNTED + 1)) > COUNTED:
            return True
    return False


def _growing(several: Sequence[T]) -> Iterator[Sequence[T]]:
    """Give four, then eight: whatever is enough is mostly among the first."""
    start, some = 0, 4
    while start < len(several):
        yield several[start : start + some]
        start, some = start + some, min(some * 2, 32)


async def _count(session: AsyncSession, ask: Ask, sizes: _Sizes) -> int:
    """Count the documents that are asked for: exact up to `COUNTED`, then one more; there may be less where they are not looked at."""
    text = ask.text
    if text is not None and not ask.filters:
        return min(await asyncio.to_thread(text.index.count, text.query, COUNTED + 1), COUNTED + 1)
    index = await _counted_along(session, ask, sizes)
    if index is None:
        return COUNTED + 1
    if text is not None:
        rows = await _rows_along(session, ask, index, sizes, None, COUNTED + 1)
        parts = [rows[start : start + FEW] for start in range(0, len(rows), FEW)]
        return sum([len(await _with_text(session, ask, text, part)) for part in parts])
    total, documents = 0, sizes.documents.get(index, ())
    for groups in _growing(registers.counted_keys(ask.keys)):
        total += await registers.count_documents(session, ask, groups, index, documents, most=COUNTED + 1)
        if total > COUNTED:
            return COUNTED + 1
    return total


async def _counted_along(session: AsyncSession, ask: Ask, sizes: _Sizes) -> Index | None:
    """Return the index whose rows are to be looked at one by one, None where they are more than are counted along each."""
    if not ask.values:
        return Index.CREATED  # whose rows are looked at up to the limit
    usable = [one for one in ask.filters if not one.looks_up or (one in sizes.documents and sizes.few(one))]
    best = min(usable, key=lambda one: (sizes.of.get(one, FEW + 1), one), default=None)
    if best is not None and (sizes.of[best] if best in sizes.of else await _size(session, ask, best)) <= FEW:
        return best
    many = await _exceeds(session, ask, None) if sizes.many is None else sizes.many
    if not many:
        return Index.CREATED  # all that the reader sees, read in its order, rather than looked up along an index
    return None if best is None or await _exceeds(session, ask, best) else best
