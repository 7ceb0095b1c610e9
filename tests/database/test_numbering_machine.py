"""
Every operation on numbers in random order, with faults, alone and at the same time, against a model
(REQ-NUM-01, REQ-NUM-09, REQ-NUM-12, REQ-NUM-17).

Whatever Hypothesis does, the caller is told what the model tells, and after each step ledger, counters and documents are
what the model has. At the end the books add up. Of operations at the same time, some order explains all that was told.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import timedelta
from functools import partial
from itertools import count, permutations
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.imports.domain import READY, REFUSED, THERE
from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id
from saraban.kit.locks import LockBusy, LockServiceDown
from saraban.kit.reconnection import CommitLost
from saraban.kit.sheet_columns import SheetRow
from saraban.numbering import service as numbering
from saraban.numbering.imports.service.legacy_import import SourceFile, import_at_terminal
from saraban.numbering.series.domain.template import stored_template
from saraban.numbering.series.models import LedgerEntry, NumberCounter
from tests.factories.contexts import context
from tests.numbering_model import Model, Series
from tests.numbering_world import BANGKOK, DOCUMENTS, NOW, WRITTEN, Documents, World, world_of
from tests.servers import MariaDb

pytestmark = [pytest.mark.servers, pytest.mark.slow]

T = TypeVar("T")
Step = tuple[str, dict[str, Any]]
REASON = "A reason that is long enough."
LETTERS = ("ผรม.1", "ผรม.2")
SERIES = (*LETTERS, "RFA")  # whose numbers print the revision
HIGHEST = 40
UNDONE = "the connection was lost before the commit"
_names = count(1)

# What may be done at any time, and what may be done at the same time as others.
STEPS = (
    *("reserve", "write", "kept", "confirm", "give_up", "bind", "void", "replace", "state"),
    *("renumber", "cancel", "revise", "reset", "close", "release"),
)
# What there must be before a step can be done to it.
NEEDS = {
    **dict.fromkeys(("renumber", "cancel", "revise"), "write"),
    **dict.fromkeys(("confirm", "give_up", "bind"), "reserve"),
    **dict.fromkeys(("kept", "release"), "close"),
}
AT_ONCE = ("draw", *(step for step in STEPS if step != "release"))


def behind(work: Callable[[AsyncSession, numbering.Issued], Awaitable[None]]) -> Any:
    """Do the work once the number is written."""

    return work


class FlakyDatabase(Database):
    """Loses its connection around a commit when told to: before it nothing is committed, after it everything is."""

    loses: str = ""

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncSession]:
        loses, self.loses = self.loses, ""
        async with super().writing() as session:
            yield session
            if loses == "before":
                raise _lost()
        if loses == "after":
            raise CommitLost from _lost()


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
        """Nothing is held between draws."""


class Product:
    """Each step of the model, done to the product; it gives what its caller is told."""

    def __init__(self, db: FlakyDatabase, world: World) -> None:
        self.db, self.world, self.documents = db, world, Documents()
        self.locks = FlakyLocks()
        self.servers = [self.server(), self.server()]  # which remember counters each by itself
        self.plans: dict[str, numbering.Plan] = {}
        self.ids: dict[tuple[str, str], UUID] = {}
        self.ranges: dict[UUID, UUID] = {}
        self.ctx = context(world.caller, now=NOW, zone=BANGKOK)

    def server(self) -> numbering.Allocator:
        return self.world.allocator(self.locks, deadline=5.0, pause=0.01)

    def request(self, name: str, **more: Any) -> numbering.NumberRequest:
        return self.world.letter(recipient=name, **more) if name in LETTERS else self.world.rfa(**more)

    async def plan_all(self) -> None:
        self.plans = {name: await self.world.plan(self.request(name)) for name in SERIES}

    async def run(self, step: str, *, lost: str = "", **words: Any) -> Any:
        """:param lost: whether the connection is lost before or after the first commit of the step"""
        self.db.loses = lost
        try:
            return await getattr(self, step)(**words)
        except DomainError as refusal:
            return refusal.code
        except (DBAPIError, CommitLost):
            if not lost:
                raise
            return UNDONE
        finally:
            self.db.loses = ""

    async def once(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """A use case with its commit; where the answer was lost after it, it is still what was done."""
        done: list[T] = []
        loses = self.db.loses

        async def kept(session: AsyncSession) -> T:
            done[:] = [await work(session)]
            return done[0]

        try:
            return await self.db.transact(kept)
        except CommitLost:
            if loses != "after":
                raise
            return done[0]

    async def issue(self, name: str, write: Any, holder: numbering.Holder | None = None) -> int:
        request = numbering.IssueRequest(self.ctx, self.plans[name], holder=holder, write=write)
        return (await self.servers[0].issue(request)).sequence

    async def take(
        self, name: str, server: int, token: UUID, *, key: str | None = None, lasts: timedelta | None = None
    ) -> numbering.Issued:
        request = numbering.IssueRequest(self.ctx.with_key(key), self.plans[name], token, lasts=lasts)
        return await self.servers[server].issue(request)

    async def draw(self, *, name: str, server: int = 0) -> int:
        return (await self.take(name, server, new_id())).sequence

    async def reserve(self, *, name: str) -> int:
        return (await self.take(name, 0, new_id(), lasts=timedelta(minutes=5))).sequence

    async def write(self, *, name: str, document: UUID) -> int:
        holder = numbering.Holder("letter", document)
        return await self.issue(name, behind(lambda *those: self.documents.write(those[0], holder, those[1])), holder)

    async def kept(self, *, name: str, mark: UUID) -> int:
        request = self.request(name, range_public_id=self.ranges[mark])
        return (await self.world.take(self.servers[0], request)).sequence

    async def confirm(self, *, name: str, key: str) -> str:
        token = self.ids[name, key]
        return (await self.once(lambda session: numbering.confirm_reservation(self.ctx, session, token=token))).status

    async def give_up(self, *, name: str, key: str) -> str:
        words = {"token": self.ids[name, key], "reason": REASON}
        return (await self.once(lambda session: numbering.cancel_reservation(self.ctx, session, **words))).status

    async def bind(self, *, name: str, key: str, document: UUID) -> str:
        holder = numbering.Holder("letter", document)
        words = {"token": self.ids[name, key], "plan": self.plans[name], "holder": holder, "fields": {}}

        async def work(session: AsyncSession) -> str:
            issued = await numbering.bind_reservation(self.ctx, session, **words)
            await self.documents.write(session, holder, issued)
            return issued.status

        return await self.once(work)

    async def expire(self, *, name: str, key: str) -> str:
        async with self.db.writing() as session:
            past = sa.update(LedgerEntry).where(LedgerEntry.public_id == self.ids[name, key])
            await session.execute(past.values(expires_at=NOW - timedelta(days=30)))
        assert await self.once(lambda session: numbering.expire_reservations(session, now=NOW)) == 1
        return "EXPIRED"

    async def void(self, *, name: str, key: str) -> str:
        words = {"public_id": self.ids[name, key], "reason": REASON}
        return (await self.once(lambda session: numbering.void_number(self.ctx, session, **words))).status

    async def replace(self, *, name: str, key: str) -> int:
        number = numbering.NumberToVoid(self.ids[name, key], REASON)
        return await self.issue(name, partial(numbering.void_for, self.ctx, number, self.plans[name].project.id))

    async def state(self, *, name: str, sequence: int, moves: bool) -> int:
        statement = numbering.ManualNumber(None, sequence)
        words: dict[str, Any] = {"plan": self.plans[name], "statement": statement}

        async def work(session: AsyncSession) -> int:
            jump = (await numbering.manual_number_effect(self.ctx, session, **words)).jump if moves else None
            more: dict[str, Any] = {"reason": REASON, "token": new_id()}
            issued = await numbering.issue_manually(
                self.ctx, session, moves_counter=moves, confirmed_jump=jump, **words, **more
            )
            return issued.sequence

        return await self.once(work)

    async def bring(self, *, name: str, sequences: list[int], moves: bool) -> tuple[int, int, int]:
        plan = self.plans[name]
        _, turn = await import_at_terminal(
            self.ctx,
            self.db,
            project_public_id=self.world.project,
            rows=(
                SheetRow(
                    line,
                    {"number": plan.number(sequence), "type": "LETTER", "originator": "คคง.", "recipient": name},
                )
                for line, sequence in enumerate(sequences, 2)
            ),
            file=SourceFile("old.csv", f"{next(_names):064}"),
            moves={plan.series: HIGHEST} if moves else None,
        )
        return turn.counts[READY], turn.counts[THERE], turn.counts[REFUSED]

    async def renumber(self, *, document: UUID) -> int:
        holder = numbering.Holder("letter", document)
        name = await self._series_of(document)

        async def then(session: AsyncSession, issued: numbering.Issued) -> None:
            await self.documents.lock(session, document)
            old = await session.scalar(sa.select(DOCUMENTS.c.number).where(DOCUMENTS.c.public_id == document))
            words = {"holder": holder, "number": old, "replacement": issued, "reason": REASON}
            await numbering.replace_held_number(self.ctx, session, **words)
            await self.documents.change(session, document, number=issued.public_id, printed=issued.number)

        return await self.issue(name, behind(then), holder)

    async def _series_of(self, document: UUID) -> str:
        async with self.db.reading() as session:
            series = await session.scalar(
                sa.select(LedgerEntry.series).where(LedgerEntry.holder_public_id == document).limit(1)
            )
        return next(name for name, plan in self.plans.items() if plan.series == series)

    async def cancel(self, *, document: UUID) -> str:
        words = {"holder": numbering.Holder("letter", document), "reason": REASON}

        async def work(session: AsyncSession) -> str:
            await self.documents.lock(session, document)
            await numbering.cancel_number(self.ctx, session, **words)
            await self.documents.change(session, document, cancelled=True)
            return "CANCELLED"

        return await self.once(work)

    async def revise(self, *, document: UUID, label: str) -> str:
        words = {"holder": numbering.Holder("letter", document), "revision_label": label}

        async def work(session: AsyncSession) -> str:
            await self.documents.lock(session, document)
            printed = await numbering.revise_number(self.ctx, session, **words)
            await self.documents.change(session, document, printed=printed)
            return label

        return await self.once(work)

    async def reset(self, *, name: str, to: int) -> int:
        words = {"project_public_id": self.world.project, "series": self.plans[name].series, "to": to}
        await self.once(lambda session: numbering.reset_counter(self.ctx, session, reason=REASON, **words))
        return to

    async def close(self, *, name: str, mark: UUID, first: int, last: int, is_kept: bool) -> str:
        kind = numbering.RangeKind.KEPT if is_kept else numbering.RangeKind.BARRED
        draft = numbering.RangeDraft(kind, first, last, reason=REASON)
        row = await self.once(lambda session: numbering.create_range(self.ctx, session, self.plans[name], draft))
        self.ranges[mark] = row.range.public_id
        return "CLOSED"

    async def release(self, *, name: str, mark: UUID) -> str:
        assert name
        words = {"public_id": self.ranges[mark], "reason": REASON}
        await self.once(lambda session: numbering.release_range(self.ctx, session, **words))
        return "RELEASED"

    async def save(self, width: int) -> None:
        wanted = numbering.FormatDraft(
            template=f"{{ORIGINATOR}}-{{RECIPIENT}}-{{SEQ:{width}}}-{{YEAR:B.E.}}",
            reason=REASON,
        )
        target = numbering.FormatTarget(self.world.project, "LETTER")
        await self.db.transact(lambda session: numbering.save_format(self.ctx, session, target, wanted))

    async def picture(self) -> tuple[dict[Any, Any], dict[str, int], dict[UUID, Any]]:
        """The books as the model sees them; the public ids of all numbers are noted on the way."""
        names = {plan.series: name for name, plan in self.plans.items()}
        async with self.db.reading() as session:
            ledger = (await session.scalars(sa.select(LedgerEntry))).all()
            counters = (await session.execute(sa.select(NumberCounter).where(NumberCounter.range == 0))).scalars().all()
            carried = (await session.execute(sa.select(DOCUMENTS))).all()
        keys = {
            row.public_id: (
                names[row.series],
                str(row.sequence_number).zfill(stored_template(row.format_template).width),
            )
            for row in ledger
        }
        assert len(set(keys.values())) == len(ledger), "a number was issued twice"
        self.ids = {key: public_id for public_id, key in keys.items()}
        return (
            {
                keys[row.public_id]: (row.document_number_status, row.revision_label, row.holder_public_id)
                for row in ledger
            },
            dict.fromkeys(SERIES, 0) | {names[row.series]: row.last_number for row in counters},
            {row.public_id: (*keys[row.number], row.cancelled) for row in carried},
        )


series = st.sampled_from(SERIES)
places = st.integers(0, 1000)
losses = st.sampled_from(["", "", "before", "after"])


class Numbers(RuleBasedStateMachine):
    """The product on one side, the model on the other."""

    make: Callable[[], tuple[str, Callable[[], None]]]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        url, self.forget = type(self).make()
        self.model = Model({name: Series() for name in SERIES})
        self.product = self.do(self._open(url))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _open(self, url: str) -> Product:
        self.db = FlakyDatabase(url)
        product = Product(self.db, await world_of(self.db))
        await product.plan_all()
        return product

    def teardown(self) -> None:
        try:
            self.do(self._check())
        finally:
            self.do(self.db.close())
            self.runner.close()
            self.forget()

    async def _check(self) -> None:
        found = [one async for one in numbering.check_consistency(self.db, carriers=[WRITTEN])]
        assert found == []

    @initialize()
    def begin(self) -> None:
        """Each series has counted once, so that ranges and resets find it."""
        for name in SERIES:
            self._drawn(name, 0, 1)

    # Alone ------------------------------------------------------------------------------------------------------

    @rule(step=st.sampled_from(STEPS), name=series, place=places, lost=losses)
    def do_one_thing(self, step: str, name: str, place: int, lost: str) -> None:
        """Perhaps with a connection that breaks before or after the commit."""
        self._run(step, self._words(step, name, place), lost)

    @rule(name=series, wanted=st.integers(1, 6), server=st.integers(0, 1), lost=losses)
    def draw(self, name: str, wanted: int, server: int, lost: str) -> None:
        """Whose connection breaks is served again with its token: one number, whichever it was."""
        self._drawn(name, server, 1)  # so that the next transaction is the draws'
        self._drawn(name, server, wanted, lost)

    @rule(name=series, server=st.integers(0, 1), busy=st.booleans())
    def lose_the_lock_service(self, name: str, server: int, busy: bool) -> None:
        self.product.locks.fault = LockBusy("held") if busy else LockServiceDown("stopped")
        self._drawn(name, server, 3)

    @rule(server=st.integers(0, 1))
    def start_a_server_again(self, server: int) -> None:
        self.do(self.product.servers[server].close())
        self.product.servers[server] = self.product.server()

    @rule(name=series, server=st.integers(0, 1))
    def ask_twice_with_one_token(self, name: str, server: int) -> None:
        token = new_id()

        async def both() -> list[numbering.Issued]:
            return await asyncio.gather(*(self.product.take(name, server, token, key="k") for _ in range(2)))

        first, second = self.do(both())
        assert first == second
        assert first.sequence == self.model.run("draw", name=name)
        self._compare()

    @rule(name=series, server=st.integers(0, 1), turns=st.integers(0, 12))
    def leave_while_waiting(self, name: str, server: int, turns: int) -> None:
        """Whoever leaves early gets no number; later, one that is cancelled with the reason, or is told anyway."""

        async def leave() -> None:
            task = asyncio.get_running_loop().create_task(self.product.take(name, server, new_id()))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.product.servers[server].close()

        self.do(leave())
        (sequence,) = self.model.series[name].free(1)
        key = self.model.series[name].key(sequence)
        state, *_ = self.do(self.product.picture())[0].get((name, key), ("",))
        if state:
            assert state in {"CANCELLED", "CONFIRMED"}
            self.model.run("draw", name=name)
            self.model.series[name].numbers[key].state = state
        self._compare()

    @rule(name=series, place=places)
    def let_a_reservation_run_out(self, name: str, place: int) -> None:
        reserved = [key for key, one in self.model.series[name].numbers.items() if one.state == "RESERVED"]
        if reserved:
            self._run("expire", {"name": name, "key": reserved[place % len(reserved)]})

    @rule(
        name=st.sampled_from(LETTERS),
        sequences=st.sets(st.integers(1, HIGHEST), min_size=1, max_size=5),
        moves=st.booleans(),
    )
    def import_an_old_register(self, name: str, sequences: set[int], moves: bool) -> None:
        self._run("bring", {"name": name, "sequences": sorted(sequences), "moves": moves})

    @rule(width=st.integers(3, 5), name=st.sampled_from(LETTERS))
    def change_the_format(self, width: int, name: str) -> None:
        """Who has planned with the old format is planned again; what is drawn from then on prints as the new one says."""
        self.do(self.product.save(width))
        for one in LETTERS:
            self.model.series[one].width = width
        self._drawn(name, 0, 2)
        self.do(self.product.plan_all())

    # At the same time -------------------------------------------------------------------------------------------

    @rule(asked=st.lists(st.tuples(st.sampled_from(AT_ONCE), series, places), min_size=2, max_size=4), same=series)
    def do_things_at_the_same_time(self, asked: list[tuple[str, str, int]], same: str) -> None:
        """Half of them to one series. What all are told, and what the books say, is what some order would have given."""
        steps: list[Step] = []
        for place, (step, name, where) in enumerate(asked):
            words = self._words(step, same if place % 2 else name, where)
            steps.append((step, words | ({"moves": False} if step == "state" else {})))

        async def all_of_them() -> list[Any]:
            return list(await asyncio.gather(*(self.product.run(step, **words) for step, words in steps)))

        told = self.do(all_of_them())
        picture = self.do(self.product.picture())
        for order in permutations(range(len(steps))):
            model = deepcopy(self.model)
            foretold = {place: model.run(steps[place][0], **steps[place][1]) for place in order}
            if [foretold[place] for place in range(len(steps))] == told and model.picture() == picture:
                self.model = model
                return
        raise AssertionError(f"No order of {steps} explains {told}.")

    # How it is done ---------------------------------------------------------------------------------------------

    def _run(self, step: str, words: dict[str, Any], lost: str = "") -> None:
        told = self.do(self.product.run(step, lost=lost, **words))
        if told != UNDONE:
            assert told == self.model.run(step, **words)
        self._compare()

    def _drawn(self, name: str, server: int, wanted: int, lost: str = "") -> None:
        """Numbers in order of arrival, whatever happens to the connection."""

        async def together() -> list[int]:
            self.db.loses = lost
            return await asyncio.gather(*(self.product.draw(name=name, server=server) for _ in range(wanted)))

        assert self.do(together()) == [self.model.run("draw", name=name) for _ in range(wanted)]
        self._compare()

    def _compare(self) -> None:
        for found, foretold in zip(self.do(self.product.picture()), self.model.picture(), strict=True):
            assert dict(found.items() - foretold.items()) == dict(foretold.items() - found.items())

    def _words(self, step: str, name: str, place: int) -> dict[str, Any]:
        """What a step is done to; where there is nothing yet that it could be done to, that is made first."""
        its = self.model.series[name]
        words: dict[str, Any] = {"name": name}
        if step == "state":
            return words | {"sequence": place % HIGHEST + 1, "moves": place > 500}
        if step == "reset":
            return words | {"to": place % (its.counter + 1)}
        if step == "close":
            first = max(1, its.counter - 1 + place % 9)
            return words | {"mark": new_id(), "first": first, "last": first + place % 5, "is_kept": place > 300}
        if step in {"write", "bind"}:
            words["document"] = new_id()
        if step in {"void", "replace"}:
            return words | {"key": _one(list(its.numbers), place)}
        if step in NEEDS:
            return self._found(step, place, words)
        return words

    def _found(self, step: str, place: int, words: dict[str, Any]) -> dict[str, Any]:
        """Mostly something that the step can succeed with."""
        name = words["name"]
        its = self.model.series[name]
        if NEEDS[step] == "reserve":
            found = [key for key, one in its.numbers.items() if one.reserved]
            open_ = [key for key in found if its.numbers[key].state == "RESERVED"]
            word = "key"
        elif NEEDS[step] == "write":
            where = {document: key for document, (series, key) in self.model.documents.items() if series == name}
            found = list(where)
            open_ = [document for document in found if its.numbers[where[document]].state == "CONFIRMED"]
            words, word = {"label": "BCD"[place % 3]} if step == "revise" else {}, "document"
        else:
            found = open_ = [one.mark for one in its.closed if one.kept or step == "release"]
            word = "mark"
        if not open_ and (not found or place % 3):
            made: dict[str, Any] = {"name": name}
            if NEEDS[step] == "write":
                made["document"] = new_id()
            if NEEDS[step] == "close":
                first = max([its.counter, *(one.last for one in its.closed)]) + 1
                made |= {"mark": new_id(), "first": first, "last": first + place % 3, "is_kept": True}
            self._run(NEEDS[step], made)
            return self._found(step, place, words | {"name": name})
        return words | {word: _one(open_ if place % 3 and open_ else found, place)}


def _one(those: list[T], place: int) -> T:
    return those[place % len(those)]


# A few in `make test`, many in `make faults`.
EXAMPLES = pytest.mark.parametrize("examples", [3, pytest.param(30, marks=pytest.mark.faults)])


def run(make: Callable[[], tuple[str, Callable[[], None]]], *, examples: int) -> None:
    machine = type("NumbersHere", (Numbers,), {"make": staticmethod(make)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
            database=None,
        ),
    )


@EXAMPLES
@pytest.mark.timeout(600)
def test_sqlite_gives_what_the_model_foretells(demo_folder: Path, tmp_path: Path, examples: int) -> None:
    def make() -> tuple[str, Callable[[], None]]:
        path = tmp_path / f"{next(_names)}.db"
        shutil.copy(demo_folder / "saraban.db", path)
        return f"sqlite:///{path}", lambda: path.unlink()

    run(make, examples=examples)


@EXAMPLES
@pytest.mark.timeout(600)
def test_mariadb_gives_what_the_model_foretells(
    mariadb_server: MariaDb, mariadb_demo_template: str, examples: int
) -> None:
    def make() -> tuple[str, Callable[[], None]]:
        name = f"machine_{next(_names)}"
        return mariadb_server.create(name, statements=mariadb_demo_template), lambda: mariadb_server.drop(name)

    run(make, examples=examples)
