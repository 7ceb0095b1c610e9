"""E-mail on both databases: several workers, and each letter once."""

import asyncio
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.rate_limits import RateLimiter
from saraban.notifications import service as notifications
from saraban.notifications.domain.mail_message import MailMessage, MailRefused
from saraban.notifications.models import MailLine
from saraban.notifications.service import MailJob, MailSettings
from saraban.workflow.service import Subjects
from tests.notified_accounts import NEW_YEAR, open_account, told

pytestmark = pytest.mark.sampled("mariadb")

LETTERS = 12


class Pile:
    """Takes letters slowly, and each third one not at the first attempt."""

    def __init__(self) -> None:
        self.taken: list[MailMessage] = []
        self._refused: set[str] = set()

    async def send(self, letter: MailMessage) -> None:
        await asyncio.sleep(0.01)
        if letter.key.int % 3 == 0 and letter.key.hex not in self._refused:
            self._refused.add(letter.key.hex)
            raise MailRefused("busy", for_good=False)
        self.taken.append(letter)


class TestWorkers:
    async def test_send_each_letter_once_however_many_they_are(self, any_db: Database) -> None:
        pile, clock, limiter = Pile(), FixedClock(NEW_YEAR, ZoneInfo("Asia/Bangkok")), RateLimiter()
        mail_settings = MailSettings(pile, clock.zone, timedelta(0), 1000, 30, lambda _kind, _id: "")
        readers = [await open_account(any_db, f"reader{number}") for number in range(3)]
        for number in range(LETTERS):
            event = told(readers[number % 3].public_id, f"N-{number}", NEW_YEAR)
            for _ in range(2):
                await any_db.transact(
                    lambda session, event=event: notifications.react_all(session, [event], mail_settings=mail_settings)
                )

        async def work() -> None:
            mails = MailJob(any_db, mail_settings, limiter=limiter, clock=clock, subjects=Subjects())
            for _ in range(LETTERS * 2):
                await mails.round()

        for _ in range(2):
            await asyncio.gather(*(work() for _ in range(4)))
            clock.at += timedelta(seconds=61)

        assert len(pile.taken) == LETTERS
        assert len({letter.key for letter in pile.taken}) == LETTERS
        async with any_db.reading() as session:
            waiting = sa.select(sa.func.count()).select_from(MailLine).where(MailLine.sent_at.is_(None))
            assert await session.scalar(waiting) == 0
