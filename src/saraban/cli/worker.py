"""`saraban worker`: delivers events and runs timers, apart from the server."""

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from saraban import config
from saraban.cli.migrate import prepare_folder, refuse_behind
from saraban.cli.output import with_system
from saraban.cli.serve import refuse_taken_port

if TYPE_CHECKING:
    from saraban.bootstrap import System


def worker(
    *,
    once: Annotated[bool, typer.Option("--once", help="Deliver what is due now, then end.")] = False,
    metrics_port: Annotated[
        int | None, typer.Option(help="Port that answers Prometheus.", min=1, max=65535, show_default=False)
    ] = None,
) -> None:
    """Deliver events to their handlers and run the timers until interrupted.

    A server does this itself unless `SARABAN_RUN_WORKER=false`. Several workers may run against one database.

    Examples:

        saraban worker
        saraban worker --once                   for a cron job, or after a restore
        saraban worker --metrics-port 9101      lets Prometheus see the outbox and the sealing of the audit trail
    """
    prepare_folder()
    refuse_behind(config.load().sqlalchemy_url)
    if metrics_port is not None:
        _show_measurements(metrics_port)
    with_system(_work, once=once)


def _show_measurements(port: int) -> None:
    from prometheus_client import start_http_server

    host = config.load().host
    refuse_taken_port(host, port)
    start_http_server(port, addr=host)


async def _work(system: "System", *, once: bool) -> None:
    from saraban import bootstrap
    from saraban.app import new_worker
    from saraban.ops import logs

    await bootstrap.refuse_demo_in_production(system)
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
