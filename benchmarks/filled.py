"""
Databases with as many documents as a project has after years, filled by `saraban demo generate`.

Filling one takes minutes, so it stays below `build/filled` and the next run finds it; `make clean` removes it. Whatever
a run writes into it, such as the documents whose creation was measured, stays there too.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from benchmarks.bench import Say
from saraban.identity import service as identity
from saraban.identity.models import Organization
from saraban.identity.service import NewAccount, RoleGrant
from saraban.kit.db import Database
from tests.factories.contexts import context
from tests.servers import MariaDb

KEPT = Path("build/filled")
REVISIONS: Final = 3
# Of a server with a million documents, which take 28 GB: with Debian's 128 MB not even the tops of the indexes stay in memory.
MILLION, POOL_MB = 1_000_000, 4096
WIDE, NARROW, NOTHING = "sees 60 %", "sees 0.1 %", "sees nothing"
READER_PASSWORD: Final = "Gravel-Wharf-Monsoon-41"  # the demo's own is too weak for an account of today
OUTSIDE: Final = "BENCH"  # an organization that has no part in the project
# Each reads by one right in one organization: the contractors of the contracts with six tenths, and with hardly anything.
READERS: Final[Mapping[str, str]] = {
    "Super Admin": "admin",
    WIDE: "bench.wide",
    NARROW: "bench.narrow",
    NOTHING: "bench.nothing",
}
_ORGANIZATIONS = {WIDE: "ผรม.2", NARROW: "ผรม.1", NOTHING: OUTSIDE}


@dataclass(frozen=True, slots=True)
class Filled:
    """A database with so many documents and the four readers."""

    url: str
    documents: int


@asynccontextmanager
async def on_mariadb(documents: int, say: Say) -> AsyncIterator[Filled]:
    """Start a server on a data folder of its own, and fill it to so many documents."""
    with MariaDb(
        on_disk=True, data=_kept(f"mariadb-{documents}"), pool_mb=POOL_MB if documents >= MILLION else None
    ) as server:
        try:
            if "filled" not in server.run("SHOW DATABASES").split():
                server.create("filled")
            yield await filled(server.url("filled"), documents, say)
        finally:
            server.stop()  # in order: the next run needs no recovery


@asynccontextmanager
async def on_sqlite(documents: int, say: Say) -> AsyncIterator[Filled]:
    yield await filled(f"sqlite:///{_kept(f'{documents}.db')}", documents, say)


def _kept(name: str) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    return KEPT.absolute() / name


async def filled(url: str, documents: int, say: Say) -> Filled:
    """Fill a database, unless it has so many documents already, and open the readers' accounts."""
    say(f"a database with {documents:,} documents")
    written, seconds = await asyncio.to_thread(_generate, url, documents)
    if written:
        say(f"{written:,} documents in {seconds:.0f} s")
    await open_readers(url)
    return Filled(url, documents)


def _generate(url: str, documents: int) -> tuple[int, float]:
    command = [str(Path(sys.executable).with_name("saraban")), "demo", "generate", "--json"]
    command += ["--documents", str(documents), "--revisions", str(REVISIONS)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SARABAN_")}
    folder = KEPT.absolute() / "data"
    environment |= {"SARABAN_ENV": "test", "SARABAN_DATABASE_URL": url, "SARABAN_DATA_DIR": str(folder)}
    told = orjson.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    return told["written"], told["seconds"]


async def open_readers(url: str) -> None:
    """Give each reader one right to read, in one organization."""
    db = Database(url)
    try:
        async with db.writing() as session:
            if await identity.find_caller(session, username=READERS[WIDE]) is not None:
                return
            ctx = context(await identity.system_caller(session))
            outside = {"organization_code": OUTSIDE, "organization_name": "Outside"}
            session.add(Organization(**outside, created_at=ctx.now, updated_at=ctx.now))
            await session.flush()
            for reader, code in _ORGANIZATIONS.items():
                name = READERS[reader]
                account = NewAccount(name, f"{name}@example.org", organization_code=code)
                await identity.create_user(ctx, session, account, password=READER_PASSWORD)
                await identity.grant_role(ctx, session, name, RoleGrant("Viewer", organization_code=code))
    finally:
        await db.close()
