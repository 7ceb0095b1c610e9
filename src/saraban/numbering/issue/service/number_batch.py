"""
One attempt at issuing: advance each counter once, and write the rows of all requests together.

`allocator` decides when this runs and handles failures. Outcomes are in the order of the requests.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.batching import Waiter
from saraban.kit.clock import stopwatch
from saraban.kit.db import DatabaseFault, database_fault, database_now, violates_constraint
from saraban.kit.errors import DomainError
from saraban.kit.fastlane import Packet
from saraban.kit.idempotency import KeyInUse
from saraban.kit.ids import new_id
from saraban.kit.locks import LockBusy
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import Attempts, Failure, RetryBudget
from saraban.numbering.issue.service import monitoring
from saraban.numbering.issue.service.issue_request import Issued, IssueRequest, LockPath, PendingIssue
from saraban.numbering.issue.service.number_plan import Plan
from saraban.numbering.series.domain.counter import (
    LARGEST,
    CounterState,
    SequenceExhausted,
    SeriesKey,
    open_sequences,
    sequence_ranges,
)
from saraban.numbering.series.domain.states import NumberSource, NumberState, OperationCode
from saraban.numbering.series.models import AUDIT, AUDIT_COLUMNS
from saraban.numbering.series.repository import counter_state, ensure_counter, lock_counters

_FIRST_BLOCK, _LAST_BLOCK = 100, 2000


class CounterMoved(Exception):  # never leaves this package
    """Another transaction changed the counter between the read and the compare-and-set."""


class CounterMissing(Exception):  # never leaves this package
    """The database has no row for a counter that this process remembers."""


class FormatChanged(Exception):  # never leaves this package: the request is planned again
    """The format of the plan is no longer the active one."""


IssueOutcome = Issued | DomainError | FormatChanged
Waiting = Waiter[PendingIssue, Issued]


class OwnRowsFailed(Exception):  # never leaves this package
    """The rows of one waiter were refused; the rest of the batch is not affected."""

    def __init__(self, waiter: Waiting, reason: Exception) -> None:
        self.waiter, self.reason = waiter, reason


@dataclass(slots=True)
class IssuedBatch:
    """Outcome of each request, and the counter if the attempt is committed."""

    outcomes: list[IssueOutcome]
    counter: CounterState
    skipped: Sequence[int]


@dataclass(slots=True)
class SeriesTurn:
    """Requests of one series; after `begin`, only those that still wait."""

    name: str
    waiters: Sequence[Waiting]
    lock_path: LockPath
    issued: IssuedBatch | None = None

    def begin(self) -> bool:
        """Start the requests that still wait; return whether there are any."""
        self.waiters = [waiter for waiter in self.waiters if waiter.begin()]
        if not self.waiters:
            return False
        monitoring.BATCH.observe(len(self.waiters))
        now = stopwatch()
        for waiter in self.waiters:
            waiter.item.waited = now - waiter.item.arrived
            monitoring.LOCK_WAIT.observe(waiter.item.waited)
        return True

    @property
    def members(self) -> list[PendingIssue]:
        return [waiter.item for waiter in self.waiters]

    @property
    def is_shareable(self) -> bool:
        """It takes no row lock and a refusal is unlikely."""
        has_rows = self.waiters[0].item.request.write is not None
        return self.lock_path.kind == "redis" and not has_rows and self.trusted_counter() is not None

    def trusted_counter(self) -> CounterState | None:
        """None where the remembered state is probably outdated."""
        path = self.lock_path
        counter = None if path.locks_row or path.searches else path.remembered
        if counter is None or counter.contested:
            return None
        return counter if all(waiter.item.plan.is_in_force(counter) for waiter in self.waiters) else None


async def issue_batches(turns: Sequence[SeriesTurn], session: AsyncSession) -> list[IssuedBatch]:
    """
    Several series go in one round trip or fail together; the allocator then retries each alone.

    :raises CounterMoved: when another transaction changed the counter
    :raises CounterMissing: without a counter row
    :raises OwnRowsFailed: when a request's own rows are refused
    """
    trusted = [counter for turn in turns if (counter := turn.trusted_counter()) is not None]
    if len(trusted) == len(turns):
        issued_batches = await _write_numbers(session, turns, trusted)
        if issued_batches is not None:
            return issued_batches
    plan, lock_path = turns[0].waiters[0].item.plan, turns[0].lock_path
    if len(turns) > 1:
        raise CounterMoved(plan.series)
    counter = await counter_state(session, plan.series_key, lock=lock_path.locks_row or lock_path.kind == "database")
    if counter is None:
        raise CounterMissing(plan.series)
    if lock_path.remembered is not None:
        # With several servers on a series, the remembered state often fails; reading is cheaper than a second write.
        counter = replace(counter, contested=counter.version != lock_path.remembered.version)
    issued_batches = await _write_numbers(session, turns, [counter])
    if issued_batches is None:
        raise CounterMoved(plan.series)
    return issued_batches


async def open_series(plans: Iterable[Plan], session: AsyncSession, *, now: datetime) -> None:
    """Use a separate transaction, before the counters are locked."""
    for series, plan in sorted({plan.series: plan for plan in plans}.items()):
        await ensure_counter(session, key=plan.key, series=series, now=now)


async def draw(session: AsyncSession, requests: Sequence[IssueRequest], *, searches: bool) -> list[Issued] | None:
    """
    Advance many series of a project; the caller writes the ledger rows in the same transaction.

    :param searches: look up taken numbers; skipped ranges go to the audit
    :returns: None when a counter is missing or was moved, or a format has changed: plan again
    :raises DomainError: when a number cannot be issued
    """
    batches: dict[str, list[PendingIssue]] = {}
    pending = [PendingIssue(issue, issue.plan, Attempts(RetryBudget()), uncertain=False) for issue in requests]
    for issue in pending:
        batches.setdefault(issue.plan.series, []).append(issue)
    project = requests[0].plan.project.id
    counters = await lock_counters(session, project_id=project, series=sorted(batches))
    issued_numbers: dict[int, Issued] = {}
    advances: list[tuple[SeriesKey, CounterState, int]] = []
    skips: list[tuple[object, ...]] = []
    path = LockPath("database")
    for series, batch in batches.items():
        counter = counters.get(series)
        if counter is None:
            return None
        taken = await _find_taken(session, batch, counter) if searches else frozenset()
        outcomes, last = _assign(batch, counter, taken)
        for issue, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, FormatChanged):
                return None
            if isinstance(outcome, DomainError):
                raise outcome
            issued_numbers[id(issue)] = outcome
        skipped = sequence_ranges([number for number in taken if counter.last_number < number < last])
        skips += [_audit_row(batch[0], OperationCode.SKIP, path, sequence=gap.first, to=gap.last) for gap in skipped]
        advances.append((batch[0].plan.series_key, counter, last))
    packet = Packet(session)
    repository.queue_advances(packet, advances, now=requests[-1].ctx.now, refusal=CounterMoved())
    packet.insert(AUDIT, AUDIT_COLUMNS, skips)
    try:
        await packet.send()
    except CounterMoved:
        return None
    return [issued_numbers[id(issue)] for issue in pending]


async def _write_numbers(
    session: AsyncSession, turns: Sequence[SeriesTurn], counters: Sequence[CounterState]
) -> list[IssuedBatch] | None:
    """:returns: None when a compare-and-set failed"""
    issued_batches: list[IssuedBatch] = []
    advances: list[tuple[SeriesKey, CounterState, int]] = []
    ledger: list[tuple[object, ...]] = []
    audits: list[tuple[object, ...]] = []
    for turn, counter in zip(turns, counters, strict=True):
        issued_batches.append(issued_batch := await _assign_batch(session, turn, counter))
        if issued_batch.counter.last_number == counter.last_number:
            if counter is turn.lock_path.remembered:
                return None  # every request was refused: check against the stored counter
            continue
        members = zip(turn.members, issued_batch.outcomes, strict=True)
        issued_pairs = [
            (pending, issued_or_refusal)
            for pending, issued_or_refusal in members
            if isinstance(issued_or_refusal, Issued)
        ]
        advances.append((issued_pairs[0][0].plan.series_key, counter, issued_batch.counter.last_number))
        ledger += [_ledger_row(pending, issued_or_refusal) for pending, issued_or_refusal in issued_pairs]
        audits += _audit_rows(issued_pairs, issued_batch.skipped, turn.lock_path)
    packet = Packet(session)
    if advances:
        now = turns[0].waiters[0].item.request.ctx.now
        repository.queue_numbers(packet, advances, now=now, entries=ledger, audits=audits, refusal=CounterMoved())
    try:
        for turn, issued_batch in zip(turns, issued_batches, strict=True):
            for waiter, outcome in zip(turn.waiters, issued_batch.outcomes, strict=True):
                if isinstance(outcome, Issued):
                    await _write_own_rows(session, packet, waiter, outcome)
        await packet.send()
    except CounterMoved:
        return None
    return issued_batches


async def _write_own_rows(session: AsyncSession, packet: Packet, waiter: Waiting, issued: Issued) -> None:
    request = waiter.item.request
    if request.write is not None:
        await packet.send()
        try:
            await waiter.run(request.write(session, issued))
        except Exception as error:
            if failure_of(error) is not None:
                raise
            raise OwnRowsFailed(waiter, error) from error
    if request.is_keyed:  # a request that lost its key is refused; the others are retried
        request.queue_receipt(packet, issued, refusal=OwnRowsFailed(waiter, KeyInUse(retry_after=1)))


async def _assign_batch(session: AsyncSession, turn: SeriesTurn, counter: CounterState) -> IssuedBatch:
    members = turn.members
    taken = await _find_taken(session, members, counter) if turn.lock_path.searches else frozenset()
    outcomes, last = _assign(members, counter, taken)
    skipped = [number for number in taken if counter.last_number < number < last]
    issued_batch = IssuedBatch(outcomes, replace(counter, last_number=last, version=counter.version + 1), skipped)
    if last > counter.last_number and any(pending.request.lasts is not None for pending in members):
        await _set_expiries(session, members, issued_batch)
    return issued_batch


def _assign(
    batch: Sequence[PendingIssue], counter: CounterState, taken: frozenset[int]
) -> tuple[list[IssueOutcome], int]:
    """A refused request leaves its sequence to the next."""
    sequences = open_sequences(counter.last_number, closed=counter.closed, taken=taken)
    outcomes: list[IssueOutcome] = []
    last, sequence = counter.last_number, next(sequences)
    for pending in batch:
        try:
            outcomes.append(_issue_sequence(pending, sequence, counter))
        except (DomainError, FormatChanged) as refusal:
            outcomes.append(refusal)
        else:
            last, sequence = sequence, next(sequences)
    return outcomes, last


def _issue_sequence(pending: PendingIssue, sequence: int, counter: CounterState) -> Issued:
    plan = pending.plan
    if not plan.is_in_force(counter):
        raise FormatChanged
    if sequence > (LARGEST if counter.end is None else counter.end) or (
        plan.refuses_overflow and plan.template.overflows(sequence)
    ):
        raise SequenceExhausted
    return Issued(
        new_id(),
        *plan.both(sequence),
        sequence,
        plan.year,
        plan.template.text,
        plan.revision,
        holder=pending.request.holder,
    )


async def _find_taken(session: AsyncSession, batch: Sequence[PendingIssue], counter: CounterState) -> frozenset[int]:
    """Read growing blocks without locks until there are enough free sequences (REQ-NUM-05)."""
    plans = {(pending.plan.template.text, pending.plan.revision): pending.plan for pending in batch}.values()
    taken: set[int] = set()
    after, free, block = counter.last_number, 0, max(_FIRST_BLOCK, len(batch))
    while True:
        candidates = list(islice(open_sequences(after, closed=counter.closed), block))
        printed = {
            sequence: {name for plan in plans for name in (plan.base(sequence), plan.number(sequence))}
            for sequence in candidates
        }
        names = sorted(set().union(*printed.values()))
        first_plan = batch[0].plan
        taken_names = await repository.taken_numbers(
            session, project_id=first_plan.project.id, bases=names, numbers=names, register=first_plan.register
        )
        taken |= {sequence for sequence, forms in printed.items() if forms & taken_names.keys()}
        free += sum(sequence not in taken for sequence in printed)
        if free >= len(batch):
            return frozenset(taken)
        after, block = candidates[-1], min(block * 2, _LAST_BLOCK)


async def _set_expiries(session: AsyncSession, batch: Sequence[PendingIssue], issued_batch: IssuedBatch) -> None:
    now = await database_now(session)
    for position, (pending, outcome) in enumerate(zip(batch, issued_batch.outcomes, strict=True)):
        if pending.request.lasts is not None and isinstance(outcome, Issued):
            issued_batch.outcomes[position] = replace(
                outcome, status=NumberState.RESERVED, expires_at=now + pending.request.lasts
            )


def _ledger_row(pending: PendingIssue, issued: Issued) -> tuple[object, ...]:
    """Values in the order of `LEDGER_COLUMNS`."""
    request, plan = pending.request, pending.plan
    reserved = issued.expires_at is not None
    return (
        issued.public_id,
        request.token,
        plan.project.id,
        plan.register,
        plan.type.id,
        plan.originator.id,
        plan.key.recipient_organization_id,
        plan.series,
        plan.range,
        issued.sequence,
        issued.base_number,
        issued.number,
        issued.revision,
        issued.status,
        NumberSource.DRAW,
        request.holder.kind if request.holder else None,
        request.holder.public_id if request.holder else None,
        plan.template.text,
        plan.values,
        plan.format_public_id,
        plan.source,
        plan.year,
        request.ctx.caller.user_id,
        request.ctx.address[:45] or None,
        plan.year_reason,
        request.ctx.now if reserved else None,
        issued.expires_at,
        None if reserved else request.ctx.now,
        request.ctx.now,
    )


def _audit_rows(
    issued: Sequence[tuple[PendingIssue, Issued]], skipped: Sequence[int], lock_path: LockPath
) -> Iterator[tuple[object, ...]]:
    """Values in the order of `AUDIT_COLUMNS`; skipped ranges first."""
    for skipped_range in sequence_ranges(skipped):
        yield _audit_row(
            issued[0][0], OperationCode.SKIP, lock_path, sequence=skipped_range.first, to=skipped_range.last
        )
    for pending, number in issued:
        yield _audit_row(
            pending,
            OperationCode.GENERATE if number.expires_at is None else OperationCode.RESERVE,
            lock_path,
            sequence=number.sequence,
            issued=number,
        )


def _audit_row(
    pending: PendingIssue,
    operation: str,
    lock_path: LockPath,
    *,
    sequence: int,
    to: int | None = None,
    issued: Issued | None = None,
) -> tuple[object, ...]:
    request, plan = pending.request, pending.plan
    return (
        new_id(),
        operation,
        plan.project.id,
        issued.public_id if issued else None,
        issued.number if issued else None,
        plan.type.code if issued else None,
        request.holder.public_id if issued and request.holder else None,
        plan.series,
        plan.codes_text,
        plan.template.text,
        sequence,
        to,
        plan.year_reason if issued else "The numbers of this stretch were already taken.",
        request.ctx.caller.user_id,
        request.ctx.address[:45] or None,
        request.ctx.key,
        pending.attempts.retries,
        round(pending.waited * 1000),
        lock_path.kind,
        request.ctx.now,
    )


_FAILURES = {
    DatabaseFault.COLLISION: Failure.COLLISION,
    DatabaseFault.LOCK_WAIT: Failure.LOCK,
    DatabaseFault.CONNECTION: Failure.CONNECTION,
    DatabaseFault.COMMIT: Failure.CONNECTION,
    DatabaseFault.POOL: Failure.CONNECTION,
}


def failure_of(error: Exception) -> Failure | None:
    if isinstance(error, LockBusy):
        return Failure.LOCK
    if isinstance(error, CounterMoved):
        return Failure.CONFLICT
    if isinstance(error, CounterMissing):
        return Failure.COLLISION
    if isinstance(error, IntegrityError):
        is_ours = violates_constraint(error, *repository.NUMBER_CONSTRAINTS, *repository.TOKEN_CONSTRAINTS)
        return Failure.TAKEN if is_ours else None
    fault = database_fault(error)
    return _FAILURES.get(fault) if fault else None  # other faults, such as a full disk, are not retried
