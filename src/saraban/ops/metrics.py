"""The measurements of the HTTP door and of the connection pool; every feature keeps its own beside its work."""

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, Histogram, generate_latest

from saraban.kit.db import Database

REQUESTS = Histogram(
    "saraban_http_request_seconds",
    "Time from the first byte of a request to the last of its answer.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 35),
)
POOL = Gauge("saraban_db_pool_connections", "Database connections of this process.", ["state"])


def observe(*, method: str, route: str, status: int, seconds: float) -> None:
    REQUESTS.labels(method, route, str(status)).observe(seconds)


def exposition(db: Database) -> tuple[bytes, str]:
    """This will give all measurements of the process in Prometheus' text form, and its content type."""
    for state, count in db.pool_status().items():
        POOL.labels(state).set(count)
    return generate_latest(), CONTENT_TYPE_LATEST
