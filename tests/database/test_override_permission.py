"""An upgrade gives `numbering.override` to each role that changed number formats, also when it was killed before (N24)."""

from importlib import util
from pathlib import Path
from types import ModuleType

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Permission, Role, RolePermission
from saraban.identity.service.first_run import SHIPPED_AT, seed_catalogue
from saraban.kit.db import Database

pytestmark = pytest.mark.servers
FORMER, NEW = "numbering.manage_formats", "numbering.override"


def migration() -> ModuleType:
    (path,) = (Path(__file__).parents[2] / "migrations" / "versions").glob("*_override_of_numbers.py")
    spec = util.spec_from_file_location("override_of_numbers", path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(connection: sa.Connection, step: str) -> None:
    with Operations.context(MigrationContext.configure(connection)):
        getattr(migration(), step)()


async def roles_with(db: Database, permission: str) -> set[str]:
    statement = sa.select(Role.role_name).join(RolePermission).join(Permission)
    async with db.reading() as session:
        return set(await session.scalars(statement.where(Permission.permission_name == permission)))


async def add_own_roles(session: AsyncSession) -> None:
    await seed_catalogue(session)
    permissions = dict((await session.execute(sa.select(Permission.permission_name, Permission.permission_id))).all())
    for name, held in {"Formats": FORMER, "Readers": "numbering.view_formats"}.items():
        role = Role(role_name=name, scope="Project", created_at=SHIPPED_AT, updated_at=SHIPPED_AT)
        session.add(role)
        await session.flush()
        session.add(RolePermission(role_id=role.role_id, permission_id=permissions[held]))


@pytest.mark.sampled("mariadb")
async def test_no_role_loses_what_it_could_do(any_db: Database) -> None:
    await any_db.transact(add_own_roles)
    async with any_db.engine.begin() as connection:
        await connection.run_sync(run, "downgrade")
    assert await roles_with(any_db, NEW) == set()

    for _ in "12":
        async with any_db.engine.begin() as connection:
            await connection.run_sync(run, "upgrade")

    assert await roles_with(any_db, NEW) == await roles_with(any_db, FORMER) >= {"Formats", "Project Manager"}
    await any_db.transact(seed_catalogue)
    assert await roles_with(any_db, NEW) == {"Formats", "Superadmin", "Project Manager", "Org Admin"}
