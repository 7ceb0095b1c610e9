"""A mail server of our own, and a worker that sends all that is due."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest_asyncio

from saraban import bootstrap
from saraban.bootstrap import System
from saraban.config import Settings
from saraban.kit.clock import FixedClock
from saraban.notifications.domain.mail_message import MailMessage
from saraban.notifications.service import MailJob
from tests.smtp import SmtpServer

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)  # ten in the morning, in Bangkok

BANGKOK = ZoneInfo("Asia/Bangkok")


class Mailbox:
    """Takes every letter."""

    def __init__(self) -> None:
        self.taken: list[MailMessage] = []

    async def send(self, mail: MailMessage) -> None:
        self.taken.append(mail)

    async def check(self) -> None: ...


@pytest_asyncio.fixture
async def server() -> AsyncIterator[SmtpServer]:
    async with SmtpServer() as server:
        yield server


@pytest_asyncio.fixture
async def system(settings: Settings, server: SmtpServer) -> AsyncIterator[System]:
    changes = {
        "mail": "smtp",
        "smtp_host": "127.0.0.1",
        "smtp_port": server.port,
        "smtp_security": "none",
        "mail_from": "saraban@dms.example.org",
        "public_url": "https://dms.example.org/",
    }
    clock = FixedClock(NOW, BANGKOK)
    async with bootstrap.closing(bootstrap.wire(settings.model_copy(update=changes), clock=clock)) as system:
        yield system


def later(system: System, **time: float) -> None:
    assert isinstance(system.clock, FixedClock)
    system.clock.at += timedelta(**time)


async def deliver(system: System) -> int:
    """Send what is due, and return the number of letters that were tried."""
    assert system.mail_settings is not None
    limiter = system.limiter
    work, tried = (
        MailJob(system.db, system.mail_settings, limiter=limiter, clock=system.clock, subjects=system.subjects),
        0,
    )
    while await work.round():
        tried += 1
    return tried
