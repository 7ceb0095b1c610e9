"""Running documents are moved to another version by a command that is killed: what it has moved stays moved, once."""

import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.bootstrap import System, closing, wire
from saraban.documents.core import service as core
from saraban.documents.correspondence import CORRESPONDENCE, NewCorrespondence
from saraban.identity import service as identity
from saraban.identity.models import Organization
from saraban.projects.models import Project
from saraban.workflow import service as workflow
from saraban.workflow.administration.service import migration
from saraban.workflow.administration.service.migration import MigrationPlan
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance
from tests.conftest import settings_in
from tests.factories.contexts import context
from tests.killed import MIGRATED, migrating, run_killed

pytestmark = pytest.mark.sampled("mariadb")

CODE = "CORRESPONDENCE_FLOW_V1"
LETTERS = 2 * MIGRATED + 1


@pytest_asyncio.fixture
async def system(any_demo_url: str, tmp_path: Path) -> AsyncIterator[System]:
    async with closing(wire(settings_in(tmp_path, database_url=any_demo_url))) as found:
        yield found


async def write_letters(system: System) -> None:
    async with system.db.reading() as session:
        writer = await identity.find_caller(session, username="dc.contractor")
        project = await session.scalar(sa.select(Project.public_id).where(Project.project_code == "LCBP3-C2"))
        to = await session.scalar(sa.select(Organization.public_id).where(Organization.organization_code == "คคง."))
    assert writer is not None
    order = NewCorrespondence(
        project_public_id=project,
        correspondence_type_code="LETTER",
        recipients=[{"organizationPublicId": to, "recipientType": "TO"}],
        subject="ขอเชิญประชุม",
    )
    clock = system.clock
    for _ in range(LETTERS):
        await core.create(
            context(caller=writer, now=clock.now(), zone=clock.zone, address="", key=None),
            system.documents,
            CORRESPONDENCE,
            order,
        )


async def publish(system: System) -> UUID:
    """The second version, which says what the first one says."""
    async with system.db.reading() as session:
        admin = await identity.find_caller(session, username="admin")
    assert admin is not None
    raw = next(one for one in shipped() if one["workflow"] == CODE)
    made = await system.db.transact(
        lambda session: workflow.create(context(admin, system.clock.now(), address=""), session, raw=raw, activate=True)
    )
    return made.public_id


async def killed(system: System, folder: Path, *, after: int) -> int | None:
    """How the command ended."""
    words = ("workflow", "migrate", CODE, "--to", "2", "--as", "admin")
    return await run_killed(migrating, after, *words, folder=folder, url=system.settings.database_url)


async def moved_by(system: System) -> list[UUID]:
    """Run the migration to its end, and return what it moved."""
    async with system.db.reading() as session:
        admin = await identity.find_caller(session, username="admin")
    assert admin is not None
    batches = migration.migrate(
        context(caller=admin, now=system.clock.now(), address=""),
        system.db,
        subjects=system.subjects,
        plan=MigrationPlan(CODE, 2, dry_run=False),
    )
    return [line.instance_public_id async for batch in batches for line in batch.lines if line.found.goes]


async def on_version(system: System, definition: UUID) -> dict[UUID, int]:
    """Instances that run on it, with their version number."""
    async with system.db.reading() as session:
        rows = await session.scalars(sa.select(WorkflowInstance).where(WorkflowInstance.definition_id == definition))
        return {row.id: row.version_no for row in rows}


class TestMigration:
    @pytest.mark.timeout(120)
    async def test_that_is_killed_and_run_again_has_moved_each_once(self, system: System, tmp_path: Path) -> None:
        await write_letters(system)
        second = await publish(system)

        assert await killed(system, tmp_path, after=MIGRATED + 2) == -signal.SIGKILL
        before = await on_version(system, second)
        again = await moved_by(system)

        assert (len(before), len(again)) == (MIGRATED, LETTERS - MIGRATED)
        assert await on_version(system, second) == dict.fromkeys([*before, *again], 2)
        async with system.db.reading() as session:
            steps = await session.scalars(sa.select(WorkflowHistory.instance_id))
            notes = await session.scalars(sa.select(AuditLog).where(AuditLog.action == "workflow.migrate"))
            assert Counter(steps) == dict.fromkeys([*before, *again], 1)
            assert [note.details_json["instances"] for note in notes] == [MIGRATED, LETTERS - MIGRATED]
        assert await moved_by(system) == []
