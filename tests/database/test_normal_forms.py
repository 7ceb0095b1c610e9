"""An upgrade gives the first of several that look alike the key, merges nothing, and may be killed and run again (0081)."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from saraban.kit import migrations
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.keys import list_twins
from tests.migrating import apart, on, rows

ORGANIZATIONS = sa.table(
    "organizations",
    sa.column("uuid", sa.Uuid()),
    *map(sa.column, ("organization_code", "organization_name", "is_active", "created_at", "updated_at")),
)


def _insert(*codes: str) -> Callable[[sa.Connection], Any]:
    told = {"organization_name": "n", "is_active": 1, "created_at": "2026-01-01", "updated_at": "2026-01-01"}

    def insert(connection: sa.Connection) -> None:
        connection.execute(
            sa.insert(ORGANIZATIONS), [{"uuid": new_id(), "organization_code": code, **told} for code in codes]
        )
        connection.commit()

    return insert


def test_an_upgrade_keeps_twins_without_a_key(any_url: str) -> None:
    apart(migrations.downgrade, any_url, "0080")
    on(any_url, _insert("ABC", "a\u00adbc", "ＡＢＣ", "DEF"))

    apart(migrations.upgrade, any_url, "0081")

    read = "SELECT organization_code, organization_code_key FROM organizations ORDER BY id"
    assert [tuple(row) for row in rows(any_url, read)] == [
        ("ABC", "abc"),
        ("a\u00adbc", None),
        ("ＡＢＣ", None),
        ("DEF", "def"),
    ]


async def test_number_verify_lists_them(any_people_db: Database) -> None:
    async with any_people_db.writing() as session:
        await session.execute(
            sa.text("UPDATE organizations SET organization_code_key = NULL WHERE organization_code = 'คคง.'")
        )

        assert [one async for one in list_twins(session)] == [("organizations", "คคง.")]
