"""Formats on both databases: what is printed at the borders of a period, and two who save at the same moment."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.numbering import service as numbering
from saraban.numbering.formats.domain import FormatStale
from saraban.numbering.formats.schemas import FormatChange
from tests.factories.contexts import context
from tests.numbering_world import NOW, World, check_accounts, world_of

pytestmark = pytest.mark.servers

INSTANT = timedelta(milliseconds=1)
NEW_YEAR = datetime(2026, 12, 31, 17, tzinfo=UTC)  # midnight in Bangkok
OCTOBER = datetime(2026, 9, 30, 17, tzinfo=UTC)
WHY = "The owner asked for it."


@pytest_asyncio.fixture
async def world(any_demo_url: str) -> AsyncIterator[World]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield await world_of(db)
    await db.close()


async def save(world: World, template: str, *, resets: bool | None = None) -> numbering.FormatRow:
    return await world.db.transact(
        lambda session: numbering.save_format(
            context(caller=world.caller, now=NOW, address=""),
            session,
            numbering.FormatTarget(world.project, "MEMO"),
            wanted=numbering.FormatDraft(template=template, resets=resets, reason=WHY),
        )
    )


async def change(
    world: World, row: numbering.FormatRow, template: str, *, session: AsyncSession
) -> numbering.FormatRow:
    """By somebody who has seen its first version."""
    return await numbering.change_format(
        context(caller=world.caller, now=NOW, address=""),
        session,
        public_id=row.format.public_id,
        version=1,
        changes=FormatChange(template=template, reason=WHY),
    )


async def drawn(world: World, *moments: datetime, **more: Any) -> list[str]:
    """What memos print that are numbered at these moments, one after the other."""
    allocator = world.allocator()
    request = world.letter(type_code="MEMO")
    return [
        (
            await allocator.issue(
                numbering.IssueRequest(context(world.caller), await world.plan(request, now=moment), **more)
            )
        ).number
        for moment in moments
    ]


@pytest.mark.sampled("sqlite")
class TestPeriods:
    @pytest.mark.parametrize(
        ("template", "border", "expected"),
        [
            ("M{SEQ:2}/{FY:B.E.}", OCTOBER, ["M01/2569", "M02/2569", "M01/2570", "M02/2570"]),
            ("M{SEQ:2}/{YEAR:B.E.}", OCTOBER, ["M01/2569", "M02/2569", "M03/2569", "M04/2569"]),
            ("M{SEQ:2}/{MM}{YY:B.E.}", OCTOBER, ["M01/0969", "M02/0969", "M01/1069", "M02/1069"]),
            ("M{SEQ:2}/{YY:A.D.}", NEW_YEAR, ["M01/26", "M02/26", "M01/27", "M02/27"]),
            ("M{SEQ:2}/{YEAR:A.D.}", NEW_YEAR, ["M01/2026", "M02/2026", "M01/2027", "M02/2027"]),
            ("M{SEQ:2}/{FY:B.E.}", NEW_YEAR, ["M01/2570", "M02/2570", "M03/2570", "M04/2570"]),
        ],
    )
    async def test_begin_at_midnight_in_bangkok(
        self, world: World, template: str, border: datetime, expected: list[str]
    ) -> None:
        await save(world, template)

        assert await drawn(world, border - INSTANT, border - INSTANT, border, border) == expected
        await check_accounts(world)

    async def test_are_printed_and_counted_through_where_the_format_says_so(self, world: World) -> None:
        await save(world, "M{SEQ:2}/{MM}", resets=False)

        numbers = await drawn(world, OCTOBER - INSTANT, OCTOBER, NEW_YEAR, OCTOBER + timedelta(days=365))

        assert numbers == ["M01/09", "M02/10", "M03/01", "M04/10"]
        await check_accounts(world)

    async def test_of_a_reservation_outlast_midnight(self, world: World) -> None:
        await save(world, "M{SEQ:2}/{FY:B.E.}")
        allocator = world.allocator()
        plan = await world.plan(world.letter(type_code="MEMO"), now=OCTOBER - INSTANT)
        kept = await allocator.issue(
            numbering.IssueRequest(context(caller=world.caller, address=""), plan, lasts=timedelta(days=36500))
        )

        bound = await world.db.transact(
            lambda session: numbering.confirm_reservation(
                context(caller=world.caller, now=OCTOBER, address=""), session, token=kept.public_id
            )
        )

        assert bound.number == "M01/2569"
        assert await drawn(world, OCTOBER) == ["M01/2570"]


@pytest.mark.sampled("mariadb")
class TestTwoWhoSave:
    async def test_the_same_version_are_one_too_many(self, world: World) -> None:
        row = await save(world, "M{SEQ:2}")

        async with world.db.writing() as first:
            await change(world, row, "M{SEQ:3}", session=first)
            second = asyncio.create_task(
                world.db.transact(lambda session: change(world, row, "M{SEQ:4}", session=session))
            )
            await asyncio.sleep(0.5)  # as far as it comes while the first has not committed

        with pytest.raises(FormatStale):
            await second
        async with world.db.reading() as session:
            versions = await numbering.format_history(
                context(caller=world.caller), session, public_id=row.format.public_id
            )
        assert [(one.version, one.template) for one in versions] == [(2, "M{SEQ:3}"), (1, "M{SEQ:2}")]


@pytest.mark.sampled("mariadb")
class TestPlans:
    async def test_print_as_the_format_says_that_was_saved_a_moment_ago(self, world: World) -> None:
        """Those who read and those who write share what the process remembers."""
        request = world.letter(type_code="MEMO")
        await save(world, "M{SEQ:2}")
        before = await world.plan(request)

        await save(world, "M{SEQ:5}")

        assert (before.number(1), (await world.plan(request)).number(1)) == ("M01", "M00001")
