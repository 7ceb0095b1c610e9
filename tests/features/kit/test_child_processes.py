"""Children that read files: two at a time, a short queue, no more than two of a user, and none in the threads that others share."""

import asyncio
import threading
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI

from saraban.kit.child_processes import OF_USER, RUNNING, WAITING, ChildPool, FileReadersBusy
from saraban.kit.ids import new_id
from tests.conftest import SignIn

SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class Gate:
    """Work that waits until it is let go."""

    def __init__(self) -> None:
        self.opened, self.begun, self.most = threading.Event(), 0, 0
        self._changed = threading.Condition()

    def work(self) -> str:
        with self._changed:
            self.begun += 1
            self.most = max(self.most, self.begun)
            self._changed.notify_all()
        self.opened.wait(30)
        with self._changed:
            self.begun -= 1
        return threading.current_thread().name

    def wait_for(self, many: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.begun >= many, 30)


async def begin(pool: ChildPool, gate: Gate, *users: UUID) -> list[asyncio.Task[str]]:
    tasks = [asyncio.create_task(pool.run(user, gate.work)) for user in users]
    await asyncio.sleep(0)
    return tasks


class TestChildPool:
    async def test_runs_two_and_lets_eight_wait(self) -> None:
        pool, gate = ChildPool(), Gate()
        tasks = await begin(pool, gate, *(new_id() for _ in range(RUNNING + WAITING)))

        with pytest.raises(FileReadersBusy) as refused:
            await pool.run(new_id(), gate.work)
        gate.opened.set()
        threads = set(await asyncio.gather(*tasks))

        assert refused.value.retry_after
        assert len(threads) <= RUNNING
        assert gate.most <= RUNNING
        assert await pool.run(new_id(), lambda: "there is room again") == "there is room again"

    async def test_lets_no_user_have_more_than_two(self) -> None:
        pool, gate, user = ChildPool(), Gate(), new_id()
        tasks = await begin(pool, gate, *[user] * OF_USER)

        with pytest.raises(FileReadersBusy):
            await pool.run(user, gate.work)
        (other,) = await begin(pool, gate, new_id())
        gate.opened.set()
        await asyncio.gather(*tasks, other)

        assert await pool.run(user, lambda: 1) == 1

    async def test_keeps_the_place_of_a_request_that_went_away(self) -> None:
        pool, gate, user = ChildPool(), Gate(), new_id()
        tasks = await begin(pool, gate, *[user] * OF_USER)
        await asyncio.to_thread(gate.wait_for, OF_USER)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

        with pytest.raises(FileReadersBusy):
            await pool.run(user, gate.work)
        gate.opened.set()

    async def test_gives_back_the_place_of_work_that_fails(self) -> None:
        pool, user = ChildPool(), new_id()

        def fail() -> None:
            raise ValueError

        for _ in range(OF_USER + 1):
            with pytest.raises(ValueError, match=r"^$"):
                await pool.run(user, fail)

    async def test_works_for_the_worker_beside_the_users(self) -> None:
        pool, gate = ChildPool(), Gate()
        tasks = await begin(pool, gate, new_id(), new_id())

        assert await pool.run_in_background(lambda: "done") == "done"
        gate.opened.set()
        await asyncio.gather(*tasks)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A reader of people's sheets that takes long."""
    gate = Gate()

    def read(_path: Path, *, sheet: str | None) -> list[list[object]]:
        gate.work()
        return []

    monkeypatch.setattr("saraban.identity.service.people_import.read_people_sheet", read)
    monkeypatch.setattr("saraban.web.people.people_import.read_people_sheet", read)
    return gate


class TestImport:
    @pytest.mark.parametrize("door", ["api", "page"])
    async def test_of_people_refuses_what_a_user_sends_meanwhile(
        self, signed_in: SignIn, gate: Gate, door: str, app: FastAPI
    ) -> None:
        client = await signed_in("admin")

        def send() -> asyncio.Task[httpx.Response]:
            request = {
                "api": lambda: client.post(
                    "/api/v1/users/import?dryRun=true", content=b"PK", headers={"Content-Type": SHEET}
                ),
                "page": lambda: client.post("/people/import", files={"file": ("a.xlsx", b"PK")}),
            }[door]
            return asyncio.create_task(request())

        first = [send() for _ in range(OF_USER)]
        await asyncio.to_thread(gate.wait_for, OF_USER)
        refused = [await send() for _ in range(4)]
        shared = await asyncio.wait_for(asyncio.to_thread(threading.current_thread), 30)
        gate.opened.set()
        await asyncio.gather(*first)

        assert [answer.status_code for answer in refused] == [429] * 4
        assert {answer.headers["Retry-After"] for answer in refused} == {"10"}
        assert not shared.name.startswith("saraban-child")
        if door == "api":
            assert refused[0].json()["code"] == "FILE_READERS_BUSY"
