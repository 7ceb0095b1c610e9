"""
Search in a filled database: how quickly its index is made, and the first page of several classes of queries for who sees most and
for who sees little, beside the same word by LIKE in the same run. Measured are the statements with their rows, without HTTP.
"""

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Final

import sqlalchemy as sa

from benchmarks import filled
from benchmarks.bench import Bench, Suite
from benchmarks.filled import NARROW, READERS, WIDE, Filled
from benchmarks.registers import percentile
from benchmarks.results import Row
from saraban.documents.core.models import DocumentRevision
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database, table_of
from saraban.search.models import SearchEntry
from saraban.search.service import indexing
from saraban.search.service.search import SearchQuestion, search
from tests.factories.contexts import context

DOCUMENTS, MANY = 20_000, 1_000_000
ASKED, UNMEASURED = 10, 2
LIMITS: Final[Mapping[str, str]] = {WIDE: "<= 100", NARROW: "<= 20"}


async def rebuilt(b: Bench, db: Database, name: str) -> Row:
    begun = time.perf_counter()
    await indexing.rebuild(db)
    seconds = time.perf_counter() - begun
    async with db.reading() as session:
        entries = await session.scalar(sa.select(sa.func.count()).select_from(table_of(SearchEntry))) or 0
    b.say(f"{entries:,} entries in {seconds:.0f} s")
    return Row("search", f"rebuild, {name}", entries / seconds, "documents/s", ">= 5000")


async def classes(db: Database) -> dict[str, list[str]]:
    """Return queries of each class, taken from what is there."""
    async with db.reading() as session:
        revision = table_of(DocumentRevision).c
        rows = (await session.execute(sa.select(revision.correspondence_number, revision.subject).limit(4_000))).all()
    some = rows[:: max(1, len(rows) // 8)][:8]
    subjects = [subject for _, subject in some]
    found = {
        "rare word": [number.rpartition("-")[0][-9:].strip("-") for number, _ in some],
        "middle of a word": [subject[5:12].strip() for subject in subjects],
        "common word": ["ขอ", "อนุมัติ", "งาน"],
        "two words": [f"{subject[:6].strip()} {subject[-8:].strip()}" for subject in subjects],
        "part of a number": [number[-8:].strip("-") for number, _ in some],
        "no match": ["ฎฏฐฑ", "zzqx", "ไม่มีทางพบคำนี้"],
    }
    return {kind: [one for one in those if len(one) > 1] for kind, those in found.items()}


async def measured(db: Database, ctx: RequestContext, queries: Sequence[str]) -> list[float]:
    times = []
    for turn in range(UNMEASURED + ASKED):
        for query in queries:
            begun = time.perf_counter()
            await measured_once(db, ctx, query)
            if turn >= UNMEASURED:
                times.append((time.perf_counter() - begun) * 1000)
    return times


async def at_once(db: Database, ctx: RequestContext, queries: Sequence[str]) -> float:
    """Return what two that are asked at the same time take, both together, against one after the other alone."""
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ASKED):
        for query in queries:
            for clients, taken in times.items():
                begun = time.perf_counter()
                await asyncio.gather(*(measured_once(db, ctx, query) for _ in range(clients)))
                taken.append(time.perf_counter() - begun)
    return percentile(times[2]) / percentile(times[1])


async def measured_once(db: Database, ctx: RequestContext, query: str) -> None:
    async with db.reading() as session:
        await search(ctx, session, SearchQuestion(query))


async def beside_like(db: Database, word: str) -> float:
    """Return how many milliseconds the same takes by reading every text, once."""
    entry = table_of(SearchEntry).c
    begun = time.perf_counter()
    async with db.reading() as session:
        await session.scalar(sa.select(sa.func.count()).where(entry.text.contains(word)))
    return (time.perf_counter() - begun) * 1000


async def searches(b: Bench, data: Filled, name: str) -> list[Row]:
    db = Database(data.url)
    try:
        rows = [await rebuilt(b, db, name)]
        every = await classes(db)
        for reader, limit in LIMITS.items():
            async with db.reading() as session:
                caller = await identity.find_caller(session, username=READERS[reader])
            assert caller is not None
            for kind, queries in every.items():
                times = await measured(db, context(caller), queries)
                rows += [
                    Row("search", f"{kind}, {reader}, {name}: median", statistics.median(times), "ms"),
                    Row("search", f"{kind}, {reader}, {name}: p95", percentile(times), "ms", limit),
                ]
            share = await at_once(db, context(caller), every["middle of a word"])
            rows.append(Row("search", f"two at once against one, {reader}, {name}: p95", share, "x", "<= 2"))
        rows.append(Row("search", f"the same by LIKE over all, {name}", await beside_like(db, "อนุมัติ"), "ms"))
    finally:
        await db.close()
    return rows


async def on_both(b: Bench, *, documents: int = DOCUMENTS) -> list[Row]:
    rows = []
    async with filled.on_mariadb(documents, b.say) as data:
        rows += await searches(b, data, f"{documents:,} documents, MariaDB")
    async with filled.on_sqlite(documents, b.say) as data:
        rows += await searches(b, data, f"{documents:,} documents, SQLite")
    return rows


async def _million(b: Bench) -> list[Row]:
    return await on_both(b, documents=MANY)


SUITES: Final[dict[str, Suite]] = {"search": on_both}
FULL: Final[dict[str, Suite]] = {"search-million": _million}
