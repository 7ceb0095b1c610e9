"""What the other database tests stand on: the servers and the fixtures themselves."""

import sqlalchemy as sa

from saraban.kit.db import Database
from tests.servers import MariaDb, Redis


class TestFixtures:
    async def test_give_an_empty_database_of_each_kind(self, any_db: Database) -> None:
        async with any_db.reading() as session:
            assert await session.scalar(sa.text("SELECT count(*) FROM users")) == 0

    def test_give_an_empty_redis(self, redis_server: Redis, redis_url: str) -> None:
        assert redis_server.answers()
        assert redis_url.startswith("redis://127.0.0.1:")

    def test_run_mariadb_as_durable_as_in_production(self, mariadb_server: MariaDb) -> None:
        assert mariadb_server.run("SELECT @@innodb_flush_log_at_trx_commit, @@log_bin").split() == ["1", "0"]
