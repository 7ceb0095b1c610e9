"""A request whose client has gone ends where nothing has begun yet; what has begun goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saraban.kit.admission import Admission
from saraban.kit.batching import BatchQueue
from saraban.kit.db import Database
from saraban.kit.departure import ClientGone, refuse_departed
from saraban.kit.idempotency import Idempotency, IdempotencyKey
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation
from saraban.ops import middleware
from saraban.ops.middleware import CLIENT_GONE, RequestMiddleware
from saraban.ops.problems import ProblemAnswers

LONG_AGO = sa.text("DELETE FROM outbox_events WHERE id = -1")


class Connection:
    """A client as the server tells the application of it: one body, then silence until `leave`."""

    def __init__(self, body: bytes = b"{}") -> None:
        self.body = body
        self.asked = 0
        self.sent: list[Message] = []
        self._gone = asyncio.Event()
        self._messages = iter([{"type": "http.request", "body": body}])

    def leave(self) -> None:
        self._gone.set()

    async def receive(self) -> Message:
        self.asked += 1
        message = next(self._messages, None)
        if message is not None:
            return message
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])


def scope_of(connection: Connection) -> Scope:
    length = [(b"content-length", str(len(connection.body)).encode())] if connection.body else []
    method = "POST" if connection.body else "GET"
    return {"type": "http", "method": method, "path": "/health/made-up", "query_string": b"", "headers": length}


async def serve(application: ASGIApp, connection: Connection) -> None:
    wrapped = RequestMiddleware(application, upload_limit=1000, problems=ProblemAnswers(), admission=Admission(128))
    await wrapped(scope_of(connection), connection.receive, connection.send)


async def body_of(receive: Receive) -> bytes:
    message = await receive()
    assert message["type"] == "http.request"
    return bytes(message["body"])


@pytest.fixture(autouse=True)
def listens_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "LISTEN_AFTER", 0.0)


def an_operation() -> Operation:
    return Operation(new_id(), "key", "POST /things", "0" * 64, new_id(), datetime(2026, 11, 23, 5, tzinfo=UTC))


async def some_turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0.001)


class TestARequest:
    """Each waits for what somebody else holds, while its client leaves."""

    def waiting(self, held: asyncio.Event, work: Callable[[], Any]) -> ASGIApp:
        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["method"] == "POST":
                assert await body_of(receive) == b"{}"
            await held.wait()
            await work()
            await Response(status_code=204)(scope, receive, send)

        return application

    async def outcome(self, work: Callable[[], Any], *, leaves: bool = True, body: bytes = b"{}") -> int:
        held, connection = asyncio.Event(), Connection(body)
        request = asyncio.create_task(serve(self.waiting(held, work), connection))
        await some_turns()
        if leaves:
            connection.leave()
        await some_turns()
        held.set()
        await request
        return connection.status

    @pytest.mark.parametrize("body", [b"{}", b""])
    async def test_ends_before_its_transaction(self, db: Database, body: bytes) -> None:
        began: list[AsyncSession] = []

        async def work(session: AsyncSession) -> None:
            began.append(session)

        assert await self.outcome(lambda: db.transact(work), body=body) == CLIENT_GONE
        assert began == []
        assert await self.outcome(lambda: db.transact(work), body=body, leaves=False) == 204
        assert len(began) == 1

    async def test_ends_before_it_reads(self, db: Database) -> None:
        async def work() -> None:
            async with db.reading():
                pytest.fail("it began")

        assert await self.outcome(work) == CLIENT_GONE

    async def test_ends_before_it_claims_its_key(self, db: Database) -> None:
        operation = an_operation()

        async def work() -> None:
            async with Idempotency(db).claim(operation):
                pytest.fail("it began")

        assert await self.outcome(work) == CLIENT_GONE

    async def test_frees_a_key_that_it_claimed_before_its_client_left(self, db: Database) -> None:
        claimed, goes_on, connection = asyncio.Event(), asyncio.Event(), Connection()
        operation = an_operation()
        keys = Idempotency(db)

        async def application(_scope: Scope, receive: Receive, _send: Send) -> None:
            await body_of(receive)
            async with keys.claim(operation):
                claimed.set()
                await goes_on.wait()
                await db.transact(lambda session: session.execute(LONG_AGO))

        request = asyncio.create_task(serve(application, connection))
        await claimed.wait()
        await some_turns()
        connection.leave()
        await some_turns()
        goes_on.set()
        await request

        async with db.reading() as session:
            assert (await session.scalars(sa.select(IdempotencyKey))).all() == []
        assert connection.status == CLIENT_GONE

    async def test_tidies_up_after_it_was_told(self, db: Database) -> None:
        tidied: list[bool] = []

        async def tidy(_session: AsyncSession) -> None:
            tidied.append(True)

        async def work() -> None:
            try:
                await db.transact(lambda session: session.execute(LONG_AGO))
            finally:
                await db.transact(tidy)

        assert await self.outcome(work) == CLIENT_GONE
        assert tidied == [True]

    async def test_goes_on_inside_its_transaction(self, db: Database) -> None:
        began, goes_on, connection = asyncio.Event(), asyncio.Event(), Connection()

        async def work(session: AsyncSession) -> None:
            began.set()
            await goes_on.wait()
            await session.execute(LONG_AGO)

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            await body_of(receive)
            await db.transact(work)
            await Response(status_code=204)(scope, receive, send)

        request = asyncio.create_task(serve(application, connection))
        await began.wait()
        await some_turns()
        connection.leave()
        await some_turns()
        goes_on.set()
        await request

        assert connection.status == 204

    async def test_leaves_alone_what_its_task_does_for_others(self) -> None:
        async def for_others() -> str:
            refuse_departed()
            return "done"

        async def work() -> None:
            assert await asyncio.create_task(for_others()) == "done"
            with pytest.raises(ClientGone):
                refuse_departed()

        assert await self.outcome(work) == 204


class TestAQueue:
    async def test_drops_those_whose_clients_left_before_their_turn(self) -> None:
        turn, served = asyncio.Event(), []

        async def run(waiters: Any) -> None:
            await turn.wait()
            for waiter in waiters:
                served.append(waiter.item)
                waiter.succeed(waiter.item)

        queue: BatchQueue[int, int] = BatchQueue(run, most=1)

        def asking(item: int) -> ASGIApp:
            async def application(scope: Scope, receive: Receive, send: Send) -> None:
                await body_of(receive)
                await queue.ask(item, item)
                await Response(status_code=204)(scope, receive, send)

            return application

        connections = [Connection() for _ in range(4)]
        requests = [
            asyncio.create_task(serve(asking(number), connection)) for number, connection in enumerate(connections)
        ]
        await some_turns()
        for connection in connections[:3]:  # the first one is on its way already
            connection.leave()
        await some_turns()
        turn.set()
        await asyncio.gather(*requests)

        assert served == [0, 3]
        assert [connection.status for connection in connections] == [204, CLIENT_GONE, CLIENT_GONE, 204]


class TestListening:
    async def test_leaves_the_connection_alone_while_the_body_comes(self) -> None:
        connection = Connection(b"{}")
        came = asyncio.Event()

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            await some_turns()
            assert connection.asked == 0
            assert await body_of(receive) == b"{}"
            came.set()
            await Response(status_code=204)(scope, receive, send)

        await serve(application, connection)
        assert came.is_set()

    async def test_gives_the_empty_body_to_whoever_reads_late(self) -> None:
        connection = Connection(b"")

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            await some_turns()
            assert await body_of(receive) == b""
            await Response(status_code=204)(scope, receive, send)

        await serve(application, connection)
        assert connection.status == 204

    async def test_is_shared_with_an_answer_that_listens_itself(self) -> None:
        connection = Connection(b"")

        async def parts() -> AsyncIterator[bytes]:
            yield b"one"
            connection.leave()
            await asyncio.sleep(60)
            yield b"never"

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            await some_turns()
            await StreamingResponse(parts())(scope, receive, send)

        async with asyncio.timeout(5):
            await serve(application, connection)
        assert [message.get("body") for message in connection.sent[1:2]] == [b"one"]
