"""
The index of search alone, without a database: how quickly entries of synthetic documents are written, and the first page with
facets for a reader of 60 % and one of 0.1 %.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

import orjson
from tantivy import Document

from benchmarks.bench import Bench, Suite
from benchmarks.registers import percentile
from benchmarks.results import Row
from saraban.documents.core.domain import ReaderKind
from saraban.kit.clock import micros
from saraban.kit.ids import new_id
from saraban.search.repository.reach import EntryFacts
from saraban.search.repository.texts import SearchSource
from saraban.search.service.indexing import Entry, document_of
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.reach import DOCUMENT, SearchReach, reach_key
from saraban.search_index.service.reading import SCHEMA, IndexQuery, IndexState, SearchIndex, open_folder

DOCUMENTS, MANY = 100_000, 1_000_000
ASKED: Final = 20
_WORDS: Final = [
    "ขออนุมัติ",
    "รายงาน",
    "ผลการทดสอบ",
    "เสาเข็ม",
    "ฐานราก",
    "คานคอดิน",
    "คอนกรีต",
    "แบบขยาย",
    "งานท่าเรือ",
    "กลาง",
    "ไฟฟ้า",
    "ประปา",
    "ระบบ",
    "สื่อสาร",
    "ควบคุม",
    "วัสดุ",
    "เหล็กเสริม",
    "ตรวจสอบ",
    "แก้ไข",
    "ครั้งที่",
    "ส่งมอบ",
    "งวดงาน",
    "concrete",
    "pile",
    "drawing",
    "foundation",
    "pier",
    "beam",
    "approval",
    "request",
    "letter",
    "method",
]
_PARTIES: Final = [
    [f"ผรม.{place}", f"บริษัท รับเหมา {place} จำกัด", f"Contractor {place} Company Limited"] for place in range(12)
]
_BEGIN: Final = datetime(2020, 1, 1, tzinfo=UTC)
_LIMITS: Final = {"sees 60 %": "<= 50", "sees 0.1 %": "<= 20"}
_QUERIES: Final = {
    "common word": [["อนุมัติ"], ["ขอ"], ["งาน"], ["pile"]],
    "two words": [["เสาเข็ม", "ตรวจสอบ"], ["ฐานราก", "concrete"], ["รายงานผล", "งวด"]],
    "middle of a word": [["ทดสอบเสา"], ["อนุมัติรายงาน"], ["กคานคอ"]],
    "rare word": [["rpt-001234"], ["0098765"], ["ครั้งที่00777"]],
    "no match": [["ฎฏฐฑ"], ["zzqx"]],
}


def entries(count: int) -> Iterator[Entry]:
    """Yield documents of three revised kinds; each has a sender and a recipient of twelve organizations."""
    for place in range(count):
        chance = sha256(str(place).encode()).digest()
        words = [_WORDS[byte % len(_WORDS)] for byte in chance[:9]]
        sender, recipient = chance[9] % 12, chance[10] % 12
        number = f"LCBP3-C2-RFA-TER-RPT-{place:07}"
        reach = [
            reach_key(DOCUMENT, 1, ReaderKind.PROJECT, 0),
            reach_key(DOCUMENT, 1, ReaderKind.ORGANIZATION, 100 + sender),
        ]
        reach += [reach_key(DOCUMENT, 1, ReaderKind.CONTRACT, 7)] if place % 10 < 6 else []
        reach += [reach_key(DOCUMENT, 1, ReaderKind.ORGANIZATION, 900)] if place % 1_000 == 0 else []
        moment = _BEGIN + timedelta(minutes=3 * place)
        yield Entry(
            SearchSource(
                SearchKind(1 + place % 3),
                place,
                place,
                new_id(),
                1,
                subject="".join(words[:4]) + f" ครั้งที่ {place % 10_000:05}",
                numbers=[number, f"{number}-A"],
                texts=[" ".join(words[4:])],
                parties=[100 + sender, 100 + recipient],
                names=[*_PARTIES[sender], *_PARTIES[recipient], "ดวงใจ เอกสารครบ"],
            ),
            EntryFacts(moment, 100 + sender, reach, [], place % 9, place % 7, moment + timedelta(days=14)),
            (),
        )


def built(b: Bench, folder: Path, count: int) -> tuple[SearchIndex, list[Row]]:
    index = SearchIndex(folder)
    (index.folder / "bench").mkdir(parents=True)
    (index.folder / "state.json").write_bytes(orjson.dumps(asdict(IndexState(new_id(), "bench", 0, 0))))
    writer = open_folder(index.folder / "bench").writer(128_000_000, 1)
    waiting, seconds, spent = entries(count), 0.0, 0.0
    while some := list(islice(waiting, 50_000)):
        begun, processor = time.perf_counter(), time.process_time()
        for entry in some:
            writer.add_document(Document.from_dict(dict(document_of(entry)), SCHEMA))
        writer.commit()
        seconds += time.perf_counter() - begun
        spent += time.process_time() - processor
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1_000_000
    b.say(f"{count:,} entries in {seconds:.0f} s, {spent:.0f} s of processors, {size:.0f} MB")
    return index, [
        Row("search", f"the index alone, {count:,} documents", count / seconds, "documents/s", ">= 15000"),
        Row("search", f"the index alone, {count:,} documents, by processor time", count / spent, "documents/s"),
        Row("search", f"the index alone, {count:,} documents: size", size, "MB"),
    ]


def measured(index: SearchIndex, count: int) -> list[Row]:
    readers = {
        "sees 60 %": reach_key(DOCUMENT, 1, ReaderKind.CONTRACT, 7),
        "sees 0.1 %": reach_key(DOCUMENT, 1, ReaderKind.ORGANIZATION, 900),
    }
    years = {year: micros(datetime(year, 1, 1, tzinfo=UTC)) for year in range(1900, 2101)}
    rows = []
    for reader, key in readers.items():
        everything: list[float] = []
        for name, queries in _QUERIES.items():
            times = []
            for words in queries:
                query = IndexQuery(words, reach=SearchReach(frozenset({key})))
                for turn in range(ASKED):
                    begun = time.perf_counter()
                    index.newest(query, skip=0, limit=20, needed=201, facets=10_000, years=years)
                    if turn:
                        times.append((time.perf_counter() - begun) * 1_000)
            everything += times
            rows.append(Row("search", f"{name}, {reader}, {count:,}: median", statistics.median(times), "ms"))
            rows.append(Row("search", f"{name}, {reader}, {count:,}: p95", percentile(times), "ms"))
        rows.append(
            Row("search", f"with facets, {reader}, {count:,}: p95", percentile(everything), "ms", _LIMITS[reader])
        )
    return rows


async def index_alone(b: Bench, *, documents: int = DOCUMENTS) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        index, rows = await asyncio.to_thread(built, b, Path(folder), documents)
        return rows + await asyncio.to_thread(measured, index, documents)


async def _million(b: Bench) -> list[Row]:
    return await index_alone(b, documents=MANY)


SUITES: Final[dict[str, Suite]] = {"search-index": index_alone}
FULL: Final[dict[str, Suite]] = {"search-index-million": _million}
