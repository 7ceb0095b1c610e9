"""
Inside the transaction of numbers: advance the counter once, write ledger, renderings and audit for everybody at once.

`allocator` decides when this runs and what its failures mean; here is only what one attempt does. It takes requests
of one series, in order of arrival, and gives each its outcome in the same order.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import stopwatch
from saraban.kit.db import SessionOrConnection
from saraban.kit.driver import DriverConnection
from saraban.kit.errors import DomainError
from saraban.kit.idempotency import Claim
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.kit.pipeline import Pipeline
from saraban.kit.statements import database_now
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import Attempts, RetryBudget
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
from saraban.numbering.series.models import LedgerEntry
from saraban.numbering.series.repository import counter_state, ensure_counter, lock_counters

_FIRST_BLOCK, _LAST_BLOCK = 100, 2000
NUMBER = "number"
Outcome = Mapping[str, str | int | None]
Write = Callable[[AsyncSession, "Issued"], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a number belongs to: opaque here, resolved by `documents`."""

    kind: str
    public_id: UUID


@dataclass(frozen=True, slots=True)
class Issued:
    """
    A number that stands in the ledger.

    :param expires_at: only while it is reserved
    :param holder: whom it was issued for
    :param repeated: it was on the ledger already: this request has issued it before
    """

    public_id: UUID
    number: str
    base_number: str
    sequence: int
    year: int
    template: str
    revision: str
    status: str = NumberState.CONFIRMED
    expires_at: datetime | None = None
    holder: Holder | None = None
    repeated: bool = field(default=False, compare=False)

    def receipt(self) -> Receipt:
        """Return what is kept of a request for the number itself, whatever carries it by now."""
        return Receipt(NUMBER, self.public_id, {"number": self.number}, repeated=self.repeated)


@dataclass(frozen=True, slots=True)
class IssueRequest:
    """
    A request for the next number of the plan's series.

    :param token: made before the first attempt; a request that comes again with it finds the number it got
    :param claim: of the request's key, completed in the transaction of the number
    :param write: writes the holder's rows after the number. It runs
        again after a rollback, or when the counter was moved meanwhile, and does no I/O elsewhere
    :param outcome: what the receipt says besides the number
    :param lasts: how long a reservation holds; None for a number that is final
    :param reservation: the reserved number that is taken up instead
    :param fields: what the holder's schema calls a field of that number, where it differs
    """

    ctx: RequestContext
    plan: Plan
    token: UUID = field(default_factory=new_id)
    claim: Claim | None = None
    holder: Holder | None = None
    write: Write | None = None
    outcome: Outcome = field(default_factory=dict)
    lasts: timedelta | None = None
    reservation: UUID | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_keyed(self) -> bool:
        """Whether a receipt is to be stored for its key."""
        return self.claim is not None and self.claim.row is not None

    def receipt(self, issued: Issued) -> Receipt:
        """Return what is kept for the request's key: the document it was for, otherwise the number."""
        outcome = {"number": issued.number, **self.outcome}
        held = issued.holder if self.holder is not None else None
        kind, public_id = (held.kind, held.public_id) if held is not None else (NUMBER, issued.public_id)
        return Receipt(kind, public_id, outcome, repeated=issued.repeated)


@dataclass(slots=True)
class PendingIssue:
    """
    A request for a number, in the queue of its series.

    :param plan: made again where the format has changed meanwhile
    :param uncertain: it may be committed already: its token is looked up first. A key that is claimed says that nothing was
        (its receipt would stand there), but for one from more than a day ago, whose token the ledger then refuses
    :param unseen: the connection was lost during the COMMIT of a transaction of this process
    :param waited: seconds until the transaction began, for the audit
    """

    request: IssueRequest
    plan: Plan
    attempts: Attempts
    uncertain: bool = False
    unseen: bool = False
    waited: float = 0.0
    arrived: float = field(default_factory=stopwatch)

    @property
    def elapsed(self) -> float:
        """Seconds since it arrived."""
        return stopwatch() - self.arrived


@dataclass(slots=True)
class LockPath:
    """
    How an attempt goes about it.

    :param kind: `redis` or `database`: what kept the others out
    :param locks_row: read the counter `FOR UPDATE`
    :param searches: look which numbers are taken before choosing
    :param remembered: where the series stood after this process's last batch
    """

    kind: str
    locks_row: bool = False
    searches: bool = False
    remembered: CounterState | None = None


class CounterMoved(Exception):  # never leaves this package
    """Another transaction moved the counter between our read and our compare-and-set."""


class CounterMissing(Exception):  # never leaves this package
    """The counter row that this process remembers is not there."""


class FormatChanged(Exception):  # never leaves this package: the request is planned again
    """The format that the request was planned with is no longer the one in force."""


IssueOutcome = Issued | DomainError | FormatChanged
Follow = Callable[[Pipeline, Sequence[IssueOutcome]], Awaitable[None]]


@dataclass(slots=True)
class IssuedBatch:
    """What an attempt gave each request, and where the series stands if it is committed."""

    outcomes: list[IssueOutcome]
    counter: CounterState
    skipped: Sequence[int]


def issued_of(entry: LedgerEntry) -> Issued:
    return Issued(
        entry.public_id,
        entry.document_number,
        entry.base_number,
        entry.sequence_number,
        entry.issue_year,
        entry.format_template,
        entry.revision_label,
        entry.document_number_status,
        entry.expires_at,
        Holder(entry.holder_kind, entry.holder_public_id) if entry.holder_kind and entry.holder_public_id else None,
    )


@dataclass(frozen=True, slots=True)
class SeriesBatch:
    """Requests of one series that a transaction answers; `follow` queues what belongs to their numbers, to go with them."""

    members: Sequence[PendingIssue]
    lock_path: LockPath
    follow: Follow

    def trusted_counter(self) -> CounterState | None:
        """Return where the series stood when this process saw it last, where it most likely stands there still."""
        path = self.lock_path
        counter = None if path.locks_row or path.searches else path.remembered
        if counter is None or counter.contested:
            return None
        return counter if all(pending.plan.is_in_force(counter) for pending in self.members) else None


async def issue_batches(connected: SessionOrConnection, batches: Sequence[SeriesBatch]) -> list[IssuedBatch]:
    """
    Return each request its number, or the reason why it gets none, in one compare-and-set for each series.

    Several series go in one round trip, or not at all: who is surprised goes alone next.

    :raises CounterMoved: when another transaction came between
    :raises CounterMissing: when there is no such counter
    """
    trusted = [counter for batch in batches if (counter := batch.trusted_counter()) is not None]
    if len(trusted) == len(batches):
        issued_batches = await _attempt(connected, batches, trusted)
        if issued_batches is not None:
            return issued_batches
    plan, lock_path = batches[0].members[0].plan, batches[0].lock_path
    if len(batches) > 1:
        raise CounterMoved(plan.series)
    counter = await counter_state(connected, plan.series_key, lock=lock_path.locks_row or lock_path.kind == "database")
    if counter is None:
        raise CounterMissing(plan.series)
    if lock_path.remembered is not None:
        # Where servers take turns, a batch that trusts its memory is written twice: then it is dearer than looking.
        counter = replace(counter, contested=counter.version != lock_path.remembered.version)
    issued_batches = await _attempt(connected, batches, [counter])
    if issued_batches is None:
        raise CounterMoved(plan.series)
    return issued_batches


async def open_series(session: AsyncSession, plans: Iterable[Plan], *, now: datetime) -> None:
    """Make the counters of these plans that are missing, in a transaction of its own, before anybody locks them."""
    for series, plan in sorted({plan.series: plan for plan in plans}.items()):
        await ensure_counter(session, key=plan.key, series=series, now=now)


async def draw(session: AsyncSession, requests: Sequence[IssueRequest], *, searches: bool) -> list[Issued] | None:
    """
    Take the next numbers of many series of one project at once, in the order of the requests.

    Whoever draws writes the rows of the ledger, in the same transaction.

    :param searches: look which numbers are taken; what is skipped goes to the audit
    :returns: None when a counter is missing or was moved, or a format has changed: plan again
    :raises DomainError: when a number can not be issued
    """
    batches: dict[str, list[PendingIssue]] = {}
    pending = [PendingIssue(one, one.plan, Attempts(RetryBudget()), uncertain=False) for one in requests]
    for one in pending:
        batches.setdefault(one.plan.series, []).append(one)
    project = requests[0].plan.project.id
    counters = await lock_counters(session, project_id=project, series=sorted(batches))
    drawn: dict[int, Issued] = {}
    moved: list[tuple[SeriesKey, CounterState, int]] = []
    skips: list[tuple[object, ...]] = []
    path = LockPath("database")
    for series, batch in batches.items():
        counter = counters.get(series)
        if counter is None:
            return None
        taken = await _taken(session, batch, counter) if searches else frozenset()
        outcomes, last = _assign(batch, counter, taken)
        for one, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, FormatChanged):
                return None
            if isinstance(outcome, DomainError):
                raise outcome
            drawn[id(one)] = outcome
        skipped = sequence_ranges([number for number in taken if counter.last_number < number < last])
        skips += [_audit_row(batch[0], OperationCode.SKIP, path, sequence=gap.first, to=gap.last) for gap in skipped]
        moved.append((batch[0].plan.series_key, counter, last))
    driver = await DriverConnection.of(session)
    if not await repository.advance_counters(driver, moved, now=requests[-1].ctx.now):
        return None
    await repository.insert_audits(driver, skips)
    return [drawn[id(one)] for one in pending]


async def _attempt(
    connected: SessionOrConnection, batches: Sequence[SeriesBatch], counters: Sequence[CounterState]
) -> list[IssuedBatch] | None:
    """:returns: None when a compare-and-set was lost"""
    issued_batches: list[IssuedBatch] = []
    moved: list[tuple[SeriesKey, CounterState, int]] = []
    ledger: list[tuple[object, ...]] = []
    audits: list[tuple[object, ...]] = []
    for batch, counter in zip(batches, counters, strict=True):
        issued_batches.append(issued_batch := await _assign_batch(connected, batch, counter))
        if issued_batch.counter.last_number == counter.last_number:
            if counter is batch.lock_path.remembered:
                return None  # nobody gets a number: let the database say why
            continue
        members = zip(batch.members, issued_batch.outcomes, strict=True)
        issued = [(pending, one) for pending, one in members if isinstance(one, Issued)]
        moved.append((batch.members[0].plan.series_key, counter, issued_batch.counter.last_number))
        ledger += [_ledger_row(pending, one) for pending, one in issued]
        audits += _audit_rows(issued, issued_batch.skipped, batch.lock_path)
    pipeline = Pipeline(connected)
    if moved:
        now = batches[0].members[0].request.ctx.now
        repository.queue_numbers(pipeline, moved, now=now, entries=ledger, audits=audits, refusal=CounterMoved())
    try:
        for batch, issued_batch in zip(batches, issued_batches, strict=True):
            await batch.follow(pipeline, issued_batch.outcomes)
        await pipeline.send()
    except CounterMoved:
        return None
    return issued_batches


async def _assign_batch(connected: SessionOrConnection, batch: SeriesBatch, counter: CounterState) -> IssuedBatch:
    taken = await _taken(connected, batch.members, counter) if batch.lock_path.searches else frozenset()
    outcomes, last = _assign(batch.members, counter, taken)
    skipped = [n for n in taken if counter.last_number < n < last]
    issued_batch = IssuedBatch(outcomes, replace(counter, last_number=last, version=counter.version + 1), skipped)
    if last > counter.last_number and any(pending.request.lasts is not None for pending in batch.members):
        await _set_expiries(connected, batch.members, issued_batch)
    return issued_batch


def _assign(
    batch: Sequence[PendingIssue], counter: CounterState, taken: frozenset[int]
) -> tuple[list[IssueOutcome], int]:
    """Render and check each number before anything is written; whoever is refused leaves theirs to the next."""
    sequences = open_sequences(counter.last_number, closed=counter.closed, taken=taken)
    outcomes: list[IssueOutcome] = []
    last, sequence = counter.last_number, next(sequences)
    for pending in batch:
        try:
            outcomes.append(_issue(pending, sequence, counter))
        except (DomainError, FormatChanged) as refusal:
            outcomes.append(refusal)
        else:
            last, sequence = sequence, next(sequences)
    return outcomes, last


def _issue(pending: PendingIssue, sequence: int, counter: CounterState) -> Issued:
    plan = pending.plan
    if not plan.is_in_force(counter):
        raise FormatChanged
    if sequence > (LARGEST if counter.end is None else counter.end) or (
        plan.refuses_overflow and plan.template.overflows(sequence)
    ):
        raise SequenceExhausted
    return Issued(
        new_id(),
        plan.number(sequence),
        plan.base(sequence),
        sequence,
        plan.year,
        plan.template.text,
        plan.revision,
        holder=pending.request.holder,
    )


async def _taken(
    connected: SessionOrConnection, batch: Sequence[PendingIssue], counter: CounterState
) -> frozenset[int]:
    """Look for enough free sequences, in growing blocks of plain reads (REQ-NUM-05), and return the taken ones."""
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
        place = batch[0].plan
        found = await repository.taken_numbers(
            connected, project_id=place.project.id, bases=names, numbers=names, register=place.register
        )
        taken |= {sequence for sequence, forms in printed.items() if forms & found.keys()}
        free += sum(sequence not in taken for sequence in printed)
        if free >= len(batch):
            return frozenset(taken)
        after, block = candidates[-1], min(block * 2, _LAST_BLOCK)


async def _set_expiries(
    connected: SessionOrConnection, batch: Sequence[PendingIssue], issued_batch: IssuedBatch
) -> None:
    now = await database_now(connected)
    for position, (pending, one) in enumerate(zip(batch, issued_batch.outcomes, strict=True)):
        if pending.request.lasts is not None and isinstance(one, Issued):
            issued_batch.outcomes[position] = replace(
                one, status=NumberState.RESERVED, expires_at=now + pending.request.lasts
            )


def _ledger_row(pending: PendingIssue, issued: Issued) -> tuple[object, ...]:
    """In the order of `repository.LEDGER_COLUMNS`."""
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
    """In the order of `repository.AUDIT_COLUMNS`; first the skipped ranges."""
    for skipped_range in sequence_ranges(skipped):
        yield _audit_row(
            issued[0][0], OperationCode.SKIP, lock_path, sequence=skipped_range.first, to=skipped_range.last
        )
    for pending, one in issued:
        yield _audit_row(
            pending,
            OperationCode.GENERATE if one.expires_at is None else OperationCode.RESERVE,
            lock_path,
            sequence=one.sequence,
            issued=one,
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
