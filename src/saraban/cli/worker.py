"""`saraban worker`: delivers events and runs timers, apart from the server."""

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from saraban import config
from saraban.cli.outcome import with_system

if TYPE_CHECKING:
    from saraban.bootstrap import System


def register(app: typer.Typer) -> None:
    app.command()(worker)


def worker(*, once: Annotated[bool, typer.Option("--once", help="Deliver what is due now, then end.")] = False) -> None:
    """Deliver events to their handlers and run the timers until interrupted.

    A server does this itself unless `SARABAN_RUN_WORKER=false`. Several workers may run against one database.

    Examples:

        saraban worker
        saraban worker --once       for a cron job, or after a restore
    """
    with_system(lambda system: _work(system, once=once))


async def _work(system: "System", *, once: bool) -> None:
    from saraban.app import new_worker
    from saraban.ops import logs

    settings = config.load()
    logs.configure(level=settings.log_level, form=settings.log_format)
    worker = new_worker(system)
    if once:
        typer.echo(await worker.drain())
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, worker.ask_to_stop)
    await worker.run()
