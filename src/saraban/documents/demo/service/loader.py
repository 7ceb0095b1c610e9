"""Fills the demo project with documents of the past weeks; what is there already stays."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from uuid import UUID

from saraban.documents.core import service as core
from saraban.documents.demo.domain.demo_data import DemoDocument
from saraban.documents.demo.domain.demo_documents import CIRCULATIONS, LETTERS, RFAS
from saraban.documents.demo.service import demo_actions
from saraban.documents.demo.service.demo_context import DemoProject, DemoServices, find_demo_project
from saraban.kit.clock import local_date

# Written oldest first, so that numbers and dates go the same way.
SCRIPTS: Sequence[DemoDocument] = sorted((*RFAS, *LETTERS, *CIRCULATIONS), key=lambda script: -script.age)
PLAYERS = frozenset(name for one in SCRIPTS for name in (one.by, *one.assignees, *(act.by for act in one.acts)))


async def load(stage: DemoServices, *, now: datetime, scripts: Sequence[DemoDocument] = SCRIPTS) -> int:
    """
    Write the demo documents that are missing, with the life they have had, and say how many those were.

    A document is known by its subject; what was broken off goes on where it stopped. Where demo accounts have been
    closed nothing is written, because nobody is there to write it.
    """
    async with stage.db.reading() as session:
        found = await find_demo_project(session, now, stage.zone)
    closed = PLAYERS - found.people.keys()
    if closed or await _find(stage, found, scripts[-1], now=now) is not None:
        return 0
    known: dict[str, UUID] = {}
    begun = await _find(stage, found, scripts[0], now=now) is not None
    written = 0
    for script in scripts:
        there = await _find(stage, found, script, now=now) if begun else None
        if there is None:
            document = await demo_actions.write(
                stage, found, script, now=_at(stage, now - timedelta(days=script.age), 9, script.key), known=known
            )
            await _live(stage, found, script, document, done=0, now=now)
            written += 1
        else:
            document = await demo_actions.read(
                stage.context(found.looker, now), stage, public_id=there, where=script.where
            )
            done = await demo_actions.count_actions(
                stage.context(found.looker, now), stage, public_id=there, where=script.where
            )
            await _live(stage, found, script, document, done=done, now=now)
        known[script.key] = UUID(document["data"]["publicId"])
    return written


async def _live(
    stage: DemoServices,
    found: DemoProject,
    script: DemoDocument,
    document: demo_actions.DocumentJson,
    *,
    done: int,
    now: datetime,
) -> None:
    day = now - timedelta(days=script.age)
    for place, act in enumerate(script.acts[done:], start=done):
        moment = min(_at(stage, day + timedelta(days=act.day), 10 + place, act.by), now)
        document = await demo_actions.take_action(stage, found, document, act, script=script, now=moment)


def _at(stage: DemoServices, day: datetime, hour: int, spice: str) -> datetime:
    """Return a moment of that day's office hours; nobody writes everything on the full hour."""
    minute = sum(spice.encode()) % 60
    return datetime.combine(local_date(day, stage.zone), time(hour, minute), stage.zone)


async def _find(stage: DemoServices, found: DemoProject, script: DemoDocument, *, now: datetime) -> UUID | None:
    ctx = stage.context(found.looker, now)
    async with stage.db.reading() as session:
        search = core.DocumentSearch(project=found.project, text=script.subject)
        page = await core.listing(ctx, session, demo_actions.KINDS[script.where], search=search, cursor=None, limit=1)
    return page.items[0].data.public_id if page.items else None
