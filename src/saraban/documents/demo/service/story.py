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
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.workflow import service as workflow
from saraban.workflow.service import InboxItem, TakenStep

_PAGE = 100


class NotInInbox(DomainError):
    """The story expects a document in an inbox and does not find it: roles or definitions were changed."""

    kind, code = ErrorKind.CONFLICT, "DEMO_NOT_IN_INBOX"
    says = Text(
        "ไม่พบเอกสารของเรื่องสาธิตในกล่องงานของผู้พิจารณา", "The story's document is not in the inbox of whoever should act."
    )
    recovery = (Text("ใช้โฟลเดอร์ข้อมูลใหม่ (SARABAN_DATA_DIR)", "Take a fresh data folder (SARABAN_DATA_DIR)."),)


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
    Play the story once, a scene at a time; told again, it goes on with the next numbers.

    :raises DemoMissing: when one of its people has no open account
    """
    async with stage.db.reading() as session:
        found = await setting(session)
    known: dict[str, UUID] = {}
    for script in STORY:
        document = await deeds.write(stage, found, script, now=clock.now(), known=known)
        known[script.key] = UUID(document["data"]["publicId"])
        yield Scene(_written(found.person(script.by), document))
        for place, act in enumerate(script.acts, start=1):
            says = await _says(stage, found, document, script, act)
            document = await deeds.act(stage, found, document, act, script=script, now=clock.now())
            last = place == len(script.acts)
            yield Scene(says, await _chapter(stage, found, script, document, clock) if last else None)


async def _says(stage: Stage, found: Setting, document: deeds.Document, script: Script, act: Act) -> Text:
    caller = found.person(act.by)
    who, number = caller.display_name, document["data"]["documentNumber"]
    if act.by == script.by:
        label = await _own_label(stage, caller, document, act)
        return Text(f"{who}: {label.th} {number}", f"{who}: {label.en} {number}")
    item = await _waiting(stage, caller, UUID(document["data"]["publicId"]))
    label = {action.code: action.label for action in item.envelope.actions}[act.action]
    return Text(f"{who} พบ {number} ในกล่องงาน: {label.th}", f"{who} finds {number} in the inbox: {label.en}")


async def _own_label(stage: Stage, caller: Caller, document: deeds.Document, act: Act) -> Text:
    instance = UUID(document["workflow"]["instancePublicId"])
    async with stage.db.reading() as session:
        view = await workflow.find(session, caller=caller, subjects=stage.subjects, public_id=instance)
    return {action.code: action.label for action in view.actions}[act.action]


async def _waiting(stage: Stage, caller: Caller, public_id: UUID) -> InboxItem:
    """
    :raises NotInInbox: when the document does not wait for the caller
    """
    cursor: str | None = None
    while True:
        async with stage.db.reading() as session:
            page = await workflow.inbox(session, caller=caller, subjects=stage.subjects, cursor=cursor, limit=_PAGE)
        for item in page.items:
            if item.envelope.facts.public_id == public_id:
                return item
        cursor = page.next_cursor
        if cursor is None:
            raise NotInInbox(f"{public_id} is not in the inbox of {caller.username}.")


def _written(caller: Caller, document: deeds.Document) -> Text:
    number = document["data"]["documentNumber"]
    return Text(f"{caller.display_name} สร้าง {number}", f"{caller.display_name} writes {number}")


async def _chapter(stage: Stage, found: Setting, script: Script, document: dict[str, Any], clock: Clock) -> Chapter:
    author = found.person(script.by)
    public_id, instance = UUID(document["data"]["publicId"]), UUID(document["workflow"]["instancePublicId"])
    now = clock.now()
    async with stage.db.reading() as session:
        steps = await workflow.history(session, caller=author, subjects=stage.subjects, public_id=instance)
        trail = await audit.listing(session, entity_id=str(public_id), limit=_PAGE)
    fresh = await deeds.read(stage, caller=author, public_id=public_id, where=script.where, now=now)
    return Chapter(script, fresh, steps, trail.items[::-1])
