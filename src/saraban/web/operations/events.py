"""Pages of pending, delivered and failed events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import urlencode
from uuid import UUID

import orjson
from fastapi import APIRouter, Query
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError
from starlette.responses import RedirectResponse, Response

from saraban.events import service as events
from saraban.identity.domain.context import Scope
from saraban.kit.errors import Text
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.schema import Schema
from saraban.ops import audit_words, event_administration
from saraban.ops.event_administration import MANAGES, Reason
from saraban.ops.system_report import SEES
from saraban.web.shell.forms import CurrentForm, Shown, usable_query
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS: Final = 50
EVENT_NAMES: Final[Mapping[str, Text]] = {
    "document.created": Text("สร้างเอกสาร", "Document created"),
    "document.edited": Text("แก้ไขเอกสาร", "Document edited"),
    "document.revised": Text("ออกฉบับแก้ไข", "Document revised"),
    "document.withdrawn": Text("ถอนฉบับแก้ไข", "Revision withdrawn"),
    "document.cancelled": Text("ยกเลิกเอกสาร", "Document cancelled"),
    "document.answered": Text("ตอบใบเวียน", "Circulation answered"),
    "document.reminded": Text("เตือนกำหนดของเอกสาร", "Reminder of a due date"),
    "workflow.transitioned": Text("ดำเนินการตามขั้นตอน", "Workflow action taken"),
    "workflow.unattended": Text("แจ้งว่าผู้ที่รออยู่ปิดบัญชีแล้ว", "Assignee's account closed"),
    "workflow.answered": Text("ตอบการพิจารณา", "Review answered"),
    "workflow.webhook": Text("แจ้งเว็บฮุกตามที่กระบวนงานกำหนด", "Webhook named by a workflow"),
    "notification.created": Text("แจ้งเตือนผู้ใช้", "Notice to a user"),
    "account.changed": Text("สิทธิ์หรือบัญชีของผู้ใช้เปลี่ยน", "Account or roles changed"),
    "user.invited": Text("ส่งคำเชิญผู้ใช้", "User invited"),
    "user.reset_requested": Text("ผู้ใช้ขอตั้งรหัสผ่านใหม่", "Password reset requested"),
    "review_team.changed": Text("ทีมพิจารณาเปลี่ยน", "Review team changed"),
    "webhook.requested": Text("ส่งข้อความถึงเว็บฮุก", "Message to a webhook"),
    "webhook.switched_off": Text("ปิดเว็บฮุกที่ส่งไม่สำเร็จ", "Failing webhook switched off"),
    "mail.given_up": Text("เลิกส่งอีเมลที่ไม่สำเร็จ", "E-mail given up"),
}
_THINGS: Final[Mapping[str, Text]] = {
    "document": Text("เอกสาร", "Document"),
    "workflow_instance": Text("กระบวนงาน", "Workflow"),
    "mail": Text("อีเมล", "E-mail"),
    "user": Text("ผู้ใช้", "User"),
}
EVENT_STATES: Final[Mapping[str, tuple[Text, str]]] = {
    events.EventState.WAITING: (Text("รอส่ง", "Waiting"), "yellow"),
    events.EventState.DELIVERED: (Text("ส่งแล้ว", "Delivered"), "green"),
    events.EventState.DEAD: (Text("ส่งไม่สำเร็จ", "Failed"), "red"),
}
DONE: Final[Mapping[str, Text]] = {
    "requeue": Text("นำกลับเข้าคิวแล้ว", "The event is in the queue again."),
    "drop": Text("ยกเลิกการส่งเหตุการณ์แล้ว", "The event is dropped."),
}


class EventsPage(PageModel, template="operations/events.html", fragments=("operations/parts/event_rows.html",)):
    items: Sequence[events.EventView]
    next_cursor: str | None
    things: Mapping[UUID, "EventThing"]
    states: Mapping[str, tuple[Text, str]]
    names: Mapping[str, Text]
    asked: Mapping[str, str]
    query: str
    message: Text | None


class EventDetailPage(PageModel, template="operations/event.html"):
    event: events.EventView
    said: Text
    thing: "EventThing"
    states: Mapping[str, tuple[Text, str]]
    payload: str
    may_manage: bool
    message: Text | None


@dataclass(frozen=True, slots=True)
class EventThing:
    """
    The subject of an event.
    :param called: number and subject of a document
    :param url: empty without a page
    """

    kind: Text
    called: str
    url: str

    @classmethod
    def of(cls, event: events.EventView) -> "EventThing":
        payload = event.payload
        kind = _THINGS.get(event.aggregate_type) or audit_words.kind_words(event.aggregate_type)
        number, title = (
            payload.get("documentNumber") or payload.get("number"),
            payload.get("subject") or payload.get("title"),
        )
        document, register = payload.get("documentPublicId"), payload.get("documentKind") or payload.get("kind")
        if document and register in audit_words.DOCUMENTS:
            url = f"/documents/{register}/{document}"
        elif event.aggregate_type == "user":
            url = f"/people/{event.aggregate}"
        else:
            url = ""
        return cls(kind, " · ".join(str(part) for part in (number, title) if part), url)


def _known_name(name: str) -> str:
    if name in EVENT_NAMES:
        return name
    raise PydanticCustomError("not_in_list", "There is no such event.", {"th": "ไม่มีเหตุการณ์นี้"})


class EventQuery(Schema):
    state: events.EventState | None = None
    name: Annotated[str, AfterValidator(_known_name)] | None = None


@router.get("/events")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    state: Annotated[str, Query(max_length=20)] = "",
    name: Annotated[str, Query(max_length=100)] = "",
    cursor: PageCursor = None,
    done: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    page.caller.require(SEES, Scope())
    filters = {key: value.strip() for key, value in (("state", state), ("name", name)) if value.strip()}
    query, faults = usable_query(page, EventQuery, filters)
    events_page = await events.list_events(
        session, events.EventSearch(query.state, query.name), cursor=cursor, limit=ROWS
    )
    return page.show_list(
        EventsPage(
            items=events_page.items,
            next_cursor=events_page.next_cursor,
            things={event.public_id: EventThing.of(event) for event in events_page.items},
            states=EVENT_STATES,
            names=EVENT_NAMES,
            asked=filters,
            query=urlencode(filters),
            message=DONE.get(done),
            faults=faults,
        ),
        cursor,
    )


class _ReasonForm(Schema):
    reason: Reason


@router.post("/events/{public_id}/requeue")
async def requeue(public_id: UUID, form: CurrentForm) -> Response:
    async with form.show_on_refusal(show_event, public_id):
        order = form.order(_ReasonForm, form.filled("reason"))
        await form.transact(event_administration.requeue, public_id, order.reason)
    return RedirectResponse(f"/events/{public_id}?done=requeue", 303)


@router.post("/events/{public_id}/drop")
async def drop(public_id: UUID, form: CurrentForm) -> Response:
    """Delete the event; the audit trail keeps its content."""
    async with form.show_on_refusal(show_event, public_id):
        order = form.order(_ReasonForm, form.filled("reason"))
        await form.transact(event_administration.drop, public_id, order.reason)
    return RedirectResponse("/events?state=dead&done=drop", 303)


@router.get("/events/{public_id}")
async def show_event(page: CurrentPage, session: ReadSession, state: Shown, public_id: UUID) -> Response:
    page.caller.require(SEES, Scope())
    event = await events.read_event(session, public_id=public_id)
    return page.show(
        EventDetailPage(
            event=event,
            said=EVENT_NAMES.get(event.name, Text(event.name, event.name)),
            thing=EventThing.of(event),
            states=EVENT_STATES,
            payload=orjson.dumps(dict(event.payload), option=orjson.OPT_INDENT_2).decode(),
            state=state,
            may_manage=page.caller.may(MANAGES, Scope()),
            message=DONE.get(state.done),
        )
    )
