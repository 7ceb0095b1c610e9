"""
Registers of drawings: the first page of a discipline for who sees all, most, little and nothing, now and as of a day, on MariaDB and
on SQLite. Measured are the statements of the register with their rows, without HTTP.
"""

import statistics
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from benchmarks.bench import Bench, Suite, demo_databases
from benchmarks.number_baselines import connect
from benchmarks.number_import import NUMBER_TABLES, insert_bare, last_rows
from benchmarks.registers import percentile
from benchmarks.results import Row
from saraban.documents.drawing.domain import SHOP, Audience, AudienceKind
from saraban.documents.drawing.models import ShopDrawing, ShopDrawingRevision
from saraban.documents.drawing.repository import registers
from saraban.documents.drawing.repository.registers import DrawingSearch
from saraban.documents.drawing.service.import_lines import BATCH, by_drawing
from saraban.identity import service as identity
from saraban.imports.domain import READY
from saraban.imports.service.run import import_batch
from saraban.kit.db import Database, table_of
from saraban.kit.ids import new_id
from saraban.kit.sheet_columns import SheetRow
from saraban.projects.models import Contract, Discipline, Project
from tests.drawing_imports import begun_import
from tests.factories.contexts import context

DRAWINGS, ALL_DRAWINGS, IMPORTED = 30_000, 300_000, 50_000
REVISIONS, DISCIPLINES, PAGE = 3, 10, 50
AT_ONCE = 5_000
ASKED = 60
UNMEASURED = 5  # the first times, in which statements are made
NOW: Final = datetime(2026, 11, 1, tzinfo=UTC)
LONG = timedelta(days=100)  # that a revision is current
EARLY: Final = (
    NOW - LONG * 10
)  # a day on which there was one drawing of a thousand, one of a hundred of the discipline asked for
NARROW_ORGANIZATION, NOBODY = 900_001, 900_002  # no rows: who is shown a drawing is a pair of numbers
READERS: Final = ("all", "60 %", "0.1 %", "nothing")


@asynccontextmanager
async def _filled(b: Bench, many: int) -> AsyncIterator[Mapping[str, Database]]:
    """Give both databases with a register of shop drawings in the demo project."""
    async with demo_databases(b, "drawings") as urls:
        found = {}
        for kind, url in urls.items():
            b.say(f"{many} drawings on {kind}")
            found[kind] = Database(url)
            await fill(found[kind], many)
        yield found
        for db in found.values():
            await db.close()


async def fill(db: Database, many: int) -> None:
    project, contract, disciplines = await _place(db)
    for start in range(0, many, AT_ONCE):
        places = range(start, min(many, start + AT_ONCE))
        heads = [_head(place, many, project, contract, disciplines) for place in places]
        async with db.writing() as session:
            await session.execute(sa.insert(table_of(ShopDrawing)), heads)
            await session.execute(sa.insert(table_of(ShopDrawingRevision)), list(_revisions(places)))
            await session.commit()
    async with db.writing() as session:
        if session.get_bind().dialect.name != "sqlite":
            await session.execute(sa.text("ANALYZE TABLE shop_drawings, shop_drawing_revisions"))


async def _place(db: Database) -> tuple[int, int, list[int]]:
    """Return the keys of the demo project, of a contract in it and of disciplines of that."""
    async with db.reading() as session:
        project = (await session.scalars(sa.select(Project.id).order_by(Project.id).limit(1))).one()
        contract = (await session.scalars(sa.select(Contract.id).where(Contract.project_id == project).limit(1))).one()
        of_contract = sa.select(Discipline.id).where(Discipline.contract_id == contract)
        disciplines = list(await session.scalars(of_contract.order_by(Discipline.id).limit(DISCIPLINES)))
    return project, contract, disciplines


def _head(place: int, many: int, project: int, contract: int, disciplines: list[int]) -> dict[str, Any]:
    """Six of ten concern one contract, one of a thousand a single organization, the others a contract that nobody here is in."""
    audience: Audience = (AudienceKind.CONTRACT, contract if place // 10 % 10 < 6 else 0)
    if place % 1000 == 999:
        audience = (AudienceKind.ORGANIZATION, NARROW_ORGANIZATION)
    return {
        "id": place + 1,
        "uuid": new_id(),
        "project_id": project,
        "discipline_id": disciplines[place % len(disciplines)],
        "audience_kind": int(audience[0]),
        "audience_id": audience[1],
        "drawing_number": f"LP3-{place * 7919 % many:07d}",
        "version": 1,
        "created_at": _registered(place),
        "updated_at": NOW,
    }


def _registered(place: int) -> datetime:
    return EARLY if place % 1000 == 499 else NOW - LONG * REVISIONS


def _revisions(places: range) -> Iterator[dict[str, Any]]:
    for place in places:
        for number in range(REVISIONS):
            last = number == REVISIONS - 1
            since = NOW - LONG * (REVISIONS - number) if number else _registered(place)
            yield {
                "id": place * REVISIONS + number + 1,
                "uuid": new_id(),
                "shop_drawing_id": place + 1,
                "revision_number": number,
                "revision_label": str(number),
                "is_current": True if last else None,
                "title": "แปลนฐานราก",
                "current_from": since,
                "current_until": None if last else NOW - LONG * (REVISIONS - 1 - number),
                "created_at": since,
            }


async def _page(db: Database, search: DrawingSearch) -> list[float]:
    """Return how many milliseconds each of several first pages took."""
    times = []
    for _ in range(UNMEASURED + ASKED):
        async with db.reading() as session:
            begun = time.perf_counter()
            places = await registers.find_places(session, SHOP, search, limit=PAGE + 1)
            await registers.rows(session, SHOP, places[:PAGE])
            times.append((time.perf_counter() - begun) * 1000)
    return times[UNMEASURED:]


async def current_set(b: Bench, *, many: int = DRAWINGS) -> list[Row]:
    """Each reader's first page of a discipline, the narrow beside the wide, and as of a day beside now."""
    rows = []
    async with _filled(b, many) as databases:
        for kind, db in databases.items():
            now, past = await measured(db)
            name = f"{many:,} drawings, {kind}"
            rows += [
                Row("drawings", f"current set of a discipline, {reader}, {name}: p95", percentile(times), "ms", "<= 50")
                for reader, times in now.items()
            ]
            middle = {reader: statistics.median(times) for reader, times in now.items()}
            narrow = max(middle["0.1 %"], middle["nothing"]) / middle["60 %"]
            rows.append(Row("drawings", f"narrow reader against wide, {name}", narrow, "x", "<= 1.5"))
            for day, then in past.items():
                worst = max(statistics.median(then[reader]) / middle[reader] for reader in READERS)
                rows.append(Row("drawings", f"as of {day} against now, worst reader, {name}", worst, "x", "<= 2"))
    return rows


async def searches(db: Database) -> dict[str, DrawingSearch]:
    """Return what each reader asks for: a discipline, as far as they are shown it."""
    project, contract, disciplines = await _place(db)
    own, everybody = AudienceKind.ORGANIZATION, (AudienceKind.PROJECT, 0)
    audiences: dict[str, tuple[Audience, ...] | None] = {
        "all": None,
        "60 %": ((AudienceKind.CONTRACT, contract), (own, NOBODY), everybody),
        "0.1 %": ((own, NARROW_ORGANIZATION), everybody),
        "nothing": ((own, NOBODY), everybody),
    }
    # That of every thousandth drawing, which the narrow reader is shown.
    discipline = disciplines[999 % len(disciplines)]
    return {
        reader: DrawingSearch(project, audiences[reader], disciplines={discipline: contract}, moment=None)
        for reader in READERS
    }


async def measured(db: Database) -> tuple[dict[str, list[float]], dict[str, dict[str, list[float]]]]:
    """Return what each reader's first page took, now and as of several days."""
    asked = await searches(db)
    now = {reader: await _page(db, search) for reader, search in asked.items()}
    days = {"a day": NOW - LONG * 3 / 2, "an early day": EARLY, "a day before all": EARLY - LONG}
    past = {
        day: {reader: await _page(db, replace(search, moment=moment)) for reader, search in asked.items()}
        for day, moment in days.items()
    }
    return now, past


async def imports(b: Bench, *, revisions: int = IMPORTED) -> list[Row]:
    """
    Lines of shop drawings, each round others, beside bare inserts of the very rows that this wrote, those of their numbers too.

    The bare side has them ready made: nothing is read, judged or looked for.
    """
    url = b.mariadb.create("drawing_import", statements=b.template)
    db = Database(url)
    async with db.reading() as session:
        project = (await session.scalars(sa.select(Project).order_by(Project.id).limit(1))).one()
    connection = await connect(db.url)
    ours, bare = [], []
    try:
        for number in range(b.rounds):
            b.say(f"import of {revisions:,} revisions")
            before = await last_rows(connection, ("shop_drawings", "shop_drawing_revisions", *NUMBER_TABLES))
            ours.append(await imported(db, project, lines_of(revisions, number)))
            b.say("the same rows, inserted")
            bare.append(await insert_bare(connection, before, batch=BATCH))
    finally:
        connection.close()
        await db.close()
    slower = statistics.median(one / other for one, other in zip(ours, bare, strict=True))
    return [
        Row("drawings", f"import of {revisions:,} revisions", revisions / statistics.median(ours), "lines/s"),
        Row("drawings", "import, time against bare inserts of the same rows", slower, "x", "<= 2"),
    ]


def lines_of(revisions: int, number: int) -> list[SheetRow]:
    """The revisions of each drawing follow each other in any order, as in a register that was kept by hand."""
    same = {"revision_date": "2026-02-28", "title": "แปลนฐานราก"}
    return [
        SheetRow(
            line,
            {"drawing_number": f"B{number}-{line // REVISIONS:06}", "revision": str(line % REVISIONS), **same},
        )
        for line in range(revisions, 0, -1)
    ]


async def imported(db: Database, project: Project, lines: list[SheetRow]) -> float:
    async with db.reading() as session:
        caller = await identity.find_caller(session, username="admin")
    assert caller is not None
    run, turn = await begun_import(db, context(caller=caller, now=NOW), project)
    begun, ready = time.perf_counter(), 0
    drawings = by_drawing(lines, SHOP)
    for start in range(0, len(drawings), BATCH):
        judged = await import_batch(db, run, turn, drawings[start : start + BATCH])
        ready += sum(one.state == READY for one in judged)
    seconds = time.perf_counter() - begun
    assert ready == len(lines), ready
    return seconds


SUITES: Final[dict[str, Suite]] = {"drawings": current_set, "drawing-import": imports}
FULL: Final[dict[str, Suite]] = {"drawings-full": partial(current_set, many=ALL_DRAWINGS)}
