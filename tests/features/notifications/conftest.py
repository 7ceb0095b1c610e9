"""The desk of the documents' tests, and a worker beside it."""

from typing import Any

import pytest_asyncio
import sqlalchemy as sa

from saraban.events.models import OutboxEvent
from saraban.worker.loop import Worker
from tests.features.documents.conftest import desk

__all__ = ["desk", "worker"]


@pytest_asyncio.fixture
async def worker(app: Any) -> Worker:
    """Delivers when the test asks for it; the application of the tests runs none. The demo's own events are past."""
    async with app.state.db.writing() as session:
        await session.execute(sa.update(OutboxEvent).values(delivered_at=app.state.clock.now()))
    return Worker(db=app.state.db, clock=app.state.clock, handlers=app.state.handlers)
