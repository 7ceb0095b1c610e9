"""Verifies the database, exports it, and verifies an export, in constant memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from saraban.audit import repository
from saraban.audit.domain.journals import (
    FORM,
    JOURNALS,
    START,
    BlockHeader,
    Journal,
    RowDigest,
    digest_of_row,
    from_export,
    to_export,
    utc_text,
)
from saraban.audit.domain.verification import Finding, FindingKind, HeadLine, JournalVerification, Trust, heads_of
from saraban.audit.models import AuditBlock
from saraban.audit.service.sealer import HeadFile
from saraban.kit.db import Database
from saraban.kit.json import Json

Progress = Callable[[str, int], None]  # journal, further rows


@dataclass(frozen=True, slots=True)
class JournalStatus:
    journal: str
    blocks: int
    rows: int
    signed_blocks: int
    purged_blocks: int
    unsealed: int
    unsealed_from: datetime | None


@dataclass
class VerificationReport:
    """Without findings the blocks show no tampering."""

    findings: list[Finding] = field(default_factory=list)
    standings: list[JournalStatus] = field(default_factory=list)
    unproven_keys: set[str] = field(default_factory=set)  # known only from the blocks that they signed


class NotAnExport(ValueError):
    pass


async def verify(
    db: Database, *, heads: HeadFile | None, trust: Trust, progress: Progress = lambda _journal, _rows: None
) -> VerificationReport:
    report = VerificationReport()
    for journal in JOURNALS:
        has_heads = heads is not None and heads.exists()
        examination = JournalVerification(
            journal.name, trust, heads_of(journal.name, heads.lines()) if heads and has_heads else None
        )
        key = await _walk(db, journal, examination, progress)
        examination.finish()
        if heads is not None and not has_heads and examination.blocks:
            report.findings.append(Finding(FindingKind.NO_HEADS, journal.name))
        report.findings += examination.findings
        report.unproven_keys |= examination.unproven_keys
        async with db.reading() as session:
            unsealed, since = await repository.tail(session, journal, after=key)
        report.standings.append(_journal_status(examination, unsealed, since))
    return report


async def verify_next_blocks(
    db: Database, *, journal: Journal, above: int, blocks: int, trust: Trust
) -> tuple[list[Finding], int]:
    """Return the findings and the next `above`, which is 0 after the last block."""
    async with db.reading() as session:
        before = await repository.block_before(session, journal.name, above + 1)
    examination = JournalVerification(journal.name, trust)
    if before is not None:
        examination.continue_after(repository.header_of(before))
    key = before.last_id if before else None
    for _ in range(blocks):
        step = await _step(db, journal, examination, key)
        if step is None:
            return examination.findings, 0
        key = step
    return examination.findings, examination.number


async def count_sealed_blocks(db: Database) -> dict[str, int]:
    async with db.reading() as session:
        return {journal.name: await repository.count_blocks(session, journal.name) for journal in JOURNALS}


async def _walk(db: Database, journal: Journal, examination: JournalVerification, progress: Progress) -> int | None:
    """Return the last sealed key."""
    key: int | None = None
    while True:
        before = examination.rows
        step = await _step(db, journal, examination, key)
        if step is None:
            return key
        key = step
        progress(journal.name, examination.rows - before)


async def _next_block(
    db: Database, journal: Journal, *, above: int, after: int | None
) -> tuple[AuditBlock, list[repository.JournalRow]] | None:
    async with db.reading() as session:
        blocks = await repository.blocks(session, journal.name, above=above, limit=1, with_list=True)
        return (blocks[0], await repository.rows_of_block(session, journal, blocks[0], after=after)) if blocks else None


async def _step(db: Database, journal: Journal, examination: JournalVerification, after: int | None) -> int | None:
    next_block = await _next_block(db, journal, above=examination.number, after=after)
    if next_block is None:
        return None
    block, rows = next_block
    marks = await asyncio.to_thread(repository.row_digests, rows)
    examination.block(repository.header_of(block), listed=repository.row_list(block), rows=marks)
    return block.last_id


def _journal_status(examination: JournalVerification, unsealed: int, since: datetime | None) -> JournalStatus:
    counts = (examination.blocks, examination.rows, examination.signed, examination.purged)
    return JournalStatus(examination.journal, *counts, unsealed, since)


def verify_file(
    lines: Iterable[bytes],
    *,
    trust: Trust,
    heads: Callable[[str], Iterator[HeadLine]] | None = None,
    progress: Progress = lambda _journal, _rows: None,
) -> VerificationReport:
    """:raises NotAnExport:"""
    source = _parse_lines(lines)
    first = next(source, ({}, b""))[0]
    if first.get("type") != "export" or first.get("form") != FORM:
        raise NotAnExport("the first line is not that of an export")
    reading = _ExportVerification(
        {name: JournalVerification(name, trust, heads(name) if heads else None) for name in _NAMES}, progress
    )
    try:
        for values, line in source:
            reading.take(values, line)
    except (KeyError, TypeError, ValueError):
        reading.report.findings.append(Finding(FindingKind.FILE_FAULT, reading.journal, reading.number))
    except EOFError:
        pass  # a compressed file that was cut; `close` reports what is missing
    return reading.close()


_NAMES = tuple(journal.name for journal in JOURNALS)


def _parse_lines(lines: Iterable[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    for line in lines:
        text = line.removesuffix(b"\n")
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        yield (values if isinstance(values, dict) else {}), text


class _ExportVerification:
    def __init__(self, examinations: dict[str, JournalVerification], progress: Progress) -> None:
        self.report, self.journal, self.number = VerificationReport(), _NAMES[0], 0
        self._examinations, self._progress = examinations, progress
        self._block: tuple[BlockHeader, list[RowDigest] | None] | None = None
        self._rows: list[RowDigest] = []
        self._end: dict[str, Any] | None = None

    def take(self, values: dict[str, Any], line: bytes) -> None:
        kind = values.get("type")
        if kind == "row" and self._block is not None:
            if len(self._rows) <= 2 * self._block[0].row_count + 1000:
                self._rows.append(digest_of_row(line))
        elif kind == "row":
            self._examinations[str(values["journal"])].stray(None, digest_of_row(line))
        elif kind == "block":
            self._examine()
            self._block = from_export(values)
            self.journal, self.number = self._block[0].journal, self._block[0].number
        elif kind == "end":
            self._examine()
            self._end = dict(values["journals"])
        else:
            raise ValueError("a line of no known type")

    def close(self) -> VerificationReport:
        try:
            self._examine()
        except (KeyError, TypeError):
            self.report.findings.append(Finding(FindingKind.FILE_FAULT, self.journal, self.number))
        for name, examination in self._examinations.items():
            examination.finish()
            self.report.findings += examination.findings
            self.report.unproven_keys |= examination.unproven_keys
            end = (self._end or {}).get(name)
            if not isinstance(end, dict) or (end.get("blocks"), end.get("head")) != _last_head(examination):
                self.report.findings.append(Finding(FindingKind.FILE_CUT, name, examination.number + 1))
            unsealed = end if isinstance(end, dict) else {}
            try:
                since = datetime.fromisoformat(unsealed["unsealedFrom"]) if unsealed.get("unsealedFrom") else None
                standing = _journal_status(examination, int(unsealed.get("unsealed", 0)), since)
            except (TypeError, ValueError):
                self.report.findings.append(Finding(FindingKind.FILE_FAULT, name, examination.number))
                standing = _journal_status(examination, 0, None)
            self.report.standings.append(standing)
        return self.report

    def _examine(self) -> None:
        if self._block is None:
            return
        header, listed = self._block
        self._examinations[header.journal].block(header, listed=listed, rows=self._rows)
        self._progress(header.journal, len(self._rows))
        self._block, self._rows = None, []


def _last_head(examination: JournalVerification) -> tuple[int, str]:
    return examination.number, examination.head if examination.blocks else START


@dataclass(frozen=True, slots=True)
class Unsealed:
    journal: str
    count: int
    since: datetime | None
    block: int
    sealed_at: datetime | None
    head: str | None


async def unsealed(db: Database) -> list[Unsealed]:
    result = []
    async with db.reading() as session:
        for journal in JOURNALS:
            last = await repository.last_block(session, journal)
            count, since = await repository.tail(session, journal, after=last.last_id if last else None)
            last_block = (last.number, last.sealed_at, last.head) if last else (0, None, None)
            result.append(Unsealed(journal.name, count, since, *last_block))
    return result


async def export(db: Database, *, now: datetime) -> AsyncIterator[tuple[bytes, int]]:
    """
    Yield pieces of the file, each with its number of rows.

    Rows are exported as they are now: their block proves whether they were changed.
    """
    yield _line({"type": "export", "form": FORM, "exportedAt": utc_text(now)}), 0
    end: dict[str, Json] = {}
    for journal in JOURNALS:
        number, head, key = 0, START, None
        while (next_block := await _next_block(db, journal, above=number, after=key)) is not None:
            block, rows = next_block
            number, head, key = block.number, block.head, block.last_id
            yield _block_text(block, rows), len(rows)
        async with db.reading() as session:
            count, since = await repository.tail(session, journal, after=key)
        end[journal.name] = {
            "blocks": number,
            "head": head,
            "unsealed": count,
            "unsealedFrom": utc_text(since) if since else None,
        }
    yield _line({"type": "end", "journals": end}), 0


def _block_text(block: AuditBlock, rows: Sequence[repository.JournalRow]) -> bytes:
    header = _line(to_export(repository.header_of(block), repository.row_list(block)))
    return header + b"".join(row.line + b"\n" for row in rows)


def _line(value: dict[str, Json]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
