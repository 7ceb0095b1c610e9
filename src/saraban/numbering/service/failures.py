"""
Failed operations are kept too (ruling N15): outside the transaction that failed, and from a bounded spool when the
database itself is what failed.
"""

from collections import deque
from datetime import datetime
from typing import Any

import structlog

from saraban.kit.db import Database, fault_of
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id
from saraban.kit.trace import trace_id
from saraban.numbering import repository
from saraban.numbering.domain.retry import NumberingBusy, NumberingConflict, NumberingFailed
from saraban.numbering.domain.sequence import SequenceExhausted
from saraban.numbering.service import metrics

log = structlog.get_logger(__name__)
_SPOOLED = 1000

_TYPES: dict[type[DomainError], tuple[str, str]] = {
    NumberingBusy: ("LOCK_TIMEOUT", "2"),
    NumberingConflict: ("VERSION_CONFLICT", "3"),
    NumberingFailed: ("DB_ERROR", "4"),
    SequenceExhausted: ("SEQUENCE_EXHAUSTED", "none"),
}


class FailureLog:
    """Writes `document_number_errors`; rows that cannot be written wait here, the oldest dropped past 1,000."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._spool: deque[dict[str, Any]] = deque(maxlen=_SPOOLED)

    async def refused(
        self, error: DomainError, *, context: dict[str, Any], user_id: int | None, address: str, now: datetime
    ) -> None:
        """This will keep a refusal, unless a log further in has kept it already."""
        if error.kept:
            return
        error.kept = True
        kind, scenario = _TYPES.get(type(error), ("VALIDATION_ERROR", "none"))
        context = {**context, "code": error.code, "pointers": [field.pointer for field in error.fields]}
        await self._write(kind, scenario, str(error), context, user_id, address, now)

    async def redis_down(
        self, detail: str, *, context: dict[str, Any], user_id: int, address: str, now: datetime
    ) -> None:
        await self._write("REDIS_ERROR", "1", detail, context, user_id, address, now)

    async def _write(
        self,
        kind: str,
        scenario: str,
        message: str,
        context: dict[str, Any],
        user_id: int | None,
        address: str,
        now: datetime,
    ) -> None:
        metrics.ERROR.labels(type=kind, scenario=scenario).inc()
        log.warning("numbering.failed", error_type=kind, scenario=scenario, error=message, **context)
        self._spool.append(
            {
                "uuid": new_id(),
                "error_type": kind,
                "error_message": message[:2000],
                "context_data": context,
                "user_id": user_id,
                "ip_address": address[:45] or None,
                "trace_id": trace_id() or None,
                "created_at": now,
            }
        )
        await self.flush()

    @property
    def waiting(self) -> int:
        """Rows that the database would not take yet."""
        return len(self._spool)

    async def flush(self) -> None:
        """This will write what waits; on a database fault it stays for the next time."""
        if not self._spool:
            return
        rows = list(self._spool)
        self._spool.clear()
        try:
            await self._db.transact(lambda session: repository.insert_errors(session, rows))
        except Exception as error:
            if fault_of(error) is None:
                raise
            self._spool.extendleft(reversed(rows))
            log.warning("numbering.error_spooled", waiting=len(self._spool))
