"""Legacy numbers on each database: batches, an import that breaks off, and somebody who draws meanwhile."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.bootstrap import carriers
from saraban.kit.db import Database
from saraban.kit.sheet_columns import SheetRow
from saraban.numbering import service as numbering
from saraban.numbering.imports.service import rows
from saraban.numbering.imports.service.legacy_import import SourceFile, import_at_terminal
from saraban.numbering.imports.service.rows import NumberRun
from saraban.numbering.series.models import LedgerEntry, NumberCounter, NumberImport, NumberRendering
from tests.factories.contexts import context
from tests.numbering_world import BANGKOK, NOW, World, world_of

pytestmark = [pytest.mark.servers, pytest.mark.sampled("mariadb")]
SERIES = "คคง.-ผรม.1-{SEQ}-2569"
FILE = SourceFile("old.xlsx", "0" * 64)


@pytest_asyncio.fixture
async def world(any_demo_url: str) -> AsyncIterator[World]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield await world_of(db)
    await db.close()


def lines(first: int, last: int) -> Iterator[SheetRow]:
    """Letters of this year: the series that the tests draw in."""
    for sequence in range(first, last + 1):
        number = f"คคง.-ผรม.1-{sequence:04}-2569"
        cells = {"number": number, "type": "LETTER", "originator": "คคง.", "recipient": "ผรม.1"}
        yield SheetRow(sequence + 1, cells)


async def bring(world: World, given: Iterator[SheetRow], **more: Any) -> tuple[object, ...]:
    """Return how many lines are ready, there and refused."""
    ctx = context(world.caller, now=NOW, zone=BANGKOK)
    _, turn = await import_at_terminal(ctx, world.db, project_public_id=world.project, rows=given, file=FILE, **more)
    return tuple(turn.report()[name] for name in ("ready", "there", "refused"))


async def count(world: World, model: Any, *where: Any) -> int:
    async with world.db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(model).where(*where)) or 0)


async def discrepancies(world: World) -> list[Any]:
    return [found async for found in numbering.check_consistency(world.db, carriers=carriers())]


class TestBatches:
    @pytest.fixture(autouse=True)
    def batch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rows, "BATCH", 100)

    async def test_write_every_line_once_and_the_books_agree(self, world: World) -> None:
        outcome = await bring(world, lines(1, 250))

        assert outcome == (250, 0, 0)
        assert await count(world, LedgerEntry, LedgerEntry.source == "IMPORT") == 250
        assert await count(world, NumberRendering) == 250
        assert await discrepancies(world) == []

    async def test_that_are_broken_off_go_on_where_they_were(self, world: World) -> None:
        def breaking(done: int) -> None:
            if done == 200:
                raise ConnectionError

        with pytest.raises(ConnectionError):
            await bring(world, lines(1, 250), progress=breaking)
        assert await count(world, LedgerEntry) == 200
        assert await count(world, NumberImport, NumberImport.state == "IMPORTING") == 1

        outcome = await bring(world, lines(1, 250))

        assert outcome == (50, 200, 0)
        assert await count(world, NumberImport, NumberImport.state == "DONE") == await count(world, NumberImport) == 1


class TestDrawing:
    async def test_steps_over_imported_numbers(self, world: World) -> None:
        allocator = world.allocator()
        await bring(world, lines(2, 3))

        drawn = [(await world.take(allocator, world.letter())).sequence for _ in range(2)]

        assert drawn == [1, 4]
        assert await discrepancies(world) == []

    async def test_goes_on_after_the_highest_when_the_counter_was_moved(self, world: World) -> None:
        allocator = world.allocator()
        await world.take(allocator, world.letter())

        await bring(world, lines(10, 20), moves={SERIES: 20})

        assert (await world.take(allocator, world.letter())).sequence == 21
        assert await discrepancies(world) == []

    async def test_meanwhile_takes_a_number_from_the_file(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """The number is drawn after the look at the ledger; the line is refused, the others come in."""
        allocator = world.allocator()
        look = NumberRun.judge
        drawn = []

        async def then_draw(*words: Any, **more: Any) -> Any:
            seen = await look(*words, **more)
            if not drawn and not world.db.is_sqlite:  # SQLite has one writer: nobody can come between
                drawn.append(await world.take(allocator, world.letter()))
            return seen

        monkeypatch.setattr(NumberRun, "judge", then_draw)

        outcome = await bring(world, lines(1, 5))

        assert outcome == (5 - len(drawn), 0, len(drawn))
        assert world.db.is_sqlite or drawn
        assert await discrepancies(world) == []

    async def test_a_counter_moves_no_further_than_was_shown(self, world: World) -> None:
        allocator = world.allocator()
        await world.take(allocator, world.letter())

        await bring(world, lines(10, 30), moves={SERIES: 12})

        assert await count(world, NumberCounter, NumberCounter.last_number == 12) == 1
        assert await discrepancies(world) == []
