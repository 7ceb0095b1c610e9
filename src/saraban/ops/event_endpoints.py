"""API of events and their delivery, for operators."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ConfigDict

from saraban.events import service as events
from saraban.identity.dependencies import Context
from saraban.identity.domain.context import Scope
from saraban.kit.http import Db, PageCursor, PageLimit, PathId, ReadSession
from saraban.kit.schema import PageOut, Schema, SingleLine
from saraban.ops import event_administration

router = APIRouter(prefix="/events", tags=["Events"])

SEES = "system.view_logs"


class ReasonIn(Schema):
    """The reason; the audit trail keeps it."""

    model_config = ConfigDict(json_schema_extra={"example": {"reason": "The mail server is back."}})

    reason: event_administration.Reason


@router.get("", summary="List events")
async def listing(
    ctx: Context,
    session: ReadSession,
    state: Annotated[events.EventState | None, Query(description="Only those in this state.")] = None,
    name: Annotated[Annotated[str, SingleLine(100)] | None, Query(description="Only those of this name.")] = None,
    older_than_seconds: Annotated[
        int | None, Query(alias="olderThanSeconds", ge=0, le=10**8, description="Only those recorded longer ago.")
    ] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> PageOut[events.EventView]:
    """Events recorded last come first. For readers who may see the logs of the system."""
    ctx.caller.require(SEES, Scope())
    before = None if older_than_seconds is None else ctx.now - timedelta(seconds=older_than_seconds)
    page = await events.list_events(session, events.EventSearch(state, name, before), cursor=cursor, limit=limit)
    return PageOut[events.EventView].model_validate(page)


@router.get("/{publicId}", summary="Read an event")
async def read(public_id: PathId, ctx: Context, session: ReadSession) -> events.EventView:
    """One event with its payload and its delivery."""
    ctx.caller.require(SEES, Scope())
    return await events.read_event(session, public_id=public_id)


@router.post("/{publicId}/requeue", summary="Deliver a dead event after all")
async def requeue(public_id: PathId, body: ReasonIn, ctx: Context, db: Db) -> events.EventView:
    """
    The event keeps its id and is delivered after the newer events of the same document or instance. For Superadmins.
    """
    return await db.transact(event_administration.requeue, ctx, public_id, body.reason)


@router.post("/{publicId}/drop", status_code=204, summary="Forget a dead event")
async def drop(public_id: PathId, body: ReasonIn, ctx: Context, db: Db) -> None:
    """The event is never delivered; the audit trail keeps its payload. For Superadmins."""
    await db.transact(event_administration.drop, ctx, public_id, body.reason)
