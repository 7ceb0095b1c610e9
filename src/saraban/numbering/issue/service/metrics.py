"""
The metrics of numbering, named as the specification names them (REQ-OPS-05).

Each is bound once here: a number takes about 100 microseconds, and looking up labels is time. Those with labels start at
0 for every value they can have, because Prometheus does not see the increase of a series that begins at 1.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from saraban.numbering.issue.domain import Failure

_REASONS = tuple(failure for failure in Failure if failure is not Failure.TAKEN)  # stepping over is no retry
_ATTEMPTS = 10
_ERRORS = (
    ("REDIS_ERROR", "1"),
    ("LOCK_TIMEOUT", "2"),
    ("VERSION_CONFLICT", "3"),
    ("DB_ERROR", "4"),
    ("VALIDATION_ERROR", "none"),
    ("SEQUENCE_EXHAUSTED", "none"),
)
GENERATE = Histogram(
    "docnum_generate_seconds",
    "From the request for a number to its commit, or to the refusal or failure that ended it.",
    ["outcome"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 35),
)
GENERATED = {outcome: GENERATE.labels(outcome) for outcome in ("success", "refused", "failed")}
UNAUTHENTICATED = Counter(
    "docnum_unauthenticated_total", "Calls about numbers without a valid token; nothing else is kept of them."
)
SUCCESS = Counter("docnum_success_total", "Numbers issued.")
ERROR = Counter("docnum_error_total", "Numbers refused or failed.", ["type", "scenario"])
LOCK_WAIT = Histogram(
    "docnum_lock_wait_seconds",
    "Waiting for the turn and the lock of a series.",
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 35),
)
LOCK_ATTEMPTS = Counter("docnum_lock_attempts_total", "Attempts at the lock of a series, on either path.")
LOCK_TIMEOUT = Counter("docnum_lock_timeout_total", "Attempts that ended because another holder kept the lock.")
REDIS_SUCCESS = Counter("docnum_lock_redis_success_total", "Locks got from Redis.")
REDIS_FAILED = Counter("docnum_lock_redis_failed_total", "Locks that Redis could not give because it did not answer.")
DB_FALLBACK = Counter("docnum_lock_db_fallback_total", "Numbers drawn under the database lock because Redis was down.")
CONFLICT = Counter("docnum_conflict_version_total", "Compare-and-sets that were lost.")
RETRY = Counter("docnum_retry_total", "Attempts after the first.", ["attempt", "reason"])
BATCH = Histogram(
    "docnum_batch_size",
    "Requests for numbers that shared one transaction.",
    buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500),
)
WAITING = Gauge("docnum_waiting_requests", "Requests that stand in the line of a series.", multiprocess_mode="livesum")
# One process that cannot reach Redis is enough to say that it is down.
REDIS_UP = Gauge("docnum_redis_up", "1 while Redis answers, 0 while it does not.", multiprocess_mode="livemin")
for _kind, _scenario in _ERRORS:
    ERROR.labels(type=_kind, scenario=_scenario)
for _reason in _REASONS:
    for _attempt in range(1, _ATTEMPTS + 1):
        RETRY.labels(attempt=str(_attempt), reason=_reason.value)


class SeriesUtilization(NamedTuple):
    """How far a series has come: 1 is the largest number that its template pads to."""

    project: str
    series: str
    ratio: float


class UtilizationCollector:
    """
    The fullest series, as they were read from the database last.

    Read, not counted: each process tells the same, a reset shows at once, and a series nobody draws from any more
    disappears.
    """

    def __init__(self) -> None:
        self.series: Sequence[SeriesUtilization] = ()

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "docnum_sequence_utilization_ratio",
            "The last sequence of a series against the largest its template pads to; the fullest series only.",
            labels=["project", "series"],
        )
        for used in self.series:
            family.add_metric([used.project, used.series], used.ratio)
        yield family


UTILIZATION = UtilizationCollector()
REGISTRY.register(UTILIZATION)
