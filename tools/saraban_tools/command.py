"""What `saraban demo generate` runs."""

import gc
import sys
from typing import TypedDict

from saraban import bootstrap
from saraban.bootstrap import System
from saraban.cli.output import progress_bar, tell
from saraban.documents.demo.service import PROJECT
from saraban.kit.clock import stopwatch
from saraban_tools.documents import generate
from saraban_tools.drawings import generate_drawings

_COLLECT_AFTER = 100_000  # made and not yet freed: the rows of a batch are no garbage
_EVERY = 50_000  # where nobody looks at a terminal, a line after so many


class RegisteredDrawings(TypedDict):
    found: int
    written: int


class FilledProject(TypedDict):
    project: str
    found: int
    written: int
    drawings: RegisteredDrawings
    seconds: float
    seen: dict[str, int]


async def fill_project(system: System, documents: int, drawings: int, project: str, revisions: float) -> FilledProject:
    begun, last, said = stopwatch(), None, 0
    if project == PROJECT:
        await bootstrap.seed(system, demo=True)
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
    steps = generate(
        system.demo.services, code=project, documents=documents, revisions=revisions, now=system.clock.now()
    )
    with progress_bar("เอกสาร", "Documents", total=documents) as moved:
        async for last in steps:
            moved(completed=last.found + last.written)
            if not sys.stderr.isatty() and last.written // _EVERY > said:
                said = last.written // _EVERY
                tell(f"สร้างแล้ว {last.written:,} ฉบับ", f"{last.written:,} documents written.", err=True)
    assert last is not None  # it begins with how many there are
    drawn = await _draw(system, drawings, project) if drawings else RegisteredDrawings(found=0, written=0)
    seen = dict(sorted(last.seen.items(), key=lambda one: -one[1]))
    return FilledProject(
        project=project,
        found=last.found,
        written=last.written,
        drawings=drawn,
        seconds=round(stopwatch() - begun, 1),
        seen=seen,
    )


async def _draw(system: System, drawings: int, project: str) -> RegisteredDrawings:
    drawn = RegisteredDrawings(found=0, written=0)
    with progress_bar("แบบ", "Drawings", total=drawings) as moved:
        async for one in generate_drawings(system.demo.services, code=project, many=drawings, now=system.clock.now()):
            drawn = RegisteredDrawings(found=one.found, written=one.written)
            moved(completed=one.found + one.written)
    return drawn
