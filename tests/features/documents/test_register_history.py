"""The register as of a day is what a replay of its history gives: registering, revising and importing, over the real tables."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest_asyncio
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saraban.bootstrap import System
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import ASBUILT, SHOP, DrawingKind
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import DrawingQuery, DrawingSummary, NewDrawing, NewDrawingRevision
from saraban.documents.drawing.service.import_lines import by_drawing
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.imports.service.run import import_batch
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.text import sort_key
from saraban.numbering.series.models import LedgerEntry, NumberRendering
from saraban.projects.models import Contract, Discipline, Project
from tests.drawing_imports import begun_import
from tests.factories.contexts import BANGKOK, context

START = datetime(2026, 2, 27, 3, 10, tzinfo=UTC)
KINDS = (SHOP, ASBUILT)
NUMBERS = ("N-1", "N-2", "N-10")


class Issued(NamedTuple):
    """All that the model knows of a revision."""

    at: datetime
    kind: DrawingKind
    number: str
    label: int


class Step(NamedTuple):
    """
    Something that somebody does: a drawing is registered, or revised where it is there, by hand or by an import.

    :param hours: after the step before
    :param labels: how far each label is from the newest one; what does not come after it is refused
    """

    hours: int
    kind: DrawingKind
    numbers: tuple[str, ...]
    labels: tuple[int, ...]
    discipline: int
    by_import: bool


@st.composite
def steps(draw: st.DrawFn) -> Step:
    by_import = draw(st.booleans())
    return Step(
        draw(st.integers(0, 30)),
        SHOP if by_import else draw(st.sampled_from(KINDS)),
        tuple(draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3 if by_import else 1, unique=True))),
        tuple(draw(st.lists(st.integers(-1, 3), min_size=1, max_size=3 if by_import else 1, unique=True))),
        draw(st.integers(0, 1)),
        by_import,
    )


@dataclass
class Model:
    """A list of what happened."""

    issued: list[Issued] = field(default_factory=list)
    disciplines: dict[tuple[DrawingKind, str], int] = field(default_factory=dict)

    def newest(self, kind: DrawingKind, number: str) -> int:
        return max((one.label for one in self.issued if (one.kind, one.number) == (kind, number)), default=-1)

    def take(self, step: Step, at: datetime) -> list[tuple[str, int]]:
        """Note what a step comes to, and return the number and label of each revision that it asks for."""
        asked = []
        for number in step.numbers:
            newest = self.newest(step.kind, number)
            labels = sorted({max(newest + distance, 0) for distance in step.labels})
            asked += [(number, label) for label in labels]
            forward = [label for label in labels if label > newest]
            if forward:
                self.disciplines.setdefault((step.kind, number), step.discipline)
            self.issued += [Issued(at, step.kind, number, label) for label in forward]
        return asked

    def register(self, kind: DrawingKind, discipline: int | None, until: datetime) -> list[tuple[str, str]]:
        """Replay everything up to a moment."""
        current: dict[str, str] = {}
        for one in self.issued:
            if one.kind is kind and one.at < until and discipline in {None, self.disciplines[kind, one.number]}:
                current[one.number] = str(one.label)
        return sorted(current.items(), key=lambda one: sort_key(one[0]))


@dataclass
class Site:
    """The product's side: a project with two disciplines, and somebody who may do everything."""

    db: Database
    caller: Caller
    project: Project
    disciplines: Sequence[str]

    def at(self, moment: datetime) -> RequestContext:
        return context(caller=self.caller, now=moment)

    async def clear(self) -> None:
        async with self.db.writing() as session:
            await session.execute(sa.delete(NumberRendering))
            await session.execute(sa.delete(LedgerEntry))
            for kind in KINDS:
                await session.execute(sa.delete(tables_of(kind).revision))
                await session.execute(sa.delete(tables_of(kind).head))

    async def take(self, step: Step, asked: Sequence[tuple[str, int]], *, at: datetime, there: set[str]) -> None:
        if step.by_import:
            await self._import(step, asked, at)
            return
        ((number, label),) = asked
        with suppress(DomainError):  # what does not go forward is refused; whether that was right, the register says
            await self._write(step, number, str(label), at, there=number in there)

    async def _write(self, step: Step, number: str, label: str, at: datetime, *, there: bool) -> None:
        ctx = self.at(at)
        if there:
            (found,) = [one for one in await self._page(step.kind, at) if one.drawing_number == number]
            revision = NewDrawingRevision(label=label)
            await self.db.transact(lambda session: drawings.revise(ctx, session, step.kind, found.public_id, revision))
            return
        new = NewDrawing(
            project_public_id=self.project.public_id,
            drawing_number=number,
            title="แปลนฐานราก",
            discipline_code=self.disciplines[step.discipline],
            revision=NewDrawingRevision(label=label),
        )
        await self.db.transact(lambda session: drawings.register(ctx, session, step.kind, new))

    async def _import(self, step: Step, asked: Sequence[tuple[str, int]], at: datetime) -> None:
        """As a worker does it in one turn."""
        said = [
            {
                "drawing_number": number,
                "revision": str(label),
                "title": "แปลนฐานราก",
                "discipline": self.disciplines[step.discipline],
            }
            for number, label in asked
        ]
        run, turn = await begun_import(self.db, self.at(at), self.project)
        read = by_drawing([SheetRow(number, one) for number, one in enumerate(said, 2)], SHOP)
        await import_batch(self.db, run, turn, read)

    async def _page(self, kind: DrawingKind, at: datetime, **asked: object) -> list[DrawingSummary]:
        query = DrawingQuery.model_validate({"projectPublicId": self.project.public_id, "limit": 100, **asked})
        async with self.db.reading() as session:
            return list((await drawings.list_drawings(self.at(at), session, kind, query)).items)

    async def register(
        self, kind: DrawingKind, discipline: int | None, at: datetime, **asked: object
    ) -> list[tuple[str, str]]:
        if discipline is not None:
            asked["discipline"] = self.disciplines[discipline]
        page = await self._page(kind, at, **asked)
        return [(one.drawing_number, one.revision.revision_label or "") for one in page]


@pytest_asyncio.fixture
async def site(system: System) -> Site:
    async with system.db.reading() as session:
        caller = await identity.find_caller(session, username="admin")
        project = (await session.scalars(sa.select(Project).where(Project.project_code == "LCBP3-C2"))).one()
        codes = await session.scalars(
            sa.select(Discipline.discipline_code)
            .join(Contract, Contract.id == Discipline.contract_id)
            .where(Contract.project_id == project.id)
            .group_by(Discipline.discipline_code)
            .having(sa.func.count() == 1)
            .order_by(Discipline.discipline_code)
            .limit(2)
        )
    assert caller is not None
    return Site(system.db, caller, project, list(codes))


@settings(max_examples=10, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(played=st.lists(steps(), min_size=1, max_size=8))
async def test_the_register_as_of_a_day_equals_a_replay_of_its_history(site: Site, played: list[Step]) -> None:
    await site.clear()
    model, at = Model(), START
    for step in played:
        at += timedelta(hours=step.hours)
        there = {one.number for one in model.issued if one.kind is step.kind}
        await site.take(step, model.take(step, at), at=at, there=there)
    later = at + timedelta(minutes=1)
    days = (local_date(later, BANGKOK) - local_date(START, BANGKOK)).days + 3

    for kind in KINDS:
        for discipline in (None, 0, 1):
            now = await site.register(kind, discipline, later)
            assert now == model.register(kind, discipline, later)
            for place in range(days):
                day = local_date(START, BANGKOK) + timedelta(days=place - 1)
                over = datetime.combine(day + timedelta(days=1), datetime.min.time(), BANGKOK)
                found = await site.register(kind, discipline, later, asOf=day)
                assert found == model.register(kind, discipline, over), day
