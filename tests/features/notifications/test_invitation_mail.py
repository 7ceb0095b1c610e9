"""The letter to an invited person: sent at once, with a link that nothing which waits has held."""

import re
from email.message import EmailMessage
from typing import Any

import sqlalchemy as sa

from saraban.bootstrap import System
from saraban.events import service as events
from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.identity.service import Invitation, InvitationEnded
from saraban.kit.rate_limits import RateLimiter
from saraban.notifications.models import MailLine
from saraban.notifications.schemas import PreferencesOrder
from saraban.notifications.service import save_preferences
from tests.factories.contexts import context
from tests.mail_delivery import NOW, deliver, later, server, system
from tests.notices import person
from tests.smtp import SmtpServer

__all__ = ["server", "system"]

READER = "reviewer.consultant"


async def invite(system: System, **more: str) -> Invitation:
    """An invitation, heard by the handlers as a worker has them hear it."""

    async def work(session: Any) -> Any:
        ctx = await identity.system_context(session, system.clock)
        return await identity.invite_user(ctx, session, identity.NewAccount("somchai", **more))

    invitation: Invitation = await system.db.transact(work)
    await hear(system, identity.USER_INVITED)
    return invitation


async def hear(system: System, name: str) -> None:
    """Hand the newest event of a name to its handlers, twice, as a worker may do."""
    async with system.db.reading() as session:
        newest = sa.select(OutboxEvent).where(OutboxEvent.name == name)
        row = await session.scalar(newest.order_by(OutboxEvent.id.desc()))
    assert row is not None
    event = events.Event(row.public_id, row.name, row.aggregate_type, row.aggregate_id, row.payload, row.created_at)
    for handler in system.handlers.of(event.name):
        for _ in range(2):
            await system.db.transact(lambda session, handler=handler: handler(session, [event]))


def link_in(letter: EmailMessage) -> str:
    body = letter.get_body(("plain",))
    assert body is not None
    links = set(re.findall(r"https://dms\.example\.org/invitations/(\S+)", body.get_content()))
    assert len(links) == 1
    return links.pop()


async def opens(system: System, token: str) -> bool:
    try:
        async with system.db.reading() as session:
            await identity.read_invitation(session, token=token, now=system.clock.now())
    except InvitationEnded:
        return False
    return True


class TestLetter:
    async def test_brings_the_link_at_once_and_in_both_languages(self, system: System, server: SmtpServer) -> None:
        printed = await invite(system, email="somchai@example.org", first_name="<b>สมชาย</b>")
        assert await deliver(system) == 1

        (letter,) = server.messages
        html = letter.get_body(("html",))
        assert letter["To"] == "somchai@example.org"
        assert html is not None
        assert "เรียน &lt;b&gt;สมชาย&lt;/b&gt;" in html.get_content()
        assert "Your user name is somchai" in html.get_content()
        assert await opens(system, link_in(letter))
        assert not await opens(system, printed.token)

    async def test_leaves_no_token_behind(self, system: System, server: SmtpServer) -> None:
        await invite(system, email="somchai@example.org")
        await deliver(system)

        token = link_in(server.messages[0])
        async with system.db.reading() as session:
            kept = [str(row) for row in (await session.execute(sa.select(MailLine.__table__))).all()]
        assert kept
        assert not [row for row in kept if token in row]

    async def test_has_a_new_link_at_each_attempt(self, system: System, server: SmtpServer) -> None:
        server.answers["END"] = ["451 busy"]
        await invite(system, email="somchai@example.org")
        await deliver(system)
        later(system, minutes=2)
        await deliver(system)

        first, second = map(link_in, server.messages)
        assert not await opens(system, first)
        assert await opens(system, second)

    async def test_is_not_sent_for_what_was_taken_up_meanwhile(self, system: System, server: SmtpServer) -> None:
        printed = await invite(system, email="somchai@example.org")
        await identity.accept_invitation(
            system.db, limiter=RateLimiter(), token=printed.token, password="Chosen-By-Me-7", address="", now=NOW
        )
        await deliver(system)

        assert server.messages == []

    async def test_is_not_sent_when_the_seven_days_are_over(self, system: System, server: SmtpServer) -> None:
        printed = await invite(system, email="somchai@example.org")
        later(system, days=7)
        await deliver(system)

        assert server.messages == []
        assert not await opens(system, printed.token)


class TestResetLetter:
    async def ask(self, system: System) -> None:
        await identity.request_reset(
            system.db,
            limiter=RateLimiter(),
            identifier=READER,
            address="10.0.0.9",
            now=system.clock.now(),
            least_seconds=0,
        )
        await hear(system, identity.RESET_REQUESTED)

    async def test_brings_a_link_in_both_languages(self, system: System, server: SmtpServer) -> None:
        await self.ask(system)
        assert await deliver(system) == 1

        (letter,) = server.messages
        body = letter.get_body(("plain",))
        assert letter["To"] == f"{READER}@saraban.invalid"
        assert body is not None
        assert "30 นาที" in body.get_content()
        assert "for 30 minutes" in body.get_content()
        assert await opens(system, link_in(letter))

    async def test_does_not_wait_for_the_end_of_quiet_hours(self, system: System, server: SmtpServer) -> None:
        ctx = context(caller=await person(system, READER), now=NOW)
        order = PreferencesOrder(email=True, digest=False, quiet_from=9, quiet_until=13)
        await system.db.transact(lambda session: save_preferences(ctx, session, order=order))
        await self.ask(system)

        assert await deliver(system) == 1
        assert len(server.messages) == 1

    async def test_is_not_sent_when_the_thirty_minutes_are_over(self, system: System, server: SmtpServer) -> None:
        await self.ask(system)
        later(system, minutes=30)
        await deliver(system)

        assert server.messages == []
