"""
What the worker tells Prometheus.

What is read from the database is the same in each process that looks, so of several processes the last one is believed.
"""

from prometheus_client import Counter, Gauge, Histogram

from saraban.audit.domain.journals import JOURNALS

QUEUE_DEPTH = Gauge(
    "saraban_outbox_depth", "Events that wait to be delivered.", ["lane"], multiprocess_mode="mostrecent"
)
OLDEST_AGE = Gauge(
    "saraban_outbox_oldest_age_seconds", "Age of the oldest event that waits.", ["lane"], multiprocess_mode="mostrecent"
)
DEAD_LETTERS = Gauge(
    "saraban_dead_letters",
    "Events that were given up and neither dropped nor revived.",
    multiprocess_mode="mostrecent",
)
OUTCOMES = Counter("saraban_events_total", "Deliveries by event and outcome.", ["name", "outcome"])
DELIVERY = Histogram("saraban_event_delivery_seconds", "Time one delivery took.", ["name"])
TIMER_RUNS = Counter("saraban_timer_runs_total", "Runs of the worker's timers.", ["timer", "outcome"])
UNSEALED_AGE = Gauge(
    "saraban_audit_unsealed_age_seconds",
    "Age of the oldest audit row that no block holds.",
    ["journal"],
    multiprocess_mode="mostrecent",
)
SEALED_BLOCKS = Gauge(
    "saraban_audit_sealed_blocks", "Blocks of the audit trail.", ["journal"], multiprocess_mode="mostrecent"
)
VERIFY_FAILURES = Counter(
    "saraban_audit_verify_failures_total", "Times that a block was found not to be what was sealed.", ["journal"]
)

for _journal in JOURNALS:  # the first failure must be an increase, not the beginning of a series
    VERIFY_FAILURES.labels(_journal.name)
