"""A restored backup, on each database: what was issued after it is on paper, and is never issued again."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from saraban.bootstrap import carriers
from saraban.kit.db import Database
from saraban.numbering import service as numbering
from saraban.numbering.series.domain.counter import SequenceExhausted
from tests.factories.contexts import context
from tests.numbering_world import World, world_of
from tests.servers import MariaDb, database_name

WHY = "Restored the backup of 28 November."

pytestmark = pytest.mark.servers

Restore = Callable[[], str]


@pytest.fixture
def back_up(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Restore]:
    """Back a database up as docs/setup.md does; what it returns restores that into an empty one, and gives its address."""

    def of_sqlite(url: str) -> Restore:
        copy = tmp_path / "backup.db"
        with sqlite3.connect(urlsplit(url).path) as source, sqlite3.connect(copy) as target:
            source.backup(target)
        return lambda: f"sqlite:///{copy}"

    def of_mariadb(url: str) -> Restore:
        server: MariaDb = request.getfixturevalue("mariadb_server")
        statements, name = server.dump(database_name(url)), f"{database_name(url)}_restored"
        request.addfinalizer(lambda: server.drop(name))
        return lambda: server.create(name, statements=statements)

    return lambda url: (of_sqlite if url.startswith("sqlite") else of_mariadb)(url)


async def issued(world: World, count: int, **more: Any) -> list[str]:
    allocator = world.allocator()
    return [(await world.take(allocator, world.letter(**more))).number for _ in range(count)]


async def skip(world: World, by: int) -> list[tuple[str, int, int]]:
    ctx = context(caller=world.caller, key=None, address="")
    every = {"project": world.project, "series": None, "to": 0, "by": by}
    return await world.db.transact(lambda session: numbering.skip_numbers(ctx, session, **every, reason=WHY))


async def reserve_range(world: World, first: int, last: int) -> numbering.RangeRow:
    plan = await world.plan(world.letter())
    draft = numbering.RangeDraft(numbering.RangeKind.KEPT, first, last, reason=WHY)
    ctx = context(caller=world.caller, key=None, address="")
    return await world.db.transact(lambda session: numbering.create_range(ctx, session, plan, draft))


async def discrepancies(world: World) -> list[numbering.Discrepancy]:
    return [found async for found in numbering.check_consistency(world.db, carriers=carriers())]


async def test_no_number_is_issued_in_both_lives(any_demo_url: str, back_up: Callable[[str], Restore]) -> None:
    db = Database(any_demo_url)
    world = await world_of(db)
    own = (await reserve_range(world, 6, 15)).range.public_id
    first_life = [*await issued(world, 5), *await issued(world, 2, range_public_id=own)]
    restore = back_up(any_demo_url)
    first_life += [*await issued(world, 10), *await issued(world, 3, range_public_id=own)]
    await db.close()

    restored = Database(restore())
    world = await world_of(restored)
    skips = await skip(world, by=10)
    second_life = [*await issued(world, 10)]
    with pytest.raises(SequenceExhausted):
        await issued(world, 1, range_public_id=own)
    found, (row, *_) = await discrepancies(world), await world.audit("SKIP")
    await restored.close()

    assert {one.split("-")[2] for one in second_life} == {f"{number:04}" for number in range(26, 36)}
    assert len({*first_life, *second_life}) == 30
    assert [moved for _, *moved in skips] == [[5, 25], [7, 15]]
    assert (found, row.reason, row.sequence_number, row.skipped_to) == ([], WHY, 6, 25)


@pytest.mark.sampled("mariadb")
async def test_numbers_that_came_before_the_skip_and_after_it_add_up(any_demo_url: str) -> None:
    """Servers may run: a draw waits for the skip, or the skip for the draw."""
    db = Database(any_demo_url)
    world = await world_of(db)
    allocator = world.allocator()
    drawing = [world.take(allocator, world.letter()) for _ in range(12)]
    await issued(world, 1)

    results = await asyncio.gather(*drawing[:6], skip(world, by=50), *drawing[6:])

    ((_, before, after),) = results.pop(6)
    sequences = sorted(one.sequence for one in results)
    found = await discrepancies(world)
    await db.close()
    assert found == []
    assert len(set(sequences)) == 12
    assert not any(before < sequence <= after for sequence in sequences)
    assert after == before + 50
