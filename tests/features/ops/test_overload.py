"""More requests than a process has slots: a request gets one within a second or 503, and a wait for a lock holds none."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saraban.config import Settings
from saraban.kit import admission as kit_admission
from saraban.kit.admission import Admission, ServerOverloaded, Slot, slot_released
from saraban.kit.batching import BatchQueue, Waiter
from saraban.kit.db import Database
from saraban.ops.middleware import RequestMiddleware
from saraban.ops.problems import ProblemAnswers
from tests.conftest import SignIn

LETTERS = "/api/v1/correspondences"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"max_requests_in_progress": 2})


@pytest.fixture(autouse=True)
def waits_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit_admission, "SLOT_WAIT_SECONDS", 0.05)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  many conditions, none of which has an event
            await asyncio.sleep(0.001)


class TestFullServer:
    @pytest.fixture(autouse=True)
    async def full(self, app: FastAPI) -> None:
        """Both slots are in use, by requests that take long."""
        admission: Admission = app.state.admission
        admission.in_progress = 2

    async def test_answers_503_with_the_time_to_wait(self, client: httpx.AsyncClient) -> None:
        for language, words in (("en", "was not carried out"), ("th", "ยังไม่ได้ดำเนินการ")):
            answer = await client.get(LETTERS, headers={"Accept-Language": language})

            assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["code"] == "SERVER_OVERLOADED"
            assert words in answer.json()["userMessage"]

    async def test_shows_a_page_that_says_what_to_do(self, client: httpx.AsyncClient) -> None:
        for language, steps in (
            ("en", ("Wait 3 seconds", "still in the form")),
            ("th", ("รอ 3 วินาที", "ยังอยู่ในแบบฟอร์ม")),
        ):
            page = await client.get("/rfas", headers={"Accept": "text/html", "Accept-Language": language})

            assert (page.status_code, page.headers["retry-after"]) == (503, "3")
            assert all(step in page.text for step in steps)

    async def test_shows_a_form_the_answer_as_a_notice_so_that_what_was_typed_stays(
        self, client: httpx.AsyncClient
    ) -> None:
        answer = await client.post("/rfas", data={"subject": "ก"}, headers={"HX-Request": "true"})

        assert answer.status_code == 503
        assert (answer.headers["hx-retarget"], answer.headers["hx-reswap"]) == ("#notices", "innerHTML")
        assert "SERVER_OVERLOADED" in answer.text

    @pytest.mark.parametrize("address", ["/health/live", "/health/ready", "/metrics", "/static/saraban.css"])
    async def test_still_answers_what_is_not_counted(self, client: httpx.AsyncClient, address: str) -> None:
        assert (await client.get(address)).status_code != 503


class TestARequest:
    async def test_waits_for_a_slot_that_becomes_free(self, app: FastAPI, signed_in: SignIn) -> None:
        app.state.admission.in_progress = 2
        asyncio.get_running_loop().call_later(0.01, app.state.admission.free)
        answer = await (await signed_in("admin")).get("/api/v1/projects")

        assert answer.status_code == 200
        assert app.state.admission.in_progress == 1

    async def test_holds_no_slot_while_its_answer_is_read(self) -> None:
        admission, begun, reads = Admission(1), asyncio.Event(), asyncio.Event()

        async def endless() -> Response:
            async def parts():  # type: ignore[no-untyped-def]
                yield b"part"
                begun.set()
                await reads.wait()

            return StreamingResponse(parts())

        request = asyncio.create_task(serve(admission, endless))
        await begun.wait()
        assert await serve(admission, ok) == 200
        reads.set()
        assert await request == 200
        assert admission.in_progress == 0

    async def test_holds_no_slot_before_its_body_comes(self) -> None:
        admission, comes = Admission(1), asyncio.Event()

        async def receive() -> Message:
            await comes.wait()
            return {"type": "http.request", "body": b"{}"}

        slow = asyncio.create_task(serve(admission, ok, receive=receive))
        await asyncio.sleep(0)
        assert await serve(admission, ok) == 200
        comes.set()
        assert await slow == 200

    async def test_releases_its_slot_while_it_waits_for_the_turn_of_its_series(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("saraban.kit.batching.LOCK_WAIT_SECONDS", 0.01)
        admission, unlocked = Admission(2), asyncio.Event()

        async def run(waiters: list[Waiter[int, int]]) -> None:
            await unlocked.wait()
            for waiter in waiters:
                waiter.succeed(waiter.item)

        queue: BatchQueue[int, int] = BatchQueue(run, most=1)  # type: ignore[arg-type]

        async def draw() -> Response:
            return Response(str(await queue.ask(1, object())))

        waiting = [asyncio.create_task(serve(admission, draw)) for _ in range(2)]
        await until(lambda: queue.unanswered == 2 and admission.in_progress == 0)
        assert await serve(admission, ok) == 200
        unlocked.set()
        assert await asyncio.gather(*waiting) == [200, 200]
        assert admission.in_progress == 0

    async def test_keeps_its_slot_while_those_before_it_are_served(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("saraban.kit.batching.LOCK_WAIT_SECONDS", 60)
        admission = Admission(8)
        seen: list[int] = []

        async def run(waiters: list[Waiter[int, int]]) -> None:
            await asyncio.sleep(0)
            seen.append(admission.in_progress)
            for waiter in waiters:
                waiter.succeed(waiter.item)

        queue: BatchQueue[int, int] = BatchQueue(run, most=1)  # type: ignore[arg-type]

        async def draw() -> Response:
            return Response(str(await queue.ask(1, object())))

        await asyncio.gather(*(serve(admission, draw) for _ in range(3)))
        assert seen[0] == 3

    async def test_releases_its_slot_while_another_holds_the_lock_of_the_database(
        self, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("saraban.kit.db.LOCK_WAIT_SECONDS", 0.01)
        admission = Admission(1)

        async def nothing(_session: AsyncSession) -> None:
            pass

        async def write() -> Response:
            await db.transact(nothing)
            return Response()

        async with db.writing():
            waiting = asyncio.create_task(serve(admission, write))
            await until(lambda: admission.in_progress == 1)
            await until(lambda: admission.in_progress == 0)
            assert await serve(admission, ok) == 200
        assert await waiting == 200


class TestAWait:
    async def test_for_the_work_of_this_process_keeps_the_slot_at_first(self) -> None:
        admission = Admission(1)
        await admission.enter()
        with slot_released(after=60):
            await asyncio.sleep(0)
            held = admission.in_progress
        with slot_released(after=0.001):
            await until(lambda: admission.in_progress == 0)

        assert (held, admission.in_progress) == (1, 1)


class TestAdmission:
    async def test_serves_the_newest_first(self) -> None:
        admission, served = Admission(1), []
        first = await admission.enter()

        async def wait(name: str) -> None:
            slot = await admission.enter()
            served.append(name)
            slot.leave()

        tasks = [asyncio.create_task(wait(name)) for name in ("older", "newer")]
        await asyncio.sleep(0)
        first.leave()
        await asyncio.gather(*tasks)

        assert served == ["newer", "older"]

    async def test_refuses_after_the_wait_and_keeps_no_slot(self) -> None:
        admission = Admission(1)
        slot = await admission.enter()
        with pytest.raises(ServerOverloaded):
            await admission.enter()
        slot.leave()

        assert (await admission.enter(), admission.in_progress)[1] == 1

    async def test_gives_the_slot_of_a_cancelled_request_to_the_next(self) -> None:
        admission = Admission(1)
        first = await admission.enter()
        gone = asyncio.create_task(admission.enter())
        await asyncio.sleep(0)
        first.leave()  # it has its turn, and is cancelled before it runs
        gone.cancel()
        await asyncio.wait([gone])

        assert admission.in_progress == 0

    async def test_has_fewer_slots_while_answers_take_long_and_more_again_afterwards(self) -> None:
        admission = Admission(128)
        for _ in range(30):
            admission.adapt(5.0)
            admission._lowered_at = 0.0
        assert int(admission.limit) == 8
        admission._waiting.append(asyncio.get_running_loop().create_future())
        for _ in range(1000):
            admission.adapt(0.1)
        assert admission.limit == 128

    async def test_is_not_released_by_a_task_that_the_request_started(self) -> None:
        admission = Admission(1)
        slot = await admission.enter()

        async def work() -> int:
            with slot_released():
                await asyncio.sleep(0.001)
                return admission.in_progress

        assert await asyncio.create_task(work()) == 1
        assert await work() == 0
        assert isinstance(slot, Slot)
        assert admission.in_progress == 1


async def ok() -> Response:
    return Response()


async def serve(
    admission: Admission, answer: Callable[[], Awaitable[Response]], *, receive: Receive | None = None
) -> int:
    """Send one request through the middleware, and return the status of its answer."""
    statuses: list[int] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await (await answer())(scope, receive, send)

    async def silence() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = [(b"content-length", b"2")] if receive else []
    app: ASGIApp = RequestMiddleware(application, upload_limit=1000, problems=ProblemAnswers(), admission=admission)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/language/made-up",  # counted, and open before the set-up
        "query_string": b"",
        "headers": headers,
    }
    await app(scope, receive or silence, send)
    return statuses[0]
