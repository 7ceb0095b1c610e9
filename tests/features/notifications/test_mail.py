"""E-mail on its way: what it says, when it goes out, and what becomes of it when a server will not have it."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from saraban import bootstrap
from saraban.bootstrap import System
from saraban.config import Settings
from saraban.events import service as events
from saraban.events.models import DeadLetter
from saraban.events.service import Event
from saraban.identity import service as identity
from saraban.identity.models import User
from saraban.kit.clock import FixedClock
from saraban.kit.rate_limits import outbound_rule
from saraban.notifications import adapters
from saraban.notifications.models import MailLine
from saraban.notifications.schemas import PreferencesOrder
from saraban.notifications.service import save_preferences
from saraban.worker.loop import Worker
from tests.factories.contexts import context
from tests.log_capture import lines_of
from tests.mail_delivery import BANGKOK, NOW, deliver, later, server, system
from tests.notices import person, told, transition
from tests.smtp import HANG_UP, SmtpServer

__all__ = ["server", "system"]

READER = "reviewer.consultant"


async def happens(system: System, **changes: Any) -> Event:
    """An event that waits for the reader, as the worker hands it to its handlers."""
    reader = await person(system, READER)
    asked = {"waiting": {"organizations": [], "users": [str(reader.public_id)]}}
    event = await transition(system, "dc.contractor", **(asked | changes))
    for handler in system.handlers.of(event.name):
        await system.db.transact(lambda session, handler=handler: handler(session, [event]))
    return event


async def moved(system: System) -> dict[str, Any]:
    """What an event says that the reader is told of, and that awaits nobody."""
    reader = await person(system, READER)
    nobody: dict[str, list[str]] = {"organizations": [], "users": []}
    return {"waiting": nobody, "notify": nobody | {"users": [str(reader.public_id)]}}


async def choose(system: System, **changes: Any) -> None:
    caller = await person(system, READER)
    order = PreferencesOrder(**({"email": True, "digest": False} | changes))
    await system.db.transact(lambda session: save_preferences(context(caller=caller, now=NOW), session, order=order))


class TestLetter:
    async def test_never_goes_to_two_people_at_an_address_stored_before(
        self, system: System, server: SmtpServer
    ) -> None:
        async with system.db.writing() as session:
            await session.execute(sa.update(User).where(User.username == READER).values(email="a@x,b@y"))
        await happens(system)
        later(system, minutes=4)
        await deliver(system)

        assert server.messages == []

    async def test_says_what_the_application_says_with_a_link(self, system: System, server: SmtpServer) -> None:
        event = await happens(system)
        later(system, minutes=4)
        assert await deliver(system) == 1

        (letter,) = server.messages
        assert letter["To"] == f"{READER}@saraban.invalid"
        assert letter["From"] == "Saraban <saraban@dms.example.org>"
        assert letter["Subject"] == "[สารบรรณ] LCBP3-C2-RFA-TER-RPT-0001-A รอคุณดำเนินการ"
        assert letter["Auto-Submitted"] == "auto-generated"
        assert letter["Message-ID"].endswith("@dms.example.org>")
        thread = f"<document.{event.payload['documentPublicId']}@dms.example.org>"
        assert (letter["References"], letter["In-Reply-To"]) == (thread, thread)
        assert letter["List-Unsubscribe"] == "<https://dms.example.org/notifications/preferences>"
        assert letter["List-Unsubscribe-Post"] is None
        assert letter["Content-Language"] == "th"
        assert letter["Date"].datetime == NOW + timedelta(minutes=4)
        link = f"https://dms.example.org/rfas/{event.payload['documentPublicId']}"
        for form in ("plain", "html"):
            body = letter.get_body((form,))
            assert body is not None
            assert "“รายงานดิน” อยู่ในสถานะ ที่ปรึกษาตรวจ" in body.get_content()
            assert link in body.get_content()
            assert "https://dms.example.org/notifications/preferences" in body.get_content()
        assert await told(system, READER) == ["LCBP3-C2-RFA-TER-RPT-0001-A รอคุณดำเนินการ"]

    async def test_is_written_in_the_language_of_its_reader(self, system: System, server: SmtpServer) -> None:
        reader = await person(system, READER)
        await system.db.transact(
            lambda session: identity.choose_language(context(caller=reader, now=NOW), session, language="en")
        )
        await happens(system, title="<b>ดิน</b> & หิน\r\nBcc: all@example.org")
        later(system, minutes=4)
        await deliver(system)

        (letter,) = server.messages
        assert letter["Subject"] == "[Saraban] LCBP3-C2-RFA-TER-RPT-0001-A awaits your action"
        html = letter.get_body(("html",))
        assert html is not None
        assert "&lt;b&gt;ดิน&lt;/b&gt; &amp; หิน" in html.get_content()
        assert letter["Bcc"] is None

    async def test_never_has_a_second_header_by_way_of_a_number(self, system: System, server: SmtpServer) -> None:
        await happens(system, number="A-1\r\nBcc: all@example.org")
        later(system, minutes=4)
        await deliver(system)

        assert server.messages[0]["Bcc"] is None
        assert server.messages[0]["Subject"].startswith("[สารบรรณ] A-1 Bcc")

    async def test_holds_all_that_happened_to_a_document_within_minutes(
        self, system: System, server: SmtpServer
    ) -> None:
        moves = await moved(system)
        first = await happens(system, **moves)
        later(system, minutes=2)
        same = {"documentPublicId": first.payload["documentPublicId"], **moves}
        for _ in range(2):
            await happens(system, **same)
        await happens(system, number="ANOTHER")
        assert await deliver(system) == 0
        later(system, minutes=2)
        assert await deliver(system) == 1
        later(system, minutes=2)
        assert await deliver(system) == 1

        subjects = [letter["Subject"] for letter in server.messages]
        assert subjects == [
            "[สารบรรณ] เอกสาร LCBP3-C2-RFA-TER-RPT-0001-A มี 3 การเปลี่ยนแปลง",
            "[สารบรรณ] ANOTHER รอคุณดำเนินการ",
        ]
        assert len(await told(system, READER)) == 4

    async def test_is_for_nobody_whose_account_was_closed_meanwhile(self, system: System, server: SmtpServer) -> None:
        await happens(system)
        async with system.db.writing() as session:
            await session.execute(sa.update(User).where(User.username == READER).values(is_active=False))
        later(system, minutes=4)

        assert await deliver(system) == 1
        assert server.messages == []


class TestSettledLine:
    """Somebody acted before the mail went out."""

    @pytest.mark.parametrize("attempts", [0, 1])
    async def test_is_not_sent_and_nor_is_a_mail_without_lines(
        self, system: System, server: SmtpServer, attempts: int
    ) -> None:
        server.answers["DATA"] = ["451 busy"] * attempts
        asked = await happens(system)
        later(system, minutes=4)
        for _ in range(attempts):
            assert await deliver(system) == 1
        nobody = await moved(system) | {"notify": {}}
        await happens(system, documentPublicId=asked.payload["documentPublicId"], **nobody)
        later(system, hours=1)
        await deliver(system)

        assert server.messages == []

    async def test_leaves_a_digest(self, system: System, server: SmtpServer) -> None:
        await choose(system, digest=True, digest_hour=16)
        asked = [await happens(system, number=number) for number in ("A-1", "A-2")]
        later(system, hours=1)
        done = {"documentPublicId": asked[0].payload["documentPublicId"], "number": "A-1"}
        await happens(system, **done, **await moved(system))
        later(system, hours=6)
        await deliver(system)

        (letter,) = server.messages
        body = letter.get_body(("plain",))
        assert body is not None
        assert [title in body.get_content() for title in ("A-1 รอคุณ", "A-2 รอคุณ", "A-1: ")] == [False, True, True]
        assert letter["References"] is None

    async def test_of_a_mail_that_was_given_up_stays_away_when_it_is_revived(
        self, system: System, server: SmtpServer
    ) -> None:
        server.answers["RCPT"] = ["550 no such user"]
        asked = await happens(system)
        later(system, minutes=4)
        await deliver(system)
        await happens(system, documentPublicId=asked.payload["documentPublicId"], waiting={}, notify={})
        async with system.db.reading() as session:
            (dead,) = await session.scalars(sa.select(DeadLetter))
        await system.db.transact(
            lambda session: events.requeue_dead_letter(session, public_id=dead.public_id, now=system.clock.now())
        )
        await Worker(db=system.db, clock=system.clock, handlers=system.handlers).drain()
        later(system, minutes=4)
        await deliver(system)

        assert server.messages == []


class TestWishes:
    async def test_for_quiet_hours_make_it_wait(self, system: System, server: SmtpServer) -> None:
        await choose(system, quiet_from=9, quiet_until=13)
        await happens(system)
        later(system, hours=2, minutes=59)
        assert await deliver(system) == 0
        assert len(await told(system, READER)) == 1
        later(system, minutes=1)

        assert await deliver(system) == 1
        assert len(server.messages) == 1

    async def test_for_quiet_hours_hold_for_a_worker_that_comes_late(self, system: System, server: SmtpServer) -> None:
        await choose(system, quiet_from=20, quiet_until=7)
        await happens(system)
        later(system, hours=11)
        await deliver(system)
        assert server.messages == []
        later(system, hours=10)
        await deliver(system)

        assert len(server.messages) == 1

    async def test_for_a_digest_make_one_letter_of_the_day(self, system: System, server: SmtpServer) -> None:
        await choose(system, digest=True, digest_hour=16)
        for number in ("A-1", "A-2", "A-3"):
            await happens(system, number=number)
            later(system, hours=1)
        assert await deliver(system) == 0
        later(system, hours=3)
        assert await deliver(system) == 1

        (letter,) = server.messages
        assert letter["Subject"] == "[สารบรรณ] สรุปประจำวัน 3 รายการ"
        body = letter.get_body(("plain",))
        assert body is not None
        assert [number in body.get_content() for number in ("A-1", "A-2", "A-3")] == [True, True, True]

    @pytest.mark.parametrize(
        ("chosen", "in_app", "letters"),
        [
            ({"email": False}, 1, 0),
            ({"channels": [{"kind": "waiting", "inApp": True, "email": False}]}, 1, 0),
            ({"channels": [{"kind": "waiting", "inApp": False, "email": True}]}, 0, 1),
        ],
    )
    async def test_decide_by_which_channels_it_comes(
        self, system: System, server: SmtpServer, chosen: dict[str, Any], in_app: int, letters: int
    ) -> None:
        await choose(system, **chosen)
        event = await happens(system)
        for handler in system.handlers.of(event.name):
            await system.db.transact(lambda session, handler=handler: handler(session, [event]))
        later(system, minutes=4)
        await deliver(system)

        assert (len(await told(system, READER)), len(server.messages)) == (in_app, letters)


class TestFailure:
    async def test_is_tried_again_under_the_same_name(self, system: System, server: SmtpServer) -> None:
        server.answers["DATA"] = ["451 busy"]
        server.answers["END"] = [HANG_UP]
        await happens(system)
        later(system, minutes=4)
        assert await deliver(system) == 1
        assert server.messages == []
        later(system, seconds=60)
        assert await deliver(system) == 1  # taken, but the server hung up before it said so
        later(system, seconds=119)
        assert await deliver(system) == 0
        later(system, seconds=1)
        assert await deliver(system) == 1

        first, second = server.messages
        assert first["Message-ID"] == second["Message-ID"]

    async def test_of_every_attempt_tells_the_operators_and_keeps_the_notice(
        self, system: System, server: SmtpServer
    ) -> None:
        server.answers["DATA"] = ["451 busy"] * 30
        await happens(system)
        for _ in range(30):
            later(system, minutes=60)
            await deliver(system)

        async with system.db.reading() as session:
            (dead,) = await session.scalars(sa.select(DeadLetter))
        assert (dead.queue, dead.name, dead.error) == ("mails", "mail.given_up", "refused: 451")
        assert len(await told(system, READER)) == 1

        await system.db.transact(
            lambda session: events.requeue_dead_letter(session, public_id=dead.public_id, now=system.clock.now())
        )
        await Worker(db=system.db, clock=system.clock, handlers=system.handlers).drain()
        assert await deliver(system) == 1
        assert len(server.messages) == 1

    async def test_of_a_server_that_is_away_for_a_day_loses_no_mail(self, system: System, server: SmtpServer) -> None:
        await choose(system)
        server.answers["MAIL"] = [
            "530 log in first"
        ] * 1000  # the operator mends that; a 5xx answer for a recipient is final
        await happens(system)
        for _ in range(24):
            later(system, minutes=60)
            await deliver(system)
        server.answers.clear()
        later(system, minutes=60)

        assert await deliver(system) == 1
        assert len(server.messages) == 1

    async def test_that_is_final_is_not_tried_again(self, system: System, server: SmtpServer) -> None:
        server.answers["RCPT"] = ["550 no such user"]
        await happens(system)
        for _ in range(5):
            later(system, minutes=4)
            await deliver(system)

        assert server.messages == []
        async with system.db.reading() as session:
            line = (await session.scalars(sa.select(MailLine))).one()
            assert (line.attempts, line.given_up_at is not None) == (1, True)
            assert len((await session.scalars(sa.select(DeadLetter))).all()) == 1

    async def test_to_reach_the_server_costs_an_attempt_and_no_letter(self, system: System, server: SmtpServer) -> None:
        await happens(system)
        later(system, minutes=4)
        port = server.port
        await server.__aexit__(None, None, None)
        assert await deliver(system) == 1
        server._server = await asyncio.start_server(server._talk, "127.0.0.1", port)
        later(system, minutes=1)

        assert await deliver(system) == 1
        assert len(server.messages) == 1


class TestLimit:
    async def test_holds_letters_back_until_a_minute_has_passed(self, settings: Settings, server: SmtpServer) -> None:
        changes = {"mail": "smtp", "smtp_host": "127.0.0.1", "smtp_port": server.port, "smtp_security": "none"}
        changed = settings.model_copy(update=changes | {"outbound_limit": 2, "mail_gather_seconds": 0})
        clock = FixedClock(NOW, BANGKOK)
        async with bootstrap.closing(bootstrap.wire(changed, clock=clock)) as system:
            for _ in range(3):
                await happens(system)
            assert await deliver(system) == 2
            await system.limiter.clear([outbound_rule(2)])  # a minute later
            assert await deliver(system) == 1

        assert len(server.messages) == 3


class TestConsole:
    async def test_writes_letters_to_the_log(self, settings: Settings) -> None:
        changed = settings.model_copy(update={"mail": "console", "mail_gather_seconds": 0})
        async with bootstrap.closing(bootstrap.wire(changed, clock=FixedClock(NOW, BANGKOK))) as system:
            await happens(system)
            with lines_of(adapters) as lines:
                assert await deliver(system) == 1

        (line,) = [line for line in lines if line["event"] == "mail"]
        assert line["to"] == f"{READER}@saraban.invalid"
        assert "รอคุณดำเนินการ" in line["text"]
