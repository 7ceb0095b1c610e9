"""How full the series are: what the metric says of few of them, however many there are."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio
import sqlalchemy as sa
from prometheus_client import REGISTRY
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.numbering.register.service import ledger
from saraban.numbering.register.service.ledger import measure_utilization
from saraban.numbering.series.models import LedgerEntry, NumberCounter
from tests.numbering_world import NOW, World, world_of

pytestmark = [pytest.mark.servers, pytest.mark.sampled("sqlite", "largest_of")]


@pytest_asyncio.fixture
async def world(any_demo_url: str) -> AsyncIterator[World]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield await world_of(db)
    await db.close()


async def set_last(world: World, series: str, last: int) -> None:
    async def work(session: AsyncSession) -> None:
        await session.execute(sa.update(NumberCounter).where(NumberCounter.series == series).values(last_number=last))
        await session.execute(sa.update(LedgerEntry).where(LedgerEntry.series == series).values(sequence_number=last))

    await world.db.transact(work)


class TestUtilization:
    async def test_is_the_last_number_against_the_largest_of_the_templates_width(self, world: World) -> None:
        issued = await world.take(world.allocator(), world.letter())
        (entry,) = await world.ledger()
        await set_last(world, entry.series, 9500)

        async with world.db.reading() as session:
            (used,) = await measure_utilization(session, now=NOW)

        assert issued.number.endswith("-0001-2569")
        assert (used.series, used.ratio) == (entry.series, pytest.approx(9500 / 9999))
        assert REGISTRY.get_sample_value("docnum_sequence_utilization_ratio", {"rank": "1"}) == used.ratio

    async def test_shows_the_fullest_series_only(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ledger, "_MOST_REPORTED", 1)
        allocator = world.allocator()
        for recipient in ("ผรม.1", "ผรม.2", "สคฉ.3"):
            await world.take(allocator, world.letter(recipient=recipient))
        fullest = (await world.ledger())[1].series
        await set_last(world, fullest, 40)

        async with world.db.reading() as session:
            shown = await measure_utilization(session, now=NOW)

        assert [used.series for used in shown] == [fullest]

    async def test_forgets_a_series_that_nobody_draws_from_any_more(self, world: World) -> None:
        await world.take(world.allocator(), world.letter())

        async with world.db.reading() as session:
            assert await measure_utilization(session, now=NOW + timedelta(days=61)) == []

    async def test_leaves_out_what_has_no_format_that_can_be_read(self, world: World) -> None:
        await world.take(world.allocator(), world.letter())
        await world.db.transact(lambda session: session.execute(sa.update(LedgerEntry).values(format_template="old")))

        async with world.db.reading() as session:
            assert await measure_utilization(session, now=NOW) == []
