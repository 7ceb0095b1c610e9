"""The metrics of numbering, named by ruling N16."""

from prometheus_client import Counter, Gauge, Histogram

GENERATE = Histogram(
    "docnum_generate_seconds",
    "From the request for a number to its commit.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 35),
)
SUCCESS = Counter("docnum_success_total", "Numbers issued.")
ERROR = Counter("docnum_error_total", "Numbers refused or failed.", ["type", "scenario"])
LOCK_WAIT = Histogram(
    "docnum_lock_wait_seconds",
    "Waiting for the turn and the lock of a series.",
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 35),
)
REDIS_SUCCESS = Counter("docnum_lock_redis_success_total", "Locks got from Redis.")
REDIS_FAILED = Counter("docnum_lock_redis_failed_total", "Locks that Redis could not give because it did not answer.")
DB_FALLBACK = Counter("docnum_lock_db_fallback_total", "Numbers drawn under the database lock because Redis was down.")
CONFLICT = Counter("docnum_conflict_version_total", "Compare-and-sets that were lost.")
RETRY = Counter("docnum_retry_total", "Attempts after the first.", ["attempt", "reason"])
UTILIZATION = Gauge(
    "docnum_sequence_utilization_ratio",
    "The latest sequence drawn for a type of a project against the highest its template pads to.",
    ["project", "type"],
)
REDIS_UP = Gauge("docnum_redis_up", "1 while Redis answers, 0 while it does not.")
