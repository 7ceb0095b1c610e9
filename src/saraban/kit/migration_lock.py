"""
One process at a time migrates a database on MariaDB.

`GET_LOCK` is free as soon as its process is killed, but it is local to a node of a Galera cluster, and so is a row that was
read `FOR UPDATE`. So a row is claimed: its update names the owner and the beat that were read, and of two nodes only one can
commit that. The owner raises the beat while it works. A row that was claimed on this node is free once `GET_LOCK` succeeds;
one of another node when its beat has not moved for `EXPIRY` seconds.

The row keeps which movement is under way: an interrupted one is finished before another begins.
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
_CLAIM = """
    UPDATE migration_lock SET owner = :owner, node = CONCAT(@@hostname, ':', @@port), beat = beat + 1
    WHERE owner = :before AND beat = :beat
"""


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

    :param connection: commits each statement, and is used for nothing else
    :param work: takes the movement that was interrupted, or an empty string
    :raises MigrationUnderWay: when another process keeps at it for a minute, or has taken the lock from this one
    """
    owner = str(new_id())
    interrupted = await _claim(connection, owner)
    working, beating = asyncio.ensure_future(work(interrupted)), asyncio.ensure_future(_beat(connection, owner))
    await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
    for task in (working, beating):
        task.cancel()
    await asyncio.wait({working, beating})
    if not beating.cancelled():
        beating.result()
    await connection.execute(sa.text("UPDATE migration_lock SET owner = '' WHERE owner = :owner"), {"owner": owner})
    await connection.execute(sa.text("SELECT RELEASE_LOCK('saraban_migrate')"))
    working.result()


async def _beat(connection: AsyncConnection, owner: str) -> None:
    while True:
        await asyncio.sleep(BEAT)
        beaten = sa.text("UPDATE migration_lock SET beat = beat + 1 WHERE owner = :owner")
        if not (await connection.execute(beaten, {"owner": owner})).rowcount:
            raise MigrationUnderWay


async def _claim(connection: AsyncConnection, owner: str) -> str:
    """Return the movement that was interrupted, or nothing."""
    gives_up = time.monotonic() + PATIENCE
    if await connection.scalar(sa.text("SELECT GET_LOCK('saraban_migrate', :patience)"), {"patience": PATIENCE}) != 1:
        raise MigrationUnderWay
    await connection.execute(sa.text("SET sql_notes = 0"))
    await connection.execute(sa.text(_TABLE))
    await connection.execute(
        sa.text("INSERT INTO migration_lock VALUES (1, '', '', 0, '') ON DUPLICATE KEY UPDATE id = 1")
    )
    seen, since = None, 0.0
    while True:
        asked = "SELECT owner, beat, movement, node = CONCAT(@@hostname, ':', @@port) FROM migration_lock"
        before, beat, movement, is_here = (await connection.execute(sa.text(asked))).one()
        if seen != (before, beat):
            seen, since = (before, beat), time.monotonic()
        if not before or is_here or time.monotonic() >= since + EXPIRY:
            values = {"owner": owner, "before": before, "beat": beat}
            if (await connection.execute(sa.text(_CLAIM), values)).rowcount:
                return str(movement)
        if time.monotonic() > gives_up:
            raise MigrationUnderWay
        await asyncio.sleep(1)
