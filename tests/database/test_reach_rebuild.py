"""The index of reach is compared and mended while people work, by a command that may be killed."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.bootstrap import System, closing, wire
from saraban.documents.core import service as core
from saraban.documents.core.models import DocumentReach
from saraban.documents.correspondence import CORRESPONDENCE, NewCorrespondence
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.identity.models import Organization
from saraban.kit.db import table_of
from saraban.projects.models import Project
from saraban.workflow import service as workflow
from tests.conftest import settings_in
from tests.factories.contexts import context
from tests.killed import REBUILT, rebuilding, run_killed
from tests.reach import differences, rebuild

LETTERS = 2 * REBUILT + 1
_reach = table_of(DocumentReach)

pytestmark = [pytest.mark.servers, pytest.mark.sampled("mariadb")]


@pytest_asyncio.fixture
async def system(any_demo_url: str, tmp_path: Path) -> AsyncIterator[System]:
    async with closing(wire(settings_in(tmp_path, database_url=any_demo_url))) as found:
        yield found


async def writer(system: System) -> RequestContext:
    async with system.db.reading() as session:
        person = await identity.find_caller(session, username="dc.contractor")
    assert person is not None
    return context(caller=person, now=system.clock.now(), zone=system.clock.zone, address="", key=None)


async def write_letters(system: System, number: int = LETTERS) -> None:
    ctx = await writer(system)
    async with system.db.reading() as session:
        project = await session.scalar(sa.select(Project.public_id).where(Project.project_code == "LCBP3-C2"))
        to = await session.scalar(sa.select(Organization.public_id).where(Organization.organization_code == "คคง."))
    order = NewCorrespondence(
        project_public_id=project,
        correspondence_type_code="LETTER",
        recipients=[{"organizationPublicId": to, "recipientType": "TO"}],
        subject="ขอเชิญประชุม",
    )
    for _ in range(number):
        receipt = await core.create(ctx, system.documents, CORRESPONDENCE, order)
        async with system.db.reading() as session:
            written = await core.show(ctx, session, CORRESPONDENCE, receipt)
        assert written.workflow is not None
        await system.transitions.take(
            ctx, public_id=written.workflow.instance_public_id, command=workflow.Command("submit")
        )


async def execute(system: System, statement: sa.Executable) -> None:
    async with system.db.writing() as session:
        await session.execute(statement)


async def reach_rows(system: System) -> list[tuple[object, ...]]:
    async with system.db.reading() as session:
        return sorted(tuple(row) for row in await session.execute(sa.select(_reach)))


async def killed(system: System, folder: Path, *, at: int) -> int | None:
    """How the command ended."""
    return await run_killed(
        rebuilding, at, "document", "reach", "rebuild", folder=folder, url=system.settings.database_url
    )


class TestRebuild:
    @pytest.mark.timeout(120)
    async def test_that_is_killed_and_run_again_leaves_nothing_missing_and_nothing_twice(
        self, system: System, tmp_path: Path
    ) -> None:
        await write_letters(system)
        before = await reach_rows(system)
        await execute(system, sa.delete(_reach).where(_reach.c.reader_kind == 3))

        assert await killed(system, tmp_path, at=2) == -signal.SIGKILL
        assert len(await differences(system.db)) == LETTERS - REBUILT
        await rebuild(system.db)

        assert await reach_rows(system) == before
        assert await differences(system.db) == []

    async def test_takes_away_what_is_of_no_document_and_what_shows_another_status(self, system: System) -> None:
        await write_letters(system, 2)
        before = await reach_rows(system)
        lost = sa.select(*(one if one.name != "document_id" else one + 1000 for one in _reach.c)).limit(1)
        await execute(system, sa.insert(_reach).from_select(list(_reach.c), lost))
        await execute(system, sa.update(_reach).where(_reach.c.reader_kind == 1).values(status=_reach.c.status + 1))

        assert len(await differences(system.db)) == 3
        await rebuild(system.db)

        assert await reach_rows(system) == before

    async def test_goes_on_while_documents_are_written(self, system: System) -> None:
        await write_letters(system, 3)
        writing = asyncio.create_task(write_letters(system, 5))
        while not writing.done():
            await execute(system, sa.delete(_reach).where(_reach.c.reader_kind == 3))
            await rebuild(system.db)
        await writing

        await rebuild(system.db)
        assert await differences(system.db) == []
