"""Deletes the rows of old blocks that verification finds unchanged."""

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

_AT_ONCE = 10  # blocks in one transaction
_TRIES = 5  # a sealer can take the next number first


@dataclass(frozen=True, slots=True)
class Purged:
    """:param finding: tampering that stopped the purge; such blocks are evidence and stay"""

    journal: str
    first: int
    last: int
    rows: int
    last_at: datetime | None
    finding: Finding | None = None


async def purge(sealer: Sealer, *, caller: Actor, years: int, dry_run: bool = False) -> list[Purged]:
    """
    Delete the rows of blocks sealed more than `years` ago.

    The newest block with rows stays, so that no key is used again.
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
    blocks = await _select_blocks(session, journal, before=before, above=step.above)
    if not blocks:
        return None
    lower = await repository.block_before(session, journal.name, blocks[0].number)
    finding = await _verify_blocks(session, sealer, journal, blocks, lower)
    if finding or step.dry:
        return _summary(journal, blocks, finding)
    return await _delete(session, sealer, journal, blocks, lower.last_id if lower else None, caller=step.caller)


async def _select_blocks(
    session: AsyncSession, journal: Journal, *, before: datetime, above: int
) -> Sequence[AuditBlock]:
    """Return consecutive blocks, oldest first."""
    blocks = await repository.blocks(
        session, journal.name, above=above, limit=_AT_ONCE + 1, with_list=True, sealing=True
    )
    candidates: list[AuditBlock] = []
    for block in blocks[:-1] if len(blocks) <= _AT_ONCE else blocks[:_AT_ONCE]:
        if max(block.last_at, block.sealed_at) >= before or (candidates and block.number != candidates[-1].number + 1):
            break
        candidates.append(block)
    return candidates


async def _verify_blocks(
    session: AsyncSession, sealer: Sealer, journal: Journal, blocks: Sequence[AuditBlock], lower: AuditBlock | None
) -> Finding | None:
    examination = JournalVerification(journal.name, sealer.trust())
    if lower is not None:
        examination.continue_after(repository.header_of(lower))
    after = lower.last_id if lower else None
    for block in blocks:
        rows = [row.mark for row in await repository.rows_of_block(session, journal, block, after=after)]
        examination.block(repository.header_of(block), listed=repository.row_list(block), rows=rows)
        after = block.last_id
    return examination.findings[0] if examination.findings else None


def _summary(journal: Journal, blocks: Sequence[AuditBlock], finding: Finding | None) -> Purged:
    rows = sum(block.row_count for block in blocks)
    last_at = max(block.last_at for block in blocks)
    return Purged(journal.name, blocks[0].number, blocks[-1].number, rows, last_at, finding)


async def _delete(
    session: AsyncSession,
    sealer: Sealer,
    journal: Journal,
    blocks: Sequence[AuditBlock],
    after: int | None,
    *,
    caller: Actor,
) -> Purged:
    purged, now = _summary(journal, blocks, None), sealer.clock.now()
    deleted = await repository.delete_rows(session, journal, after, upto=blocks[-1].last_id)
    if deleted != purged.rows:
        raise RuntimeError("rows came or went while their blocks were deleted")
    await repository.clear_row_lists(session, journal.name, first=purged.first, last=purged.last)
    newest = await repository.last_block(session, journal)
    assert newest is not None, "the chosen blocks are there"
    header = with_digest(
        BlockHeader(
            journal=journal.name,
            number=newest.number + 1,
            kind=BlockKind.PURGE,
            row_count=purged.rows,
            rows_digest=rows_digest([]),
            previous_head=newest.head,
            first_at=min(block.first_at for block in blocks),
            last_at=max(block.last_at for block in blocks),
            sealed_at=max(now, newest.sealed_at),
            purged_first=purged.first,
            purged_last=purged.last,
        ),
        sealer.signer,
    )
    await repository.add_block(header, session, last_id=newest.last_id, marks=None)
    details = {"journal": journal.name, "firstBlock": purged.first, "lastBlock": purged.last, "rows": purged.rows}
    await record(
        AuditOrigin(caller, now),
        session,
        AuditEntry(
            "audit.purge", "audit_journal", journal.name, details | {"head": header.head}, severity=Severity.WARN
        ),
    )
    return purged
