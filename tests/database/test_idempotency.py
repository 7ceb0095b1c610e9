"""Keys of repeated requests, on each database: a slow request keeps its key, a dead one loses it, a frozen one does nothing more."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit import idempotency
from saraban.kit.connections import MariaDbConnection
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.kit.idempotency import Claim, Idempotency, IdempotencyKey, KeyInUse, KeyReused
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt
from saraban.kit.reconnection import CommitLost, Reconnection
from tests.proxy import cutting_proxy

pytestmark = pytest.mark.servers

USER = UUID("019505a1-7c3e-7000-8000-abc123def456")
NOW = datetime(2026, 11, 20, tzinfo=UTC)
LEASE = 1.0


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "LEASE", LEASE)
    monkeypatch.setattr(idempotency, "_RENEWAL_SECONDS", LEASE / 6)


class Request:
    """One request with a key; its effect is a row, and it may be held up before it writes that."""

    def __init__(self, db: Database, payload_hash: str = "hash") -> None:
        self.db, self.once, self.payload_hash = db, Idempotency(db), payload_hash
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def send(self) -> Receipt:
        operation = Operation(USER, "k", "POST /x", self.payload_hash, new_id(), NOW)
        async with self.once.claim(operation) as claim:
            if claim.receipt is not None:
                return claim.receipt
            self.begun.set()
            await self.go.wait()
            return await self.db.transact(lambda session: self._work(session, claim))

    async def send_until_answered(self) -> Receipt:
        self.go.set()
        async with asyncio.timeout(5 * LEASE):
            while True:
                try:
                    return await self.send()
                except (KeyInUse, KeyReused):
                    await asyncio.sleep(0.05)

    async def _work(self, session: AsyncSession, claim: Claim) -> Receipt:
        effect = {"idempotency_key": f"effect {id(self)}", "user_uuid": USER, "operation": "", "payload_hash": ""}
        await session.execute(
            sa.insert(IdempotencyKey).values(effect | {"claim": USER, "locked_until": NOW, "expires_at": NOW})
        )
        receipt = Receipt("thing", None, {"by": str(id(self))})
        await claim.complete(session, receipt)
        return receipt


async def effects(db: Database) -> int:
    async with db.reading() as session:
        return await effects_in(session)


async def effects_in(session: AsyncSession) -> int:
    count = sa.select(sa.func.count()).where(IdempotencyKey.idempotency_key.startswith("effect"))
    return await session.scalar(count) or 0


class TestRequest:
    async def test_that_is_slower_than_its_lease_keeps_its_key(self, any_db: Database) -> None:
        slow = Request(any_db)
        first = asyncio.create_task(slow.send())
        await slow.begun.wait()
        await asyncio.sleep(1.6 * LEASE)

        with pytest.raises(KeyInUse):
            await Request(any_db).send()
        slow.go.set()

        assert (await first).outcome == (await Request(any_db).send()).outcome == {"by": str(id(slow))}
        assert await effects(any_db) == 1

    @pytest.mark.parametrize("payload_hash", ["hash", "another"])
    async def test_that_was_frozen_and_lost_its_key_does_nothing(
        self, any_db: Database, monkeypatch: pytest.MonkeyPatch, payload_hash: str
    ) -> None:
        frozen, again = Request(any_db), Request(any_db, payload_hash)
        monkeypatch.setattr(idempotency, "_RENEWAL_SECONDS", 60.0)
        first = asyncio.create_task(frozen.send())
        await frozen.begun.wait()

        assert (await again.send_until_answered()).outcome == {"by": str(id(again))}
        frozen.go.set()

        with pytest.raises(KeyInUse):
            await first
        assert await effects(any_db) == 1
        assert (await Request(any_db, payload_hash).send()).repeated

    async def test_that_met_a_database_fault_alone_is_done_when_the_database_is_back(self, mariadb: Database) -> None:
        async with cutting_proxy(mariadb.url.host or "", mariadb.url.port or 0) as proxy:
            port = proxy.port
            url = mariadb.url.set(port=port).render_as_string(hide_password=False)
            away = Database(url, read_timeout=3, reconnection=Reconnection(retries=0))
            unlucky = Request(away)
            first = asyncio.create_task(unlucky.send())
            await unlucky.begun.wait()
            await proxy.stop()
            unlucky.go.set()
            with pytest.raises((OSError, DBAPIError)):
                await first
            await proxy.start(port)

            assert not (await Request(away).send_until_answered()).repeated
            await away.close()
        assert await effects(mariadb) == 1


class TestLostCommit:
    """MariaDB behind a wire that is cut while COMMIT is on its way (REQ-NUM-09)."""

    @pytest.mark.parametrize("lose_commit", [False, True])
    async def test_of_a_keyed_request_is_answered_with_what_it_did_once(
        self, mariadb: Database, *, lose_commit: bool
    ) -> None:
        async with cutting_proxy(mariadb.url.host or "", mariadb.url.port or 0) as proxy:
            through = Database(mariadb.url.set(port=proxy.port).render_as_string(hide_password=False), read_timeout=3)
            operation = Operation(USER, "k", "POST /x", "hash", new_id(), NOW)
            done: list[int] = []

            async def work(session: AsyncSession) -> Receipt:
                done.append(len(done))
                effect = {
                    "idempotency_key": f"effect {len(done)}",
                    "user_uuid": USER,
                    "operation": "",
                    "payload_hash": "",
                }
                row = effect | {"claim": USER, "locked_until": NOW, "expires_at": NOW}
                await session.execute(sa.insert(IdempotencyKey).values(row))
                return Receipt("thing", None, {"attempt": len(done)})

            await through.transact(effects_in)  # to connect, the driver sends a COMMIT of its own
            proxy.arm(lose_commit=lose_commit)
            receipt = await Idempotency(through).run(operation, work)
            again = await Idempotency(through).run(operation, work)
            await through.close()

        assert proxy.cut == 1
        assert (len(done), receipt.outcome, receipt.repeated) == (1 + lose_commit, {"attempt": 1 + lose_commit}, False)
        assert (again.outcome, again.repeated) == (receipt.outcome, True)
        assert await effects(mariadb) == 1

    async def test_without_a_key_is_told_and_nothing_is_tried_again(self, mariadb: Database) -> None:
        async with cutting_proxy(mariadb.url.host or "", mariadb.url.port or 0) as proxy:
            through = Database(mariadb.url.set(port=proxy.port).render_as_string(hide_password=False), read_timeout=3)
            done: list[int] = []

            async def work(session: AsyncSession) -> Receipt:
                done.append(len(done))
                await session.execute(sa.delete(IdempotencyKey))
                return Receipt("thing", None)

            await through.transact(effects_in)
            proxy.arm()
            with pytest.raises(CommitLost) as caught:
                await Idempotency(through).run(Operation(USER, None, "POST /x", "", new_id(), NOW), work)
            await through.close()

        assert database_fault(caught.value) is DatabaseFault.COMMIT
        assert done == [0]

    @pytest.mark.parametrize("error", [TimeoutError, ConnectionResetError])
    async def test_by_a_timeout_or_a_broken_socket_is_a_lost_commit(
        self, mariadb: Database, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
    ) -> None:
        impatient = Database(mariadb.url.render_as_string(hide_password=False), transaction_seconds=0.5)

        async def commit(_connection: object) -> None:
            if error is TimeoutError:
                await asyncio.sleep(5)
            raise error

        async def work(fault: type[OSError] | None = None) -> None:
            async with impatient.writing() as session:
                await session.execute(sa.delete(IdempotencyKey))
                if fault is not None:
                    raise fault

        await work()  # to connect, the driver sends a COMMIT of its own
        monkeypatch.setattr(MariaDbConnection, "commit", commit)
        with pytest.raises(CommitLost):
            await work()
        with pytest.raises(error):  # before COMMIT nothing is saved
            await work(error)
        await impatient.close()
