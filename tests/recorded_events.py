"""Events for tests of those who look after them: one delivered, one dead, one waiting."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import service as events
from saraban.events.service import Event, Handlers
from saraban.kit.errors import NotFound
from saraban.worker.loop import Worker

WHY = {"reason": "The mail server is back."}


async def refuse(_session: AsyncSession, _event: Event) -> None:
    raise NotFound("There is no such document.")


async def recorded(system: Any, name: str, *, age: timedelta = timedelta(0)) -> UUID:
    return await system.db.transact(
        lambda session: events.record(
            session, events.NewEvent(name, "thing", name, {"number": "คคง.-0001"}, system.clock.now() - age)
        )
    )


async def fill(system: Any, *, age: timedelta = timedelta(0)) -> tuple[UUID, UUID, UUID]:
    """Leave one delivered, one dead and one waiting event, and return their ids."""
    done, dead = [await recorded(system, name, age=age) for name in ("thing.done", "thing.broken")]
    handlers = Handlers()
    handlers.add("thing.broken", refuse)
    await Worker(db=system.db, clock=system.clock, handlers=handlers).drain()
    return done, dead, await recorded(system, "thing.planned", age=age)
