"""Reminders on both databases: several workers look at the same moment, and each reminder goes out once."""

import asyncio
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from saraban import bootstrap
from saraban.documents.core.models import DocumentRevision
from saraban.events.models import OutboxEvent
from saraban.notifications.models import ReminderSent
from saraban.notifications.service import send_reminders
from tests.conftest import settings_in
from tests.reach import rebuild

pytestmark = pytest.mark.sampled("mariadb")

BANGKOK = ZoneInfo("Asia/Bangkok")
DUE = datetime(2027, 6, 10, 23, tzinfo=BANGKOK)
MORNING = datetime(2027, 6, 9, 9, tzinfo=BANGKOK)


class TestWorkers:
    async def test_remind_once_however_many_they_are(
        self, any_documents_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # All are due in the same moment: each page goes on behind a row that is equal to the next.
        monkeypatch.setattr("saraban.notifications.service.reminders.PAGE", 2)
        settings = settings_in(tmp_path, database_url=any_documents_url)
        async with bootstrap.closing(bootstrap.wire(settings)) as system:
            async with system.db.writing() as session:
                await session.execute(sa.update(DocumentRevision).values(due_date=DUE))
            await rebuild(system.db)

            counts = await asyncio.gather(
                *(send_reminders(system.db, subjects=system.subjects, now=MORNING, zone=BANGKOK) for _ in range(4))
            )
            monkeypatch.undo()  # one page has what the small ones had
            again = await send_reminders(system.db, subjects=system.subjects, now=MORNING, zone=BANGKOK)

            async with system.db.reading() as session:
                events = sa.select(sa.func.count()).where(OutboxEvent.name == "document.reminded")
                sent = sa.select(sa.func.count()).select_from(ReminderSent)
                assert await session.scalar(events) == await session.scalar(sent) == sum(counts)
            assert (sum(counts) > 2, again) == (True, 0)
