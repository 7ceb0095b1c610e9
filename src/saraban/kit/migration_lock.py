"""
Lock that lets one process at a time migrate a MariaDB database.

`GET_LOCK` and `FOR UPDATE` are local to a node of a Galera cluster. So the process claims a row by an update that
names the owner and beat it read; only one node can commit that. The owner raises the beat while it works. Its claim
is free once `GET_LOCK` succeeds on the same node, or after `EXPIRY` without a beat on another. An interrupted
movement is finished first.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from saraban.kit.errors import RETRY, DomainError, ErrorKind, Text
from saraban.kit.ids import new_id

PATIENCE, EXPIRY, BEAT = 60.0, 20.0, 5.0  # seconds
_TABLE = """
    CREATE TABLE IF NOT EXISTS migration_lock (id INT PRIMARY KEY, owner CHAR(36) NOT NULL, node VARCHAR(300) NOT NULL,
    beat INT NOT NULL, movement VARCHAR(50) NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
"""
_ROW = "INSERT INTO migration_lock VALUES (1, '', '', 0, '') ON DUPLICATE KEY UPDATE id = 1"
_RAISE = "UPDATE migration_lock SET beat = beat + 1 WHERE owner = :owner"
# Nodes of a cluster can have equal host names. Galera gives each node an identifier.
_NODE = """
    SET @node = CONCAT_WS('-', @@hostname, @@port,
    (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'WSREP_GCOMM_UUID'))
"""
_READ = "SELECT owner, beat, movement, node = @node FROM migration_lock"
_CLAIM = "UPDATE migration_lock SET owner = :owner, node = @node, beat = beat + 1 WHERE owner = :last AND beat = :beat"


class MigrationUnderWay(DomainError):
    """Another process migrates the same database."""

    kind, code = ErrorKind.BUSY, "MIGRATION_UNDER_WAY"
    says = Text(
        "มีโปรเซสอื่นกำลังปรับรุ่นฐานข้อมูลนี้อยู่ รอให้เสร็จแล้วสั่งใหม่",
        "Another process is migrating this database: wait for it, then try again.",
    )
    recovery = (RETRY,)


async def run_alone(connection: AsyncConnection, work: Callable[[str], Awaitable[None]]) -> None:
    """
    Do the work while no other process migrates.
    :param connection: in autocommit, and used for nothing else
    :param work: takes the interrupted movement, or an empty string
    :raises MigrationUnderWay: when another process keeps the lock for a minute, or took it over
    """
    owner = {"owner": str(new_id())}
    working = asyncio.ensure_future(work(await _claim(connection, owner)))
    try:
        while not (await asyncio.wait({working}, timeout=BEAT))[0]:
            if not (await connection.execute(sa.text(_RAISE), owner)).rowcount:
                raise MigrationUnderWay
    finally:
        working.cancel()
        await asyncio.wait({working})
    await connection.execute(sa.text("UPDATE migration_lock SET owner = '' WHERE owner = :owner"), owner)
    working.result()


async def _claim(connection: AsyncConnection, owner: dict[str, str]) -> str:
    if await connection.scalar(sa.text(f"SELECT GET_LOCK('saraban_migrate', {PATIENCE})")) != 1:
        raise MigrationUnderWay
    for statement in ("SET sql_notes = 0", _NODE, _TABLE, _ROW):
        await connection.execute(sa.text(statement))
    last_beat, since, until = None, 0.0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        last_owner, beat, movement, is_here = (await connection.execute(sa.text(_READ))).one()
        if last_beat != (last_owner, beat):
            last_beat, since = (last_owner, beat), time.monotonic()
        if not last_owner or is_here or time.monotonic() >= since + EXPIRY:
            claimed = await connection.execute(sa.text(_CLAIM), {**owner, "last": last_owner, "beat": beat})
            if claimed.rowcount:
                return str(movement)
        await asyncio.sleep(1)
    raise MigrationUnderWay
