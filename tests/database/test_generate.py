"""`saraban demo generate` on both databases, by a command that is killed: what was written is whole, and it goes on there."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.bootstrap import System, carriers, closing, wire
from saraban.documents.demo.service import PROJECT
from saraban.documents.drawing.models import ShopDrawingRevision, ShopDrawingRevisionContractRef
from saraban.numbering import service as numbering
from saraban.numbering.series.models import LedgerEntry
from saraban_tools.drawings import generate_drawings
from tests.conftest import settings_in
from tests.killed import generating, run_killed
from tests.reach import differences

pytestmark = [pytest.mark.servers, pytest.mark.sampled("mariadb")]
DOCUMENTS = 40


@pytest_asyncio.fixture
async def system(any_demo_url: str, tmp_path: Path) -> AsyncIterator[System]:
    async with closing(wire(settings_in(tmp_path, database_url=any_demo_url))) as found:
        yield found


async def generate(system: System, folder: Path, *, killed_at: int) -> int | None:
    """How the command ended."""
    words = ("demo", "generate", "--documents", str(DOCUMENTS))
    return await run_killed(generating, killed_at, *words, folder=folder, url=system.settings.database_url, within=120)


async def held(system: System) -> int:
    async with system.db.reading() as session:
        count = sa.select(sa.func.count()).where(LedgerEntry.holder_public_id.is_not(None))
        return await session.scalar(count) or 0


async def adds_up(system: System) -> bool:
    found = [one async for one in numbering.check_consistency(system.db, carriers=carriers())]
    return found == [] and await differences(system.db) == []


@pytest.mark.timeout(240)
async def test_that_is_killed_leaves_whole_documents_and_goes_on(system: System, tmp_path: Path) -> None:
    assert await generate(system, tmp_path, killed_at=3) == -signal.SIGKILL
    before = await held(system)
    assert 0 < before < DOCUMENTS
    assert await adds_up(system)

    assert await generate(system, tmp_path, killed_at=0) == 0

    assert await held(system) == DOCUMENTS
    assert await adds_up(system)


@pytest.mark.sampled("mariadb")
async def test_drawings_are_written_in_one_way_on_both_databases(system: System) -> None:
    drawn = generate_drawings(system.demo.services, code=PROJECT, many=200, now=system.clock.now())
    assert [one.written async for one in drawn] == [0, 200]

    async with system.db.reading() as session:
        current = sa.select(sa.func.count()).select_from(ShopDrawingRevision)
        labels = sa.select(ShopDrawingRevision.revision_label).distinct()
        links = sa.select(sa.func.count()).select_from(ShopDrawingRevisionContractRef)
        assert await session.scalar(current.where(ShopDrawingRevision.is_current)) == 100
        assert set(await session.scalars(labels)) == {"0", "1", "2", "3"}
        assert await session.scalar(links) == 100
