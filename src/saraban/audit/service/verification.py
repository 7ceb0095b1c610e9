"""
Verifying the database against its blocks and the head file, exporting it, and verifying an export alone.

Memory does not grow with the journal.
"""

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

Progress = Callable[[str, int], None]  # journal, rows further


@dataclass(frozen=True, slots=True)
class JournalStatus:
    """How far a journal is sealed; `unsealed_from` is the time of the oldest row that is not."""

    journal: str
    blocks: int
    rows: int
    signed_blocks: int
    purged_blocks: int
    unsealed: int
    unsealed_from: datetime | None


@dataclass
class VerificationReport:
    """Nothing was tampered with, as far as blocks can tell, when there are no findings; the first come first."""

    findings: list[Finding] = field(default_factory=list)
    standings: list[JournalStatus] = field(default_factory=list)
    unproven_keys: set[str] = field(default_factory=set)  # nothing but the blocks that they signed states them


class NotAnExport(ValueError):
    """The file is something else, so nothing can be said about it."""


async def verify(
    db: Database, *, heads: HeadFile | None, trust: Trust, progress: Progress = lambda _journal, _rows: None
) -> VerificationReport:
    """Examine every sealed row, and count those that are not sealed yet."""
    report = VerificationReport()
    for journal in JOURNALS:
        known = heads is not None and heads.exists()
        examination = JournalVerification(
            journal.name, trust, heads_of(journal.name, heads.lines()) if heads and known else None
        )
        key = await _walk(db, journal, examination, progress)
        examination.finish()
        if heads is not None and not known and examination.blocks:
            report.findings.append(Finding(FindingKind.NO_HEADS, journal.name))
        report.findings += examination.findings
        report.unproven_keys |= examination.unproven_keys
        async with db.reading() as session:
            unsealed, since = await repository.tail(session, journal, after=key)
        report.standings.append(_standing(examination, unsealed, since))
    return report


async def verify_next_blocks(
    db: Database, *, journal: Journal, above: int, blocks: int, trust: Trust
) -> tuple[list[Finding], int]:
    """Examine the few blocks behind number `above`, and say where to go on: at 0 after the last."""
    async with db.reading() as session:
        before = await repository.block_below(session, journal.name, above + 1)
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
    """Count the blocks of each journal."""
    async with db.reading() as session:
        return {journal.name: await repository.count_blocks(session, journal.name) for journal in JOURNALS}


async def _walk(db: Database, journal: Journal, examination: JournalVerification, progress: Progress) -> int | None:
    """Examine block after block and give the last key that is sealed."""
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
        found = await repository.blocks(session, journal.name, above=above, limit=1, with_list=True)
        return (found[0], await repository.rows_of_block(session, journal, found[0], after=after)) if found else None


async def _step(db: Database, journal: Journal, examination: JournalVerification, after: int | None) -> int | None:
    found = await _next_block(db, journal, above=examination.number, after=after)
    if found is None:
        return None
    block, rows = found
    marks = await asyncio.to_thread(repository.marks_of, rows)
    examination.block(repository.header_of(block), listed=repository.listed_rows(block), rows=marks)
    return block.last_id


def _standing(examination: JournalVerification, unsealed: int, since: datetime | None) -> JournalStatus:
    counts = (examination.blocks, examination.rows, examination.signed, examination.purged)
    return JournalStatus(examination.journal, *counts, unsealed, since)


def verify_file(
    lines: Iterable[bytes],
    *,
    trust: Trust,
    heads: Callable[[str], Iterator[HeadLine]] | None = None,
    progress: Progress = lambda _journal, _rows: None,
) -> VerificationReport:
    """
    Examine an export, without any database.

    :param heads: gives the heads of a journal, from a head file that somebody kept
    :raises NotAnExport: when the first line does not say that it is one
    """
    source = _parsed(lines)
    first = next(source, ({}, b""))[0]
    if first.get("type") != "export" or first.get("form") != FORM:
        raise NotAnExport("the first line is not that of an export")
    reading = _ExportVerification(
        {name: JournalVerification(name, trust, heads(name) if heads else None) for name in _NAMES}, progress
    )
    try:
        for told, line in source:
            reading.take(told, line)
    except (KeyError, TypeError, ValueError):
        reading.report.findings.append(Finding(FindingKind.FILE_FAULT, reading.journal, reading.number))
    except EOFError:
        pass  # a compressed file that was cut; what is missing is told below
    return reading.close()


_NAMES = tuple(journal.name for journal in JOURNALS)


def _parsed(lines: Iterable[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    for line in lines:
        bare = line.removesuffix(b"\n")
        try:
            told = json.loads(bare)
        except (ValueError, RecursionError):
            told = None
        yield (told if isinstance(told, dict) else {}), bare


class _ExportVerification:
    """Where in the file the examination is: a block's rows are collected until the next line that is no row."""

    def __init__(self, examinations: dict[str, JournalVerification], progress: Progress) -> None:
        self.report, self.journal, self.number = VerificationReport(), _NAMES[0], 0
        self._examinations, self._progress = examinations, progress
        self._block: tuple[BlockHeader, list[RowDigest] | None] | None = None
        self._rows: list[RowDigest] = []
        self._end: dict[str, Any] | None = None

    def take(self, told: dict[str, Any], line: bytes) -> None:
        kind = told.get("type")
        if kind == "row" and self._block is not None:
            if len(self._rows) <= 2 * self._block[0].row_count + 1000:
                self._rows.append(digest_of_row(line))
        elif kind == "row":
            self._examinations[str(told["journal"])].stray(None, digest_of_row(line))
        elif kind == "block":
            self._examine()
            self._block = from_export(told)
            self.journal, self.number = self._block[0].journal, self._block[0].number
        elif kind == "end":
            self._examine()
            self._end = dict(told["journals"])
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
            if not isinstance(end, dict) or (end.get("blocks"), end.get("head")) != _reached(examination):
                self.report.findings.append(Finding(FindingKind.FILE_CUT, name, examination.number + 1))
            unsealed = end if isinstance(end, dict) else {}
            try:
                since = datetime.fromisoformat(unsealed["unsealedFrom"]) if unsealed.get("unsealedFrom") else None
                standing = _standing(examination, int(unsealed.get("unsealed", 0)), since)
            except (TypeError, ValueError):
                self.report.findings.append(Finding(FindingKind.FILE_FAULT, name, examination.number))
                standing = _standing(examination, 0, None)
            self.report.standings.append(standing)
        return self.report

    def _examine(self) -> None:
        if self._block is None:
            return
        header, listed = self._block
        self._examinations[header.journal].block(header, listed=listed, rows=self._rows)
        self._progress(header.journal, len(self._rows))
        self._block, self._rows = None, []


def _reached(examination: JournalVerification) -> tuple[int, str]:
    return examination.number, examination.head if examination.blocks else START


@dataclass(frozen=True, slots=True)
class Unsealed:
    """
    Rows of a journal that no block holds yet.

    :param block: the number of the last block, 0 before the first
    :param head: its digest, which proves everything before it
    """

    journal: str
    count: int
    since: datetime | None
    block: int
    sealed_at: datetime | None
    head: str | None


async def unsealed(db: Database) -> list[Unsealed]:
    """Count the rows of each journal that are not sealed yet."""
    found = []
    async with db.reading() as session:
        for journal in JOURNALS:
            last = await repository.last_block(session, journal)
            count, since = await repository.tail(session, journal, after=last.last_id if last else None)
            sealed = (last.number, last.sealed_at, last.head) if last else (0, None, None)
            found.append(Unsealed(journal.name, count, since, *sealed))
    return found


async def export(db: Database, *, now: datetime) -> AsyncIterator[tuple[bytes, int]]:
    """
    Return piece after piece of the file, each with the rows it adds: a header line, then the block's rows.

    Rows are given as they stand in the database now, changed or not: it is their block that proves them.
    """
    yield _line({"type": "export", "form": FORM, "exportedAt": utc_text(now)}), 0
    end: dict[str, Json] = {}
    for journal in JOURNALS:
        number, head, key = 0, START, None
        while (found := await _next_block(db, journal, above=number, after=key)) is not None:
            block, rows = found
            number, head, key = block.number, block.head, block.last_id
            yield _text(block, rows), len(rows)
        async with db.reading() as session:
            count, since = await repository.tail(session, journal, after=key)
        end[journal.name] = {
            "blocks": number,
            "head": head,
            "unsealed": count,
            "unsealedFrom": utc_text(since) if since else None,
        }
    yield _line({"type": "end", "journals": end}), 0


def _text(block: AuditBlock, rows: Sequence[repository.JournalRow]) -> bytes:
    header = _line(to_export(repository.header_of(block), repository.listed_rows(block)))
    return header + b"".join(row.line + b"\n" for row in rows)


def _line(value: dict[str, Json]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
