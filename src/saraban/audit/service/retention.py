"""Lawful deletion: whole sealed blocks that are old enough, found unchanged, in the transaction that says so."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import repository
from saraban.audit.domain.journals import (
    JOURNALS,
    MINIMUM_YEARS,
    BlockHeader,
    BlockKind,
    Journal,
    rows_digest,
    with_digest,
    years_before,
)
from saraban.audit.domain.verification import Finding, JournalVerification
from saraban.audit.models import AuditBlock, Severity
from saraban.audit.service.sealer import Sealer
from saraban.audit.service.trail import Actor, AuditEntry, AuditOrigin, record

_AT_ONCE = 10  # blocks a transaction
_TRIES = 5  # against a sealer that takes the next number first


@dataclass(frozen=True, slots=True)
class Purged:
    """
    What one transaction deleted, or would have.

    :param finding: why it stopped before a block: that is not what was sealed, so it is evidence and stays
    """

    journal: str
    first: int
    last: int
    rows: int
    last_at: datetime | None
    finding: Finding | None = None


async def purge(sealer: Sealer, *, caller: Actor, years: int, dry_run: bool = False) -> list[Purged]:
    """
    Delete the rows of blocks that were sealed more than `years` ago; headers stay, and so does a journal's
    newest block with rows, so that a key is never given out again.
    """
    if years < MINIMUM_YEARS:
        raise ValueError(f"audit rows are kept for at least {MINIMUM_YEARS} years")
    done: list[Purged] = []
    for journal in JOURNALS:
        above = 0
        while (step := await _run_step(_PurgeStep(sealer, journal, caller, years, above, dry_run))) is not None:
            done.append(step)
            above = step.last
            if step.finding:
                break
    return done


class _PurgeStep(NamedTuple):
    """:param above: the number of the last block that was looked at"""

    sealer: Sealer
    journal: Journal
    caller: Actor
    years: int
    above: int
    dry: bool


async def _run_step(step: _PurgeStep) -> Purged | None:
    for _ in range(1, _TRIES):
        try:
            return await step.sealer.db.transact(_purge_blocks, step)
        except IntegrityError:
            continue
    return await step.sealer.db.transact(_purge_blocks, step)


async def _purge_blocks(step: _PurgeStep, session: AsyncSession) -> Purged | None:
    sealer, journal = step.sealer, step.journal
    before = years_before(sealer.clock.now(), step.years)
    chosen = await _candidates(session, journal, before=before, above=step.above)
    if not chosen:
        return None
    lower = await repository.block_below(session, journal.name, chosen[0].number)
    finding = await _finding(session, sealer, journal, chosen, lower)
    if finding or step.dry:
        return _said(journal, chosen, finding)
    return await _delete(session, sealer, journal, chosen, lower.last_id if lower else None, caller=step.caller)


async def _candidates(session: AsyncSession, journal: Journal, *, before: datetime, above: int) -> Sequence[AuditBlock]:
    """Return blocks that follow each other, the oldest first."""
    found = await repository.blocks(
        session, journal.name, above=above, limit=_AT_ONCE + 1, with_list=True, sealing=True
    )
    chosen: list[AuditBlock] = []
    for block in found[:-1] if len(found) <= _AT_ONCE else found[:_AT_ONCE]:
        if max(block.last_at, block.sealed_at) >= before or (chosen and block.number != chosen[-1].number + 1):
            break
        chosen.append(block)
    return chosen


async def _finding(
    session: AsyncSession, sealer: Sealer, journal: Journal, chosen: Sequence[AuditBlock], lower: AuditBlock | None
) -> Finding | None:
    examination = JournalVerification(journal.name, sealer.trust())
    if lower is not None:
        examination.continue_after(repository.header_of(lower))
    after = lower.last_id if lower else None
    for block in chosen:
        rows = [row.mark for row in await repository.rows_of_block(session, journal, block, after=after)]
        examination.block(repository.header_of(block), listed=repository.listed_rows(block), rows=rows)
        after = block.last_id
    return examination.findings[0] if examination.findings else None


def _said(journal: Journal, chosen: Sequence[AuditBlock], finding: Finding | None) -> Purged:
    rows = sum(block.row_count for block in chosen)
    last_at = max(block.last_at for block in chosen)
    return Purged(journal.name, chosen[0].number, chosen[-1].number, rows, last_at, finding)


async def _delete(
    session: AsyncSession,
    sealer: Sealer,
    journal: Journal,
    chosen: Sequence[AuditBlock],
    after: int | None,
    *,
    caller: Actor,
) -> Purged:
    said, now = _said(journal, chosen, None), sealer.clock.now()
    deleted = await repository.delete_rows(session, journal, after, upto=chosen[-1].last_id)
    if deleted != said.rows:
        raise RuntimeError("rows came or went while their blocks were deleted")
    await repository.clear_row_lists(session, journal.name, first=said.first, last=said.last)
    newest = await repository.last_block(session, journal)
    assert newest is not None, "the chosen blocks are there"
    header = with_digest(
        BlockHeader(
            journal=journal.name,
            number=newest.number + 1,
            kind=BlockKind.PURGE,
            row_count=said.rows,
            rows_digest=rows_digest([]),
            previous_head=newest.head,
            first_at=min(block.first_at for block in chosen),
            last_at=max(block.last_at for block in chosen),
            sealed_at=max(now, newest.sealed_at),
            purged_first=said.first,
            purged_last=said.last,
        ),
        sealer.signer,
    )
    await repository.add_block(header, session, last_id=newest.last_id, marks=None)
    details = {"journal": journal.name, "firstBlock": said.first, "lastBlock": said.last, "rows": said.rows}
    await record(
        AuditOrigin(caller, now),
        session,
        AuditEntry(
            "audit.purge", "audit_journal", journal.name, details | {"head": header.head}, severity=Severity.WARN
        ),
    )
    return said
