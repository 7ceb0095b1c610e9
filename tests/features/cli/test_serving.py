"""A real server process: it comes up, answers, stops when asked, and several processes serve one database."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import httpx
import pytest

from saraban.cli.serve import share_measurements
from saraban.config import Settings
from tests.conftest import settings_in
from tests.processes import RunningSaraban, environment_of
from tests.servers import free_port

pytestmark = pytest.mark.slow

# Each start imports the application in several processes; how a server stops when asked is shown above.
SIGNALS = pytest.mark.parametrize("sent", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.faults)])
PROGRAM = Path(sys.executable).with_name("saraban")


@contextmanager
def serving(settings: Settings, *words: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`saraban serve` on the data folder of `settings`, in a process group of its own."""
    with starting(settings, *words, **more) as (process, address):
        wait_until_ready(process, address)
        yield process, address


@contextmanager
def starting(settings: Settings, *words: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    environment = environment_of(data_dir=settings.data_dir, port=port) | {"LANG": "C.UTF-8"}
    with subprocess.Popen(
        [str(PROGRAM), "serve", *words],
        env=environment | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_until_ready(process: subprocess.Popen[str], address: str) -> None:
    for _ in range(900):  # two processes that compile and import take half a minute on a busy machine
        if process.poll() is not None:
            pytest.fail(f"the server ended: {process.stderr.read() if process.stderr else ''}")
        try:
            with urlopen(f"{address}/health/ready"):  # a client of httpx takes 30 ms to be made
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the server did not come up")


class TestServe:
    def test_with_several_processes_replaces_the_killed_and_stops_when_asked(self, settings: Settings) -> None:
        # No SARABAN_SECRET_KEY: the processes share the key that the first of them left in the data folder.
        with serving(settings, "--workers", "2") as (process, address), httpx.Client(base_url=address) as client:
            health = client.get("/health/ready").json()
            login = {"username": "viewer", "password": "saraban-demo"}
            token = client.post("/api/v1/auth/login", json=login).json()["accessToken"]
            asked = {"headers": {"Authorization": f"Bearer {token}", "Connection": "close"}}
            answers = {client.get("/api/v1/auth/me", **asked).status_code for _ in range(20)}

            killed = children_of(process)[0]
            for _ in range(2):  # the one in its place too, at once
                os.kill(killed, signal.SIGKILL)
                killed = max(eventually_two(process, other_than=killed))
            after = {client.get("/api/v1/auth/me", **asked).status_code for _ in range(10)}
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)

        assert answers == after == {200}
        assert (settings.data_dir / "signing.key").stat().st_mode & 0o777 == 0o600
        assert health["status"] == "ready"
        worker = health["dependencies"]["worker"]
        assert worker["status"] == "up"
        assert re.fullmatch(r"runs inside this server; last heartbeat \d+ s ago", worker["reason"])
        assert f"Saraban: {address}\n" in out
        assert "dc.contractor" in out
        assert process.returncode == 0, err
        assert "Traceback" not in err
        assert "saraban-demo" not in err

    def test_ends_with_its_killed_parent(self, settings: Settings) -> None:
        with RunningSaraban(settings.data_dir) as server:
            os.kill(server.pid, signal.SIGKILL)
            ends_with_its_group(server.pid)
            with pytest.raises(httpx.ConnectError):
                httpx.get(f"{server.address}/health/live")


class TestMeasurements:
    """Two servers on one data folder, with the same port in two containers."""

    @pytest.fixture(autouse=True)
    def _environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")

    def folder_of_another(self, folder: Path) -> tuple[subprocess.Popen[str], Path]:
        """Start a process that measures like a server, and counts once."""
        code = (
            "import os, sys; from pathlib import Path\n"
            "from saraban.cli.serve import share_measurements; from saraban.config import load\n"
            "share_measurements(load()); folder = Path(os.environ['PROMETHEUS_MULTIPROC_DIR'])\n"
            "(folder / 'counter_17.db').touch(); print(folder, flush=True); sys.stdin.read()"
        )
        environment = environment_of(data_dir=folder, workers=2, port=8000)
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    def test_of_a_server_stay_while_it_runs_and_are_removed_when_it_has_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        process, counted = self.folder_of_another(tmp_path)
        with process:
            share_measurements(settings_in(tmp_path, workers=2, port=8000))
            own = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
            left = (counted / "counter_17.db").exists()
            process.communicate("")

        assert (left, own != counted, own.is_dir()) == (True, True, True)

        monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
        share_measurements(settings_in(tmp_path, workers=2, port=8000))
        assert not counted.exists()


class TestStarting:
    """It prepares in a process of its own, and its processes import the application each for itself."""

    @SIGNALS
    def test_ends_with_its_preparation(self, tmp_path: Path, sent: signal.Signals) -> None:
        with starting(settings_in(tmp_path / "new"), "--demo") as (process, _):
            assert process.stdout is not None
            assert "Preparing the database" in process.stdout.readline()
            assert len(children_of(process)) == 1
            process.send_signal(sent)
            process.communicate(timeout=30)  # whoever writes there has ended, or is about to
            ends_with_its_group(process.pid)

    @SIGNALS
    def test_ends_with_processes_that_still_import(self, settings: Settings, sent: signal.Signals) -> None:
        with starting(settings, "--workers", "2") as (process, address):
            assert process.stdout is not None
            while process.stdout.readline() != f"Saraban: {address}\n":
                assert process.poll() is None
            for _ in range(300):
                if len(children_of(process)) == 2:
                    break
                time.sleep(0.02)
            process.send_signal(sent)
            _, err = process.communicate(timeout=30)
            ends_with_its_group(process.pid)

        assert "Unexpected" not in err
        assert process.returncode in {0, -sent}


def eventually_two(parent: subprocess.Popen[str], *, other_than: int) -> list[int]:
    """Wait until the server has two processes that are not the killed one, and return them."""
    for _ in range(300):
        children = children_of(parent)
        if len(children) == 2 and other_than not in children:
            return children
        time.sleep(0.05)
    pytest.fail(f"the killed process was not replaced; the server ended with {parent.poll()}")


def ends_with_its_group(leader: int) -> None:
    """Whoever was left without a parent looks for it now and then."""
    until = time.monotonic() + 8
    while running_in_group(leader) and time.monotonic() < until:
        time.sleep(0.05)
    assert running_in_group(leader) == []


def children_of(parent: subprocess.Popen[str]) -> list[int]:
    return [pid for pid in running_in_group(parent.pid) if pid != parent.pid]


def running_in_group(group: int) -> list[int]:
    """Return the processes of a group that are no zombies."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, of, state in rows if int(of) == group and not state.startswith("Z")]
