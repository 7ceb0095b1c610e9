"""`saraban serve`: the web server."""

import errno
import fcntl
import gc
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from saraban import config
from saraban.cli.demo import refuse_production
from saraban.cli.migrate import prepare_folder, refuse_behind
from saraban.cli.output import exit_code_of, stop, tell, with_system
from saraban.cli.setup import new_set_up_token, print_set_up_link
from saraban.config import Settings

_ROOM = 4 * 1024 * 1024  # bytes for the measurements of one process, which ends when it writes to them on a full disk
_LOOK = 0.5  # seconds between looks for the parent
_OWN_FILES = 512  # open files of a process beside its connections
_GRACE = 2.5  # seconds for what is under way when the parent has ended


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (SARABAN_HOST).", show_default=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (SARABAN_PORT).", show_default=False)] = None,
    workers: Annotated[int | None, typer.Option(help="Processes (SARABAN_WORKERS).", show_default=False)] = None,
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Prepare the database and the demo project first.")] = False,
) -> None:
    """Serve the pages and the API until interrupted.

    Examples:

        saraban serve --demo         everything at its defaults, and a demo project
        saraban serve --port 9000    on another port
        saraban serve --workers 4    several processes, on MariaDB
    """
    chosen = {"HOST": host, "PORT": port, "WORKERS": workers}
    os.environ.update({f"SARABAN_{name}": str(value) for name, value in chosen.items() if value is not None})
    config.load.cache_clear()
    settings = config.load()
    if demo:
        refuse_production(settings)
    refuse_taken_port(settings.host, settings.port)
    prepare_folder()
    share_measurements(settings)  # before anything imports the library that measures
    _prepare_apart(demo=demo)
    _run(settings)


def _prepare_apart(*, demo: bool) -> None:
    """
    Prepare in a process that ends: this one stays as long as the server does, and would keep in memory all that it takes.

    :raises typer.Exit: with its code, when it said why the server cannot start
    """
    child = multiprocessing.Process(target=_prepare_and_greet, kwargs={"demo": demo}, name="saraban-preparation")
    child.start()
    try:
        child.join()
    except BaseException:
        child.terminate()
        raise
    if child.exitcode:
        raise typer.Exit(abs(child.exitcode))


def _end_with_parent() -> None:
    """Watch the parent from a child that `multiprocessing` started, and end when it has ended, however it did."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), name="saraban-parent", daemon=True).start()


def _end_after(parent: "multiprocessing.process.BaseProcess") -> None:
    # The parent's end closes a pipe, also after `kill -9`; but a child that was forked later holds that open too.
    while parent.is_alive() and os.getppid() == parent.pid:
        parent.join(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)


def _prepare_and_greet(*, demo: bool) -> None:
    _end_with_parent()

    def work() -> None:
        settings = config.load()
        _refuse_short_key(settings)
        has_demo, token = _prepare(settings, demo=demo)
        _greet(settings, has_demo=has_demo)
        if token:
            print_set_up_link(settings, token)
            tell("หรือสั่ง `saraban setup` ที่นี่", "Or run `saraban setup` here.")
        sys.stdout.flush()

    sys.exit(exit_code_of(work))


def _refuse_short_key(settings: Settings) -> None:
    from saraban import bootstrap

    bootstrap.signing_key(settings)


def refuse_taken_port(host: str, port: int) -> None:
    """End the command with one line when somebody else listens there already."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as fault:
            if fault.errno == errno.EADDRINUSE:
                raise stop(
                    f"พอร์ต {port} ถูกใช้งานอยู่ เลือกพอร์ตอื่นด้วย SARABAN_PORT",
                    f"port {port} on {host} is taken; choose another with SARABAN_PORT.",
                ) from None
            raise stop(
                f"เปิดพอร์ต {port} ที่ {host} ไม่ได้: {fault.strerror}", f"cannot listen on {host}:{port}: {fault.strerror}."
            ) from None


def share_measurements(settings: Settings) -> None:
    """
    Have the processes of this server share a folder: another, on the same data folder, may have its port and process ids.

    One process alone keeps its measurements in memory. It must happen before the client library is first imported.
    """
    if settings.workers == 1:
        os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
        return
    servers = settings.data_dir.resolve() / "metrics"
    servers.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(servers).free < settings.workers * _ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(servers))
    starting = _lock_folder(servers, fcntl.LOCK_EX)  # servers that start at once take turns
    for folder in filter(Path.is_dir, servers.iterdir()):
        with suppress(BlockingIOError):  # its server runs
            os.close(_lock_folder(folder, fcntl.LOCK_EX | fcntl.LOCK_NB))
            shutil.rmtree(folder, ignore_errors=True)
    own = Path(tempfile.mkdtemp(prefix=f"{settings.port}-", dir=servers))
    _lock_folder(own, fcntl.LOCK_EX)
    os.close(starting)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(own)


def _lock_folder(folder: Path, how: int) -> int:
    """Lock a folder until what is returned is closed, or the process ends."""
    opened = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(opened, how)
    return opened


def _prepare(settings: Settings, *, demo: bool) -> tuple[bool, str]:
    """
    Make the checks that must fail once, in front of the person who starts it, and not in every worker process.

    Give whether the demo is there, and the token of the set-up page where nobody has an account.
    """
    from saraban import bootstrap
    from saraban.kit import migrations as history
    from saraban.kit.revisions import newest

    url = settings.sqlalchemy_url
    stands = history.current(url)
    if demo or stands is None:
        if stands != newest():
            _say_now("กำลังเตรียมฐานข้อมูล…", "Preparing the database…")
        history.upgrade(url)
    else:
        refuse_behind(url)

    async def check(system: bootstrap.System) -> tuple[bool, str]:
        if demo:
            if not await bootstrap.has_demo(system):
                _say_now("กำลังโหลดโครงการสาธิต ครั้งแรกใช้เวลาสักครู่…", "Loading the demo project; this takes a moment once…")
            await bootstrap.seed(system, demo=True)
            await system.demo.load_documents()
        await bootstrap.refuse_demo_in_production(system)
        token = "" if await system.first_run.is_over() else await new_set_up_token(system)
        return await bootstrap.has_demo(system), token

    return with_system(check)


def _say_now(th: str, en: str) -> None:
    """Said before what it tells of, also where stdout is a pipe."""
    tell(th, en)
    sys.stdout.flush()


def _greet(settings: Settings, *, has_demo: bool) -> None:
    if settings.workers > 1 and not settings.database_url:
        tell(
            "หมายเหตุ: หลายโปรเซสบน SQLite ใช้งานได้ แต่เขียนได้ทีละหนึ่ง ควรใช้ MariaDB",
            "Note: several processes on SQLite are safe but write one at a time; MariaDB does better.",
        )
    typer.echo(f"Saraban: http://{settings.host}:{settings.port}")
    if has_demo:
        from saraban.identity.service import DEMO_ACCOUNTS

        tell("บัญชีสาธิต รหัสผ่าน saraban-demo:", "Demo accounts, password saraban-demo:")
        for account in DEMO_ACCOUNTS:
            typer.echo(f"  {account.username:<20} {account.display_name}")


def _application(_target: str) -> Any:
    """Import the application in a new server process, which ends at once meanwhile, and not as its parent does."""
    if threading.current_thread() is threading.main_thread():  # a thread where Python was built without its lock
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # until the server listens to them
    _end_with_parent()
    from saraban.app import served

    return served()


def connection_limit(most: int) -> int:
    """Raise the limit of open files of this process and its children; return the connections for which there is room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _OWN_FILES
    if 0 <= soft < wanted:  # -1: no limit
        soft = wanted if hard < 0 else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return most if soft < 0 else max(min(most, soft - _OWN_FILES), 1)


def _run(settings: Settings) -> None:
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    from saraban.cli.supervisor import Supervisor

    options: dict[str, Any] = {
        "interface": Interfaces.ASGI,
        "log_level": LogLevels.warning,
        # While the server waits to see which version of HTTP a client speaks it has no timeout.
        "http": HTTPModes.http1,
        "http1_settings": HTTP1Settings(header_read_timeout=settings.header_timeout * 1000),
        "backpressure": connection_limit(settings.max_connections),
    }
    gc.freeze()  # or a collection in a child writes to what it shares with this process
    Supervisor(
        "saraban.app:served",
        address=settings.host,
        port=settings.port,
        workers=settings.workers,
        websockets=False,
        **options,
    ).serve(target_loader=_application)
