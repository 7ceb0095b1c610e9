"""What the other database tests stand on: the servers and the fixtures themselves."""

import sqlalchemy as sa

from saraban.kit.db import Database
from tests.servers import DatabaseCopies, MariaDb, Redis, database_name


class TestFixtures:
    async def test_give_an_empty_database_of_each_kind(self, any_db: Database) -> None:
        async with any_db.reading() as session:
            assert await session.scalar(sa.text("SELECT count(*) FROM users")) == 0

    def test_give_an_empty_redis(self, redis_server: Redis, redis_url: str) -> None:
        assert redis_server.answers()
        assert redis_url.startswith("redis://127.0.0.1:")

    def test_run_mariadb_as_durable_as_in_production(self, mariadb_server: MariaDb) -> None:
        assert mariadb_server.run("SELECT @@innodb_flush_log_at_trx_commit, @@log_bin").split() == ["1", "0"]

    def test_make_a_used_database_as_it_was(self, mariadb_server: MariaDb, mariadb_copies: DatabaseCopies) -> None:
        """Rows, the number of the next row, tables of the test's own, columns, and a database that is gone."""
        asked = "SELECT * FROM alembic_version; SHOW CREATE TABLE projects; SHOW TABLES; CHECKSUM TABLE roles"
        first = None
        for used in (
            "SELECT 1",
            "DELETE FROM alembic_version; CREATE TABLE own (id INT); ALTER TABLE projects AUTO_INCREMENT=77",
            "ALTER TABLE projects ADD COLUMN own INT",
            "DROP DATABASE %s",
            "SELECT 1",
        ):
            with mariadb_copies.lent() as url:
                name = database_name(url)
                found = mariadb_server.run(asked, database=name).replace(name, "")
                mariadb_server.run(used.replace("%s", name), database=name)
            first = first or found
            assert found == first, used
