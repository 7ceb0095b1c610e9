"""
Search in a filled database: how quickly its index is made, and the first page of several classes of queries for who sees most and
for who sees little, beside the same word by LIKE in the same run. Measured are the statements with their rows, without HTTP.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from benchmarks import filled, http
from benchmarks.bench import Bench, Suite
from benchmarks.filled import NARROW, READERS, WIDE, Filled
from benchmarks.registers import KINDS, percentile
from benchmarks.results import Row
from saraban.attachments.models import Attachment, AttachmentText
from saraban.documents.core.models import DocumentRevision, DocumentRevisionAttachment
from saraban.documents.demo.domain import DemoRegister
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import SystemClock
from saraban.kit.db import Database, table_of
from saraban.kit.ids import new_id
from saraban.search.repository.texts import count_heads
from saraban.search.service import indexing
from saraban.search.service.search import SearchQuestion, search
from saraban.search_index.service import attach_index, release_index
from tests.factories.contexts import context
from tests.readable_files import docx, paragraph

DOCUMENTS, MANY = 20_000, 1_000_000
ASKED, UNMEASURED = 10, 2
EVERY: Final = 10  # so many documents have one file with text
SENTENCES: Final = 25  # of a file: some 1,500 characters
LONGEST: Final = 120.0  # seconds that are waited until something is found
LIMITS: Final[Mapping[str, str]] = {WIDE: "<= 50", NARROW: "<= 20"}


async def with_file_texts(b: Bench, db: Database) -> None:
    """Give one document in ten a file with text, unless they have theirs from an earlier run."""
    revision, file = table_of(DocumentRevision).c, table_of(Attachment).c
    async with db.reading() as session:
        if await session.scalar(sa.select(sa.func.count()).where(file.stored_filename == "bench")):
            return
        first = await session.scalar(sa.select(sa.func.max(file.id))) or 0
        newest = sa.select(revision.id).where(revision.is_current == sa.true(), revision.correspondence_id % EVERY == 0)
        owners = list(await session.scalars(newest))
        subjects = list(await session.scalars(sa.select(revision.subject).limit(4_000)))
    now = SystemClock(ZoneInfo("Asia/Bangkok")).now()
    for start in range(0, len(owners), 1_000):
        files, texts, links = [], [], []
        for key, owner in enumerate(owners[start : start + 1_000], first + start + 1):
            said = {"original_filename": f"รายงาน-{key}.pdf", "stored_filename": "bench", "file_path": f"bench/{key}"}
            kept = {"mime_type": "application/pdf", "file_size": 1, "is_temporary": False, "uploaded_by_user_id": 1}
            files.append({"id": key, "uuid": new_id(), "created_at": now, **said, **kept})
            text = "\n".join(subjects[(key * SENTENCES + place * 7) % len(subjects)] for place in range(SENTENCES))
            texts.append({"attachment_id": key, "text": text, "extracted_at": now})
            links.append({"correspondence_revision_id": owner, "attachment_id": key})
        async with db.writing() as session:
            for model, rows in ((Attachment, files), (AttachmentText, texts), (DocumentRevisionAttachment, links)):
                await session.execute(sa.insert(table_of(model)), rows)
    b.say(f"{len(owners):,} files with text")


async def rebuilt(b: Bench, db: Database, name: str) -> Row:
    async with db.reading() as session:
        heads = await count_heads(session)
    begun = time.perf_counter()
    await indexing.rebuild(db)
    seconds = time.perf_counter() - begun
    b.say(f"{heads:,} documents and drawings in {seconds:.0f} s")
    return Row("search", f"rebuild, {name}", heads / seconds, "documents/s", ">= 15000")


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


async def with_facets(db: Database, ctx: RequestContext, queries: Sequence[str]) -> list[float]:
    times = []
    for _ in range(ASKED):
        for query in queries:
            begun = time.perf_counter()
            async with db.reading() as session:
                await search(ctx, session, SearchQuestion(query, with_facets=True))
            times.append((time.perf_counter() - begun) * 1000)
    return times


async def in_register(db: Database, ctx: RequestContext, queries: Sequence[str]) -> list[float]:
    """Ask the register of RFAs for its first page with its count."""
    kind, times = KINDS[DemoRegister.RFA], []
    for _ in range(ASKED):
        for query in queries:
            asked = kind.search.model_validate({"q": query})
            begun = time.perf_counter()
            async with db.reading() as session:
                await kind.page(ctx, session, search=asked, counted=True)
            times.append((time.perf_counter() - begun) * 1000)
    return times


async def beside_like(db: Database, word: str) -> float:
    """Return how many milliseconds it takes to read every subject, once."""
    begun = time.perf_counter()
    async with db.reading() as session:
        await session.scalar(sa.select(sa.func.count()).where(DocumentRevision.subject.contains(word)))
    return (time.perf_counter() - begun) * 1000


async def searches(b: Bench, data: Filled, name: str) -> list[Row]:
    db = Database(data.url)
    folder = tempfile.TemporaryDirectory()
    attach_index(db, Path(folder.name))
    try:
        await with_file_texts(b, db)
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
            asked = every["part of a number"] + every["common word"]
            for what, times in (
                ("the box of a register", await in_register(db, context(caller), asked)),
                ("common word with facets", await with_facets(db, context(caller), every["common word"])),
            ):
                rows.append(Row("search", f"{what}, {reader}, {name}: p95", percentile(times), "ms", limit))
            share = await at_once(db, context(caller), every["middle of a word"])
            rows.append(Row("search", f"two at once against one, {reader}, {name}: p95", share, "x", "<= 2"))
        rows.append(Row("search", f"the same by LIKE over all, {name}", await beside_like(db, "อนุมัติ"), "ms"))
    finally:
        release_index(db)
        await db.close()
        folder.cleanup()
    return rows


async def findable(b: Bench) -> list[Row]:
    """How long after its answer a new document is found: by what it says, and by what its file says."""
    url = b.mariadb.create("search_findable", statements=b.template)
    with tempfile.TemporaryDirectory() as folder:
        async with http.site_on(url, b.redis.url, Path(folder), settings={"run_worker": True}) as site:
            times = [await _until_found(site, f"ลมมรสุม{turn:04}") for turn in range(ASKED)]
            in_files = [await _until_found(site, f"คลื่นลม{turn:04}", in_file=True) for turn in range(ASKED)]
    return [
        Row("search", "findable after the answer, by subject: slowest", max(times), "s", "<= 2"),
        Row("search", "findable after the answer, by the text of a file: slowest", max(in_files), "s", "<= 60"),
    ]


async def _until_found(site: http.Site, word: str, *, in_file: bool = False) -> float:
    draft = site.draft("rfas")
    async with site.client() as client:
        if in_file:
            file = ("รายงาน.docx", docx(paragraph(word)))
            sent = (await client.post("/api/v1/attachments", files={"file": file})).raise_for_status().json()
            draft["attachmentPublicIds"] = [sent["publicId"]]
        else:
            draft["subject"] = word
        (await client.post("/api/v1/rfas", json=draft)).raise_for_status()
        begun = time.perf_counter()
        while not (await client.get("/api/v1/search", params={"q": word})).raise_for_status().json()["items"]:
            if time.perf_counter() - begun > LONGEST:
                break
            await asyncio.sleep(0.02)
    return time.perf_counter() - begun


async def on_both(b: Bench, *, documents: int = DOCUMENTS) -> list[Row]:
    rows = []
    async with filled.on_mariadb(documents, b.say) as data:
        rows += await searches(b, data, f"{documents:,} documents, MariaDB")
    async with filled.on_sqlite(documents, b.say) as data:
        rows += await searches(b, data, f"{documents:,} documents, SQLite")
    return rows


async def _million(b: Bench) -> list[Row]:
    return await on_both(b, documents=MANY)


SUITES: Final[dict[str, Suite]] = {"search": on_both, "search-findable": findable}
FULL: Final[dict[str, Suite]] = {"search-million": _million}
