"""A cluster as docs/scaling.md describes it: three Galera nodes, three Redis servers with Sentinels, and HAProxy in front of the nodes."""

import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from tests.servers import (
    HOST,
    PASSWORD,
    USER,
    MariaDb,
    RedisCluster,
    Server,
    _quick_folder,
    free_port,
    program,
    running_sentinels,
)

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
CONFIGURATION = Path(__file__).parents[2] / "deploy/haproxy/saraban.cfg"
FORMS = {"one writer": "127.0.0.1:3316", "several writers": "127.0.0.1:3326"}


def wait_until(condition: Callable[[], bool], *, within: float = 60) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"not within {within} s"
        time.sleep(0.1)


class GaleraNode(MariaDb):
    """A node that joins a running cluster; `bootstrap` starts the first node of a new cluster."""

    def __init__(self, members: Sequence[int], number: int) -> None:
        data = Path(tempfile.mkdtemp(prefix="saraban-node-", dir=_quick_folder()))
        data.chmod(0o777)  # started by root, the rsync that takes a message from the donor runs as nobody
        super().__init__(data=data)
        self._members, self._number = members, number
        self._receivers = free_port(), free_port()
        self._first = False
        self._position = ""

    def command(self) -> Sequence[str]:
        state, increments = self._receivers
        words = [word for word in super().command() if not word.startswith("--init-file")]
        members = ",".join(f"{HOST}:{port}" for port in self._members)
        own = self._members[self._number]
        options = f"base_host={HOST};base_port={own};gmcast.listen_addr=tcp://{HOST}:{own};ist.recv_addr={HOST}:{increments};gcache.size=64M;evs.suspect_timeout=PT3S"
        return [
            *words,
            "--wsrep-on=ON",
            f"--wsrep-provider={PROVIDER}",
            f"--wsrep-provider-options={options}",
            f"--wsrep-cluster-address=gcomm://{'' if self._first else members}",
            f"--wsrep-node-name=node{self._number + 1}",
            f"--wsrep-node-address={HOST}:{own}",
            f"--wsrep-node-incoming-address={HOST}:{self.port}",
            "--wsrep-sst-method=rsync",
            f"--wsrep-sst-receive-address={HOST}:{state}",
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
            *([f"--wsrep-start-position={self._position}"] if self._position else []),
        ]

    def bootstrap(self) -> Self:
        """Start the first node of a new cluster."""
        self._first = True
        self.start()
        self._first = False
        return self

    def install(self, copies: "Sequence[GaleraNode]") -> None:
        """Make the accounts of Saraban and of HAProxy's check, and begin every node with the same data: none needs to be sent over."""
        self.write_installation(self._data, self._temporary)  # the donor's script refuses one that was copied
        self.bootstrap()
        self.run((self.folder / "first.sql").read_text() + "CREATE USER haproxy@'127.0.0.1';")
        self.stop()
        for other in copies:
            shutil.copytree(self._data, other._data, dirs_exist_ok=True, ignore=shutil.ignore_patterns("g*.dat"))
            shutil.copy(self._data / "grastate.dat", other._data)

    def rejoin(self) -> None:
        """Start it as Debian's unit does, which reads how far a killed node had come: it needs no copy of the data then."""
        recover = [word for word in self.command() if not word.startswith("--wsrep-start-position")]
        log = subprocess.run(
            [*recover, "--wsrep-recover", "--disable-log-error"], capture_output=True, check=False
        ).stderr.decode()
        self._position = re.findall(r"Recovered position: (\S+)", log)[-1]
        self.start()
        self._position = ""

    def __exit__(self, *_: object) -> None:
        super().__exit__(None, None, None)
        shutil.rmtree(self._data, ignore_errors=True)

    def answers(self) -> bool:
        return super().answers() and self.state() == "4"

    def state(self) -> str:
        """Return `wsrep_local_state`: 4 when the node takes part."""
        line = self.run("SHOW STATUS LIKE 'wsrep_local_state'", may_fail=True)
        return line.split("\t")[-1].strip()

    def isolate(self, isolated: bool) -> None:
        """Cut the node off the others, as a broken network does; its clients still reach it."""
        self.run(f"SET GLOBAL wsrep_provider_options='gmcast.isolate={int(isolated)}'")


class HaProxy(Server):
    """The shipped configuration, with the addresses and ports of this machine."""

    def __init__(self, nodes: Sequence[GaleraNode]) -> None:
        super().__init__()
        self.ports = {form: free_port() for form in FORMS}
        text = CONFIGURATION.read_text()
        for number, node in enumerate(nodes, 1):
            text = text.replace(f"10.0.0.1{number}:3306", f"{HOST}:{node.port}")
        for form, address in FORMS.items():
            text = text.replace(address, f"{HOST}:{self.ports[form]}")
        text = text.replace("    user haproxy\n    group haproxy\n", f"    stats socket {self.folder}/admin.sock\n")
        text = text.replace("log /dev/log local0", "log stderr format raw local0")
        (self.folder / "haproxy.cfg").write_text(text)

    def command(self) -> Sequence[str]:
        return [program("haproxy", package="haproxy"), "-db", "-f", str(self.folder / "haproxy.cfg")]

    def answers(self) -> bool:
        return (self.folder / "admin.sock").exists() and all(not self.down(form) for form in FORMS)

    def down(self, form: str) -> list[str]:
        """Return the nodes that the check has taken out."""
        listener = "saraban_" + form.replace(" ", "_")
        rows = [line.split(",") for line in self._ask("show stat").splitlines()]
        return [
            row[1] for row in rows if row[0] == listener and row[1].startswith("node") and not row[17].startswith("UP")
        ]

    def writer(self) -> int:
        """Return the index of the node that the form with one writer uses."""
        return int(re.findall(r"server_id=(\d+)", self._ask("show table saraban_one_writer"))[0]) - 1

    def _ask(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(f"{self.folder}/admin.sock")
            admin.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: admin.recv(65536), b"")).decode()

    def url(self, form: str) -> str:
        return f"mysql://{USER}:{PASSWORD}@{HOST}:{self.ports[form]}/saraban"


@dataclass
class Cluster:
    """All servers but those of Saraban."""

    nodes: list[GaleraNode]
    proxy: HaProxy
    redis: RedisCluster

    def writer(self, form: str) -> GaleraNode:
        """Return the node that writes, or the first of several that do."""
        return self.nodes[self.proxy.writer() if form == "one writer" else 0]

    def heal(self) -> None:
        """Start what a scenario has killed."""
        for node in self.nodes:
            if node.is_running:
                node.isolate(False)
            else:
                node.rejoin()
        for server in self.redis.servers:
            if not server.is_running:
                server.start()  # the Sentinels make it follow the master of now
        wait_until(lambda: not any(self.proxy.down(form) for form in FORMS) and self._redis_is_whole())

    def _redis_is_whole(self) -> bool:
        master = self.redis.master
        return master.is_running and master.run("INFO replication").count("state=online") == len(self.redis.servers) - 1

    def ledger(self) -> set[str]:
        """Return the printed numbers that every running node has."""
        running = [node for node in self.nodes if node.is_running]
        query = "SET SESSION wsrep_sync_wait=7; SELECT document_number FROM document_number_renderings"
        return set.intersection(*(set(node.run(query, database="saraban").splitlines()) for node in running))


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    if not PROVIDER.exists():
        pytest.fail("This test needs Galera; install it with: sudo apt-get install galera-4 rsync", pytrace=False)
    members = [free_port() for _ in range(3)]
    with ExitStack() as stack:
        first, *others = nodes = [GaleraNode(members, number) for number in range(3)]
        for node in nodes:
            stack.push(node)
        first.install(others)
        first.bootstrap()
        for node in others:
            node.start()
        yield Cluster(nodes, stack.enter_context(HaProxy(nodes)), stack.enter_context(running_sentinels()))
