"""
Real MariaDB and Redis servers for tests: private folders and ports, started here and ended here.

They can be killed, frozen and restarted, because what the product does when they misbehave is what the tests ask.
A missing program fails the test with a sentence that says what to install; nothing is skipped.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urlsplit

import pytest

HOST = "127.0.0.1"
USER = "saraban"
PASSWORD = "only-for-tests"
START_WITHIN = 60.0


def program(*names: str, package: str) -> str:
    """Return the path of the first program found, or fail the test and say what to install."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    for name in names:
        found = shutil.which(name, path=path)
        if found is not None:
            return found
    pytest.fail(f"This test needs {names[0]}; install it with: sudo apt-get install {package}", pytrace=False)


def free_port() -> int:
    """
    Return a port that nobody has, of those that the system gives to no client: a server that is killed and started again would
    otherwise find a connection of somebody else on its port.
    """
    while True:
        port = 10_240 + secrets.randbelow(22_000)
        if is_free(port):
            return port


def is_free(port: int) -> bool:
    """Whether a server could listen there; connections that have ended do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _quick_folder() -> str | None:
    """Return a folder in memory where there is room: killing a server loses nothing there, and flushing is free."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**30
    return str(memory) if roomy else None


class Server:
    """
    A process that can be stopped, killed, frozen and restarted on the same port with the same data.

    :param on_disk: keep the data where flushing it costs what it costs, as benchmarks must
    """

    def __init__(self, *, on_disk: bool = False) -> None:
        # A short path: the name of a socket file has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="saraban-", dir=None if on_disk else _quick_folder()))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server has not been started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    def start(self) -> Self:
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + START_WITHIN
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{type(self).__name__} did not start; its log ends with:\n{self.log[-2000:]}")
            time.sleep(0.02)
        return self

    def stop(self) -> None:
        """An orderly shutdown."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As `kill -9`: whatever was not written is lost."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """The process keeps its connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(how)
            self._process.send_signal(signal.SIGCONT)  # a frozen process hears no SIGTERM
            try:
                self._process.wait(START_WITHIN)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class MariaDb(Server):
    """
    A MariaDB server with Debian's defaults where they matter.

    :param data: where the data stay when the server has ended, and are found the next time
    :param pool_mb: of the buffer pool, where Debian's default is not what an operator would have
    """

    def __init__(
        self,
        *,
        on_disk: bool = False,
        data: Path | None = None,
        pool_mb: int | None = None,
    ) -> None:
        super().__init__(on_disk=on_disk)
        # Small where nothing is measured: with so little room for its log the server writes pages out all the time.
        self._room = () if on_disk else ("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M")
        if pool_mb is not None:
            self._room = (f"--innodb-buffer-pool-size={pool_mb}M", f"--innodb-log-file-size={max(96, pool_mb // 4)}M")
        self.socket = self.folder / "mariadb.sock"
        self._data = data or self.folder / "data"
        # A server that starts removes every temporary table it finds in its folder for them: nobody may share one.
        self._temporary = self.folder / "tmp"
        self._temporary.mkdir()
        if not self._data.exists():
            self._install()
        self._grant()

    def _install(self) -> None:
        self.write_installation(self._data, self._temporary)

    @classmethod
    def write_installation(cls, data: Path, temporary: Path) -> None:
        install = program("mariadb-install-db", "mysql_install_db", package="mariadb-server")
        done = subprocess.run(
            [
                *(install, "--no-defaults", f"--datadir={data}", *cls._as_user(), "--skip-test-db"),
                *("--auth-root-authentication-method=normal", "--innodb-log-file-size=16M"),
                f"--tmpdir={temporary}",
            ],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()

    def _grant(self) -> None:
        (self.folder / "first.sql").write_text(
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO '{USER}'@'%';\n"
        )

    @staticmethod
    def _as_user() -> list[str]:
        return ["--user=root"] if os.geteuid() == 0 else []

    def command(self) -> Sequence[str]:
        return [
            program("mariadbd", "mysqld", package="mariadb-server"),
            "--no-defaults",
            *self._as_user(),
            f"--datadir={self._data}",
            f"--tmpdir={self._temporary}",
            f"--socket={self.socket}",
            f"--pid-file={self.folder / 'mariadb.pid'}",
            f"--port={self.port}",
            f"--bind-address={HOST}",
            f"--init-file={self.folder / 'first.sql'}",
            "--innodb-flush-log-at-trx-commit=1",
            *self._room,
            "--loose-innodb-snapshot-isolation=OFF",  # which later versions switch on
            "--max-connections=400",
            "--skip-log-bin",
            "--skip-name-resolve",
            "--userstat=1",  # tells `DatabaseCopies` which tables a test has written
        ]

    def answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                # The greeting: three bytes of length, one of sequence, then the protocol's number, 10.
                return connection.recv(5)[4:5] == b"\x0a"
        except OSError:
            return False

    def url(self, database: str) -> str:
        return f"mysql://{USER}:{PASSWORD}@{HOST}:{self.port}/{database}"

    def run(self, sql: str, *, database: str = "", may_fail: bool = False) -> str:
        """Run statements with the server's own client and give what it prints, without headings."""
        client = program("mariadb", "mysql", package="mariadb-client")
        return self._client([client, "--batch", "--skip-column-names", database], sql, may_fail=may_fail)

    def dump(self, database: str) -> str:
        """Return the statements that make a copy of `database`, tables and rows."""
        dump = program("mariadb-dump", "mysqldump", package="mariadb-client")
        return self._client(
            [dump, "--hex-blob", "--skip-comments", "--skip-lock-tables", "--skip-add-drop-table", database], ""
        )

    def create(self, database: str, *, statements: str = "") -> str:
        """Make a database, filled by `statements`, and return its address."""
        head = f"CREATE DATABASE `{database}` CHARACTER SET utf8mb4; USE `{database}`; SET unique_checks=0;\n"
        self.run(head + statements)
        return self.url(database)

    def drop(self, database: str) -> None:
        """A failed test may have left connections in the middle of a transaction: they would hold the tables for ever."""
        left = self.run(f"SELECT id FROM information_schema.processlist WHERE db = '{database}'").split()
        for number in left:
            self.run(f"KILL {number}", may_fail=True)  # it may be gone by now
        self.run(f"DROP DATABASE IF EXISTS `{database}`")

    def files_of(self, database: str) -> set[tuple[str, str]]:
        """Return table and file of what a database consists of; a file that is made anew or changed counts as another."""
        found = set()
        folder = self._data / database
        for entry in os.scandir(folder) if folder.exists() else ():
            if entry.name.startswith("#"):
                continue  # a table that is on its way out
            told = entry.stat()
            # Rows change the file of a table at any time.
            version = told.st_ino if entry.name.endswith(".ibd") else (told.st_mtime_ns, told.st_size)
            found.add((re.split(r"[.#]", entry.name)[0], f"{entry.name} {version}"))
        return found

    def _client(self, command: list[str], text: str, *, may_fail: bool = False) -> str:
        name, *rest = command
        options = ["--no-defaults", "--user=root", f"--socket={self.socket}", "--default-character-set=utf8mb4"]
        done = subprocess.run(
            [name, *options, *[word for word in rest if word]], input=text.encode(), capture_output=True, check=False
        )
        assert may_fail or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


class DatabaseCopies:
    """
    Databases on a server that are like a template. After a test, what it touched is made as it was, and the next test has that
    database: to make a hundred tables and drop them takes a third of a second of processor, more than most tests.

    :param statements: what a dump of the template says
    """

    def __init__(self, server: MariaDb, name: str, statements: str) -> None:
        self._server, self._name, self._statements = server, name, statements
        self._rows: dict[str, list[str]] = {}
        for insert in re.finditer(r"^INSERT INTO `(\w+)` VALUES.*?;\n", statements, re.MULTILINE | re.DOTALL):
            self._rows.setdefault(insert[1], []).append(insert[0].rstrip().rstrip(";"))
        # Of each table: the number that its next row gets, and the tables whose rows go or change with its own.
        self._next: dict[str, str] = {}
        self._follow: dict[str, set[str]] = {}
        for table in re.finditer(r"^CREATE TABLE `(\w+)`.*?;\n", statements, re.MULTILINE | re.DOTALL):
            following = re.search(r"^\).* AUTO_INCREMENT=(\d+)", table[0], re.MULTILINE)
            self._next[table[1]] = following[1] if following else ""
            for parent in re.findall(r"REFERENCES `(\w+)` .*ON (?:DELETE|UPDATE) (?:CASCADE|SET)", table[0]):
                self._follow.setdefault(parent, set()).add(table[1])
        self._states: dict[str, DatabaseState] = {}
        self._free: list[str] = []

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The address of a database that nobody else has meanwhile."""
        if not self._free:
            self._make(f"{self._name}_{len(self._states) + 1}")
        name = self._free.pop()
        try:
            yield self._server.url(name)
        finally:
            if self._restore(name):
                self._free.append(name)
            else:
                self._server.drop(name)
                self._make(name)

    def _make(self, name: str) -> None:
        self._server.create(name, statements=self._statements)
        self._states[name] = self._state(name)
        self._free.append(name)

    def _state(self, name: str, *statements: str, touched: Collection[str] = ()) -> "DatabaseState":
        """Return how the database is after these statements; sums and next numbers are of the touched tables alone."""
        named = ", ".join(f"'{table}'" for table in touched) or "''"
        questions = [
            f"SELECT 'written', table_name, rows_changed FROM information_schema.table_statistics WHERE table_schema = '{name}'",
            f"SELECT 'connections', count(*) FROM information_schema.processlist WHERE db = '{name}' AND id <> connection_id()",
            (
                f"SELECT 'next', table_name, auto_increment FROM information_schema.tables "
                f"WHERE table_schema = '{name}' AND table_name IN ({named})"
            ),
        ]
        script = ";\n".join([*statements, *questions])
        printed = self._server.run(script, database=name, may_fail=True)
        return DatabaseState.read(printed, self._server.files_of(name))

    def _restore(self, name: str) -> bool:
        """Whether the database is as it was; not where a test has altered tables, or left connections."""
        was, now = self._states[name], self._state(name)
        own = {table for table, _ in now.files} - {table for table, _ in was.files}
        if now.connections or {one for one in now.files if one[0] not in own} != was.files:
            return False
        touched = self._with_followers(
            {table for table in self._next if now.written.get(table) != was.written.get(table)}
        )
        if not touched and not own:
            return True
        statements = ["SET foreign_key_checks=0, unique_checks=0", *(f"DROP TABLE `{table}`" for table in own)]
        for table in touched:
            statements += [f"TRUNCATE `{table}`", *self._rows.get(table, [])]
            if self._next[table] and table not in self._rows:
                statements.append(f"ALTER TABLE `{table}` AUTO_INCREMENT={self._next[table]}")
        self._states[name] = after = self._state(name, *statements, touched=touched)
        late = {table for table, following in after.following.items() if following != (self._next[table] or following)}
        if late:
            counts = [f"ALTER TABLE `{table}` AUTO_INCREMENT={self._next[table]}" for table in late]
            self._states[name] = after = self._state(name, *counts, touched=late)
        return not after.connections and {table for table, _ in after.files} == {table for table, _ in was.files}

    def _with_followers(self, tables: set[str]) -> set[str]:
        """Foreign keys change rows that no statement names, and that nobody counts."""
        found, left = set(tables), list(tables)
        while left:
            further = self._follow.get(left.pop(), set()) - found
            found |= further
            left += further
        return found


@dataclass(frozen=True)
class DatabaseState:
    """
    :param files: of each table those that stay the same until it is altered or emptied
    :param written: how many rows of each table statements have written since the server began
    :param following: the number that the next row of each table gets that was asked for
    """

    files: set[tuple[str, str]]
    written: dict[str, str]
    connections: int
    following: dict[str, str]

    @classmethod
    def read(cls, printed: str, files: set[tuple[str, str]]) -> Self:
        found: dict[str, list[list[str]]] = {"written": [], "connections": [], "next": []}
        for line in printed.splitlines():
            kind, *rest = line.split("\t")
            found[kind].append(rest)
        connections = [int(one[0]) for one in found["connections"]] or [1]  # none where the database is gone
        following = {table: number for table, number in found["next"] if number != "NULL"}
        return cls(files, dict(found["written"]), connections[0], following)


class Redis(Server):
    """A Redis server that keeps nothing on disk, so that a restart forgets every lock."""

    def __init__(self, *options: str) -> None:
        super().__init__()
        self._options = options

    def command(self) -> Sequence[str]:
        return [
            program("redis-server", package="redis-server"),
            *("--port", str(self.port), "--bind", HOST, "--dir", str(self.folder)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *self._options,
        ]

    def answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def flush(self) -> None:
        assert self.run("FLUSHALL") == "+OK"

    def run(self, command: str) -> str:
        """Send a command in a line, and return what the server sends back at once."""
        with socket.create_connection((HOST, self.port), timeout=5) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.recv(65536).decode().strip()


class Sentinel(Redis):
    """
    A sentinel of the service `saraban`, which notices within a second that its master is gone.

    :param quorum: how many sentinels must agree that it is
    """

    def __init__(self, master: Redis, *, quorum: int) -> None:
        super().__init__()
        watched = (f"monitor saraban {HOST} {master.port} {quorum}", "down-after-milliseconds saraban 1000")
        lines = (*watched, "failover-timeout saraban 3000", "resolve-hostnames no")
        self._file = self.folder / "sentinel.conf"  # the server writes what it learns into it
        self._file.write_text(
            f"port {self.port}\nbind {HOST}\ndir {self.folder}\n" + "".join(f"sentinel {line}\n" for line in lines)
        )

    def command(self) -> Sequence[str]:
        return [program("redis-server", package="redis-server"), str(self._file), "--sentinel"]

    def master_port(self) -> int:
        return int(self.run("SENTINEL GET-MASTER-ADDR-BY-NAME saraban").split()[-1])

    def knows(self, *, replicas: int, sentinels: int) -> bool:
        words = self.run("SENTINEL MASTER saraban").split()
        facts = {words[at]: words[at + 2] for at in range(len(words) - 2)}
        return (facts.get("num-slaves"), facts.get("num-other-sentinels")) == (str(replicas), str(sentinels - 1))


class RedisCluster(NamedTuple):
    """A master with its replicas, and the sentinels that watch them."""

    servers: list[Redis]
    sentinels: list[Sentinel]

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(f'{HOST}:{sentinel.port}' for sentinel in self.sentinels)}/saraban/0"

    @property
    def master(self) -> Redis:
        """The server that a majority of the sentinels names."""
        named = Counter(sentinel.master_port() for sentinel in self.sentinels)
        return next(server for server in self.servers if server.port == named.most_common(1)[0][0])


@contextmanager
def running_mariadb(*, on_disk: bool = False) -> Iterator[MariaDb]:
    """A server of the test's own, for tests that kill or freeze it."""
    with MariaDb(on_disk=on_disk) as server:
        yield server


@contextmanager
def running_redis() -> Iterator[Redis]:
    """A server of the test's own, for tests that kill or freeze it."""
    with Redis() as server:
        yield server


@contextmanager
def running_sentinels(*, servers: int = 3, sentinels: int = 3) -> Iterator[RedisCluster]:
    """A master, its replicas and sentinels, of the test's own, which know one another."""
    quick = ("--repl-diskless-sync-delay", "0")
    with ExitStack() as stack:
        master = stack.enter_context(Redis(*quick))
        following = ("--replicaof", f"{HOST} {master.port}", *quick)
        replicas = [stack.enter_context(Redis(*following)) for _ in range(servers - 1)]
        deadline = time.monotonic() + START_WITHIN
        while not all("master_link_status:up" in replica.run("INFO replication") for replica in replicas):
            assert time.monotonic() < deadline, replicas[0].log
            time.sleep(0.05)
        watching = [stack.enter_context(Sentinel(master, quorum=sentinels // 2 + 1)) for _ in range(sentinels)]
        while not all(sentinel.knows(replicas=servers - 1, sentinels=sentinels) for sentinel in watching):
            assert time.monotonic() < deadline, watching[0].log
            time.sleep(0.05)
        yield RedisCluster([master, *replicas], watching)


def database_name(url: str) -> str:
    """Return the name of the database that an address ends with."""
    return urlsplit(url).path.lstrip("/")
