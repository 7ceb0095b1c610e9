"""The state of the installation, and the events that wait or were given up, as pages for operators; the reference of the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Final
from urllib.parse import urlencode
from uuid import UUID

import orjson
from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.events import service as events
from saraban.identity.domain.context import Scope
from saraban.kit.errors import Text
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.schema import Schema
from saraban.ops import event_administration, system_report
from saraban.ops.event_administration import MANAGES, Reason
from saraban.ops.system_report import SEES, SystemOut
from saraban.web.shell.forms import CurrentForm, FormState, FormValues, SentForm, form_errors, submit
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS: Final = 50
PARTS: Final[Mapping[str, Text]] = {
    "database": Text("ฐานข้อมูล", "Database"),
    "migrations": Text("โครงสร้างฐานข้อมูล", "Database schema"),
    "storage": Text("ที่เก็บไฟล์", "File storage"),
    "redis": Text("Redis", "Redis"),
    "worker": Text("งานเบื้องหลัง", "Worker"),
    "inside": Text("ภายในระบบ", "Inside Saraban"),
    "outside": Text("ส่งออกภายนอก", "To receivers outside"),
    "numbers": Text("เลขที่เอกสาร", "Document numbers"),
    "deeds": Text("การดำเนินการอื่น", "Everything else"),
}
STATUSES: Final[Mapping[str, tuple[Text, str]]] = {
    "up": (Text("ปกติ", "Working"), "green"),
    "down": (Text("ขัดข้อง", "Down"), "red"),
    "off": (Text("ไม่ได้ใช้", "Off"), "grey"),
}
EVENT_STATES: Final[Mapping[str, tuple[Text, str]]] = {
    events.EventState.WAITING: (Text("รอส่ง", "Waiting"), "yellow"),
    events.EventState.DELIVERED: (Text("ส่งแล้ว", "Delivered"), "green"),
    events.EventState.DEAD: (Text("ส่งไม่สำเร็จ", "Failed"), "red"),
}
# What `/health/ready` says in English; what is not here is shown as it is.
_REASONS: Final[Mapping[str, str]] = {
    "answers": "ตอบสนอง",
    "can be written": "เขียนได้",
    "runs inside this server": "ทำงานในเซิร์ฟเวอร์นี้",
    "runs apart from this server": "ทำงานแยกจากเซิร์ฟเวอร์นี้",
    "it has stopped; restart the server": "หยุดทำงานแล้ว ให้เริ่มเซิร์ฟเวอร์ใหม่",
    "less than 50 MB are free": "เหลือที่ว่างน้อยกว่า 50 MB",
    "not set up; the database alone keeps numbers unique": "ไม่ได้ตั้งค่า ฐานข้อมูลเป็นผู้ทำให้เลขที่ไม่ซ้ำ",
}
DONE: Final[Mapping[str, Text]] = {
    "requeue": Text("นำกลับเข้าคิวแล้ว", "The event is in the queue again."),
    "drop": Text("ยกเลิกการส่งเหตุการณ์แล้ว", "The event is dropped."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPage(PageModel):
    template: ClassVar[str] = "operations/system.html"

    report: SystemOut
    parts: Mapping[str, Text]
    statuses: Mapping[str, tuple[Text, str]]
    reasons: Mapping[str, str]


@router.get("/system")
async def system(page: CurrentPage, request: Request) -> Response:
    """What the installation stands on, what waits, what is sealed, what is off and what that means."""
    report = await system_report.read_system(page.context, request.app.state)
    reasons = {one.reason: _REASONS.get(one.reason, one.reason) for one in report.dependencies.values()}
    return page.show(
        SystemPage(
            report=report,
            parts=PARTS,
            statuses=STATUSES,
            reasons=reasons if page.language == "th" else {},
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiReferencePage(PageModel):
    template: ClassVar[str] = "operations/api_reference.html"


@router.get("/docs/api")
async def api_reference(page: CurrentPage) -> Response:
    """The API as something to try, with the reader's own session."""
    return page.show(ApiReferencePage())


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsPage(PageModel):
    template: ClassVar[str] = "operations/events.html"
    fragments: ClassVar[tuple[str, ...]] = ("operations/parts/event_rows.html",)

    items: Sequence[events.EventView]
    next_cursor: str | None
    states: Mapping[str, tuple[Text, str]]
    state: str
    name: str
    query: str
    done: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDetailPage(PageModel):
    template: ClassVar[str] = "operations/event.html"

    event: events.EventView
    states: Mapping[str, tuple[Text, str]]
    payload: str
    form: FormValues
    may_manage: bool
    done: Text | None


@router.get("/events")
async def listing(
    page: CurrentPage,
    session: ReadSession,
    state: Annotated[str, Query(max_length=20)] = "",
    name: Annotated[str, Query(max_length=100)] = "",
    cursor: PageCursor = None,
    done: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Those recorded last come first; those that were given up wait for a person."""
    page.caller.require(SEES, Scope())
    wanted = events.EventState(state) if state in EVENT_STATES else None
    search = events.EventSearch(wanted, name.strip() or None)
    found = await events.list_events(session, search, cursor=cursor, limit=ROWS)
    state, name = str(wanted or ""), name.strip()
    return page.show_list(
        EventsPage(
            items=found.items,
            next_cursor=found.next_cursor,
            states=EVENT_STATES,
            state=state,
            name=name,
            query=urlencode({key: value for key, value in (("state", state), ("name", name)) if value}),
            done=DONE.get(done),
        ),
        cursor,
    )


@router.get("/events/{public_id}")
async def read(
    public_id: UUID, page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """One event with what it says and what became of it."""
    return await _show_event(public_id, page, session, FormState(done=done))


@router.post("/events/{public_id}/requeue")
async def requeue(public_id: UUID, form: CurrentForm) -> Response:
    """Deliver it after all."""
    return await submit(form, partial(_requeue, public_id), partial(_show_event, public_id))


@router.post("/events/{public_id}/drop")
async def drop(public_id: UUID, form: CurrentForm) -> Response:
    """Forget it; the audit trail keeps what it said."""
    return await submit(form, partial(_drop, public_id), partial(_show_event, public_id))


class _ReasonForm(Schema):
    reason: Reason


async def _requeue(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    order = form.order(_ReasonForm, form.filled("reason"))
    view = await event_administration.requeue(form.context, session, public_id, order.reason)
    return f"/events/{view.public_id}?done=requeue"


async def _drop(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    order = form.order(_ReasonForm, form.filled("reason"))
    await event_administration.drop(form.context, session, public_id, order.reason)
    return "/events?state=dead&done=drop"


async def _show_event(public_id: UUID, page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    page.caller.require(SEES, Scope())
    found = await events.read_event(session, public_id=public_id)
    return page.show(
        EventDetailPage(
            event=found,
            states=EVENT_STATES,
            payload=orjson.dumps(dict(found.payload), option=orjson.OPT_INDENT_2).decode(),
            form=state.form,
            may_manage=page.caller.may(MANAGES, Scope()),
            done=DONE.get(state.done),
            faults=form_errors(state.error, page.language),
        )
    )
