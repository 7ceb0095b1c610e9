"""The years that somebody has to add on MariaDB."""

from datetime import UTC, datetime

import sqlalchemy as sa

from saraban.kit.db import Database
from saraban.worker.partitions import ensure_partitions

NOW = datetime(2032, 6, 1, tzinfo=UTC)


async def names(db: Database, table: str) -> list[str]:
    async with db.reading() as session:
        found = await session.scalars(
            sa.text(
                "SELECT partition_name FROM information_schema.partitions WHERE table_schema = DATABASE()"
                " AND table_name = :table ORDER BY partition_ordinal_position"
            ),
            {"table": table},
        )
        return [str(name) for name in found]


class TestEnsurePartitions:
    async def test_adds_this_year_and_the_next_once(self, mariadb: Database) -> None:
        first = await mariadb.transact(ensure_partitions, NOW)
        again = await mariadb.transact(ensure_partitions, NOW)

        assert first == ["notifications 2032", "notifications 2033", "audit_logs 2032", "audit_logs 2033"]
        assert again == []
        for table in ("notifications", "audit_logs"):
            assert (await names(mariadb, table))[-3:] == ["p2032", "p2033", "p_future"]
