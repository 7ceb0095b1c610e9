"""Sealing by the clock, and a patrol that looks at a few blocks each time and begins anew after the last."""

from datetime import datetime, timedelta

import structlog

from saraban.audit import service as audit
from saraban.audit.domain.journals import JOURNALS
from saraban.kit.db import Database
from saraban.worker.metrics import SEALED_BLOCKS, UNSEALED_AGE, VERIFY_FAILURES
from saraban.worker.timers import Timer

log = structlog.get_logger(__name__)

_PATROL_BLOCKS = 5


def seal_timers(*, db: Database, sealer: audit.Sealer) -> list[Timer]:
    """Return what seals the audit trail, measures it and keeps an eye on it."""
    places = {journal.name: 0 for journal in JOURNALS}

    async def measure(now: datetime) -> None:
        for journal, count in (await audit.count_sealed_blocks(db)).items():
            SEALED_BLOCKS.labels(journal).set(count)
        for rest in await audit.unsealed(db):
            UNSEALED_AGE.labels(rest.journal).set((now - rest.since).total_seconds() if rest.since else 0)

    async def look(_now: datetime) -> None:
        for name in sealer.heads.cut:
            VERIFY_FAILURES.labels(name).inc()
        for journal in JOURNALS:
            findings, places[journal.name] = await audit.verify_next_blocks(
                db, journal=journal, above=places[journal.name], blocks=_PATROL_BLOCKS
            )
            for finding in findings:
                VERIFY_FAILURES.labels(journal.name).inc()
                log.error(
                    "audit_verify_failed",
                    what=finding.what,
                    journal=journal.name,
                    block=finding.block,
                    row=finding.public_id,
                )

    return [
        Timer("audit_seal", timedelta(minutes=1), sealer.tick),
        Timer("audit_measure", timedelta(seconds=30), measure),
        Timer("audit_patrol", timedelta(minutes=1), look),
    ]
