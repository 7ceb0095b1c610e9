"""The sealed trail on both databases: everything that can be done to it shows, and the first row is named."""

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import repository
from saraban.audit import service as audit
from saraban.audit.adapters import send_to_syslog
from saraban.audit.domain.journals import (
    ACTIONS,
    JOURNALS,
    NUMBERS,
    BlockHeader,
    BlockKind,
    rows_digest,
    with_digest,
)
from saraban.audit.domain.verification import FindingKind, Trust, heads_of
from saraban.audit.models import AuditBlock, AuditLog
from saraban.audit.service import HeadFile, Sealer, verification
from saraban.identity.service import system_caller
from saraban.kit.clock import FixedClock, SystemClock
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.ids import new_id
from saraban.kit.signatures import Signer, is_signed_by
from saraban.numbering.series.models import NumberAudit
from tests.conftest import run_apart, settings_in

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)
SIGNER = Signer("s" * 32, purpose="audit")

ZONE = settings_in(Path()).zone

pytestmark = pytest.mark.servers


def trust() -> Trust:
    return Trust(SystemClock(ZONE).now(), frozenset({SIGNER.public_key}))


@pytest.fixture(params=["sqlite", pytest.param("mariadb", marks=pytest.mark.faults)])
def trail_url(request: pytest.FixtureRequest) -> str:
    """What a chain is and what breaks it is no matter of the database; what is, `TestOutOfOrder` tries on MariaDB."""
    return str(request.getfixturevalue(f"{request.param}_demo_url"))


@pytest_asyncio.fixture
async def trail(trail_url: str) -> AsyncIterator[Database]:
    """A database with the demo accounts, whose journals are empty."""
    db = Database(trail_url)
    await empty(db)
    yield db
    await db.close()


async def empty(db: Database) -> None:
    async with db.engine.begin() as connection:
        for table in ("audit_logs", "document_number_audit"):
            await connection.execute(sa.text(f"DELETE FROM {table}"))


@pytest.fixture
def heads(tmp_path: Path) -> HeadFile:
    return HeadFile(tmp_path / "heads.log")


@pytest.fixture
def sealer(trail: Database, heads: HeadFile) -> Sealer:
    return sealer_at(NOW, trail, heads)


def sealer_at(moment: datetime, db: Database, heads: HeadFile) -> Sealer:
    return Sealer(db, clock=FixedClock(moment, ZONE), heads=heads, signer=SIGNER, block_rows=3)


async def fill_and_seal(db: Database, heads: HeadFile) -> None:
    """Write seven rows into each journal, which make two blocks of three and one of one."""
    await empty(db)
    await fill(db, 7)
    await sealed(sealer_at(NOW, db, heads))


@pytest.fixture(scope="module")
def sealed_folder(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database that `fill_and_seal` has filled, with its heads and its export, made once."""
    folder = tmp_path_factory.mktemp("sealed")
    shutil.copy(demo_folder / "saraban.db", folder)

    async def make() -> None:
        db = Database(f"sqlite:///{folder / 'saraban.db'}")
        await fill_and_seal(db, HeadFile(folder / "heads.log"))
        (folder / "export.jsonl").write_bytes(b"".join(await exported(db)))
        await db.close()

    run_apart(make())
    return folder


def deed(place: int, at: datetime = NOW) -> AuditLog:
    return AuditLog(
        action=f"rfa.step{place}",
        entity_type="rfa",
        entity_id="d",
        details_json={"เหตุ": place},
        created_at=at,
        user_id=None,
    )


def number(place: int, user: int, at: datetime = NOW) -> NumberAudit:
    return NumberAudit(
        operation="RESET", series="A-{SEQ}", reason=f"because {place}", user_id=user, project_id=1, created_at=at
    )


async def fill(db: Database, count: int, *, at: datetime = NOW) -> None:
    """Write `count` rows into each journal."""

    async def work(session: AsyncSession) -> None:
        caller = await system_caller(session)
        for place in range(count):
            session.add_all([deed(place, at), number(place, caller.user_id, at)])
            await session.flush()

    await db.transact(work)


async def sealed(sealer: Sealer) -> int:
    return await sealer.seal(await sealer.marks())


async def run(db: Database, statement: str, **values: object) -> None:
    """Somebody with a client of his own: no guard of the product stands in his way."""
    async with db.engine.begin() as connection:
        if not db.is_sqlite:
            await connection.execute(sa.text("SET foreign_key_checks = 0"))
        await connection.execute(sa.text(statement), values)


async def keys(db: Database, table: str) -> list[tuple[int, str]]:
    """Integer key and public id of each row."""
    key = next(journal.key for journal in JOURNALS if journal.table == table)
    async with db.engine.connect() as connection:
        found = await connection.execute(sa.text(f"SELECT {key}, uuid FROM {table} ORDER BY {key}"))
        return [(row[0], str(UUID(str(row[1])))) for row in found]


async def verified(db: Database, heads: HeadFile) -> list[tuple[FindingKind, str, int | None, str | None]]:
    report = await audit.verify(db, heads=heads, trust=trust())
    return [(one.what, one.journal, one.block, one.public_id) for one in report.findings]


async def exported(db: Database) -> list[bytes]:
    text = b"".join([piece async for piece, _ in audit.export(db, now=NOW)])
    return text.splitlines(keepends=True)


def found_in(
    lines: list[bytes], heads: HeadFile | None = None
) -> list[tuple[FindingKind, str, int | None, str | None]]:
    known = (lambda journal: heads_of(journal, heads.lines())) if heads else None
    report = verification.verify_file(lines, trust=trust(), heads=known)
    return [(one.what, one.journal, one.block, one.public_id) for one in report.findings]


class TestSeal:
    async def test_makes_a_chain_that_holds_online_and_offline(
        self, trail: Database, sealer: Sealer, heads: HeadFile
    ) -> None:
        await fill(trail, 7)

        assert await sealed(sealer) == 6
        assert await sealed(sealer) == 0
        assert await verified(trail, heads) == []
        lines = await exported(trail)
        assert found_in(lines, heads) == []
        assert len(list(heads.lines())) == 6
        rows = [json.loads(line) for line in lines if b'"type":"row"' in line]
        assert len(rows) == 14

    async def test_says_from_when_on_rows_are_not_sealed(
        self, trail: Database, sealer: Sealer, heads: HeadFile
    ) -> None:
        await fill(trail, 2)
        await sealed(sealer)
        await fill(trail, 1, at=NOW + timedelta(minutes=5))

        report = await audit.verify(trail, heads=heads, trust=trust())
        offline = verification.verify_file(await exported(trail), trust=trust())

        for standing in (*report.standings, *offline.standings):
            assert (standing.rows, standing.unsealed, standing.unsealed_from) == (2, 1, NOW + timedelta(minutes=5))

    async def test_makes_one_chain_when_several_seal_at_once(
        self, trail: Database, heads: HeadFile, tmp_path: Path
    ) -> None:
        await fill(trail, 20)
        sealers = [
            Sealer(
                trail, clock=SystemClock(ZONE), heads=HeadFile(tmp_path / f"{place}.log"), signer=SIGNER, block_rows=2
            )
            for place in range(4)
        ]

        counts = await asyncio.gather(*(sealed(one) for one in sealers))
        await heads.catch_up(trail)

        async with trail.reading() as session:
            blocks = (await session.execute(sa.select(AuditBlock.journal, AuditBlock.number))).all()
        assert sum(counts) == len(blocks) == len(set(blocks)) >= 20
        assert await verified(trail, heads) == []

    async def test_a_timer_seals_what_was_there_before_the_longest_transaction(
        self, trail: Database, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On SQLite there is one writer, so nothing can come late."""
        await fill(trail, 2)
        counts = []
        for seconds in (0, 79, 80, 159, 160):
            monkeypatch.setattr("saraban.audit.service.sealer.stopwatch", lambda seconds=seconds: float(seconds))
            counts.append(await sealer.tick(NOW))
            if seconds == 79:
                await fill(trail, 1)

        assert counts == ([2, 0, 2, 0, 0] if trail.is_sqlite else [0, 0, 2, 0, 2])

    async def test_a_timer_leaves_the_rest_of_many_rows_to_its_next_call(
        self, trail: Database, heads: HeadFile, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("saraban.audit.service.sealer.BLOCKS_AT_ONCE", 1)
        sealer = Sealer(trail, clock=FixedClock(NOW, ZONE), heads=heads, signer=SIGNER, block_rows=3)
        trail.longest_transaction = 0
        await fill(trail, 6)

        assert [await sealer.tick(NOW) for _ in range(3)] == [2, 2, 0]

    async def test_leaves_no_integer_key_in_the_export(self, trail: Database, sealer: Sealer) -> None:
        await fill(trail, 2)
        await sealed(sealer)
        lines = [json.loads(line) for line in await exported(trail)]

        rows = [line for line in lines if line["type"] == "row"]
        integers = {name for row in rows for name, value in row.items() if isinstance(value, int)}
        assert integers == {"retryCount", "lockWaitMs"}
        assert all(UUID(row["publicId"]) for row in rows)
        assert all(UUID(row["userPublicId"]) and UUID(row["projectPublicId"]) for row in rows if "userPublicId" in row)

    async def test_writes_heads_that_a_stopped_machine_left_out(
        self, trail: Database, sealer: Sealer, heads: HeadFile
    ) -> None:
        await fill(trail, 7)
        await sealed(sealer)
        lines = list(heads.lines())
        heads.path.write_text("".join(lines[:2]) + lines[2][:40])

        await sealed(sealer)

        assert sorted(heads_of("deeds", heads.lines())) == sorted(heads_of("deeds", lines))
        assert await verified(trail, heads) == []


class TestOutOfOrder:
    async def test_waits_for_a_lower_key_that_is_still_open(self, mariadb: Database, heads: HeadFile) -> None:
        """The row of the open transaction got its key first and is committed last."""
        sealer = Sealer(mariadb, clock=SystemClock(ZONE), heads=heads, signer=SIGNER)
        await mariadb.transact(lambda session: _add(session, deed(0)))
        async with AsyncSession(mariadb.engine) as slow:
            await _add(slow, deed(1))
            for place in (2, 3):
                await mariadb.transact(lambda session, place=place: _add(session, deed(place)))
            marks = await sealer.marks()
            assert marks["deeds"] == max(key for key, _ in await keys(mariadb, "audit_logs"))

            assert await sealer.seal(marks) == 1
            early = await audit.verify(mariadb, heads=heads, trust=trust())
            assert await sealer.seal(marks) == 0
            await slow.commit()

        assert await sealer.seal(marks) == 1
        late = await audit.verify(mariadb, heads=heads, trust=trust())
        assert [standing.rows for standing in early.standings] == [0, 1]
        assert [standing.rows for standing in late.standings] == [0, 4]
        assert (early.findings, late.findings) == ([], [])

    async def test_passes_over_a_key_that_was_rolled_back(self, mariadb: Database, heads: HeadFile) -> None:
        sealer = Sealer(mariadb, clock=SystemClock(ZONE), heads=heads, signer=SIGNER)
        async with AsyncSession(mariadb.engine) as slow:
            await _add(slow, deed(1))
            await mariadb.transact(lambda session: _add(session, deed(2)))
            marks = await sealer.marks()
            assert await sealer.seal(marks) == 0
            await slow.rollback()

        assert await sealer.seal(marks) == 1
        assert await verified(mariadb, heads) == []

    async def test_holds_while_many_write_and_two_seal(self, mariadb: Database, heads: HeadFile) -> None:
        """Transactions shorter and longer than the margin, some rolled back, against sealers that never rest."""
        mariadb.longest_transaction = 0.15
        sealers = [Sealer(mariadb, clock=SystemClock(ZONE), heads=heads, signer=SIGNER, block_rows=7) for _ in range(2)]
        done = asyncio.Event()

        async def writer(place: int) -> None:
            for turn in range(8):
                async with AsyncSession(mariadb.engine) as session:
                    await _add(session, deed(place))
                    await asyncio.sleep(0.02 * ((place * 7 + turn * 5) % 23))
                    await (session.rollback() if (place + turn) % 5 == 0 else session.commit())

        async def sealing(sealer: Sealer) -> None:
            while not done.is_set():
                await sealer.seal_now()

        keepers = [asyncio.create_task(sealing(sealer)) for sealer in sealers]
        await asyncio.gather(*(writer(place) for place in range(10)))
        done.set()
        await asyncio.gather(*keepers)
        await sealed(sealers[0])

        report = await audit.verify(mariadb, heads=heads, trust=trust())
        assert report.findings == []
        assert report.standings[1].unsealed == 0
        assert report.standings[1].rows == len(await keys(mariadb, "audit_logs")) > 50


class TestBoundedTransactions:
    """Whatever writes an audit row has ended, one way or the other, before a later mark is sealed."""

    async def test_one_that_waits_is_ended_by_the_server(self, mariadb: Database, heads: HeadFile) -> None:
        db = Database(str(mariadb.url.render_as_string(hide_password=False)), read_timeout=1.0)
        slow = AsyncSession(db.engine)
        await _add(slow, deed(1))
        await mariadb.transact(lambda session: _add(session, deed(2)))
        marks = await Sealer(mariadb, clock=SystemClock(ZONE), heads=heads, signer=SIGNER).marks()
        async with asyncio.timeout(30):
            while len(await uncommitted(mariadb, marks["deeds"])) > 1:
                pass

        with pytest.raises((DBAPIError, OSError)):
            await slow.commit()
        await slow.close()
        await db.close()
        assert len(await keys(mariadb, "audit_logs")) == 1

    async def test_one_that_is_busy_is_ended_by_the_client(self, mariadb: Database) -> None:
        db = Database(str(mariadb.url.render_as_string(hide_password=False)), transaction_seconds=0.5)

        async def work(session: AsyncSession) -> None:
            await _add(session, deed(1))
            while True:
                await session.execute(sa.text("SELECT 1"))

        with pytest.raises(TimeoutError) as caught:
            await db.transact(work)
        with pytest.raises(TimeoutError):
            await self.stay_busy(db)
        await db.close()
        assert database_fault(caught.value) is DatabaseFault.CONNECTION
        assert await keys(mariadb, "audit_logs") == []

    async def stay_busy(self, db: Database) -> None:
        async with db.writing() as session:
            while True:
                await session.execute(sa.text("SELECT 1"))

    async def test_a_statement_is_ended_by_the_server(self, mariadb: Database) -> None:
        async with mariadb.engine.connect() as connection:
            told = await connection.execute(sa.text("SELECT @@max_statement_time, @@idle_write_transaction_timeout"))
            assert tuple(map(int, told.one())) == (15, 15)
        assert mariadb.longest_transaction == 80


async def uncommitted(db: Database, upto: int) -> list[int]:
    return await repository.keys_with_uncommitted(db, ACTIONS, None, upto=upto, limit=9)


async def _add(session: AsyncSession, row: AuditLog) -> None:
    session.add(row)
    await session.flush()


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda journal: journal.name)
class TestTampering:
    """Each block has three rows; the journals have seven, so the row at place 4 is the second of block 2."""

    @pytest_asyncio.fixture
    async def trail(self, trail_url: str, heads: HeadFile, sealed_folder: Path) -> AsyncIterator[Database]:
        db = Database(trail_url)
        if db.is_sqlite:
            shutil.copy(sealed_folder / "saraban.db", str(db.url.database))
            shutil.copy(sealed_folder / "heads.log", heads.path)
        else:
            await fill_and_seal(db, heads)
        yield db
        await db.close()

    async def both(self, db: Database, heads: HeadFile) -> tuple[FindingKind, str, int | None, str | None]:
        online, offline = await verified(db, heads), found_in(await exported(db), heads)
        assert online[0] == offline[0]
        return online[0]

    async def test_a_changed_row_is_named(self, trail: Database, heads: HeadFile, journal: type[ACTIONS]) -> None:
        key, public_id = (await keys(trail, journal.table))[4]
        column = "reason" if journal is NUMBERS else "action"
        await run(trail, f"UPDATE {journal.table} SET {column} = 'another' WHERE {journal.key} = :key", key=key)

        assert await self.both(trail, heads) == (FindingKind.CHANGED, journal.name, 2, public_id)

    async def test_somebody_elses_name_on_a_row_shows(
        self, trail: Database, heads: HeadFile, journal: type[ACTIONS]
    ) -> None:
        key, public_id = (await keys(trail, journal.table))[4]
        change = "user_id = 2" if journal is NUMBERS else "actor_uuid = '0190a7c4d1e27b3f8a6c5d4e3f2a1b0c'"
        await run(trail, f"UPDATE {journal.table} SET {change} WHERE {journal.key} = :key", key=key)

        assert await self.both(trail, heads) == (FindingKind.CHANGED, journal.name, 2, public_id)

    async def test_a_removed_row_is_named(self, trail: Database, heads: HeadFile, journal: type[ACTIONS]) -> None:
        for place in (6, 4):  # the last row of all, then the first bad one
            key, public_id = (await keys(trail, journal.table))[place]
            await run(trail, f"DELETE FROM {journal.table} WHERE {journal.key} = :key", key=key)

        assert await self.both(trail, heads) == (FindingKind.REMOVED, journal.name, 2, public_id)

    async def test_an_inserted_row_is_named(self, trail: Database, heads: HeadFile, journal: type[ACTIONS]) -> None:
        """The first key is moved to make room, which no digest minds: it is the order that counts."""
        rows = await keys(trail, journal.table)
        (first, _), (second, _) = rows[0], rows[1]
        await run(trail, f"UPDATE {journal.table} SET {journal.key} = {first - 10} WHERE {journal.key} = {first}")
        columns = ", ".join(field.column for field in journal.fields if field.column != "uuid")
        stranger = new_id()
        await run(
            trail,
            f"INSERT INTO {journal.table} ({journal.key}, uuid, {columns}) "
            f"SELECT {first - 5}, '{stranger.hex}', {columns} FROM {journal.table} WHERE {journal.key} = {second}",
        )

        assert await self.both(trail, heads) == (FindingKind.INSERTED, journal.name, 1, str(stranger))

    async def test_rows_in_another_order_show(self, trail: Database, heads: HeadFile, journal: type[ACTIONS]) -> None:
        rows = await keys(trail, journal.table)
        (low, _), (high, moved) = rows[3], rows[4]
        for old, new in ((low, -1), (high, low), (-1, high)):
            await run(trail, f"UPDATE {journal.table} SET {journal.key} = {new} WHERE {journal.key} = {old}")

        assert await self.both(trail, heads) == (FindingKind.MOVED, journal.name, 2, moved)

    async def test_a_removed_header_is_missed(self, trail: Database, heads: HeadFile, journal: type[ACTIONS]) -> None:
        await run(trail, f"DELETE FROM audit_blocks WHERE journal = '{journal.name}' AND number = 2")

        assert await self.both(trail, heads) == (FindingKind.BLOCK_REMOVED, journal.name, 2, None)

    @pytest.mark.parametrize(
        "change",
        ["row_count = 2", "rows_digest = head", "sealed_at = '2020-01-01 00:00:00.000000'", "head = rows_digest"],
    )
    @pytest.mark.sampled("sqlite")
    async def test_a_changed_header_shows(
        self, trail: Database, heads: HeadFile, journal: type[ACTIONS], change: str
    ) -> None:
        await run(trail, f"UPDATE audit_blocks SET {change} WHERE journal = '{journal.name}' AND number = 2")

        assert (await self.both(trail, heads))[:3] in {
            (FindingKind.BLOCK_CHANGED, journal.name, 2),
            (FindingKind.OTHER_HEAD, journal.name, 2),
        }

    async def test_a_cut_tail_is_missed_by_the_head_file(
        self, trail: Database, sealer: Sealer, heads: HeadFile, journal: type[ACTIONS]
    ) -> None:
        rows = await keys(trail, journal.table)
        await run(trail, f"DELETE FROM {journal.table} WHERE {journal.key} >= {rows[3][0]}")
        await run(trail, f"DELETE FROM audit_blocks WHERE journal = '{journal.name}' AND number >= 2")

        assert await self.both(trail, heads) == (FindingKind.TAIL_CUT, journal.name, 2, None)
        await fill(trail, 3)
        await sealed(sealer)
        assert await self.both(trail, heads) == (FindingKind.OTHER_HEAD, journal.name, 2, None)

    async def test_a_missing_head_file_is_said(self, trail: Database, heads: HeadFile, journal: type[ACTIONS]) -> None:
        heads.path.unlink()

        assert (FindingKind.NO_HEADS, journal.name, None, None) in await verified(trail, heads)

    async def test_deleting_rows_with_their_list_is_not_lawful(
        self, trail: Database, heads: HeadFile, journal: type[ACTIONS]
    ) -> None:
        rows = await keys(trail, journal.table)
        await run(trail, f"DELETE FROM {journal.table} WHERE {journal.key} <= {rows[2][0]}")
        await run(trail, f"UPDATE audit_blocks SET row_list = NULL WHERE journal = '{journal.name}' AND number = 1")

        assert await self.both(trail, heads) == (FindingKind.ROWS_GONE, journal.name, 1, None)


class TestExport:
    @pytest.fixture
    def lines(self, sealed_folder: Path) -> list[bytes]:
        return (sealed_folder / "export.jsonl").read_bytes().splitlines(keepends=True)

    def test_every_changed_line_shows(self, lines: list[bytes]) -> None:
        for place, line in enumerate(lines[1:], 1):
            middle = line.index(b'"createdAt":"2026') if b'"createdAt":"2026' in line else line.index(b'"head":"')
            changed = line[:middle] + line[middle:].replace(b'"2026', b'"2025', 1).replace(b'"head":"', b'"head":"0', 1)
            assert changed != line
            assert found_in([*lines[:place], changed, *lines[place + 1 :]]) != [], line

    def test_every_line_is_missed(self, lines: list[bytes]) -> None:
        for place in range(1, len(lines)):
            assert found_in([*lines[:place], *lines[place + 1 :]]) != [], lines[place]

    def test_every_repeated_line_shows(self, lines: list[bytes]) -> None:
        for place in range(1, len(lines) - 1):
            assert found_in([*lines[:place], lines[place], *lines[place:]]) != [], lines[place]

    def test_a_file_that_ends_early_shows(self, lines: list[bytes]) -> None:
        for length in range(1, len(lines)):
            assert FindingKind.FILE_CUT in {found[0] for found in found_in(lines[:length])}

    def test_a_malformed_line_is_a_finding_and_no_error(self, lines: list[bytes]) -> None:
        end = json.loads(lines[-1])
        for name, value in (("unsealed", "abc"), ("unsealedFrom", "nope"), ("unsealedFrom", 5)):
            journals = {journal: told | {name: value} for journal, told in end["journals"].items()}
            changed = json.dumps(end | {"journals": journals}).encode()
            assert FindingKind.FILE_FAULT in {found[0] for found in found_in([*lines[:-1], changed])}
        assert found_in([*lines[:-1], b'{"type":' + b"[" * 200_000, lines[-1]]) != []

    def test_another_file_is_no_export(self) -> None:
        for lines in ([], [b"{}\n"], [b"\xff\x00"], [b'{"type":"export","form":"other"}\n']):
            with pytest.raises(verification.NotAnExport):
                verification.verify_file(lines, trust=trust())


class TestPurge:
    LONG_AGO = NOW.replace(year=2018)

    @pytest_asyncio.fixture
    async def aged(self, trail: Database, sealer: Sealer, heads: HeadFile) -> Database:
        await fill(trail, 7, at=self.LONG_AGO)
        await sealed(sealer_at(self.LONG_AGO, trail, heads))
        await fill(trail, 4)
        await sealed(sealer)
        return trail

    async def purge(self, db: Database, *, years: int = 7, dry_run: bool = False) -> list[audit.Purged]:
        async with db.reading() as session:
            caller = await system_caller(session)
        sealer = sealer_at(NOW, db, HeadFile(Path("unused")))
        return await audit.purge(sealer, caller=caller, years=years, dry_run=dry_run)

    async def test_takes_whole_old_blocks_and_leaves_their_headers(
        self, aged: Database, sealer: Sealer, heads: HeadFile
    ) -> None:
        planned = await self.purge(aged, dry_run=True)
        assert len(await keys(aged, "audit_logs")) == 11
        done = await self.purge(aged)
        await sealed(sealer)

        assert planned == done
        assert [(one.journal, one.first, one.last, one.rows) for one in done] == [
            ("numbers", 1, 3, 7),
            ("deeds", 1, 3, 7),
        ]
        assert len(await keys(aged, "document_number_audit")) == 4
        report = await audit.verify(aged, heads=heads, trust=trust())
        offline = verification.verify_file(
            await exported(aged), trust=trust(), heads=lambda name: heads_of(name, heads.lines())
        )
        assert (report.findings, offline.findings) == ([], [])
        assert [one.purged_blocks for one in (*report.standings, *offline.standings)] == [3, 3, 3, 3]
        async with aged.reading() as session:
            deeds = (await audit.list_records(session, action="audit.purge")).items
        assert {one.entity_id for one in deeds} == {"numbers", "deeds"}
        assert await self.purge(aged) == []

    async def test_leaves_what_is_younger(self, aged: Database) -> None:
        assert await self.purge(aged, years=9) == []
        with pytest.raises(ValueError, match="at least 7"):
            await self.purge(aged, years=6)

    async def test_leaves_rows_that_say_they_are_old_and_were_sealed_lately(
        self, trail: Database, sealer: Sealer
    ) -> None:
        await fill(trail, 7, at=self.LONG_AGO)
        await sealed(sealer)

        assert await self.purge(trail) == []

    async def test_leaves_the_newest_block_whatever_its_age(self, trail: Database, heads: HeadFile) -> None:
        await fill(trail, 4, at=self.LONG_AGO)
        await sealed(sealer_at(self.LONG_AGO, trail, heads))

        assert [(one.first, one.last) for one in await self.purge(trail)] == [(1, 1), (1, 1)]
        assert len(await keys(trail, "document_number_audit")) == 1

    async def test_leaves_evidence(self, aged: Database) -> None:
        key, public_id = (await keys(aged, "audit_logs"))[1]
        await run(aged, f"UPDATE audit_logs SET action = 'other' WHERE audit_id = {key}")

        done = await self.purge(aged)

        assert done[-1].finding is not None
        assert done[-1].finding.public_id == public_id
        assert (key, public_id) in await keys(aged, "audit_logs")

    async def test_a_row_that_comes_back_shows(self, aged: Database, sealer: Sealer, heads: HeadFile) -> None:
        key, _ = (await keys(aged, "audit_logs"))[1]
        await self.purge(aged)
        await sealed(sealer)
        await run(
            aged,
            "INSERT INTO audit_logs (audit_id, uuid, action, severity, created_at) "
            f"VALUES ({key}, '{new_id().hex}', 'x', 'INFO', '2018-01-01 00:00:00')",
        )

        assert (await verified(aged, heads))[0][:3] == (FindingKind.INSERTED, "deeds", 1)


class TestForgery:
    """Somebody who can write the database computes digests as the page says, and has no key."""

    @pytest_asyncio.fixture(autouse=True)
    async def whole(self, trail: Database, heads: HeadFile) -> None:
        """Block 1 has the 31 rows of today; a block follows."""
        sealer = Sealer(trail, clock=FixedClock(NOW, ZONE), heads=heads, signer=SIGNER, block_rows=31)
        for count in (31, 1):
            await fill(trail, count)
            await sealed(sealer)

    async def forge(self, db: Database, *, sealed_at: datetime, at: datetime = NOW, key: Signer | None = None) -> None:
        """Delete the 31 rows, and add a `PURGE` block that covers them."""
        async with db.reading() as session:
            first, newest = await repository.blocks(session, "deeds", above=0, limit=100)
        await run(db, f"DELETE FROM audit_logs WHERE audit_id <= {first.last_id}")
        await run(db, "UPDATE audit_blocks SET row_list = NULL WHERE journal = 'deeds' AND number = 1")
        header = BlockHeader(
            "deeds",
            3,
            BlockKind.PURGE,
            31,
            rows_digest([]),
            newest.head,
            at,
            at,
            sealed_at,
            purged_first=1,
            purged_last=1,
        )
        header = with_digest(header, key)
        await db.transact(repository.add_block, header, last_id=newest.last_id, marks=None)

    async def kinds(self, db: Database, heads: HeadFile) -> set[FindingKind]:
        online, offline = await verified(db, heads), found_in(await exported(db))
        assert {found[0] for found in online} == {found[0] for found in offline}
        return {kind for kind, journal, *_ in online if journal == "deeds"}

    async def test_of_a_purge_dated_2040_is_found(self, trail: Database, heads: HeadFile) -> None:
        await self.forge(trail, sealed_at=datetime(2040, 1, 1, tzinfo=UTC))

        assert await self.kinds(trail, heads) == {
            FindingKind.ROWS_GONE,
            FindingKind.SEALED_IN_FUTURE,
            FindingKind.PURGED_EARLY,
            FindingKind.UNSIGNED,
        }

    async def test_of_a_purge_of_rows_that_are_too_young_is_found(self, trail: Database, heads: HeadFile) -> None:
        await self.forge(trail, sealed_at=NOW, at=NOW.replace(year=2010))

        assert await self.kinds(trail, heads) == {
            FindingKind.ROWS_GONE,
            FindingKind.PURGED_EARLY,
            FindingKind.UNSIGNED,
        }

    async def test_with_a_key_of_their_own_is_found(self, trail: Database, sealer: Sealer, heads: HeadFile) -> None:
        await self.forge(trail, sealed_at=NOW, key=Signer("t" * 32, purpose="audit"))
        await sealer.seal({})  # the forged head comes to the head file, which makes its key no known one

        assert FindingKind.UNKNOWN_KEY in await self.kinds(trail, heads)

    async def test_of_a_whole_journal_without_signatures_is_found(self, trail: Database, heads: HeadFile) -> None:
        await run(trail, "UPDATE audit_blocks SET signature = NULL, public_key = NULL")

        assert {found[0] for found in await verified(trail, heads)} == {FindingKind.UNSIGNED}
        stated = replace(trust(), expects_signatures=True)
        report = verification.verify_file(await exported(trail), trust=stated)
        assert {finding.what for finding in report.findings} == {FindingKind.NO_SIGNATURES}


async def test_blocks_from_before_signatures_still_verify(trail: Database, sealer: Sealer, heads: HeadFile) -> None:
    await fill(trail, 4)
    await sealed(sealer)
    await run(trail, "UPDATE audit_blocks SET signature = NULL, public_key = NULL")
    heads.path.write_text("".join(" ".join(line.split()[:4]) + "\n" for line in heads.lines()))
    await fill(trail, 4)
    await sealed(sealer)
    earlier = [line.replace(b'"signature":null,"publicKey":null,', b"") for line in await exported(trail)]

    assert (await verified(trail, heads), found_in(await exported(trail), heads), found_in(earlier)) == ([], [], [])
    report = await audit.verify(trail, heads=heads, trust=trust())
    assert [(one.blocks, one.signed_blocks) for one in report.standings] == [(4, 2), (4, 2)]


async def test_a_clock_that_goes_back_does_not_take_seal_times_back(
    trail: Database, sealer: Sealer, heads: HeadFile
) -> None:
    await fill(trail, 1)
    await sealed(sealer)
    await fill(trail, 1)
    await sealed(sealer_at(NOW - timedelta(hours=1), trail, heads))

    async with trail.reading() as session:
        blocks = await repository.blocks(session, "deeds", above=0, limit=9)
    assert [block.sealed_at for block in blocks] == [NOW, NOW]
    assert await verified(trail, heads) == []


class TestHeadFile:
    async def test_states_the_own_key_and_sends_every_line_to_syslog(self, trail: Database, tmp_path: Path) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.1", 0))
            server.settimeout(10)
            target = f"127.0.0.1:{server.getsockname()[1]}"
            heads = HeadFile(tmp_path / "own.log", own_key=SIGNER.public_key, send=partial(send_to_syslog, target))
            await fill(trail, 1)
            await sealed(sealer_at(NOW, trail, heads))
            packets = [await asyncio.to_thread(server.recv, 2000) for _ in range(3)]

        key_line, *lines = heads.path.read_text().splitlines()
        assert key_line.split()[1:] == ["key", SIGNER.public_key]
        assert HeadFile(heads.path).trusted_keys == {SIGNER.public_key}
        for line in lines:
            _, _, _, head, signature, public_key = line.split()
            assert is_signed_by(public_key, signature, head)
        sent = sorted(packet.decode().rstrip("\0") for packet in packets)
        assert sent == sorted(f"<38>saraban-audit: {line}" for line in (key_line, *lines))

    async def test_is_written_though_syslog_does_not_answer(self, trail: Database, tmp_path: Path) -> None:
        heads = HeadFile(tmp_path / "own.log", send=partial(send_to_syslog, str(tmp_path / "none")))
        await fill(trail, 1)
        await sealed(sealer_at(NOW, trail, heads))

        assert len(list(heads.lines())) == 2


class TestGuards:
    @pytest.mark.parametrize("model", [AuditLog, NumberAudit, AuditBlock])
    async def test_no_statement_of_the_product_changes_or_deletes_a_row(
        self, trail: Database, sealer: Sealer, model: type[AuditLog]
    ) -> None:
        await fill(trail, 1)
        await sealed(sealer)

        async def change(session: AsyncSession) -> None:
            row = (await session.scalars(sa.select(model).limit(1))).one()
            row.created_at = row.sealed_at = NOW - timedelta(days=1)

        async def remove(session: AsyncSession) -> None:
            await session.delete((await session.scalars(sa.select(model).limit(1))).one())

        async def update_many(session: AsyncSession) -> None:
            await session.execute(sa.update(model).values(public_id=new_id()))

        async def delete_many(session: AsyncSession) -> None:
            await session.execute(sa.delete(model))

        async def delete_in_core(session: AsyncSession) -> None:
            await session.execute(sa.delete(sa.table(model.__tablename__)))

        for deed_ in (change, remove, update_many, delete_many, delete_in_core):
            with pytest.raises(RuntimeError, match="append-only"):
                await trail.transact(deed_)


async def test_the_patrol_goes_round(trail: Database, sealer: Sealer) -> None:
    await fill(trail, 7)
    await sealed(sealer)
    key, public_id = (await keys(trail, "audit_logs"))[6]
    await run(trail, f"UPDATE audit_logs SET action = 'other' WHERE audit_id = {key}")

    first, place = await audit.verify_next_blocks(trail, journal=ACTIONS, above=0, blocks=2, trust=trust())
    second, end = await audit.verify_next_blocks(trail, journal=ACTIONS, above=place, blocks=2, trust=trust())

    assert (first, place, end) == ([], 2, 0)
    assert [finding.public_id for finding in second] == [public_id]


async def test_the_highest_key_of_an_empty_journal_is_nothing(trail: Database) -> None:
    async with trail.reading() as session:
        assert await repository.highest_key(session, ACTIONS) == 0
