"""
Inside the transaction of a number: advance the counter, write the ledger, the rendering and the audit.

`allocation` decides when this runs and what its failures mean; here is only what one attempt does.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.ids import new_id
from saraban.numbering import repository
from saraban.numbering.domain.counter import free_sequence
from saraban.numbering.domain.sequence import SequenceExhausted
from saraban.numbering.models import LedgerEntry
from saraban.numbering.repository import Counter
from saraban.numbering.service import metrics
from saraban.numbering.service.planning import Plan

_FIRST_BLOCK, _LAST_BLOCK = 100, 2000


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a number belongs to: opaque here, resolved by `documents`."""

    kind: str
    public_id: UUID


@dataclass(frozen=True, slots=True)
class Issued:
    """A number that stands in the ledger."""

    public_id: UUID
    number: str
    base_number: str
    sequence: int
    year: int
    template: str
    revision: str


@dataclass(frozen=True, slots=True)
class Draw:
    plan: Plan
    caller: Caller
    holder: Holder | None
    token: UUID
    address: str
    idempotency_key: str | None


@dataclass(slots=True)
class Course:
    """How this attempt goes about it, and what is remembered of it for the audit."""

    path: str
    locks_row: bool = False
    searches: bool = False
    retries: int = 0
    waited: float = 0.0


class CounterMoved(Exception):  # never leaves this package
    """Another transaction moved the counter between our read and our compare-and-set."""


class CounterMissing(Exception):  # never leaves this package
    """The counter row that this process remembers is not there."""


def issued_of(entry: LedgerEntry) -> Issued:
    """This will give what the caller of `issue` got for a row of the ledger."""
    return Issued(
        entry.public_id,
        entry.document_number,
        entry.base_number,
        entry.sequence_number,
        entry.issue_year,
        entry.format_template,
        entry.revision_label,
    )


async def draw_number(session: AsyncSession, draw: Draw, course: Course) -> Issued:
    plan = draw.plan
    seen = await repository.counter(session, project_id=plan.project.id, series=plan.series, lock=course.locks_row)
    if seen is None:
        raise CounterMissing(plan.series)
    sequence = await _search(session, plan, seen) if course.searches else seen.last_number + 1
    if plan.refuses_overflow and plan.template.overflows(sequence):
        raise SequenceExhausted
    moved = await repository.advance(
        session, project_id=plan.project.id, series=plan.series, seen=seen, to=sequence, now=plan.now
    )
    if not moved:
        raise CounterMoved(plan.series)
    metrics.UTILIZATION.labels(project=plan.project.code, type=plan.type.code).set(
        sequence / (10**plan.template.width - 1)
    )
    return await _write(session, draw, course, seen, sequence)


async def _search(session: AsyncSession, plan: Plan, seen: Counter) -> int:
    """This will find the next sequence whose number is free, in growing blocks of plain reads (ruling N2)."""
    after, block = seen.last_number, _FIRST_BLOCK
    while True:
        candidates = {
            number: (plan.base(number), plan.number(number)) for number in range(after + 1, after + block + 1)
        }
        names = await repository.taken_numbers(
            session,
            project_id=plan.project.id,
            bases=[base for base, _ in candidates.values()],
            numbers=[printed for _, printed in candidates.values()],
        )
        taken = frozenset(n for n, (base, printed) in candidates.items() if base in names or printed in names)
        free = free_sequence(after, taken, block=block)
        if free is not None:
            return free
        after, block = after + block, min(block * 2, _LAST_BLOCK)


async def _write(session: AsyncSession, draw: Draw, course: Course, seen: Counter, sequence: int) -> Issued:
    plan = draw.plan
    issued = Issued(
        new_id(), plan.number(sequence), plan.base(sequence), sequence, plan.year, plan.template.text, plan.revision
    )
    entry_id = await repository.insert_entry(session, _ledger_row(draw, issued))
    await repository.insert_rendering(
        session,
        {
            "project_id": plan.project.id,
            "reservation_id": entry_id,
            "document_number": issued.number,
            "revision_label": issued.revision,
            "kind": "ISSUE",
            "created_at": plan.now,
        },
    )
    if sequence > seen.last_number + 1:
        skipped = {"operation": "SKIP", "sequence_number": seen.last_number + 1, "skipped_to": sequence - 1}
        reason = "The numbers of this stretch were already taken."
        await repository.insert_audit(session, _audit_row(draw, course) | skipped | {"reason": reason})
    await repository.insert_audit(session, _audit_row(draw, course) | _issue_columns(draw, issued))
    return issued


def _ledger_row(draw: Draw, issued: Issued) -> dict[str, Any]:
    plan = draw.plan
    return {
        "uuid": issued.public_id,
        "token": draw.token,
        "project_id": plan.project.id,
        "correspondence_type_id": plan.type.id,
        "originator_organization_id": plan.originator.id,
        "recipient_organization_id": plan.key.recipient_organization_id,
        "series": plan.series,
        "range": 0,
        "sequence_number": issued.sequence,
        "base_number": issued.base_number,
        "document_number": issued.number,
        "revision_label": issued.revision,
        "document_number_status": "CONFIRMED",
        "holder_kind": draw.holder.kind if draw.holder else None,
        "holder_public_id": draw.holder.public_id if draw.holder else None,
        "format_template": plan.template.text,
        "format_values": dict(plan.values),
        "issue_year": plan.year,
        "user_id": draw.caller.user_id,
        "ip_address": draw.address[:45] or None,
        "reason": plan.year_reason,
        "confirmed_at": plan.now,
        "created_at": plan.now,
    }


def _audit_row(draw: Draw, course: Course) -> dict[str, Any]:
    plan = draw.plan
    return {
        "uuid": new_id(),
        "project_id": plan.project.id,
        "series": plan.series,
        "counter_key": orjson.dumps(dict(plan.codes)).decode(),
        "template_used": plan.template.text,
        "user_id": draw.caller.user_id,
        "ip_address": draw.address[:45] or None,
        "idempotency_key": draw.idempotency_key,
        "retry_count": course.retries,
        "lock_wait_ms": round(course.waited * 1000),
        "lock_path": course.path,
        "created_at": plan.now,
    }


def _issue_columns(draw: Draw, issued: Issued) -> dict[str, Any]:
    return {
        "operation": "GENERATE",
        "reservation_uuid": issued.public_id,
        "document_number": issued.number,
        "document_type": draw.plan.type.code,
        "holder_public_id": draw.holder.public_id if draw.holder else None,
        "sequence_number": issued.sequence,
        "reason": draw.plan.year_reason,
    }
