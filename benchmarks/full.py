"""The long rows: tables of ten million, the memory of a million numbers, the account of a million, and the check of a million."""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import uvloop
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncSession

from benchmarks import allocator, filled, http
from benchmarks.bench import Bench, Suite
from benchmarks.load import closed_loop, interleaved
from benchmarks.numbering import rate, ratio
from benchmarks.results import Row
from saraban.bootstrap import carriers
from saraban.kit.db import Database
from saraban.kit.locks import RedisLocks
from saraban.numbering import service as numbering
from tests.conftest import PASSWORD

MANY = 10_000_000
MILLION, FEW = 1_000_000, 20_000
_CHUNK = 500_000


async def ten_million(b: Bench) -> list[Row]:
    """Ten million rows in ledger and audit, beside a database of the same server that has none: in turn, like all ratios."""
    for first in range(1, MANY, _CHUNK):
        b.say(f"{first - 1:,} rows")
        await asyncio.to_thread(b.mariadb.run, _filling(first, _CHUNK), database="bench")
    b.say("with ten million rows, and with none")
    async with allocator.world_in(b.mariadb.create("small")) as small:
        sides = await interleaved(
            {
                "full": b.of(await allocator.one_series(b.world, b.locks()), 100),
                "empty": b.of(await allocator.one_series(small, b.locks()), 100),
            },
            rounds=b.rounds,
        )
    pool = b.mariadb.run("SELECT @@innodb_buffer_pool_size DIV 1048576").strip()
    share = sides["full"].rate / sides["empty"].rate
    return [
        rate("100 clients: tables of 10 M rows", sides["full"]),
        rate("100 clients: empty tables", sides["empty"]),
        ratio(f"10 M rows, against empty tables (buffer pool {pool} MB)", share, ">= 0.85", sides["full"].refused),
    ]


def _filling(first: int, count: int, *, each: int = 10_000) -> str:
    """
    Rows like those of issued numbers, of other series.

    :param each: numbers of a series
    """
    numbers = f"seq_{first}_to_{first + count - 1}"
    return f"""
    SET SESSION foreign_key_checks = 0;
    INSERT INTO document_number_reservations (uuid, token, project_id, correspondence_type_id,
      originator_organization_id, recipient_organization_id, series, `range`, sequence_number, base_number,
      document_number, revision_label, document_number_status, source, format_template, format_values, issue_year,
      user_id, confirmed_at, created_at)
    SELECT CAST(CONCAT(LPAD(HEX(seq), 12, '0'), '70008000', LPAD(HEX(seq), 12, '0')) AS UUID), UUID(), 1, 1, 1, 2,
      CONCAT('F', seq DIV {each}, '-{{SEQ}}'), 0, seq MOD {each} + 1, CONCAT('F', seq), CONCAT('F', seq), 'A',
      'CONFIRMED', 'DRAW', '{{ORIGINATOR}}-{{SEQ:4}}', '{{}}', 2026, 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)
    FROM {numbers};
    INSERT INTO document_number_audit (uuid, operation, project_id, reservation_uuid, generated_number, document_type,
      series, counter_key, template_used, sequence_number, user_id, retry_count, lock_wait_ms, lock_path, created_at)
    SELECT CAST(CONCAT(LPAD(HEX(seq), 12, '1'), '70008000', LPAD(HEX(seq), 12, '0')) AS UUID), 'GENERATE', 1,
      CAST(CONCAT(LPAD(HEX(seq), 12, '0'), '70008000', LPAD(HEX(seq), 12, '0')) AS UUID), CONCAT('F', seq), 'LETTER',
      CONCAT('F', seq DIV {each}, '-{{SEQ}}'), '{{}}', '{{ORIGINATOR}}-{{SEQ:4}}', seq MOD {each} + 1, 1, 0, 0, 'redis',
      UTC_TIMESTAMP(6)
    FROM {numbers};
    """


async def accounts(b: Bench) -> list[Row]:
    """The list of series and the account of one with a million numbers, over HTTP."""
    b.say("a series of a million numbers")
    url = b.mariadb.create("accounts", statements=b.template)
    for first in range(0, MILLION, _CHUNK):
        await asyncio.to_thread(b.mariadb.run, _filling(first, _CHUNK, each=MILLION), database="accounts")
    await asyncio.to_thread(b.mariadb.run, _COUNTER, database="accounts")
    with tempfile.TemporaryDirectory() as folder:
        unlimited = {"preview_limit_user": 0}
        async with http.site_on(url, b.redis.url, Path(folder), settings=unlimited) as site:
            token = await site.token_of("admin", PASSWORD)
            return [
                await _page(b, site, name, path, token)
                for name, path in {
                    "list of series": f"/series?projectPublicId={site.project}",
                    "account, first page": f"/series/account?projectPublicId={site.project}&series={_SERIES}",
                    "account, deepest page": f"/series/account?projectPublicId={site.project}&series={_SERIES}"
                    f"&from={MILLION - 49}",
                }.items()
            ]


_SERIES = "F0-%7BSEQ%7D"
_COUNTER = """
INSERT INTO document_number_counters (project_id, series, `range`, originator_organization_id, correspondence_type_id,
  recipient_organization_id, sub_type_id, rfa_type_id, discipline_id, current_year, last_number, range_count, version,
  updated_at)
SELECT 1, 'F0-{SEQ}', 0, 1, 1, 2, 0, 0, 0, 2026, MAX(sequence_number), 0, 1, UTC_TIMESTAMP(6)
FROM document_number_reservations WHERE project_id = 1 AND series = 'F0-{SEQ}'
"""


async def _page(b: Bench, site: http.Site, name: str, path: str, token: str) -> Row:
    b.say(name)
    async with http.Clients(site.port, 1) as clients:
        operation = clients.sending([site.reading(http.API + path, token=token)])
        await operation()
        done = await closed_loop(operation, clients=1, seconds=b.brief_seconds)
    of = f"{name}, a series of 1,000,000 numbers: p95"
    return Row("numbering", of, done.percentile(0.95) * 1000, "ms", "<= 30", done.refused)


async def memory(b: Bench) -> list[Row]:
    """What a process holds after a million numbers, beside ten thousand."""
    b.say("a million numbers")
    early, late = await _apart("hold", b.url, b.redis.url)
    return [
        Row("numbering", "resident memory after 1 M numbers", late / 1024, "MB"),
        ratio("resident memory after 1 M numbers, against 10,000", late / early, "<= 1.2"),
    ]


async def check(b: Bench) -> list[Row]:
    """`number verify` of what the other rows have left, a million numbers or more, and of ten thousand beside it."""
    b.say("verify")
    async with allocator.world_in(b.mariadb.create("few")) as small:
        operation = await allocator.one_series(small, b.locks())
        for _ in range(100):
            await asyncio.gather(*(operation() for _ in range(100)))
        few = await _apart("check", str(small.db.url.render_as_string(hide_password=False)))
    rows, seconds, found, peak, _ = await _apart("check", b.url)
    return [
        Row("numbering", f"number verify of {rows:,} rows", seconds, "s"),
        Row("numbering", "number verify", rows / seconds, "rows/s"),
        Row("numbering", "number verify: discrepancies", found, "discrepancies", "<= 0"),
        Row("numbering", "number verify: resident memory at its most", peak / 1024, "MB"),
        ratio(f"number verify: resident memory, against that of {few[0]:,} rows", peak / few[3], "<= 1.2"),
    ]


async def check_filled(b: Bench) -> list[Row]:
    """`number verify` of a filled project, its memory beside that of a small one, and its longest snapshot."""
    async with filled.on_mariadb(FEW, b.say) as data:
        small = await _apart("check", data.url)
    async with filled.on_mariadb(MILLION, b.say) as data:
        b.say(f"verify {MILLION:,} documents")
        rows, seconds, found, peak, longest = await _apart("check", data.url)
    of = f"number verify of {MILLION:,} documents"
    return [
        Row("numbering", f"{of}: {rows:,} rows", seconds, "s", "<= 120"),
        Row("numbering", f"{of}: discrepancies", found, "discrepancies", "<= 0"),
        Row("numbering", f"{of}: longest snapshot", longest, "s", "<= 5"),
        ratio(f"{of}: resident memory, against that of {FEW:,}", peak / small[3], "<= 1.2"),
    ]


async def _apart(*words: str) -> Any:
    """What this module prints when it is run with these words in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.full", *words]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return orjson.loads(out)


async def _check(url: str) -> None:
    """Print rows, seconds, discrepancies, the most kilobytes that were resident, and the seconds of the longest snapshot."""
    allocator.quiet_logs()
    db = _Watched(url)
    started, rows, found, most = time.monotonic(), 0, 0, 0

    def progress(done: int, _total: int) -> None:
        nonlocal rows, most
        rows, most = done, max(most, _resident())

    async for _ in numbering.check_consistency(db, carriers=carriers(), progress=progress):
        found += 1
    await db.close()
    sys.stdout.write(orjson.dumps([rows, time.monotonic() - started, found, most, db.longest]).decode())


class _Watched(Database):
    """A database that remembers for how long a snapshot was open."""

    longest = 0.0

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncSession]:
        async with super().snapshot() as session:
            began = time.monotonic()
            yield session
        self.longest = max(self.longest, time.monotonic() - began)


def _resident() -> int:
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123  a file of the kernel
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


async def _hold(url: str, redis_url: str) -> None:
    allocator.quiet_logs()
    async with allocator.world_in(url, fresh=False) as world, Redis.from_url(redis_url) as redis:
        operation = await allocator.one_series(world, RedisLocks(redis, ttl=5, rest=5))
        sizes = []
        for wanted in (10_000, MILLION - 10_000):
            left = wanted

            async def client() -> None:
                nonlocal left
                while left > 0:
                    left -= 1
                    await operation()

            await asyncio.gather(*(client() for _ in range(100)))
            sizes.append(_resident())
    sys.stdout.write(orjson.dumps(sizes).decode())


# The check comes before the ten million rows, which are written past the product and would all be named.
SUITES: dict[str, Suite] = {
    "memory": memory,
    "verify": check,
    "tenmillion": ten_million,
    "accounts": accounts,
    "verify-filled": check_filled,
}

if __name__ == "__main__":
    roles: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {"hold": _hold, "check": _check}
    uvloop.run(roles[sys.argv[1]](*sys.argv[2:]))
