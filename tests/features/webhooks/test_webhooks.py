"""Webhooks from their creation to the outcome of a message, with a receiver that stands in this process."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit import service as audit
from saraban.config import Settings
from saraban.events import service as events
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.rate_limits import RateLimiter
from saraban.notifications import service as notifications
from saraban.notifications.models import MailLine
from saraban.notifications.service import MailJob, MailSettings
from saraban.webhooks import service as webhooks
from saraban.webhooks.adapters import GuardedTransport
from saraban.webhooks.domain import NotSent
from saraban.webhooks.models import Webhook
from saraban.worker.loop import Worker
from tests.conftest import SignIn, unwrapped
from tests.features.webhooks.standard_receiver import verified
from tests.mail_delivery import Mailbox
from tests.notified_accounts import NEW_YEAR, open_account, told
from tests.terminal import Command, commands_of
from tests.webhook_receiver import HOOK, Receiver, make, worker

NOTICES = "/api/v1/notifications"
NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)


async def happen(db: Database, project: str, *, name: str = "document.created", aggregate: str = "") -> UUID:
    payload = {"projectPublicId": project, "documentNumber": "คคง.-0001", "subject": "ความลับ"}
    return await db.transact(
        lambda session: events.record(
            session, events.NewEvent(name, "document", aggregate or str(new_id()), payload, NOW)
        )
    )


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW, ZoneInfo("Asia/Bangkok"))


@pytest_asyncio.fixture
async def owner(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("admin")


@pytest_asyncio.fixture
async def project(owner: httpx.AsyncClient) -> str:
    return str((await owner.get("/api/v1/projects")).json()["items"][0]["publicId"])


class TestMessages:
    async def test_are_signed_and_say_no_word_of_the_document(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        event = await happen(app.state.db, project)
        await happen(app.state.db, project, name="document.cancelled")  # it did not wish to hear of that
        receiver = Receiver()

        await worker(app.state.db, clock, receiver).drain()

        ((url, headers, body),) = receiver.got
        assert url == HOOK
        assert headers["webhook-id"] == str(event)
        assert headers["webhook-timestamp"] == str(int(NOW.timestamp()))
        assert verified(made["secret"], headers, body)
        assert "ความลับ" not in body.decode()
        assert json.loads(body)["data"]["documentNumber"] == "คคง.-0001"

    async def test_tell_of_an_answer_in_a_review(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        await make(owner, project, events=["workflow.answered"])
        await happen(app.state.db, project, name="workflow.answered")
        receiver = Receiver()

        await worker(app.state.db, clock, receiver).drain()

        ((_, _, body),) = receiver.got
        assert json.loads(body)["type"] == "workflow.answered"

    async def test_of_a_transition_find_the_project_by_the_document(
        self, app: FastAPI, owner: httpx.AsyncClient, signed_in: SignIn, project: str, clock: FixedClock
    ) -> None:
        await make(owner, project, events=["workflow.transitioned"])
        consultant = await signed_in("dc.consultant")
        places = (await owner.get(f"/api/v1/projects/{project}/organizations")).json()["items"]
        to = next(place["publicId"] for place in places if place["organizationCode"] == "ผรม.1")
        letter = {
            "projectPublicId": project,
            "correspondenceTypeCode": "LETTER",
            "recipients": [{"organizationPublicId": to, "recipientType": "TO"}],
            "subject": "ขอเชิญประชุม",
        }
        document = unwrapped(await consultant.post("/api/v1/correspondences", json=letter))
        instance = document["workflow"]["instancePublicId"]
        moved = await consultant.post(f"/api/v1/workflow/instances/{instance}/transitions", json={"action": "submit"})
        assert moved.status_code == 200, moved.text
        receiver = Receiver()

        await worker(app.state.db, FixedClock(datetime(2100, 1, 1, tzinfo=UTC), clock.zone), receiver).drain()

        ((_, _, body),) = receiver.got
        assert json.loads(body)["data"]["documentPublicId"] == document["publicId"]

    async def test_that_fail_are_tried_three_times_in_order_and_each_outcome_is_shown(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        first = await happen(app.state.db, project, aggregate="a")
        second = await happen(app.state.db, project, aggregate="a")
        receiver = Receiver(503, NotSent("private_address"), 302)
        runner = worker(app.state.db, clock, receiver)

        for pause in (0, 4, 1, 9, 1):
            clock.at += timedelta(seconds=pause)
            await runner.drain()

        told = [headers["webhook-id"] for _, headers, _ in receiver.got]
        assert told == [str(first)] * 3 + [str(second)]
        shown = (await owner.get(f"/api/v1/webhooks/{made['publicId']}/outcomes")).json()["items"]
        assert [(one["status"], one["error"], one["delivered"]) for one in shown] == [
            (200, None, True),
            (302, None, False),
            (None, "private_address", False),
            (503, None, False),
        ]
        dead = (await owner.get("/api/v1/events", params={"state": "dead"})).json()["items"]
        assert [one["error"] for one in dead] == ["WebhookFailed: it answered 302"]

    async def test_wait_for_the_limit_of_a_minute_and_lose_no_attempt(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        await make(owner, project)
        for _ in range(3):
            await happen(app.state.db, project)
        receiver = Receiver()

        await worker(app.state.db, clock, receiver, per_minute=2).drain()

        assert len(receiver.got) == 2
        (left,) = (await owner.get("/api/v1/events", params={"state": "waiting"})).json()["items"]
        assert (left["name"], left["attempts"]) == ("webhook.requested", 0)

    async def test_share_the_limit_of_a_minute_with_mail(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        db, limiter, receiver, mailer = app.state.db, RateLimiter(), Receiver(), Mailbox()
        await make(owner, project)
        for _ in range(2):
            await happen(db, project)
        no_wait = timedelta(0)
        mail_settings = MailSettings(mailer, clock.zone, no_wait, 3, 3, lambda _kind, _id: "")
        reader = await open_account(db, "reader")
        for number in ("N-1", "N-2"):
            event = told(reader.public_id, number, NEW_YEAR)
            await db.transact(
                lambda session, event=event: notifications.react_all(session, [event], mail_settings=mail_settings)
            )
        mails = MailJob(
            db, mail_settings, limiter=limiter, clock=FixedClock(NEW_YEAR, clock.zone), subjects=app.state.subjects
        )
        runner = worker(db, clock, receiver, per_minute=3, limiter=limiter)

        await runner.drain()
        rounds = [await mails.round() for _ in range(2)]
        await happen(db, project)
        await runner.drain()

        assert (len(receiver.got), rounds, len(mailer.taken)) == (2, [True, False], 1)
        (left,) = (await owner.get("/api/v1/events", params={"state": "waiting"})).json()["items"]
        assert (left["name"], left["attempts"]) == ("webhook.requested", 0)
        async with db.reading() as session:
            lines = (await session.scalars(sa.select(MailLine).order_by(MailLine.id))).all()
        assert [(line.sent_at is None, line.attempts, line.claimed_until) for line in lines] == [
            (False, 0, None),
            (True, 0, None),
        ]

    async def test_of_a_busy_webhook_do_not_delay_those_of_another(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        await make(owner, project, events=["document.created"])
        await make(owner, project, events=["document.cancelled"], url=f"{HOOK}/quiet")
        for name in (*["document.created"] * 6, *["document.cancelled"] * 2):
            await happen(app.state.db, project, name=name)
        receiver = Receiver()

        await worker(app.state.db, clock, receiver, per_minute=4, each=2).drain()

        assert sorted(url for url, _, _ in receiver.got) == [HOOK] * 2 + [f"{HOOK}/quiet"] * 2
        async with app.state.db.reading() as session:
            waiting = (await events.list_events(session, events.EventSearch(events.EventState.WAITING), limit=20)).items
        turns = sorted(one.next_try_at for one in waiting if one.next_try_at is not None)
        assert len(turns) == 4
        # They come one after the other, not all at once before everybody else's.
        assert all(later - earlier >= timedelta(seconds=29) for earlier, later in pairwise(turns))

    async def test_carry_both_signatures_for_a_day_after_the_secret_was_changed(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str
    ) -> None:
        made = await make(owner, project)
        changed = (await owner.post(f"/api/v1/webhooks/{made['publicId']}/rotate-secret")).json()
        until = datetime.fromisoformat(changed["previousSecretUntil"])
        receiver = Receiver()
        zone = ZoneInfo("Asia/Bangkok")
        for moment in (until - timedelta(seconds=1), until):
            await happen(app.state.db, project)
            await worker(app.state.db, FixedClock(moment, zone), receiver).drain()

        valid = [
            [verified(one["secret"], headers, body) for one in (made, changed)] for _, headers, body in receiver.got
        ]
        assert valid == [[True, True], [False, True]]

    async def test_keep_each_earlier_secret_its_day_however_often_it_is_changed(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        address = f"/api/v1/webhooks/{made['publicId']}/rotate-secret"

        given = [made, *[(await owner.post(address)).json() for _ in range(3)]]
        fourth = await owner.post(address)

        assert (fourth.status_code, fourth.json()["code"]) == (409, "WEBHOOK_SECRETS_TOO_MANY")
        assert int(fourth.headers["Retry-After"]) > 23 * 3600
        until = given[1]["previousSecretUntil"]
        assert until[:16] in fourth.text
        receiver = Receiver()
        await happen(app.state.db, project)
        await worker(app.state.db, app.state.clock, receiver).drain()
        ((_, headers, body),) = receiver.got
        assert [verified(one["secret"], headers, body) for one in given] == [True] * 4
        later = datetime.fromisoformat(given[-1]["previousSecretUntil"])
        await happen(app.state.db, project)
        await worker(app.state.db, FixedClock(later, clock.zone), receiver).drain()
        _, headers, body = receiver.got[-1]
        assert [verified(one["secret"], headers, body) for one in given] == [False] * 3 + [True]

    async def test_get_one_new_secret_for_a_key_and_none_for_a_stale_version(
        self, owner: httpx.AsyncClient, project: str
    ) -> None:
        made = await make(owner, project)
        address = f"/api/v1/webhooks/{made['publicId']}/rotate-secret"

        first, again = [await owner.post(address, headers={"Idempotency-Key": "leak"}) for _ in range(2)]
        stale = await owner.post(address, headers={"If-Match": '"1"'})

        assert first.json() == again.json()
        assert (again.headers["idempotent-replay"], again.headers["etag"]) == ("true", '"2"')
        assert (stale.status_code, stale.json()["code"]) == (412, "WEBHOOK_CHANGED")

    async def test_are_not_kept_for_a_key_and_shown_again_only_while_they_stand(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str
    ) -> None:
        made = await make(owner, project)
        address, key = f"/api/v1/webhooks/{made['publicId']}", {"Idempotency-Key": "leak"}
        first = await owner.post(f"{address}/rotate-secret", headers=key)
        async with app.state.db.reading() as session:
            kept = [str(row) for row in await session.execute(sa.text("SELECT * FROM idempotency_keys"))]
        await owner.post(f"{address}/rotate-secret")
        again = await owner.post(f"{address}/rotate-secret", headers=key)

        assert len(kept) == 1
        assert first.json()["secret"] not in kept[0]
        assert (again.status_code, again.headers["idempotent-replay"]) == (200, "true")
        assert (again.json()["secret"], again.json()["version"]) == (None, 3)

    async def test_end_when_nothing_got_through_for_days_until_it_is_switched_on_again(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        address = f"/api/v1/webhooks/{made['publicId']}"
        receiver = Receiver(*[503] * 10)
        runner = worker(app.state.db, clock, receiver)

        for days in (0, 1, 2):
            await self._give_up(app.state.db, project, clock, runner, days=days)
        before = (await owner.get(address)).json()
        await self._give_up(app.state.db, project, clock, runner, days=4)
        off = (await owner.get(address)).json()
        await self._give_up(app.state.db, project, clock, runner, days=5)
        on = (await owner.patch(address, json={"isActive": True})).json()

        assert (before["isActive"], before["failingSince"]) == (True, "2026-11-20T03:00:00Z")
        assert (off["isActive"], off["offBecause"], off["version"]) == (False, "failing", 2)
        assert len(receiver.got) == 10  # what happens meanwhile is told to nobody
        assert (on["isActive"], on["offBecause"], on["failingSince"]) == (True, None, None)

    @staticmethod
    async def _give_up(db: Database, project: str, clock: FixedClock, runner: Worker, *, days: int) -> None:
        clock.at = NOW + timedelta(days=days)
        await happen(db, project)
        for pause in (0, 5, 10):
            clock.at += timedelta(seconds=pause)
            await runner.drain()

    async def test_that_end_are_told_to_the_owner_and_the_projects_administrators_in_both_languages(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock, signed_in: SignIn
    ) -> None:
        made = await make(owner, project)
        await happen(app.state.db, project)

        await worker(app.state.db, clock, Receiver(410), notices=True).drain()

        told = {
            language: next(
                one
                for one in (await owner.get(NOTICES, headers={"Accept-Language": language})).json()["items"]
                if one["entityPublicId"] == made["publicId"]
            )
            for language in ("th", "en")
        }
        assert told["th"]["title"] == "หยุดส่ง webhook ไปยัง hooks.example.com"
        assert told["en"]["title"] == "The webhook to hooks.example.com was disabled"
        assert all(HOOK in one["message"] and one["entityType"] == "webhook" for one in told.values())
        heard = {}
        for account in ("padmin", "dc.contractor"):
            items = (await (await signed_in(account)).get(NOTICES)).json()["items"]
            heard[account] = made["publicId"] in {one["entityPublicId"] for one in items}
        assert heard == {"padmin": True, "dc.contractor": False}

    async def test_that_get_through_forget_what_failed(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        await happen(app.state.db, project)
        runner = worker(app.state.db, clock, Receiver(500, 200))
        seen = []
        for _ in range(2):
            await runner.drain()
            clock.at += timedelta(seconds=5)
            seen.append((await owner.get(f"/api/v1/webhooks/{made['publicId']}")).json()["failingSince"] is None)

        assert seen == [False, True]

    async def test_to_another_address_have_failed_at_nothing_yet(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        await happen(app.state.db, project)
        await worker(app.state.db, clock, Receiver(500)).drain()
        address = f"/api/v1/webhooks/{made['publicId']}"

        same = (await owner.patch(address, json={"url": HOOK, "description": "ERP"})).json()
        moved = (await owner.patch(address, json={"url": f"{HOOK}/new"})).json()

        assert same["failingSince"] is not None
        assert moved["failingSince"] is None

    async def test_stop_when_the_receiver_is_gone_or_switched_off(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        receiver = Receiver(410)
        await happen(app.state.db, project)
        await worker(app.state.db, clock, receiver).drain()
        await happen(app.state.db, project)
        await worker(app.state.db, clock, receiver).drain()

        assert len(receiver.got) == 1
        shown = (await owner.get(f"/api/v1/webhooks/{made['publicId']}")).json()
        assert (shown["isActive"], shown["offBecause"]) == (False, "gone")

    @pytest.mark.parametrize(
        ("url", "error"), [("https://127.1/", "bad_address"), ("https://10.0.0.1/hook", "private_address")]
    )
    async def test_end_at_once_where_an_older_version_saved_an_address_that_none_may_lead_to(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock, url: str, error: str
    ) -> None:
        made = await make(owner, project)
        # It cannot be saved so any more.
        await app.state.db.transact(lambda session: session.execute(sa.update(Webhook).values(url=url)))
        await happen(app.state.db, project)

        await worker(app.state.db, clock, GuardedTransport(), notices=True).drain()
        clock.at += timedelta(days=1)
        await worker(app.state.db, clock, GuardedTransport(), notices=True).drain()

        address = f"/api/v1/webhooks/{made['publicId']}"
        shown = (await owner.get(address)).json()
        assert (shown["isActive"], shown["offBecause"]) == (False, "address")
        tried = (await owner.get(f"{address}/outcomes")).json()["items"]
        assert [(one["error"], one["delivered"]) for one in tried] == [(error, False)]
        left = [(await owner.get("/api/v1/events", params={"state": state})).json() for state in ("waiting", "dead")]
        assert [one["items"] for one in left] == [[], []]
        told = (await owner.get(NOTICES, headers={"Accept-Language": "en"})).json()["items"]
        (notice,) = [one["message"] for one in told if one["entityPublicId"] == made["publicId"]]
        assert notice.startswith(f"Webhooks may not be sent to {url}. ")

    async def test_for_a_webhook_that_was_removed_are_not_sent(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        tested = await owner.post(f"/api/v1/webhooks/{made['publicId']}/test")
        await owner.delete(f"/api/v1/webhooks/{made['publicId']}")
        receiver = Receiver()
        runner = worker(app.state.db, FixedClock(datetime(2100, 1, 1, tzinfo=UTC), clock.zone), receiver)

        await runner.drain()

        assert tested.status_code == 202
        assert receiver.got == []
        assert (await owner.get("/api/v1/events", params={"state": "waiting"})).json()["items"] == []


class TestRights:
    @pytest.mark.parametrize("account", ["dc.contractor", "dc.consultant"])
    async def test_are_those_of_whoever_may_edit_the_project(
        self, owner: httpx.AsyncClient, signed_in: SignIn, project: str, account: str
    ) -> None:
        made = await make(owner, project)
        client = await signed_in(account)

        assert (await client.get(f"/api/v1/projects/{project}/webhooks")).status_code == 403
        assert (await client.get(f"/api/v1/webhooks/{made['publicId']}")).status_code == 404
        assert (await client.delete(f"/api/v1/webhooks/{made['publicId']}")).status_code == 404

    async def test_are_held_by_the_project_administrator(self, signed_in: SignIn, project: str) -> None:
        await make(await signed_in("padmin"), project)

    async def test_end_at_the_projects_border(self, owner: httpx.AsyncClient) -> None:
        answer = await owner.post(
            f"/api/v1/projects/{new_id()}/webhooks", json={"url": HOOK, "events": ["document.created"]}
        )

        assert answer.status_code == 404


class TestCreate:
    async def test_shows_the_secret_once_and_is_written_down(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str
    ) -> None:
        made = await make(owner, project)
        shown = (await owner.get(f"/api/v1/webhooks/{made['publicId']}")).json()
        listed = (await owner.get(f"/api/v1/projects/{project}/webhooks")).json()["items"]

        assert made["secret"].startswith("whsec_")
        assert "secret" not in shown
        assert listed == [shown]
        async with app.state.db.reading() as session:
            (row,) = (await audit.list_records(session, action="webhook.create")).items
        assert row.details["url"] == HOOK
        assert made["secret"] not in str(row.details)

    @pytest.mark.parametrize(
        "url",
        [
            *("http://example.com/hook", "https://10.0.0.1/hook", "https://example.com:25/", "https://localhost/x"),
            *("https://127.1/x", "https://0x7f000001/", "https://2130706433/", "https://[::ffff:127.0.0.1]/"),
        ],
    )
    async def test_refuses_what_leads_inside(self, owner: httpx.AsyncClient, project: str, url: str) -> None:
        answer = await owner.post(
            f"/api/v1/projects/{project}/webhooks", json={"url": url, "events": ["document.created"]}
        )

        assert answer.status_code == 422
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/url"]

    async def test_ends_at_twenty(self, owner: httpx.AsyncClient, project: str) -> None:
        for number in range(20):
            await make(owner, project, url=f"{HOOK}/{number}")

        answer = await owner.post(
            f"/api/v1/projects/{project}/webhooks", json={"url": HOOK, "events": ["document.created"]}
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "WEBHOOKS_TOO_MANY")


class TestChange:
    async def test_needs_the_version_that_was_seen(self, owner: httpx.AsyncClient, project: str) -> None:
        made = await make(owner, project)
        address = f"/api/v1/webhooks/{made['publicId']}"
        seen = (await owner.get(address)).headers["etag"]

        changed = await owner.patch(address, json={"isActive": False}, headers={"If-Match": seen})
        late = await owner.patch(address, json={"isActive": True}, headers={"If-Match": seen})

        assert (changed.status_code, changed.json()["isActive"]) == (200, False)
        assert changed.headers["etag"] != seen
        assert (late.status_code, late.json()["code"]) == (412, "WEBHOOK_CHANGED")


class TestForget:
    async def test_outcomes_after_a_week(
        self, app: FastAPI, owner: httpx.AsyncClient, project: str, clock: FixedClock
    ) -> None:
        made = await make(owner, project)
        await happen(app.state.db, project)
        await worker(app.state.db, clock, Receiver()).drain()

        async def left(after: timedelta) -> int:
            await app.state.db.transact(lambda session: webhooks.purge_outcomes(session, now=NOW + after))
            return len((await owner.get(f"/api/v1/webhooks/{made['publicId']}/outcomes")).json()["items"])

        assert [await left(timedelta(days=days)) for days in (6, 8)] == [1, 0]


@pytest.fixture
def command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    with commands_of("webhook", settings, monkeypatch, capfd) as run:
        yield run


class TestTerminal:
    def test_creates_lists_tries_changes_and_removes(self, command: Command) -> None:
        code, out, _ = command("create", HOOK, "--event", "document.created", "--as", "admin")
        hook, secret = out.split()

        assert code == 0
        assert secret.startswith("whsec_")
        assert hook in command("list", "--as", "admin")[1]
        assert command("test", hook, "--as", "admin")[0] == 0
        assert command("rotate", hook, "--as", "admin")[1].startswith("whsec_")
        assert command("off", hook, "--as", "admin")[0] == 0
        assert f"{hook}  off" in command("list", "--as", "admin")[1]
        assert command("on", hook, "--as", "admin")[0] == 0
        assert f"{hook}  on " in command("list", "--as", "admin")[1]
        assert command("outcomes", hook, "--as", "admin")[1] == "Nothing has been sent yet.\n"
        assert command("remove", hook, "--as", "dc.contractor")[0] == 5
        assert command("remove", hook, "--as", "admin")[0] == 0
        assert command("list", "--as", "admin")[1] == "There are no webhooks.\n"

    def test_sets_up_ones_own_and_one_for_a_topic(self, command: Command) -> None:
        code, out, _ = command("own", HOOK, "--as", "dc.contractor")
        hook, secret = out.split()

        assert code == 0
        assert secret.startswith("whsec_")
        assert hook in command("list", "--own", "--as", "dc.contractor")[1]
        assert hook not in command("list", "--own", "--as", "admin")[1]
        assert command("own", "https://10.0.0.1/hook", "--as", "dc.contractor")[0] == 3
        named = ("--event", "workflow.webhook", "--topic", "erp", "--as", "admin")
        assert command("create", HOOK, *named)[0] == 0

    def test_refuses_what_is_no_address_or_no_event(self, command: Command) -> None:
        assert command("create", "http://example.com/hook", "--as", "admin")[0] == 3
        assert command("create", HOOK, "--event", "nothing.happened", "--as", "admin")[0] == 2
