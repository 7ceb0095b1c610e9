"""Tells the story: people write documents, find them in their inboxes, act; then what the product keeps of it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from saraban.audit import service as audit
from saraban.audit.service import AuditEntry
from saraban.documents.demo.domain.script import Act, Script
from saraban.documents.demo.domain.story import STORY
from saraban.documents.demo.service import deeds
from saraban.documents.demo.service.stage import Setting, Stage, setting
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import Clock
from saraban.kit.errors import Text
from saraban.workflow import service as workflow
from saraban.workflow.service import TakenStep

_INBOX_PAGE = 100


@dataclass(frozen=True, slots=True)
class Chapter:
    """What became of one document, and what the product can show of it: its history and its audit trail."""

    script: Script
    document: deeds.Document
    steps: Sequence[TakenStep]
    trail: Sequence[AuditEntry]


@dataclass(frozen=True, slots=True)
class Scene:
    """Something has happened; `chapter` comes with the last scene of each document."""

    says: Text
    chapter: Chapter | None = None


async def tell(stage: Stage, *, clock: Clock) -> AsyncIterator[Scene]:
    """
    This will play the story once, a scene at a time; told again, it goes on with the next numbers.

    :raises DemoMissing: when one of its people has no open account
    """
    async with stage.db.reading() as session:
        found = await setting(session)
    known: dict[str, UUID] = {}
    for script in STORY:
        document = await deeds.write(stage, found, script, now=clock.now(), known=known)
        known[script.key] = UUID(document["publicId"])
        yield Scene(_written(found.person(script.by), document))
        for place, act in enumerate(script.acts, start=1):
            says = await _says(stage, found, document, script, act)
            document = await deeds.act(stage, found, document, act, script=script, now=clock.now())
            last = place == len(script.acts)
            yield Scene(says, await _chapter(stage, found, script, document, clock) if last else None)


async def _says(stage: Stage, found: Setting, document: deeds.Document, script: Script, act: Act) -> Text:
    caller = found.person(act.by)
    number = document["documentNumber"]
    if act.by == script.by:
        return Text(f"{caller.display_name}: {act.action} {number}", f"{caller.display_name}: {act.action} {number}")
    if await _waits(stage, caller, UUID(document["publicId"])):
        th = f"{caller.display_name} พบ {number} ในกล่องงาน: {act.action}"
        return Text(th, f"{caller.display_name} finds {number} in the inbox: {act.action}")
    th = f"{caller.display_name} ไม่พบ {number} ในกล่องงาน: {act.action}"
    return Text(th, f"{caller.display_name} does not find {number} in the inbox: {act.action}")


async def _waits(stage: Stage, caller: Caller, public_id: UUID) -> bool:
    async with stage.db.reading() as session:
        page = await workflow.inbox(session, caller=caller, subjects=stage.subjects, cursor=None, limit=_INBOX_PAGE)
    return any(item.facts.public_id == public_id for item in page.items)


def _written(caller: Caller, document: deeds.Document) -> Text:
    number = document["documentNumber"]
    return Text(f"{caller.display_name} สร้าง {number}", f"{caller.display_name} writes {number}")


async def _chapter(stage: Stage, found: Setting, script: Script, document: dict[str, Any], clock: Clock) -> Chapter:
    author = found.person(script.by)
    public_id, instance = UUID(document["publicId"]), UUID(document["workflow"]["instancePublicId"])
    now = clock.now()
    async with stage.db.reading() as session:
        steps = await workflow.history(session, caller=author, subjects=stage.subjects, public_id=instance)
        trail = await audit.listing(session, entity_id=str(public_id), limit=_INBOX_PAGE)
    fresh = await deeds.read(stage, caller=author, public_id=public_id, where=script.where, now=now)
    return Chapter(script, fresh, steps, trail.items[::-1])
