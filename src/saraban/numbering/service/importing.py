"""
Legacy numbers brought into the ledger, many at a time: first as a dry run, then one transaction for each batch.

An import may be broken off and begun again: what is there already is found by its token and left alone.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database, broken_constraint
from saraban.kit.ids import new_id
from saraban.numbering import repository
from saraban.numbering.domain.counter import NO_RECIPIENT
from saraban.numbering.models import NumberImport
from saraban.numbering.repository import counting
from saraban.numbering.repository import importing as rows
from saraban.numbering.service.leaping import leap, locked_counter
from saraban.numbering.service.lines import REASON, Number, Place, Read, Reader, place_of, taken
from saraban.numbering.service.planning import Plan

BATCH = 1000
READY, THERE, REFUSED = "READY", "THERE", "REFUSED"

Cells = tuple[int, Sequence[object]]  # line of the file, cells in the order of `legacy.COLUMNS`
Each = Callable[[Read, str], None]
Progress = Callable[[int], None]


@dataclass(slots=True)
class Highest:
    """
    The highest number of a series in the file.

    :param counter: where the series stands; the counter would jump from here
    :param moves: whether it has a counter that can be moved: series of literal numbers have none
    """

    series: str
    sequence: int
    counter: int
    plan: Plan | None

    @property
    def moves(self) -> bool:
        return self.plan is not None

    @property
    def jump(self) -> int:
        return max(self.sequence - self.counter, 0) if self.moves else 0


@dataclass(slots=True)
class Outcome:
    """What came of a file: lines that are (or would be) imported, that were there before, and that are refused."""

    ready: int = 0
    there: int = 0
    refused: int = 0
    highest: dict[str, Highest] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.ready + self.there + self.refused

    def count(self, read: Read, state: str) -> None:
        self.ready += state == READY
        self.there += state == THERE
        self.refused += state == REFUSED
        number = read.number
        if number is None:
            return
        known = self.highest.get(number.series)
        if known is None:
            plan = None if number.is_literal else number.group.plan
            self.highest[number.series] = Highest(number.series, number.sequence, 0, plan)
        elif number.sequence > known.sequence:
            known.sequence = number.sequence


@dataclass(frozen=True, slots=True)
class SourceFile:
    name: str
    sha256: str


async def examine(
    db: Database,
    *,
    caller: Caller,
    project_public_id: UUID,
    lines: Iterable[Cells],
    now: datetime,
    zone: ZoneInfo,
    each: Each | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """
    This will say what an import of these lines would do; nothing is written.

    :param each: told of each line and its fate, in order
    :raises Forbidden: for who does not manage the numbers of the project
    """
    outcome = Outcome()
    async with db.reading() as session:
        place = await place_of(session, caller=caller, project_public_id=project_public_id)
    reader = Reader(place, caller=caller, now=now, zone=zone)
    async with aclosing(_ahead(db, reader, lines)) as batches:
        async for reads in batches:
            async with db.reading() as session:
                judged, before = await taken(session, place, reads)
            _tell(outcome, judged, before, each, progress)
    async with db.reading() as session:
        await _standing(session, place, outcome)
    return outcome


async def import_rows(
    db: Database,
    *,
    caller: Caller,
    project_public_id: UUID,
    lines: Iterable[Cells],
    file: SourceFile,
    now: datetime,
    zone: ZoneInfo,
    moves: Mapping[str, int] | None = None,
    address: str = "",
    each: Each | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """
    This will bring the lines into the ledger, one transaction for each batch; a line that is refused harms no other.

    :param moves: series and where their counters go on after, as the dry run showed; None: counters stay (ruling N14)
    :raises Forbidden: for who does not manage the numbers of the project
    """
    outcome = Outcome()
    async with db.reading() as session:
        place = await place_of(session, caller=caller, project_public_id=project_public_id)
    reader = Reader(place, caller=caller, now=now, zone=zone)
    writer = _Writer(place, caller=caller, now=now, address=address)
    row = await db.transact(lambda session: _begun(session, place, file, caller, now, moving=moves is not None))
    async with aclosing(_ahead(db, reader, lines)) as batches:
        async for reads in batches:
            judged, before = await _written(db, writer, reads, outcome, row)
            _tell(outcome, judged, before, each, progress)
    await db.transact(lambda session: _finished(session, writer, outcome, row, moves or {}))
    return outcome


async def _ahead(db: Database, reader: Reader, lines: Iterable[Cells]) -> AsyncGenerator[list[Read], None]:
    """This will give the lines in batches; the next is read while the database writes the one before."""
    remaining = iter(lines)
    following = asyncio.ensure_future(_read(db, reader, remaining))
    try:
        while reads := await following:
            following = asyncio.ensure_future(_read(db, reader, remaining))
            yield reads
    finally:
        following.cancel()
        await asyncio.wait([following])


async def _read(db: Database, reader: Reader, remaining: Iterator[Cells]) -> list[Read]:
    reads = []
    async with db.reading() as session:
        for line, cells in islice(remaining, BATCH):
            reads.append(await reader.read(session, line, cells))
            if len(reads) % 50 == 0:
                await asyncio.sleep(0)  # others have their turn, the writing of the batch before among them
    return reads


async def _written(
    db: Database, writer: "_Writer", reads: list[Read], outcome: Outcome, row: int
) -> tuple[list[Read], set[int]]:
    """A number drawn by somebody between the look and the write breaks a constraint: look again, and it is refused."""

    async def step(session: AsyncSession) -> tuple[list[Read], set[int]]:
        judged, before = await taken(session, writer.place, reads)
        fresh = [read.number for read in judged if read.number is not None and read.line not in before]
        if fresh:
            await writer.write(session, fresh)
        refused = outcome.refused + sum(read.number is None for read in judged)
        await rows.note_progress(
            session, import_id=row, done=outcome.total + len(judged), refused=refused, now=writer.now
        )
        return judged, before

    for _ in range(4):
        try:
            return await db.transact(step)
        except IntegrityError as error:
            if not broken_constraint(error, *repository.NUMBER_CONSTRAINTS, *repository.TOKEN_CONSTRAINTS):
                raise
    return await db.transact(step)


def _tell(
    outcome: Outcome, reads: Sequence[Read], before: set[int], each: Each | None, progress: Progress | None
) -> None:
    for read in reads:
        state = REFUSED if read.number is None else THERE if read.line in before else READY
        outcome.count(read, state)
        if each is not None:
            each(read, state)
    if progress is not None:
        progress(outcome.total)


class _Writer:
    """Turns numbers into the rows of the ledger and the audit."""

    def __init__(self, place: Place, *, caller: Caller, now: datetime, address: str) -> None:
        self.place, self.now = place, now
        self.user = caller.user_id
        self.address = address[:45] or None

    async def write(self, session: AsyncSession, numbers: Sequence[Number]) -> None:
        ids = [new_id() for _ in numbers]
        await rows.write(
            session,
            project_id=self.place.project.id,
            entries=[self._entry(key, number) for key, number in zip(ids, numbers, strict=True)],
            audits=[self._audit(key, number) for key, number in zip(ids, numbers, strict=True)],
        )

    def _entry(self, key: UUID, number: Number) -> tuple[object, ...]:
        """In the order of `repository.LEDGER_COLUMNS`."""
        parties, plan = number.group.parties, number.group.plan
        recipient = parties.recipient.id if parties.recipient else NO_RECIPIENT
        return (
            key,
            number.token,
            self.place.project.id,
            parties.type.id,
            parties.originator.id,
            plan.key.recipient_organization_id if plan else recipient,
            number.series,
            0,
            number.sequence,
            number.base,
            number.number,
            number.revision,
            "CONFIRMED",
            "IMPORT",
            None,
            None,
            number.template,
            number.values,
            number.group.year,
            self.user,
            self.address,
            REASON,
            None,
            None,
            number.issued or self.now,
            self.now,
        )

    def _audit(self, key: UUID, number: Number) -> tuple[object, ...]:
        """In the order of `repository.AUDIT_COLUMNS`."""
        return (
            new_id(),
            "IMPORT",
            self.place.project.id,
            key,
            number.number,
            number.group.parties.type.code,
            None,
            number.series,
            number.group.codes_text,
            number.template,
            number.sequence,
            None,
            REASON,
            self.user,
            self.address,
            None,
            0,
            0,
            None,
            self.now,
        )


async def _begun(
    session: AsyncSession, place: Place, file: SourceFile, caller: Caller, now: datetime, *, moving: bool
) -> int:
    """This will note that the file is being imported, or that an import of it that was broken off goes on."""
    row = await rows.unfinished(session, project_id=place.project.id, sha256=file.sha256)
    if row is None:
        row = NumberImport(
            public_id=new_id(),
            project_id=place.project.id,
            user_id=caller.user_id,
            file_name=file.name[:255],
            file_sha256=file.sha256,
            state="IMPORTING",
            created_at=now,
            rows_total=0,
        )
        session.add(row)
    row.moves_counters, row.rows_done, row.rows_refused, row.updated_at = moving, 0, 0, now
    await session.flush()
    return row.id


async def _finished(
    session: AsyncSession, writer: _Writer, outcome: Outcome, key: int, moves: Mapping[str, int]
) -> None:
    await _standing(session, writer.place, outcome)
    moved: dict[str, list[int]] = {}
    for series in sorted(moves.keys() & outcome.highest.keys()):
        highest = outcome.highest[series]
        to = min(moves[series], highest.sequence)  # never past what was shown, nor past what the file has
        if highest.plan is not None and to > highest.counter:
            moved[series] = [highest.counter, to]
            await _move(session, writer, highest.plan, to)
    row = await session.get_one(NumberImport, key)
    row.state, row.rows_total, row.rows_done, row.rows_refused = "DONE", outcome.total, outcome.total, outcome.refused
    row.report = {"imported": outcome.ready, "there": outcome.there, "refused": outcome.refused, "moved": moved}
    row.updated_at = row.finished_at = writer.now
    await session.flush()


async def _standing(session: AsyncSession, place: Place, outcome: Outcome) -> None:
    for highest in outcome.highest.values():
        highest.counter = await counting.last_number(session, project_id=place.project.id, series=highest.series)


async def _move(session: AsyncSession, writer: _Writer, plan: Plan, to: int) -> None:
    """This will have the series go on after `to`."""
    counter = await locked_counter(session, plan, now=writer.now)
    await leap(session, plan, counter, to, user_id=writer.user, reason=REASON, address=writer.address, now=writer.now)
