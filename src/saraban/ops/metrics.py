"""
The measurements of the HTTP door and of what the process stands on; every feature keeps its own beside its work.

Where `saraban serve` runs several processes, each writes its measurements to files in one folder, and whichever is asked
adds them up. The files belong to the kernel once written: a killed process loses none of its counts.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from saraban.kit.db import Database
from saraban.numbering.issue.service.metrics import UTILIZATION

_SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the client library reads it when it is first imported; `serve` sets it

REQUESTS = Histogram(
    "saraban_http_request_seconds",
    "Time from the first byte of a request to the last of its answer.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 35),
)
POOL = Gauge(
    "saraban_db_pool_connections",
    "Database connections: in use, the pool's size, what is open beyond it, and the limit.",
    ["state"],
    multiprocess_mode="livesum",
)
DATABASE_UP = Gauge(
    "saraban_database_up", "1 while the database answers, 0 while it does not.", multiprocess_mode="livemin"
)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def observe(*, method: str, route: str, status: int, seconds: float) -> None:
    """Measure a request; a method that HTTP does not know is `OTHER`, or strangers could make up label values."""
    REQUESTS.labels(method if method in _METHODS else "OTHER", route, str(status)).observe(seconds)


def measure_pool(db: Database) -> None:
    for state, count in db.pool_status().items():
        POOL.labels(state).set(count)


def exposition(db: Database) -> tuple[bytes, str]:
    """Return all measurements of the server in Prometheus' text form, and its content type."""
    measure_pool(db)
    folder = os.environ.get(_SHARED_FOLDER)
    return generate_latest(_of_all_processes(Path(folder)) if folder else REGISTRY), CONTENT_TYPE_LATEST


def _of_all_processes(folder: Path) -> CollectorRegistry:
    for process in _ended(folder):
        multiprocess.mark_process_dead(process, str(folder))  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
    registry.register(UTILIZATION)
    return registry


def _ended(folder: Path) -> Iterator[int]:
    """Return the processes whose gauges are still there though they are not: nobody says goodbye for a killed one."""
    for process in {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*.db")}:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            yield process
        except PermissionError:
            continue  # somebody else's, so alive
