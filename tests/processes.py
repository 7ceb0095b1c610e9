"""The product as an operator starts it: `saraban serve` in a process of its own, which a test may kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from tests.conftest import PASSWORD, UNLIMITED
from tests.preloaded import PreloadedProgram
from tests.servers import HOST, free_port, is_free

START_WITHIN = 60.0


def environment_of(**settings: Any) -> dict[str, str]:
    """Return the environment of a started `saraban`: this one's, with these settings and no others of the product."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("SARABAN_", "N8N_"))}
    return outer | {f"SARABAN_{name.upper()}": str(value) for name, value in (UNLIMITED | settings).items()}


class RunningSaraban:
    """
    One server process.

    :param folder: its data folder; the log is `serve-<port>.log` in it; the database must be there, migrated
    :param settings: further `SARABAN_…` settings, by their lower-case names
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://{HOST}:{self.port}"
        self._environment = environment_of(data_dir=folder, **settings)
        self._process: subprocess.Popen[bytes] | PreloadedProgram | None = None

    @property
    def log(self) -> str:
        return (self.folder / f"serve-{self.port}.log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server has not been started"
        return self._process.pid

    def start(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = self._spawn("serve", "--port", str(self.port))
        deadline = time.monotonic() + START_WITHIN
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"saraban serve did not start; its log ends with:\n{self.log[-3000:]}")
            time.sleep(0.05)
        return self

    def _spawn(self, *words: str) -> subprocess.Popen[bytes] | PreloadedProgram:
        log = self.folder / f"serve-{self.port}.log"
        if "SARABAN_WORKERS" not in self._environment:
            return PreloadedProgram(*words, environment=self._environment, folder=self.folder, log=log)
        # How several processes measure is decided when the library that does it is imported.
        with log.open("ab") as file:
            return subprocess.Popen(
                [str(Path(sys.executable).with_name("saraban")), *words],
                env=self._environment,
                stdout=file,
                stderr=file,
                cwd=self.folder,
                start_new_session=True,
            )

    def kill(self) -> None:
        """As `kill -9`, the server and the worker processes it started."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._wait_for_port()
        self._process = None

    def _wait_for_port(self) -> None:
        """The processes that it started hold its port until each of them has come to its end, which the first does not wait for."""
        deadline = time.monotonic() + START_WITHIN
        while not is_free(self.port):
            assert time.monotonic() < deadline, f"somebody still listens on port {self.port}"
            time.sleep(0.01)

    def freeze(self) -> None:
        """As `kill -STOP`: it keeps its locks and its transactions, and does nothing."""
        assert self._process is not None, "the server has not been started"
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None, "the server has not been started"
        os.killpg(self._process.pid, signal.SIGCONT)

    def _answers(self) -> bool:
        """Asked without httpx, whose client takes 30 ms to be made: the server needs the processor more."""
        asking = HTTPConnection(HOST, self.port, timeout=1)
        try:
            asking.request("GET", "/health/ready")
            return asking.getresponse().status == httpx.codes.OK
        except (OSError, HTTPException):
            return False
        finally:
            asking.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()


async def sign_in(client: httpx.AsyncClient, username: str) -> None:
    """Make `client` speak as a demo account."""
    answer = await client.post("/api/v1/auth/login", json={"username": username, "password": "saraban-demo"})
    assert answer.status_code == httpx.codes.OK, answer.text
    client.headers["Authorization"] = f"Bearer {answer.json()['accessToken']}"


def signed_in_client(server: RunningSaraban, username: str) -> httpx.Client:
    account = {"username": username, "password": PASSWORD}
    signed = httpx.post(f"{server.address}/api/v1/auth/login", json=account, timeout=30).raise_for_status()
    headers = {"Authorization": f"Bearer {signed.json()['accessToken']}"}
    return httpx.Client(base_url=server.address, timeout=30, headers=headers)


def read_until(client: httpx.Client, address: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Read a job until it has come so far."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        body = client.get(address).raise_for_status().json()
        if wanted(body):
            return dict(body)
        assert body["state"] != "FAILED", body
        time.sleep(0.02)
    raise AssertionError(body)
