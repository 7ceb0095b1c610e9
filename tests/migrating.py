"""Migrations of a test's own database, what its tables contain then, and old databases of which tests get copies."""

import logging
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from saraban.kit import migrations
from tests.database import first_schema_rows
from tests.servers import MariaDb, database_name


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Migrations run an event loop of their own, which a thread with a running one would refuse."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work, *arguments).result()


def on(url: str, work: Callable[[sa.Connection], Any]) -> Any:
    return apart(migrations._run_read, url, work)


def rows(url: str, sql: str) -> list[Any]:
    return on(url, lambda connection: connection.execute(sa.text(sql)).all())


# Where an old database is copied on its way to the newest revision, and what is written there before it goes on.
STATIONS: dict[str, Callable[[sa.Connection], Any] | None] = {
    "0001": first_schema_rows.insert,
    "0004": first_schema_rows.revise_transmittal,
    "head": None,
}
WARNINGS = "warnings.log"


class OldDatabases:
    """
    Copies of a database that began at the first schema with rows, and was migrated.

    :param folder: what `make` has filled
    """

    def __init__(self, folder: Path, server: MariaDb | None) -> None:
        self._folder, self._server = folder, server

    @staticmethod
    def make(folder: Path, server: MariaDb | None) -> None:
        url = server.create("old") if server else f"sqlite:///{folder / 'old.db'}"
        log = logging.FileHandler(folder / WARNINGS, encoding="utf-8")
        log.setLevel(logging.WARNING)
        logging.getLogger().addHandler(log)
        try:
            for revision, write in STATIONS.items():
                apart(migrations.upgrade, url, revision)
                if write is not None:
                    on(url, write)
                if server:
                    (folder / f"{revision}.sql").write_text(server.dump("old"), "utf-8")
                else:
                    shutil.copy(folder / "old.db", folder / f"{revision}.db")
        finally:
            logging.getLogger().removeHandler(log)
            log.close()
        if server:
            server.drop("old")

    @property
    def warnings(self) -> str:
        """What the driver warned of on the way."""
        return (self._folder / WARNINGS).read_text("utf-8")

    def statements(self, revision: str) -> str:
        """Return the statements that make a copy on MariaDB."""
        return (self._folder / f"{revision}.sql").read_text("utf-8")

    def copy(self, revision: str, to: Path) -> str:
        """Return the address of a copy: of the file `to` on SQLite, of a database of that name on MariaDB."""
        if self._server:
            self._server.drop(to.name)
            return self._server.create(to.name, statements=self.statements(revision))
        shutil.copy(self._folder / f"{revision}.db", to)
        return f"sqlite:///{to}"

    def remove(self, url: str) -> None:
        if self._server:
            self._server.drop(database_name(url))
