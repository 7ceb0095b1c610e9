"""An upgrade moves the numbers that drawings got among the documents to the shop drawings, and their series goes on (0080)."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import util
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import pytest_asyncio
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import event

from saraban.kit import migrations
from saraban.kit.db import Database
from saraban.numbering import service as numbering
from saraban.numbering.series.models import AUDIT, COUNTERS, LEDGER, RENDERINGS, NumberRange
from saraban.projects.models import CorrespondenceType
from tests.factories.contexts import context
from tests.numbering_world import World, world_of

pytestmark = [pytest.mark.servers, pytest.mark.sampled("mariadb")]
RANGES = cast(sa.Table, NumberRange.__table__)
TABLES = (LEDGER, RENDERINGS, COUNTERS, RANGES)
STEM = "LCBP3-C2-STR-DRW-"


def migrate(direction: str, db: Database) -> None:
    """Run this migration alone: the product needs the columns of the later ones."""

    def run(connection: sa.Connection) -> None:
        with Operations.context(MigrationContext.configure(connection)):
            getattr(load_migration(), direction)()
        connection.commit()

    url = db.engine.url.render_as_string(hide_password=False)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(migrations._run_read, url, run).result()


def load_migration() -> ModuleType:
    (path,) = (Path(__file__).parents[2] / "migrations" / "versions").glob("0080_*.py")
    spec = util.spec_from_file_location("numbers_of_drawings", path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Killed(Exception):
    pass


def upgrade_killed_after(connection: sa.Connection, statements: int) -> bool:
    """Return whether the upgrade had that many statements; what they changed stays."""
    numbers = count(1)

    def kill(*_: Any) -> None:
        if next(numbers) == statements:
            raise Killed

    event.listen(connection, "after_cursor_execute", kill)
    try:
        with Operations.context(MigrationContext.configure(connection)):
            load_migration().upgrade()
    except Killed:
        return True
    finally:
        event.remove(connection, "after_cursor_execute", kill)
    return False


class Upgrade:
    """A project whose drawings have numbers of before the upgrade."""

    def __init__(self, world: World) -> None:
        self.world, self.db = world, world.db
        self.drawing = numbering.NumberRequest(
            project_public_id=world.project,
            correspondence_type_code="DRAWING",
            originator_organization_public_id=world.organizations["ผรม.2"],
            contract_public_id=world.contracts["LCBP3-C2"],
            discipline_code="STR",
            category_code="DRW",
        )

    async def issue(self, many: int, **more: Any) -> list[str]:
        """Issue numbers as a server that has just started."""
        allocator = self.world.allocator()
        try:
            issued = [await self.world.take(allocator, self.drawing, **more) for _ in range(many)]
        finally:
            await allocator.close()
        return [one.number for one in issued]

    async def issue_letters(self, many: int) -> list[str]:
        allocator = self.world.allocator()
        try:
            issued = [await self.world.take(allocator, self.world.letter()) for _ in range(many)]
        finally:
            await allocator.close()
        return [one.number for one in issued]

    async def close_range(self, first: int, last: int) -> None:
        plan = await self.world.plan(self.drawing)
        draft = numbering.RangeDraft(numbering.RangeKind.BARRED, first, last, reason="Printed by hand already.")
        ctx = context(caller=self.world.caller, address="")
        await self.db.transact(lambda session: numbering.create_range(ctx, session, plan, draft))

    async def make_former(self) -> None:
        """Write the rows as the version before did: among the documents, in a series without a prefix."""
        migrate("downgrade", self.db)
        async with self.db.engine.begin() as connection:
            for table in (*TABLES, AUDIT):
                if "register" in table.c:
                    await connection.execute(
                        sa.update(table).where(table.c.register == "shop").values(register="document")
                    )
                if "series" in table.c:
                    bare = sa.func.replace(table.c.series, "shop:", "")
                    await connection.execute(
                        sa.update(table).where(table.c.series.startswith("shop:")).values(series=bare)
                    )

    async def contents(self) -> list[list[Any]]:
        async with self.db.engine.connect() as connection:
            return [sorted((await connection.execute(sa.select(table))).all(), key=repr) for table in TABLES]

    async def restore(self, contents: list[list[Any]]) -> None:
        async with self.db.engine.begin() as connection:
            for table in (RENDERINGS, LEDGER, COUNTERS, RANGES):
                await connection.execute(sa.delete(table))
            for table, rows in zip(TABLES, contents, strict=True):
                if rows:
                    await connection.execute(sa.insert(table), [dict(row._mapping) for row in rows])

    async def registers(self) -> list[tuple[str, str]]:
        """Return register and number of everything that was printed."""
        statement = sa.select(RENDERINGS.c.register, RENDERINGS.c.document_number).order_by(RENDERINGS.c.id)
        async with self.db.engine.connect() as connection:
            return [(row[0], row[1]) for row in await connection.execute(statement)]


@pytest_asyncio.fixture
async def upgrade(any_demo_url: str) -> AsyncIterator[Upgrade]:
    db = Database(any_demo_url)
    yield Upgrade(await world_of(db))
    await db.close()


def numbers(*sequences: int) -> list[str]:
    return [f"{STEM}{sequence:04}-A" for sequence in sequences]


async def test_the_series_goes_on_and_gives_no_number_twice(upgrade: Upgrade) -> None:
    letters = await upgrade.issue_letters(2)
    given = await upgrade.issue(2) + await upgrade.issue(1, lasts=timedelta(minutes=5))
    await upgrade.close_range(4, 5)
    await upgrade.make_former()
    assert given == numbers(1, 2, 3)
    assert {register for register, _ in await upgrade.registers()} == {"document"}

    migrate("upgrade", upgrade.db)

    assert await upgrade.registers() == [
        *(("document", number) for number in letters),
        *(("shop", number) for number in given),
    ]
    assert await upgrade.issue(2) == numbers(6, 7)
    assert set(letters).isdisjoint(await upgrade.issue_letters(1))
    series = {entry.series.partition(":")[0] for entry in await upgrade.world.ledger() if entry.register == "shop"}
    assert series == {"shop"}
    assert len([name for name in await upgrade.world.counters() if STEM in name]) == 1


async def test_a_number_that_shop_drawings_have_stays(upgrade: Upgrade) -> None:
    """Before the upgrade both counted from 1; the greater count holds afterwards."""
    await upgrade.issue(4)
    await upgrade.make_former()
    assert await upgrade.issue(2) == numbers(1, 2)  # the defect: drawn again in the register of shop drawings

    migrate("upgrade", upgrade.db)

    assert await upgrade.registers() == [
        *(("document", number) for number in numbers(1, 2)),
        *(("shop", number) for number in numbers(3, 4, 1, 2)),
    ]
    assert await upgrade.issue(1) == numbers(5)


@pytest.mark.sampled("sqlite")
async def test_a_greater_count_of_shop_drawings_stays(upgrade: Upgrade) -> None:
    await upgrade.issue(1)
    await upgrade.make_former()
    await upgrade.issue(3)

    migrate("upgrade", upgrade.db)

    assert await upgrade.issue(1) == numbers(4)


@pytest.mark.sampled("mariadb")
async def test_a_series_that_documents_began_keeps_its_counter(upgrade: Upgrade) -> None:
    await upgrade.issue(3)
    await upgrade.make_former()
    letter = sa.select(CorrespondenceType.id).where(CorrespondenceType.type_code == "LETTER").scalar_subquery()
    async with upgrade.db.engine.begin() as connection:
        await connection.execute(sa.update(COUNTERS).values(correspondence_type_id=letter))

    migrate("upgrade", upgrade.db)

    assert await upgrade.issue(1) == numbers(4)
    assert sorted((await upgrade.world.counters()).values()) == [3, 4]


@pytest.mark.sampled("sqlite")
async def test_a_stated_number_ahead_of_the_counter_is_stepped_over(upgrade: Upgrade) -> None:
    await upgrade.issue(4)
    await upgrade.make_former()
    async with upgrade.db.engine.begin() as connection:
        await connection.execute(sa.update(LEDGER).where(LEDGER.c.sequence_number > 2).values(source="OVERRIDE"))
        await connection.execute(sa.update(COUNTERS).values(last_number=2))

    migrate("upgrade", upgrade.db)

    assert await upgrade.issue(1) == numbers(5)


@pytest.mark.sampled("sqlite")
async def test_a_second_run_changes_nothing(upgrade: Upgrade) -> None:
    await upgrade.issue(3)
    await upgrade.close_range(6, 7)
    await upgrade.make_former()
    await upgrade.issue(1)
    migrate("upgrade", upgrade.db)
    once = await upgrade.contents()

    migrate("downgrade", upgrade.db)
    assert await upgrade.contents() == once
    migrate("upgrade", upgrade.db)

    assert await upgrade.contents() == once


async def test_goes_on_after_a_kill_behind_any_statement(upgrade: Upgrade) -> None:
    await upgrade.issue_letters(1)
    await upgrade.issue(3)
    await upgrade.close_range(6, 7)
    await upgrade.make_former()
    await upgrade.issue(1)
    before = await upgrade.contents()
    migrate("upgrade", upgrade.db)
    after = await upgrade.contents()

    for statements in count(1):
        await upgrade.restore(before)
        async with upgrade.db.engine.begin() as connection:
            was_killed = await connection.run_sync(upgrade_killed_after, statements)
        async with upgrade.db.engine.begin() as connection:
            await connection.run_sync(upgrade_killed_after, 0)
        assert await upgrade.contents() == after, statements
        if not was_killed:
            break
    assert statements > 8
