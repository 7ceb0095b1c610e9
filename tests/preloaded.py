"""
`saraban` in a process forked from one that has imported the application already.

To import it takes seconds of processor, and a server does so three times: that was a tenth of the whole suite. To work out the
routes takes a second and a half more: the first process does it for all. What is started is the program's own entry point;
`tests/features/cli` starts the program as people do.
"""

import asyncio
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from jinja2 import FileSystemBytecodeCache

# A test process has one server that forks: whoever sets this list again replaces it, and each program imports for itself.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("saraban.app", "saraban.cli", "saraban.cli.supervisor", "saraban.kit.migrations", "alembic.command"),
        *("tests.preloaded", "tests.prepared_routes", "tests.killed_migrations"),
    ]
)
TEMPLATES = "COMPILED_TEMPLATES"  # the variable with the folder of what Jinja compiled, where the run has one


class PreloadedProgram:
    """
    One process, in a session of its own, with the names of `subprocess.Popen`; what it prints is appended to `log`.

    :param prepare: is called in the process before the program begins
    """

    def __init__(
        self,
        *words: str,
        environment: dict[str, str],
        folder: Path,
        log: Path,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self._process = FORKS.Process(target=_run, args=(words, environment, folder, log, prepare))
        self._process.start()
        with suppress(ProcessLookupError):  # it has ended already
            while os.getpgid(self.pid) != self.pid:  # or a group that is killed at once would not be there yet
                time.sleep(0.001)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> None:
        self._process.join(timeout)


def read_from(path: Path) -> None:
    """Have what is typed come from a file."""
    sys.stdin = path.open(encoding="utf-8")


def begin_lifespan() -> None:
    """Begin as a process of the server does, without its parent."""
    from saraban.app import served

    async def receive() -> dict[str, str]:
        return {"type": "lifespan.startup"}

    async def send(_message: object) -> None: ...

    asyncio.run(served()({"type": "lifespan", "state": {}}, receive, send))


def share_compiled_templates(folder: str) -> None:
    """Keep what Jinja compiles in `folder`, by language, for every process of the run."""
    from saraban.web.shell.page import environment

    for language in ("th", "en"):
        environment(language).bytecode_cache = FileSystemBytecodeCache(folder, f"{language}-%s.cache")


def _run(
    words: tuple[str, ...], environment: dict[str, str], folder: Path, log: Path, prepare: Callable[[], object] | None
) -> None:
    os.setsid()
    multiprocessing.set_start_method("fork", force=True)  # as in a program of its own: its children have imported too
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    with log.open("ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    assert "tests.prepared_routes" in sys.modules, "The list of what is imported before a program starts was replaced."
    sys.argv = ["saraban", *words]
    if prepare is not None:
        prepare()
    if folder_of_templates := environment.get(TEMPLATES):
        share_compiled_templates(folder_of_templates)
    from saraban import cli

    cli.main()
