"""Registers of drawings as large as a project has them after years: read and written as an import does, with the past as its moments."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.demo.service import ADDRESS, DemoServices, ProjectTooSmall
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.schemas import DrawingSheetLine
from saraban.documents.drawing.service.import_lines import ReadLine, RegisterImport, RegisterRows
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.errors import Invalid
from saraban.kit.sheet_columns import SheetRow
from saraban.projects import service as projects
from saraban.projects.domain.revision_scheme import RevisionScheme
from saraban.projects.service import ProjectRef
from saraban_tools.documents import complete_contracts
from saraban_tools.drawing_mix import (
    CATEGORIES,
    SUB_CATEGORIES,
    VOLUMES,
    DrawingLists,
    GeneratedDrawing,
    generated_drawing,
)
from saraban_tools.mix import SHORTEST_PAST, GeneratedContract, office_moment

BATCH = 1000


@dataclass(frozen=True, slots=True)
class DrawingProgress:
    """
    :param found: drawings that were there before
    :param written: by now
    """

    found: int
    written: int


@dataclass(slots=True)
class DrawingRun:
    """
    :param labels: the first labels of each register's scheme
    :param addenda: contract drawings are revised, too
    """

    ctx: RequestContext
    project: ProjectRef
    contracts: Sequence[GeneratedContract]
    found: int
    registers: dict[str, RegisterImport] = field(default_factory=dict)
    lists: dict[str, DrawingLists] = field(default_factory=dict)
    labels: dict[str, list[str]] = field(default_factory=dict)
    addenda: bool = False


async def generate_drawings(
    stage: DemoServices, *, code: str, many: int, now: datetime
) -> AsyncIterator[DrawingProgress]:
    """
    Register drawings in a project until it has so many, and say after each batch how far it is.

    What is there stays, and a batch is written whole, so that it can be broken off at any moment and run again.

    :raises ProjectTooSmall: when there is nobody who draws
    """
    run = await stage.db.transact(_begin, stage, code, now)
    yield DrawingProgress(run.found, 0)
    written = run.found
    while written < many:
        upto = min((written // BATCH + 1) * BATCH, many)
        await stage.db.transact(write_drawings, run, range(written, upto))
        written = upto
        yield DrawingProgress(run.found, written - run.found)


async def _begin(stage: DemoServices, session: AsyncSession, code: str, now: datetime) -> DrawingRun:
    project = await projects.find_project_by_code(session, code=code, pointer="/project")
    ctx = RequestContext(await identity.system_caller(session), now, stage.zone, ADDRESS)
    contracts = await complete_contracts(ctx, session, project.public_id)
    if not contracts:
        raise ProjectTooSmall
    run = DrawingRun(ctx, project, contracts, await drawings.count_drawings(session, project_id=project.id))
    for kind in KINDS.values():
        settings = await projects.drawing_settings(session, project_id=project.id, register=kind.path)
        run.labels[kind.path] = list(islice(_labels(settings.scheme), 8))
        run.addenda = run.addenda or (kind.whole and settings.addenda)
        run.registers[kind.path] = await _register(run, session, kind)
    return run


def _labels(scheme: RevisionScheme) -> Iterable[str]:
    label = None
    while True:
        label = scheme.next_labels(label)[0]
        yield label


async def _register(run: DrawingRun, session: AsyncSession, kind: DrawingKind) -> RegisterImport:
    """Make lists where the project has none, and say what they have."""
    register = RegisterImport(run.ctx, kind, run.project, {})
    await register.load(session)
    if not any(register.codes.values()):
        await drawings.create_codes(run.ctx, session, kind, owner=run.project.public_id, codes=_usual_lists(kind))
        await register.load(session)
    run.lists[kind.path] = DrawingLists(
        tuple(_pairs(register, kind)) or ((None, None),), tuple(sorted(register.codes.get("volume", ()))) or (None,)
    )
    return register


def _pairs(register: RegisterImport, kind: DrawingKind) -> Iterable[tuple[str | None, str | None]]:
    if kind.whole:
        return sorted(register.pairs)
    subs: Sequence[str | None] = sorted(register.codes["sub_category"])
    return [(one, other) for one in sorted(register.codes["category"]) for other in subs or (None,)]


def _usual_lists(kind: DrawingKind) -> Mapping[str, Any]:
    pairs = [[one, other] for one in CATEGORIES for other in SUB_CATEGORIES]
    lists = {"categories": CATEGORIES, "subCategories": SUB_CATEGORIES}
    return lists | ({"volumes": VOLUMES, "pairs": pairs} if kind.whole else {})


async def write_drawings(run: DrawingRun, session: AsyncSession, places: range) -> None:
    """Register the drawings of some places: those first that others derive from."""
    ids: dict[int, UUID] = {}
    made = {place: generated_drawing(place, run.contracts, run.lists, addenda=run.addenda) for place in places}
    for kind in KINDS.values():
        own = {place: one for place, one in made.items() if one.register == kind.path}
        rows = await _judged(run, session, kind, list(own.values()))
        await run.registers[kind.path].write(session, rows)
        references: list[tuple[UUID, UUID]] = []
        newest = dict(rows.revisions)
        for (place, one), head in zip(own.items(), rows.heads, strict=True):
            ids[place] = head["uuid"] if kind.whole else newest[head["uuid"]]["uuid"]
            if one.drawn_from in ids:
                references.append((newest[head["uuid"]]["uuid"], ids[one.drawn_from]))
        await drawings.link_revisions(session, kind, references)


async def _judged(
    run: DrawingRun, session: AsyncSession, kind: DrawingKind, made: Sequence[GeneratedDrawing]
) -> RegisterRows:
    """
    Return the rows of drawings of one register, each revision with the moment from which it was current.

    :raises Invalid: for numbers that the project's form refuses, or that it has already
    """
    moments = [[_moment(run, share) for share in one.moments] for one in made]
    lines = [list(_lines(run, one, own)) for one, own in zip(made, moments, strict=True)]
    judged, rows = await run.registers[kind.path].judge(session, lines)
    faults = [fault for one in judged for fault in one.faults]
    if faults or len(rows.heads) < len(made):
        raise Invalid("The register refuses generated drawings.", fields=faults[:10])
    revisions = iter(rows.revisions)
    for head, own in zip(rows.heads, moments, strict=True):
        head |= {"created_at": own[0], "updated_at": own[-1]}
        for since, until in zip(own, [*own[1:], None], strict=True):
            next(revisions)[1].update(current_from=since, current_until=until, created_at=since)
    return rows


def _moment(run: DrawingRun, share: float) -> datetime:
    until = local_date(run.ctx.now - SHORTEST_PAST, run.ctx.zone)
    return office_moment(min(share, 0.999), until=until, zone=run.ctx.zone)


def _lines(run: DrawingRun, one: GeneratedDrawing, moments: Sequence[datetime]) -> Iterable[ReadLine]:
    category, sub_category = one.pair
    for step, moment in enumerate(moments):
        stated = DrawingSheetLine.model_construct(
            drawing_number=one.number,
            title=one.title,
            title_en=one.title_en,
            revision=run.labels[one.register][one.begins + step],
            revision_date=local_date(moment, run.ctx.zone),
            category=category,
            sub_category=sub_category,
            volume=one.volume,
            contract=one.contract,
            originator=one.originator,
            discipline=one.discipline,
            scale=one.scale,
            sheet_size="A1",
        )
        yield ReadLine(SheetRow(step, {}), stated)
