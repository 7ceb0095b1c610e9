"""A project file on MariaDB: all or nothing in one transaction, twice without a change, exported and made again."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from saraban import bootstrap
from saraban.bootstrap import System
from saraban.identity import service as identity
from saraban.kit.errors import Invalid
from saraban.projects.models import Contract, Project
from saraban.setup import service as setup
from tests.conftest import settings_in
from tests.factories.contexts import context
from tests.factories.projects import FULL

pytestmark = pytest.mark.servers
NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)


async def applied(system: System, text: str) -> setup.AppliedFile:
    async with system.db.reading() as session:
        caller = await identity.system_caller(session)
    return await system.db.transact(
        lambda session: setup.apply(
            context(caller=caller, now=NOW, address="test"), session, content=text.encode(), prune=True
        )
    )


async def exported(system: System) -> str:
    async with system.db.reading() as session:
        return await setup.export(context(caller=await identity.system_caller(session)), session, code="BRIDGE")


async def test_a_file_is_applied_whole_or_not_at_all(mariadb_url: str, tmp_path: Path) -> None:
    async with bootstrap.closing(bootstrap.wire(settings_in(tmp_path, database_url=mariadb_url))) as system:
        await bootstrap.seed(system, demo=False)
        with pytest.raises(Invalid):
            await applied(system, FULL.replace("workflow: RFA_APPROVAL", "workflow: CIRCULATION_FLOW_V1"))
        async with system.db.reading() as session:
            assert await session.scalar(sa.select(sa.func.count()).select_from(Project)) == 0
            assert await session.scalar(sa.select(sa.func.count()).select_from(Contract)) == 0

        assert len((await applied(system, FULL)).differences) == 33
        assert (await applied(system, FULL)).differences == []
        assert (await applied(system, await exported(system))).differences == []
