"""Notices: who was notified of what, and what a reminder says."""

from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import FastAPI

from saraban.events.service import Event
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications
from saraban.notifications.service import send_reminders
from saraban.worker.loop import Worker
from tests.factories.contexts import context
from tests.features.documents.conftest import Desk

WORDS = {"th": "คำ", "en": "Word"}

SENDER = {"party": ["originator"]}

BANGKOK = ZoneInfo("Asia/Bangkok")


def state(name: str, **on: Any) -> dict[str, Any]:
    actions = {action: {"label": WORDS, **step} for action, step in on.items()}
    return {"name": name, "label": WORDS, **({"on": actions} if on else {"terminal": True})}


async def letters_go_by(desk: Desk, *states: dict[str, Any]) -> None:
    """Make letters begin as drafts, and go on by these states."""
    draft = states[0] | {"initial": True, "editable": True}
    admin = await desk.as_("admin")
    dsl = {"workflow": "CORRESPONDENCE_FLOW_V1", "states": [draft, *states[1:], state("done")]}
    made = await admin.post("/api/v1/workflow/definitions", json={"dsl": dsl, "activate": True})
    assert made.status_code == 201, made.text


async def titles(desk: Desk, account: str) -> list[str]:
    """What an account was told since it was last asked, oldest first."""
    client = await desk.as_(account)
    unread = (await client.get("/api/v1/notifications", params={"unread": "true"})).json()["items"]
    await client.post("/api/v1/notifications/read-all")
    return [item["title"] for item in reversed(unread)]


def morning(day: date, hour: int = 9) -> datetime:
    return datetime(day.year, day.month, day.day, hour, tzinfo=BANGKOK)


async def reminded(app: FastAPI, worker: Worker, now: datetime) -> int:
    count = await send_reminders(app.state.db, subjects=app.state.subjects, now=now, zone=BANGKOK)
    await worker.drain()
    return count


async def person(system: Any, username: str) -> Caller:
    async with system.db.reading() as session:
        caller = await identity.find_caller(session, username=username)
    assert caller is not None
    return caller


async def transition(system: Any, actor: str, **changes: Any) -> Event:
    """As the workflow tells it."""
    doer = await person(system, actor)
    payload = {
        "documentPublicId": str(new_id()),
        "documentKind": "rfa",
        "number": "LCBP3-C2-RFA-TER-RPT-0001-A",
        "title": "รายงานดิน",
        "to": "consultant_review",
        "stateLabel": {"th": "ที่ปรึกษาตรวจ", "en": "Consultant review"},
        "action": "submit",
        "actionLabel": {"th": "ส่ง", "en": "Submit"},
        "actor": {"publicId": str(doer.public_id), "displayName": "สมชาย"},
        "comment": None,
        "terminal": False,
        "waiting": {"organizations": [], "users": []},
        "notify": {"organizations": [], "users": []},
    } | changes
    return Event(new_id(), "workflow.transitioned", "workflow_instance", str(new_id()), payload, system.clock.now())


async def told(system: Any, username: str, language: str = "th") -> list[str]:
    caller = await person(system, username)
    async with system.db.reading() as session:
        page = await notifications.listing(context(caller=caller), session, language=language)
    return [view.title for view in page.items]
