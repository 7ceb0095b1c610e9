"""Tells the story: people write documents, find them in their inboxes, act; then what the product keeps of it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from saraban.audit import service as audit
from saraban.audit.service import AuditRecord
from saraban.documents.demo.domain.demo_data import DemoAction, DemoDocument
from saraban.documents.demo.domain.walkthrough import WALKTHROUGH
from saraban.documents.demo.service import demo_actions
from saraban.documents.demo.service.demo_context import DemoProject, DemoServices, find_demo_project
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.clock import Clock
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.workflow import service as workflow
from saraban.workflow.service import HistoryStep, Task

_PAGE = 100


class NotInInbox(DomainError):
    """The story expects a document in an inbox and does not find it: roles or definitions were changed."""

    kind, code = ErrorKind.CONFLICT, "DEMO_NOT_IN_INBOX"
    says = Text("ไม่พบเอกสารของเรื่องสาธิตในงานของผู้พิจารณา", "The demo document is not among the reviewer's tasks.")
    recovery = (Text("ใช้โฟลเดอร์ข้อมูลใหม่ (SARABAN_DATA_DIR)", "Use a new data folder (SARABAN_DATA_DIR)."),)


@dataclass(frozen=True, slots=True)
class WalkthroughDocument:
    """What became of one document, and what the product can show of it: its history and its audit trail."""

    script: DemoDocument
    document: demo_actions.DocumentJson
    steps: Sequence[HistoryStep]
    trail: Sequence[AuditRecord]


@dataclass(frozen=True, slots=True)
class WalkthroughStep:
    """Something has happened; `chapter` comes with the last scene of each document."""

    says: Text
    chapter: WalkthroughDocument | None = None


async def walk_through(stage: DemoServices, *, clock: Clock) -> AsyncIterator[WalkthroughStep]:
    """
    Play the story once, a scene at a time; told again, it goes on with the next numbers.

    :raises DemoMissing: when one of its people has no open account
    """
    async with stage.db.reading() as session:
        found = await find_demo_project(session, clock.now(), stage.zone)
    known: dict[str, UUID] = {}
    for script in WALKTHROUGH:
        document = await demo_actions.write(stage, found, script, now=clock.now(), known=known)
        known[script.key] = UUID(document["data"]["publicId"])
        yield WalkthroughStep(_written(found.person(script.by), document))
        for place, act in enumerate(script.acts, start=1):
            says = await _says(stage, found, document, script, act, clock.now())
            document = await demo_actions.take_action(stage, found, document, act, script=script, now=clock.now())
            last = place == len(script.acts)
            yield WalkthroughStep(says, await _chapter(stage, found, script, document, clock) if last else None)


async def _says(
    stage: DemoServices,
    found: DemoProject,
    document: demo_actions.DocumentJson,
    script: DemoDocument,
    act: DemoAction,
    now: datetime,
) -> Text:
    ctx = stage.context(found.person(act.by), now)
    who, number = ctx.caller.display_name, document["data"]["documentNumber"]
    if act.by == script.by:
        label = await _own_label(ctx, stage, document, act)
        return Text(f"{who}: {label.th} {number}", f"{who}: {label.en} {number}")
    item = await _waiting(ctx, stage, UUID(document["data"]["publicId"]))
    label = {action.code: action.label for action in item.envelope.actions}[act.action]
    return Text(f"{who} พบ {number} ในกล่องงาน: {label.th}", f"{who} finds {number} in the inbox: {label.en}")


async def _own_label(
    ctx: RequestContext, stage: DemoServices, document: demo_actions.DocumentJson, act: DemoAction
) -> Text:
    instance = UUID(document["workflow"]["instancePublicId"])
    async with stage.db.reading() as session:
        view = await workflow.find(ctx, session, subjects=stage.subjects, public_id=instance)
    return {action.code: action.label for action in view.actions}[act.action]


async def _waiting(ctx: RequestContext, stage: DemoServices, public_id: UUID) -> Task:
    """
    :raises NotInInbox: when the document does not wait for the caller
    """
    cursor: str | None = None
    while True:
        async with stage.db.reading() as session:
            page = await workflow.list_tasks(ctx, session, subjects=stage.subjects, cursor=cursor, limit=_PAGE)
        for item in page.items:
            if item.envelope.facts.public_id == public_id:
                return item
        cursor = page.next_cursor
        if cursor is None:
            raise NotInInbox(f"{public_id} is not in the inbox of {ctx.caller.username}.")


def _written(caller: Caller, document: demo_actions.DocumentJson) -> Text:
    number = document["data"]["documentNumber"]
    return Text(f"{caller.display_name} สร้าง {number}", f"{caller.display_name} writes {number}")


async def _chapter(
    stage: DemoServices, found: DemoProject, script: DemoDocument, document: dict[str, Any], clock: Clock
) -> WalkthroughDocument:
    ctx = stage.context(found.person(script.by), clock.now())
    public_id, instance = UUID(document["data"]["publicId"]), UUID(document["workflow"]["instancePublicId"])
    async with stage.db.reading() as session:
        steps = await workflow.history(ctx, session, subjects=stage.subjects, public_id=instance)
        trail = await audit.list_records(session, entity_id=str(public_id), limit=_PAGE)
    fresh = await demo_actions.read(ctx, stage, public_id=public_id, where=script.where)
    return WalkthroughDocument(script, fresh, steps, trail.items[::-1])
