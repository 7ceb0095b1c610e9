"""
Every operation on numbers in random order, with faults, against a model that fits on a page (rulings N1, N9, N12, N14).

The model knows of each series where its counter stands, which sequences are closed, and what became of each number.
Whatever Hypothesis does, the product gives the numbers that the model foretells, and the books add up at the end.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.locks import LockBusy, LockServiceDown
from saraban.numbering import service as numbering
from saraban.numbering.domain.sequence import NumberTaken, SequenceExhausted
from saraban.numbering.domain.states import NumberHeld, NumberInRange, NumberNotInState, RangeOverlaps, RangePassed
from saraban.numbering.models import LedgerEntry, NumberCounter
from tests.numbering_world import NOW, Documents, World, world_of
from tests.servers import MariaDb

pytestmark = [pytest.mark.servers, pytest.mark.slow]

T = TypeVar("T")
REASON = "A reason that is long enough."
RECIPIENTS = ("ผรม.1", "ผรม.2")
HIGHEST = 30
_names = count(1)


class FlakyDatabase(Database):
    """Loses its connection around a commit when told to: before it nothing is committed, after it everything is."""

    loses: str = ""

    @asynccontextmanager
    async def stating(self) -> AsyncIterator[AsyncConnection]:
        loses, self.loses = self.loses, ""
        async with super().stating() as connection:
            yield connection
            if loses == "before":
                raise _lost()
        if loses == "after":
            raise _lost()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncSession]:
        loses, self.loses = self.loses, ""
        async with super().writing() as session:
            yield session
            if loses == "before":
                raise _lost()
        if loses == "after":
            raise _lost()


def _lost() -> DBAPIError:
    return DBAPIError("COMMIT", None, Exception(2013, "Lost connection to server during query"))


class FlakyLocks:
    """A lock service that is down, or busy, when told to be."""

    path = "redis"

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def hold(self, name: str, *, within: float) -> AsyncIterator[None]:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        async with self._lock:
            yield

    async def up(self) -> bool:
        return self.fault is None

    async def close(self) -> None:
        pass


@dataclass
class Closed:
    """A range as the model has it."""

    public_id: UUID
    first: int
    last: int
    kept: bool
    given: int


@dataclass
class Series:
    """What the model knows of one series: `numbers` maps each sequence to its ledger row and state."""

    counter: int = 0
    numbers: dict[int, tuple[UUID, str]] = field(default_factory=dict)
    closed: list[Closed] = field(default_factory=list)
    held: set[int] = field(default_factory=set)

    def foretold(self, wanted: int) -> list[int]:
        found: list[int] = []
        sequence = self.counter
        while len(found) < wanted:
            sequence += 1
            if sequence not in self.numbers and not any(one.first <= sequence <= one.last for one in self.closed):
                found.append(sequence)
        return found


series = st.sampled_from(RECIPIENTS)
places = st.integers(0, 1000)


class Numbers(RuleBasedStateMachine):
    """The product on one side, the model on the other."""

    make: Callable[[], tuple[str, Callable[[], None]]]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        url, self.forget = type(self).make()
        self.model = {recipient: Series() for recipient in RECIPIENTS}
        self.world = self.do(self._open(url))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _open(self, url: str) -> World:
        self.db = FlakyDatabase(url)
        world = await world_of(self.db)
        self.locks = FlakyLocks()
        quick = {"deadline": 5.0, "pause": 0.01}
        # Two servers, which remember counters each by itself.
        self.servers = [world.allocator(self.locks, **quick), world.allocator(self.locks, **quick)]
        self.plans = {recipient: await world.plan(world.letter(recipient=recipient)) for recipient in RECIPIENTS}
        return world

    async def _transact(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        return await self.db.transact(work)

    def teardown(self) -> None:
        try:
            self.do(self._check())
        finally:
            self.do(self.db.close())
            self.runner.close()
            self.forget()

    async def _check(self) -> None:
        found = [one async for one in numbering.verify(self.db, carriers=[Documents()])]
        assert found == []
        async with self.db.reading() as session:
            rows = (await session.scalars(sa.select(LedgerEntry))).all()
            counters = dict(
                (
                    await session.execute(
                        sa.select(NumberCounter.series, NumberCounter.last_number).where(NumberCounter.range == 0)
                    )
                ).all()
            )
        told: dict[str, dict[int, tuple[UUID, str]]] = {}
        for row in rows:
            told.setdefault(row.series, {})[row.sequence_number] = (row.public_id, row.document_number_status)
        for recipient, plan in self.plans.items():
            assert told.get(plan.series, {}) == self.model[recipient].numbers
            assert counters.get(plan.series, 0) == self.model[recipient].counter

    # What happens -----------------------------------------------------------------------------------------------

    @rule(recipient=series, wanted=st.integers(1, 6), server=st.integers(0, 1))
    def draw(self, recipient: str, wanted: int, server: int) -> None:
        self._drawn(recipient, server, [new_id() for _ in range(wanted)])

    @rule(recipient=series, server=st.integers(0, 1), loses=st.sampled_from(["before", "after"]))
    def lose_the_connection_around_a_commit(self, recipient: str, server: int, loses: str) -> None:
        """The request is run again with its token: one number, whichever it was."""
        self._drawn(recipient, server, [new_id()])  # so that the next transaction is the draw's
        self.db.loses = loses
        self._drawn(recipient, server, [new_id(), new_id()])

    @rule(recipient=series, server=st.integers(0, 1), busy=st.booleans())
    def lose_the_lock_service(self, recipient: str, server: int, busy: bool) -> None:
        self.locks.fault = LockBusy("held") if busy else LockServiceDown("stopped")
        self._drawn(recipient, server, [new_id() for _ in range(3)])

    @rule(recipient=series, server=st.integers(0, 1))
    def ask_twice_with_one_token(self, recipient: str, server: int) -> None:
        token = new_id()
        model = self.model[recipient]
        (sequence,) = model.foretold(1)

        async def both() -> list[numbering.Issued]:
            draw = self.servers[server].draw
            more = {"caller": self.world.caller, "token": token, "address": "", "idempotency_key": "k"}
            return await asyncio.gather(*(draw(self.plans[recipient], **more) for _ in range(2)))

        first, second = self.do(both())
        assert (first, first.sequence) == (second, sequence)
        self._note(recipient, [first])

    @rule(recipient=series, server=st.integers(0, 1), steps=st.integers(0, 12))
    def leave_while_waiting(self, recipient: str, server: int, steps: int) -> None:
        """Whoever leaves early gets no number; later, one that is cancelled with the reason, or is told anyway."""

        async def leave() -> None:
            plan = self.plans[recipient]
            task = asyncio.get_running_loop().create_task(
                self.servers[server].draw(plan, caller=self.world.caller, token=new_id(), address="")
            )
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.servers[server].close()

        self.do(leave())
        (sequence,) = self.model[recipient].foretold(1)
        row = self.do(self._row(recipient, sequence))
        if row is not None:
            assert row.document_number_status in {"CANCELLED", "CONFIRMED"}
            self.model[recipient].counter = sequence
            self.model[recipient].numbers[sequence] = (row.public_id, row.document_number_status)

    @rule(recipient=series)
    def reserve(self, recipient: str) -> None:
        (sequence,) = self.model[recipient].foretold(1)
        issued = self.do(self._draw(recipient, 0, new_id(), lasts=timedelta(minutes=5)))
        assert (issued.sequence, issued.status) == (sequence, "RESERVED")
        self._note(recipient, [issued])

    @rule(recipient=series, place=places, how=st.sampled_from(["confirm", "cancel", "expire"]))
    def end_a_reservation(self, recipient: str, place: int, how: str) -> None:
        reserved = self._in_state(recipient, "RESERVED")
        if not reserved:
            return
        sequence = reserved[place % len(reserved)]
        public_id = self.model[recipient].numbers[sequence][0]
        common = {"caller": self.world.caller, "token": public_id, "now": NOW, "address": ""}
        if how == "confirm":
            self.do(self._transact(lambda session: numbering.confirm(session, **common)))
        elif how == "cancel":
            self.do(self._transact(lambda session: numbering.cancel_reservation(session, reason=REASON, **common)))
        else:
            self.do(self._run_out(public_id))
        state = {"confirm": "CONFIRMED", "cancel": "CANCELLED", "expire": "EXPIRED"}[how]
        self.model[recipient].numbers[sequence] = (public_id, state)

    @rule(recipient=series, place=places)
    def make_void(self, recipient: str, place: int) -> None:
        sequence, public_id, state = self._some(recipient, place)
        if not sequence:
            return
        expected = (NumberHeld,) if sequence in self.model[recipient].held else (NumberNotInState,)
        try:
            self.do(self._void(public_id))
        except expected:
            assert state != "CONFIRMED" or sequence in self.model[recipient].held
        else:
            assert state == "CONFIRMED"
            self.model[recipient].numbers[sequence] = (public_id, "VOID")

    @rule(recipient=series, place=places)
    def make_void_and_replace(self, recipient: str, place: int) -> None:
        free = [one for one in self._in_state(recipient, "CONFIRMED") if one not in self.model[recipient].held]
        if not free:
            return
        old = free[place % len(free)]
        public_id = self.model[recipient].numbers[old][0]
        (sequence,) = self.model[recipient].foretold(1)
        issued = self.do(self._replace(recipient, public_id))
        assert issued.sequence == sequence
        self._note(recipient, [issued])
        self.model[recipient].numbers[old] = (public_id, "VOID")

    @rule(recipient=series)
    def write_a_document(self, recipient: str) -> None:
        (sequence,) = self.model[recipient].foretold(1)
        issued = self.do(
            self.world.draw(
                self.servers[1], self.world.letter(recipient=recipient), holder=numbering.Holder("letter", new_id())
            )
        )
        assert issued.sequence == sequence
        self._note(recipient, [issued])
        self.model[recipient].held.add(sequence)

    @rule(recipient=series, sequence=st.integers(1, HIGHEST), moves=st.booleans())
    def state_a_number(self, recipient: str, sequence: int, moves: bool) -> None:
        model = self.model[recipient]
        try:
            issued = self.do(self._override(recipient, sequence, moves=moves))
        except NumberTaken:
            assert sequence in model.numbers
        except NumberInRange:
            assert any(not one.kept and one.first <= sequence <= one.last for one in model.closed)
        else:
            assert (issued.sequence, sequence in model.numbers) == (sequence, False)
            model.numbers[sequence] = (issued.public_id, "CONFIRMED")
            model.counter = max(model.counter, sequence) if moves else model.counter

    @rule(recipient=series, place=places)
    def set_the_counter_back(self, recipient: str, place: int) -> None:
        model = self.model[recipient]
        if not model.counter:
            return
        to = place % (model.counter + 1)
        self.do(self._reset(recipient, to))
        model.counter = to

    @rule(recipient=series, first=st.integers(1, HIGHEST), length=st.integers(1, 6), kept=st.booleans())
    def close_a_range(self, recipient: str, first: int, length: int, kept: bool) -> None:
        model, last = self.model[recipient], first + length - 1
        overlaps = any(one.first <= last and first <= one.last for one in model.closed)
        try:
            row = self.do(self._close(recipient, first, last, "KEPT" if kept else "BARRED"))
        except RangePassed:
            assert first <= model.counter
        except RangeOverlaps:
            assert overlaps
        else:
            assert first > model.counter
            assert not overlaps
            model.closed.append(Closed(row.range.public_id, first, last, kept, first - 1))

    @precondition(lambda self: any(one.kept for model in self.model.values() for one in model.closed))
    @rule(place=places)
    def draw_from_a_kept_range(self, place: int) -> None:
        ranges = [(name, one) for name, model in self.model.items() for one in model.closed if one.kept]
        recipient, kept = ranges[place % len(ranges)]
        model = self.model[recipient]
        left = [n for n in range(kept.given + 1, kept.last + 1) if n not in model.numbers]
        request = self.world.letter(recipient=recipient, range_public_id=kept.public_id)
        try:
            issued = self.do(self.world.take(self.servers[0], request))
        except SequenceExhausted:
            assert not left
        else:
            assert issued.sequence == left[0]
            model.numbers[issued.sequence] = (issued.public_id, "CONFIRMED")
            kept.given = issued.sequence

    @precondition(lambda self: any(model.closed for model in self.model.values()))
    @rule(place=places)
    def release_a_range(self, place: int) -> None:
        ranges = [(model, one) for model in self.model.values() for one in model.closed]
        model, closed = ranges[place % len(ranges)]
        self.do(
            self._transact(
                lambda session: numbering.release(
                    session, caller=self.world.caller, public_id=closed.public_id, reason=REASON, now=NOW, address=""
                )
            )
        )
        model.closed.remove(closed)

    @rule()
    def save_the_format(self) -> None:
        """Every server must look again; nothing else changes."""
        wanted = numbering.Wanted(
            template="{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}",
            description=None,
            resets=None,
            overflow="widen",
            reason=REASON,
        )
        self.do(
            self._transact(
                lambda session: numbering.save(
                    session,
                    caller=self.world.caller,
                    project_public_id=self.world.project,
                    type_code="LETTER",
                    wanted=wanted,
                    now=NOW,
                    address="",
                )
            )
        )

    @initialize()
    def begin(self) -> None:
        """Each series has counted once, so that ranges and resets find it."""
        for recipient in RECIPIENTS:
            self._drawn(recipient, 0, [new_id()])

    # How it is done ---------------------------------------------------------------------------------------------

    def _drawn(self, recipient: str, server: int, tokens: list[UUID]) -> None:
        foretold = self.model[recipient].foretold(len(tokens))

        async def together() -> list[numbering.Issued]:
            return await asyncio.gather(*(self._draw(recipient, server, token) for token in tokens))

        issued = self.do(together())
        assert [one.sequence for one in issued] == foretold
        self._note(recipient, issued)

    def _note(self, recipient: str, issued: list[numbering.Issued]) -> None:
        model = self.model[recipient]
        for one in issued:
            model.numbers[one.sequence] = (one.public_id, one.status)
            model.counter = one.sequence

    def _in_state(self, recipient: str, state: str) -> list[int]:
        return sorted(sequence for sequence, (_, its) in self.model[recipient].numbers.items() if its == state)

    def _some(self, recipient: str, place: int) -> tuple[int, UUID, str]:
        numbers = sorted(self.model[recipient].numbers)
        sequence = numbers[place % len(numbers)]
        return (sequence, *self.model[recipient].numbers[sequence])

    async def _draw(self, recipient: str, server: int, token: UUID, **more: Any) -> numbering.Issued:
        plan = self.plans[recipient]
        return await self.servers[server].draw(plan, caller=self.world.caller, token=token, address="", **more)

    async def _row(self, recipient: str, sequence: int) -> LedgerEntry | None:
        async with self.db.reading() as session:
            return await session.scalar(
                sa.select(LedgerEntry).where(
                    LedgerEntry.series == self.plans[recipient].series, LedgerEntry.sequence_number == sequence
                )
            )

    async def _run_out(self, public_id: UUID) -> None:
        async with self.db.writing() as session:
            await session.execute(
                sa.update(LedgerEntry)
                .where(LedgerEntry.public_id == public_id)
                .values(expires_at=NOW - timedelta(days=30))
            )
        assert await self._transact(lambda session: numbering.expire_reservations(session, now=NOW)) == 1

    async def _void(self, public_id: UUID) -> None:
        await self._transact(
            lambda session: numbering.void(
                session, caller=self.world.caller, public_id=public_id, reason=REASON, now=NOW, address=""
            )
        )

    async def _replace(self, recipient: str, public_id: UUID) -> numbering.Issued:
        plan = self.plans[recipient]

        async def then(session: AsyncSession, issued: numbering.Issued) -> numbering.Issued:
            return await numbering.replace(
                session,
                caller=self.world.caller,
                public_id=public_id,
                project_id=plan.project.id,
                replacement=issued,
                reason=REASON,
                now=NOW,
                address="",
            )

        async def recall(_session: AsyncSession, issued: numbering.Issued) -> numbering.Issued:
            return issued

        return await self.servers[0].issue(
            plan, caller=self.world.caller, holder=None, token=new_id(), address="", then=then, recall=recall
        )

    async def _override(self, recipient: str, sequence: int, *, moves: bool) -> numbering.Issued:
        plan = self.plans[recipient]
        jump = max(sequence - self.model[recipient].counter, 0)
        return await self._transact(
            lambda session: numbering.override(
                session,
                caller=self.world.caller,
                plan=plan,
                statement=numbering.Statement(None, sequence),
                reason=REASON,
                moves_counter=moves,
                confirmed_jump=jump if moves else None,
                token=new_id(),
                key=None,
                address="",
            )
        )

    async def _reset(self, recipient: str, to: int) -> None:
        await self._transact(
            lambda session: numbering.reset(
                session,
                caller=self.world.caller,
                project_public_id=self.world.project,
                series=self.plans[recipient].series,
                to=to,
                reason=REASON,
                key=None,
                now=NOW,
                address="",
            )
        )

    async def _close(self, recipient: str, first: int, last: int, kind: str) -> numbering.RangeRow:
        return await self._transact(
            lambda session: numbering.close(
                session,
                caller=self.world.caller,
                plan=self.plans[recipient],
                kind=kind,
                first=first,
                last=last,
                organization=None,
                reason=REASON,
                address="",
            )
        )


def run(make: Callable[[], tuple[str, Callable[[], None]]], *, examples: int) -> None:
    machine = type("NumbersHere", (Numbers,), {"make": staticmethod(make)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


@pytest.mark.timeout(600)
def test_sqlite_gives_what_the_model_foretells(demo_folder: Path, tmp_path: Path) -> None:
    def make() -> tuple[str, Callable[[], None]]:
        path = tmp_path / f"{next(_names)}.db"
        shutil.copy(demo_folder / "saraban.db", path)
        return f"sqlite:///{path}", lambda: path.unlink()

    run(make, examples=25)


@pytest.mark.timeout(600)
def test_mariadb_gives_what_the_model_foretells(mariadb_server: MariaDb, mariadb_demo_template: str) -> None:
    def make() -> tuple[str, Callable[[], None]]:
        name = f"machine_{next(_names)}"
        return mariadb_server.create(name, statements=mariadb_demo_template), lambda: mariadb_server.drop(name)

    run(make, examples=25)
