"""Fills the demo project with documents of the past weeks; what is there already stays."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from uuid import UUID

from saraban.documents.core import service as core
from saraban.documents.demo.domain.letters import LETTERS
from saraban.documents.demo.domain.rfas import RFAS
from saraban.documents.demo.domain.script import Act, Script
from saraban.documents.demo.domain.sheets import SHEETS
from saraban.documents.demo.service import deeds
from saraban.documents.demo.service.stage import Setting, Stage, setting
from saraban.kit.clock import local_date

# Written oldest first, so that numbers and dates go the same way.
SCRIPTS: Sequence[Script] = sorted((*RFAS, *LETTERS, *SHEETS), key=lambda script: -script.age)


async def load(stage: Stage, *, now: datetime) -> int:
    """
    This will write the demo documents that are missing, with the life they have had, and say how many those were.

    A document is known by its subject: one that was begun and broken off is not written a second time.
    """
    async with stage.db.reading() as session:
        found = await setting(session)
    known: dict[str, UUID] = {}
    if await _find(stage, found, SCRIPTS[-1], now=now) is not None:
        return 0
    written = 0
    for script in SCRIPTS:
        there = await _find(stage, found, script, now=now)
        if there is None:
            there = await _live(stage, found, script, now=now, known=known)
            written += 1
        known[script.key] = there
    return written


async def _live(stage: Stage, found: Setting, script: Script, *, now: datetime, known: dict[str, UUID]) -> UUID:
    day = now - timedelta(days=script.age)
    document = await deeds.write(stage, found, script, now=_at(stage, day, 9, script.key), known=known)
    for place, act in enumerate(script.acts):
        moment = min(_at(stage, day + timedelta(days=act.day), 10 + place, act.by), now)
        document = await _fresh(stage, found, script, document, act, now=moment)
        document = await deeds.act(stage, found, document, act, where=script.where, now=moment)
    return UUID(document["publicId"])


async def _fresh(
    stage: Stage, found: Setting, script: Script, document: deeds.Document, act: Act, *, now: datetime
) -> deeds.Document:
    caller = found.people[act.by]
    return await deeds.read(stage, caller=caller, public_id=UUID(document["publicId"]), where=script.where, now=now)


def _at(stage: Stage, day: datetime, hour: int, spice: str) -> datetime:
    """This will give a moment of that day's office hours; nobody writes everything on the full hour."""
    minute = sum(spice.encode()) % 60
    return datetime.combine(local_date(day, stage.zone), time(hour, minute), stage.zone)


async def _find(stage: Stage, found: Setting, script: Script, *, now: datetime) -> UUID | None:
    async with stage.db.reading() as session:
        page = await core.listing(
            session,
            deeds.REGISTERS[script.where],
            caller=found.people["admin"],
            search=core.Search(project=found.project, text=script.subject),
            cursor=None,
            limit=1,
            now=now,
            zone=stage.zone,
        )
    return page.items[0].public_id if page.items else None
