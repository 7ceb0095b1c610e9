"""
Pages of registers over HTTP, for four readers: each filter, each order, combinations, and the deepest page.

There are hundreds of such pages. Each is asked for a few times; those that then look slowest are asked for more often, and
the worst of them is the row. All of them stand in `build/bench-registers.txt`.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from urllib.parse import urlencode

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncSession

from benchmarks import filled, http, register_baselines
from benchmarks.bench import Bench, Say, Suite
from benchmarks.filled import NARROW, NOTHING, READER_PASSWORD, READERS, WIDE, Filled
from benchmarks.load import LoadResult, Operation, interleaved
from benchmarks.number_baselines import Pool
from benchmarks.register_baselines import Reader, guardian, ideal, offset_and_count
from benchmarks.results import Row
from saraban.documents.core.models import DocumentReach
from saraban.documents.core.service import AnyKind
from saraban.documents.core.service.registers import RegisterCursor
from saraban.documents.demo.domain import DemoRegister
from saraban.documents.demo.service import KINDS
from saraban.identity import service as identity
from saraban.identity.models import Organization, User
from saraban.kit.db import Database
from saraban.kit.pagination import list_mark
from saraban.projects.models import CorrespondenceType, Discipline
from tests.conftest import PASSWORD
from tests.factories.contexts import context

DOCUMENTS, BESIDE_PEERS, ON_SQLITE, MANY = 20_000, 100_000, 100_000, 1_000_000
FIRST, SLOWEST, AGAIN = 2, 5, 20
PAGE = 20
LIST = Path("build/bench-registers.txt")
_WIDE_READERS, _NARROW_READERS = ("Super Admin", WIDE), (NARROW, NOTHING)
_SORTS = [sign + name for name in ("created", "number", "date", "due", "status") for sign in ("-", "")]

Search = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """One page of one register for one reader."""

    kind: str
    search: tuple[tuple[str, str], ...]
    reader: str
    cursor: str = ""

    @property
    def name(self) -> str:
        words = " ".join(f"{name}={value}" for name, value in self.search) or "all"
        return f"{self.kind}, {words}, {self.reader}"

    @property
    def path(self) -> str:
        search = [*self.search, *([("cursor", self.cursor)] if self.cursor else [])]
        return f"/api/v1/{self.kind}?{urlencode(search)}"


@dataclass(frozen=True, slots=True)
class Pages:
    """A server that is asked for pages, one after the other on one connection."""

    site: http.Site
    clients: http.Clients
    tokens: Mapping[str, str]
    suite: str
    again: int

    def operation(self, asked: Asked) -> Operation:
        return self.clients.sending([self.site.reading(asked.path, token=self.tokens[asked.reader])])

    async def times(self, every: Sequence[Asked], count: int, *, unmeasured: int = 1) -> dict[Asked, list[float]]:
        """
        Return the milliseconds of each, which are asked for in turn.

        :param unmeasured: the first rounds, in which the server makes its statements
        """
        operations = {one: self.operation(one) for one in every}
        found: dict[Asked, list[float]] = {one: [] for one in every}
        for turn in range(unmeasured + count):
            for one, operation in operations.items():
                begun = time.perf_counter()
                await operation()
                if turn >= unmeasured:
                    found[one].append((time.perf_counter() - begun) * 1000)
        return found


def percentile(times: Sequence[float]) -> float:
    return LoadResult(latencies=list(times)).percentile(0.95)


# What is asked for.


async def searches(session: AsyncSession, kind: AnyKind) -> list[Search]:
    """Return each filter of a register, by the values that leave most and least, and each order."""
    found: list[Search] = [{}, *({"sort": sort} for sort in _SORTS[1:])]
    return found + [{name: value} for name, values in (await _values(session, kind)).items() for value in values]


async def _values(session: AsyncSession, kind: AnyKind) -> dict[str, list[str]]:
    reach = DocumentReach
    of_kind = sa.select(sa.func.count()).where(reach.kind == int(kind.rules.register), reach.reader_kind == 1)

    async def ends(key: object, column: object, table: type, shown: object) -> list[str]:
        counted = of_kind.add_columns(shown).join_from(reach, table, column == key).group_by(shown)
        rows = sorted((await session.execute(counted)).all())
        return [str(row[1]) for row in ({rows[0], rows[-1]} if rows else ())]

    types = await ends(CorrespondenceType.id, reach.type_id, CorrespondenceType, CorrespondenceType.type_code)
    last = await session.scalar(sa.select(sa.func.max(reach.created_at)))
    middle = (last.date() - timedelta(days=1000)).isoformat() if last is not None else "2026-01-01"
    # A draft is rare; how most documents end differs from kind to kind.
    ended = next(one for one in ("approved", "acknowledged", "completed") if one in kind.rules.statuses)
    return {
        "status": ["draft", ended],
        "type": [one for one in types if one in kind.rules.type_codes and len(kind.rules.type_codes) > 1],
        "discipline": await ends(Discipline.id, reach.discipline_id, Discipline, Discipline.discipline_code),
        "party": await ends(Organization.id, reach.originator_id, Organization, Organization.public_id),
        "person": await ends(User.user_id, reach.author_id, User, User.public_id),
        "from": [middle],
        "until": [middle],
        "dueFrom": [middle],
        "dueUntil": [middle],
        "mine": ["true"],
        "pendingWithMe": ["true"],
        "overdue": ["true"],
    }


def combined(single: Sequence[Search]) -> Iterator[Search]:
    """Return two filters at a time, and each filter in other orders than the default one."""
    filters = {next(iter(one)): one for one in single if one and "sort" not in one}
    for one, other in combinations(filters.values(), 2):
        yield {**one, **other}
    for one in filters.values():
        for sort in ("number", "due"):
            yield {**one, "sort": sort}


async def deep(database: Database, kind: AnyKind, sort: str, reader: str) -> tuple[Asked, Asked] | None:
    """Return the second page of an order and its last one, if there are two: that is the first one of the order reversed."""
    other = sort.removeprefix("-") if sort.startswith("-") else f"-{sort}"
    async with database.reading() as session:
        caller = await identity.find_caller(session, username=READERS[reader])
        assert caller is not None
        cursors, bounds = [], []
        for order, limit in ((sort, PAGE), (other, PAGE + 1)):
            search = kind.search.model_validate({"sort": order, "limit": limit})
            page = await kind.page(context(caller), session, search=search, counted=True)
            cursors.append(page.next_cursor)
            bounds.append(list_mark(kind.rules.name, search.model_dump_json(exclude={"cursor", "limit"})))
    if None in cursors:
        return None
    last = RegisterCursor.decode(cursors[1] or "", bounds[1]).encode(bounds[0])
    of = (kind.rules.path, (("sort", sort),), reader)
    return Asked(*of, cursor=cursors[0] or ""), Asked(*of, cursor=last)


# What is measured.


async def registers(
    data: Filled, redis_url: str, name: str, *, say: Say, again: int = AGAIN, step: int = 1
) -> list[Row]:
    """
    :param name: of the suite
    :param again: how often the slowest are asked again
    :param step: of so many searches one is asked for
    """
    database = Database(data.url)
    with tempfile.TemporaryDirectory() as folder:
        async with http.site_on(data.url, redis_url, Path(folder)) as site, http.Clients(site.port, 1) as clients:
            tokens = {reader: await _token(site, username) for reader, username in READERS.items()}
            pages = Pages(site, clients, tokens, name, again)
            async with database.reading() as session:
                single = {kind.rules.path: (await searches(session, kind))[::step] for kind in KINDS.values()}
            say(f"{name}: each filter and each order")
            told, rows = await _first_pages(pages, single)
            say(f"{name}: combinations")
            more, combinations_rows = await _combinations(pages, single)
            say(f"{name}: deepest pages")
            deepest = await _deepest(pages, database, single)
    await database.close()
    await asyncio.to_thread(_write, {**told, **more}, name)
    return [*rows, *combinations_rows, *deepest]


async def _token(site: http.Site, username: str) -> str:
    return await site.token_of(username, PASSWORD if username == READERS["Super Admin"] else READER_PASSWORD)


def _write(told: Mapping[Asked, list[float]], name: str) -> None:
    LIST.parent.mkdir(exist_ok=True)
    lines = [f"{statistics.median(times):9.1f} ms  {one.name}" for one, times in told.items()]
    LIST.with_stem(f"{LIST.stem}-{name}").write_text("\n".join(sorted(lines, reverse=True)), encoding="utf-8")


async def _worst(pages: Pages, told: Mapping[Asked, list[float]]) -> tuple[Asked, list[float]]:
    """Ask again for those that took longest, and return the one that still does."""
    slowest = sorted(told, key=lambda one: statistics.median(told[one]))[-SLOWEST:]
    again = await pages.times(slowest, pages.again)
    return max(again.items(), key=lambda one: percentile(one[1]))


async def _first_pages(
    pages: Pages, single: Mapping[str, Sequence[Search]]
) -> tuple[Mapping[Asked, list[float]], list[Row]]:
    every = [
        Asked(kind, tuple(search.items()), reader)
        for kind, several in single.items()
        for search in several
        for reader in READERS
    ]
    told = await pages.times(every, FIRST)
    rows = []
    for reader in READERS:
        worst, times = await _worst(pages, {one: times for one, times in told.items() if one.reader == reader})
        rows.append(
            Row(
                pages.suite,
                f"first page, p95 of the slowest of {len(every)}: {worst.name}",
                percentile(times),
                "ms",
                "<= 50",
            )
        )
    return told, [*rows, await _narrow_against_wide(pages, told)]


async def _narrow_against_wide(pages: Pages, told: Mapping[Asked, list[float]]) -> Row:
    """The same page for those who see hardly anything, beside those who see most, where they differ most."""

    def share(times: Mapping[Asked, list[float]], one: Asked) -> float:
        of = {reader: statistics.median(times[Asked(one.kind, one.search, reader)]) for reader in READERS}
        return max(of[reader] for reader in _NARROW_READERS) / max(of[reader] for reader in _WIDE_READERS)

    of_one = [one for one in told if one.reader == NARROW]
    slowest = sorted(of_one, key=lambda one: share(told, one))[-SLOWEST:]
    again = await pages.times(
        [Asked(one.kind, one.search, reader) for one in slowest for reader in READERS], pages.again
    )
    worst = max(slowest, key=lambda one: share(again, one))
    return Row(
        pages.suite,
        f"narrow against wide, at most: {worst.name.rpartition(',')[0]}",
        share(again, worst),
        "x",
        "<= 1.5",
    )


async def _combinations(
    pages: Pages, single: Mapping[str, Sequence[Search]]
) -> tuple[Mapping[Asked, list[float]], list[Row]]:
    every = [
        Asked(kind, tuple(search.items()), reader)
        for kind in single.keys() & {"rfas", "correspondences"}
        for search in combined(single[kind])
        for reader in (*_WIDE_READERS, NARROW)
    ]
    told = await pages.times(every, 1, unmeasured=0)
    worst, times = await _worst(pages, told)
    said = f"combinations, p95 of the slowest of {len(every)}: {worst.name}"
    return told, [Row(pages.suite, said, percentile(times), "ms", "<= 200")]


async def _deepest(pages: Pages, database: Database, single: Mapping[str, Sequence[Search]]) -> list[Row]:
    pairs = [
        pair
        for kind in KINDS.values()
        for search in single[kind.rules.path]
        if search.keys() <= {"sort"}
        for reader in _WIDE_READERS
        if (pair := await deep(database, kind, search.get("sort", _SORTS[0]), reader)) is not None
    ]

    def share(times: Mapping[Asked, list[float]], pair: tuple[Asked, Asked]) -> float:
        return statistics.median(times[pair[1]]) / statistics.median(times[pair[0]])

    told = await pages.times([one for pair in pairs for one in pair], FIRST)
    slowest = sorted(pairs, key=lambda pair: share(told, pair))[-SLOWEST:]
    again = await pages.times([one for pair in slowest for one in pair], pages.again)
    worst = max(slowest, key=lambda pair: share(again, pair))
    said = f"deepest page against the second, at most of {len(pairs)}: {worst[0].name}"
    return [Row(pages.suite, said, share(again, worst), "x", "<= 1.2")]


async def compared(b: Bench, data: Filled, name: str) -> list[Row]:
    """A page of RFAs in process, for one who sees 60 %, beside what others send for the same rows by the bare driver."""
    database = Database(data.url)
    kind = KINDS[DemoRegister.RFA]
    async with database.reading() as session, Pool(make_url(data.url), 1) as pool:
        caller = await identity.find_caller(session, username=READERS[WIDE])
        assert caller is not None
        (organization,) = caller.organization_ids
        reader = Reader(caller.user_id, organization)
        seen = await register_baselines.prepare(pool, reader)
        _, last = await deep(database, kind, "-created", WIDE) or (None, None)

        def page(*, counted: bool, cursor: str | None = None) -> Operation:
            search = kind.search.model_validate({"sort": "-created", "cursor": cursor})
            return lambda: kind.page(context(caller), session, search=search, counted=counted)

        deepest = max(seen - PAGE, 0)
        b.say(f"a page of RFAs beside others, {seen:,} to be seen")
        sides = await interleaved(
            {
                "first page": b.of(page(counted=False), 1),
                "first page, hand-written on an ideal index": b.of(ideal(pool), 1),
                "first page with its count": b.of(page(counted=True), 1),
                "first page, guardian": b.of(guardian(pool, reader, offset=0), 1),
                "first page, OFFSET and COUNT": b.of(offset_and_count(pool, reader, offset=0), 1),
                "last page": b.of(page(counted=True, cursor=last.cursor if last else None), 1),
                "last page, guardian": b.of(guardian(pool, reader, offset=deepest), 1),
                "last page, OFFSET and COUNT": b.of(offset_and_count(pool, reader, offset=deepest), 1),
            },
            rounds=b.rounds,
        )
    await database.close()
    rows = [Row(name, each, 1000 / max(side.rate, 0.001), "ms", refused=side.refused) for each, side in sides.items()]

    def against(one: str, other: str, wanted: str) -> Row:
        return Row(name, f"{one}, against {other}", sides[one].rate / max(sides[other].rate, 0.001), "x", wanted)

    counted, last_page = "first page with its count", "last page"
    return [
        *rows,
        against("first page", "first page, hand-written on an ideal index", ">= 0.5"),
        *(against(counted, f"first page, {other}", ">= 10") for other in ("guardian", "OFFSET and COUNT")),
        *(against(last_page, f"last page, {other}", ">= 50") for other in ("guardian", "OFFSET and COUNT")),
    ]


async def grown(b: Bench, small: int, large: int, *, wanted: str = "") -> list[Row]:
    """What people wait for most, over HTTP, beside the same with fewer documents: for a controller who sees most of them."""
    async with AsyncExitStack() as stack:
        requests: dict[int, dict[str, Operation]] = {}
        for count in (small, large):
            data = await stack.enter_async_context(filled.on_mariadb(count, b.say))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            site = await stack.enter_async_context(http.site_on(data.url, b.redis.url, folder))
            clients = await stack.enter_async_context(http.Clients(site.port, 1))
            public_id = await site.issued("rfas")
            asked = {f"register of {kind.rules.path}": f"/api/v1/{kind.rules.path}" for kind in KINDS.values()}
            asked |= {"one RFA": f"/api/v1/rfas/{public_id}", "tasks": "/api/v1/inbox"}
            found = {what: clients.sending([site.reading(path)]) for what, path in asked.items()}
            found["the page of an RFA"] = clients.sending([site.reading(f"/rfas/{public_id}", as_page=True)])
            found["create an RFA"] = clients.sending([site.document("rfas")])
            requests[count] = found
        rows = []
        for what in requests[small]:
            b.say(f"{what}, with {large:,} documents and with {small:,}")
            sides = await interleaved(
                {f"{count:,}": b.brief(found[what], 1) for count, found in requests.items()}, rounds=b.rounds
            )
            less, more = sides[f"{small:,}"], sides[f"{large:,}"]
            share = more.percentile(0.5) / less.percentile(0.5)
            said = f"{what}, {large:,} documents against {small:,} ({less.percentile(0.5) * 1000:.1f} ms)"
            rows.append(Row("growth", said, share, "x", wanted, less.refused + more.refused))
    return rows


async def little_grown(b: Bench) -> list[Row]:
    return await grown(b, 2_000, DOCUMENTS)


async def much_grown(b: Bench) -> list[Row]:
    return await grown(b, 10_000, MANY, wanted="<= 1.5")


async def beside_peers(b: Bench) -> list[Row]:
    async with filled.on_mariadb(BESIDE_PEERS, b.say) as data:
        return await compared(b, data, "registers beside others")


async def on_mariadb(b: Bench) -> list[Row]:
    async with filled.on_mariadb(DOCUMENTS, b.say) as data:
        return await registers(data, b.redis.url, "registers", say=b.say)


async def on_sqlite(b: Bench) -> list[Row]:
    async with filled.on_sqlite(ON_SQLITE, b.say) as data:
        return await registers(data, b.redis.url, "registers on SQLite", say=b.say)


async def at_a_million(b: Bench) -> list[Row]:
    async with filled.on_mariadb(MANY, b.say) as data:
        return await registers(data, b.redis.url, "registers at a million", say=b.say)


SUITES: dict[str, Suite] = {
    "registers": on_mariadb,
    "registers-sqlite": on_sqlite,
    "register-peers": beside_peers,
    "growth": little_grown,
}
FULL: dict[str, Suite] = {"registers-million": at_a_million, "growth-million": much_grown}
