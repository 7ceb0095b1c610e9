"""Clients that send nothing, or too slowly, against a server of its own: they keep nobody else waiting, and are closed."""

import resource
import select
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from saraban.cli import serve
from saraban.config import Settings
from tests.processes import RunningSaraban
from tests.servers import HOST

pytestmark = pytest.mark.slow

SILENT = 1100
LONGEST = 30.0  # seconds until the server must have closed a connection; the settings below say one


@pytest.fixture(scope="module")
def server(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSaraban]:
    folder = tmp_path_factory.mktemp("slow-clients") / "data"
    shutil.copytree(demo_folder, folder)
    with RunningSaraban(folder, env="test", header_timeout=2, body_timeout=1) as running:
        yield running


@pytest.fixture
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2 * SILENT, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connect(server: RunningSaraban, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection((HOST, server.port), timeout=LONGEST)
    connection.sendall(sent)
    return connection


def count_closed(connections: list[socket.socket]) -> int:
    """Wait until the server has closed them; a connection with nothing to read after `LONGEST` is open."""
    waiting = {connection.fileno(): connection for connection in connections}
    poll = select.poll()
    for number in waiting:
        poll.register(number, select.POLLIN)
    deadline = time.monotonic() + LONGEST
    while waiting and time.monotonic() < deadline:
        for number, _ in poll.poll(500):
            if waiting[number].recv(1000) == b"":
                poll.unregister(number)
                waiting.pop(number).close()
    return len(connections) - len(waiting)


def body_of(connection: socket.socket) -> bytes:
    answer = b""
    with connection:
        while part := connection.recv(10_000):
            answer += part
    return answer


class TestSilentConnections:
    def test_keep_nobody_waiting_and_are_closed(self, server: RunningSaraban, many_files: None) -> None:
        silent = [connect(server) for _ in range(SILENT)]
        live = httpx.get(f"{server.address}/health/live", timeout=LONGEST)
        page = httpx.get(f"{server.address}/login", timeout=LONGEST)

        assert (live.status_code, page.status_code) == (200, 200)
        assert count_closed(silent) == SILENT

    def test_are_closed_in_the_middle_of_a_header_and_after_an_answer(self, server: RunningSaraban) -> None:
        slow = connect(server, b"GET /health/live HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        idle = connect(server, b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")

        assert idle.recv(12) == b"HTTP/1.1 200"
        assert count_closed([slow, idle]) == 2

    def test_more_than_the_limit_only_wait(self, settings: Settings) -> None:
        few = {"header_timeout": 1, "max_connections": 64}
        with RunningSaraban(settings.data_dir, env="test", **few) as running:
            silent = [connect(running) for _ in range(80)]
            live = httpx.get(f"{running.address}/health/live", timeout=LONGEST)

            assert live.status_code == 200
            assert count_closed(silent) == 80


class TestABody:
    def test_that_stops_coming_is_answered_408_and_its_connection_closed(self, server: RunningSaraban) -> None:
        head = (
            b"POST /api/v1/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAccept-Language: %b\r\n"
        )
        # Twelve: a connection that waited for the garbage collector to be closed was closed in time now and then.
        partial = [
            connect(server, head % language + b'Content-Length: 100\r\n\r\n{"username":')
            for language in (b"en", b"th") * 6
        ]
        nothing = connect(server, head % b"en" + b"Content-Length: 100\r\n\r\n")
        answers = [body_of(connection) for connection in (*partial, nothing)]

        assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}
        assert b"did not arrive in time" in answers[0]
        assert "ไม่ครบภายในเวลา".encode() in answers[1]
        assert all(b"BODY_TIMEOUT" in answer for answer in answers)


class TestConnectionLimit:
    def test_raises_the_limit_of_open_files_and_stays_below_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        limits = [(1024, 20_000)]
        monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
        monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.append(given))

        assert serve.connection_limit(4096) == 4096
        assert limits[-1] == (4096 + 512, 20_000)
        limits[:] = [(1024, 2000)]
        assert serve.connection_limit(4096) == 2000 - 512
        limits[:] = [(-1, -1)]
        assert serve.connection_limit(4096) == 4096
