"""What a workflow's definition and a person's own wishes have sent: topics, and webhooks that nobody else sees."""

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from fastapi import FastAPI

from saraban.events.service import Handlers
from saraban.kit.clock import FixedClock
from saraban.kit.rate_limits import RateLimiter
from saraban.notifications import service as notifications
from saraban.webhooks import service as webhooks
from saraban.worker.loop import Worker
from saraban.workflow.administration.service.versions import shipped
from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk
from tests.features.webhooks.standard_receiver import verified
from tests.webhook_receiver import HOOK, Receiver

__all__ = ["desk"]

OWN = "/api/v1/notifications/webhooks"
LATER = FixedClock(datetime(2100, 1, 1, tzinfo=UTC), ZoneInfo("Asia/Bangkok"))


async def sent(system: Any) -> list[tuple[dict[str, str], bytes]]:
    """Deliver all that waits, and return what the receivers were sent."""
    receiver, handlers = Receiver(), Handlers()
    db = system.db
    notifications.subscribe(handlers, subjects=system.subjects)
    sender = webhooks.WebhookSender(db, clock=LATER, transport=receiver, limiter=RateLimiter(), per_minute=0)
    webhooks.subscribe(handlers, sender, first_delay=timedelta(seconds=5))
    await Worker(db=db, clock=LATER, handlers=handlers).drain()
    return [(headers, body) for _, headers, body in receiver.got]


def with_topics(*topics: str) -> dict[str, Any]:
    """The letters' own workflow, whose first step names webhooks."""
    raw = copy.deepcopy(next(one for one in shipped() if one["workflow"] == "CORRESPONDENCE_FLOW_V1"))
    raw["states"][0]["on"]["submit"]["events"] = [{"type": "webhook", "target": topic} for topic in topics]
    return raw


class TestTopic:
    @pytest.fixture
    async def hooks(self, desk: Desk) -> dict[str, str]:
        """One webhook for every topic, one for one of them, one that does not listen to definitions."""
        admin = await desk.as_("admin")
        published = await admin.post(
            "/api/v1/workflow/definitions", json={"dsl": with_topics("letters.sent", "erp"), "activate": True}
        )
        assert published.status_code == 201, published.text
        wishes: dict[str, dict[str, Any]] = {
            "all": {"events": ["workflow.webhook"]},
            "some": {"events": ["workflow.webhook"], "topics": ["erp"]},
            "other": {"events": ["workflow.webhook"], "topics": ["nobody"]},
            "none": {"events": ["document.revised"]},
        }
        made = {}
        for name, wish in wishes.items():
            answer = await admin.post(f"/api/v1/projects/{desk.project}/webhooks", json={"url": HOOK, **wish})
            assert answer.status_code == 201, answer.text
            made[name] = answer.json()["secret"]
        return made

    async def test_of_a_definition_reaches_whoever_listens_to_it(
        self, desk: Desk, app: FastAPI, hooks: dict[str, str]
    ) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")

        got = await sent(app.state)

        heard = {
            name: [json.loads(body)["data"]["topic"] for headers, body in got if verified(secret, headers, body)]
            for name, secret in hooks.items()
        }
        assert heard == {"all": ["letters.sent", "erp"], "some": ["erp"], "other": [], "none": []}
        said = json.loads(got[0][1])
        assert said["type"] == "workflow.webhook"
        assert (said["data"]["action"], said["data"]["documentPublicId"]) == ("submit", letter["publicId"])
        assert letter["subject"] not in got[0][1].decode()

    @pytest.mark.parametrize(
        ("wish", "pointer"),
        [
            ({"events": ["document.created"], "topics": ["erp"]}, "/topics"),
            ({"events": ["workflow.webhook"], "topics": ["Not a topic"]}, "/topics/0"),
            ({"events": ["notification.created"]}, "/events/0"),
        ],
    )
    async def test_is_refused_where_it_could_never_be_heard(
        self, desk: Desk, wish: dict[str, Any], pointer: str
    ) -> None:
        admin = await desk.as_("admin")

        answer = await admin.post(f"/api/v1/projects/{desk.project}/webhooks", json={"url": HOOK, **wish})

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)

    async def test_can_be_changed_and_taken_back(self, desk: Desk) -> None:
        admin = await desk.as_("admin")
        body = {"url": HOOK, "events": ["workflow.webhook"], "topics": ["erp"]}
        made = (await admin.post(f"/api/v1/projects/{desk.project}/webhooks", json=body)).json()
        address = f"/api/v1/webhooks/{made['publicId']}"

        other = await admin.patch(address, json={"topics": ["site", "erp", "site"]})
        none = await admin.patch(address, json={"topics": []})
        wrong = await admin.patch(address, json={"topics": ["erp"], "events": ["document.created"]})

        assert other.json()["topics"] == ["site", "erp"]
        assert none.json()["topics"] == []
        assert wrong.status_code == 422


class TestOwn:
    async def make(self, client: httpx.AsyncClient, *kinds: str) -> dict[str, Any]:
        made = await client.post(OWN, json={"url": HOOK})
        assert made.status_code == 201, made.text
        chosen = [{"kind": kind, "inApp": True, "email": True, "webhook": True} for kind in kinds]
        kept = await client.put(
            "/api/v1/notifications/preferences", json={"email": True, "digest": False, "channels": chosen}
        )
        assert kept.status_code == 204, kept.text
        return dict(made.json())

    async def test_is_told_what_its_owner_chose_and_no_word_of_the_document(self, desk: Desk, app: FastAPI) -> None:
        consultant = await desk.as_("dc.consultant")
        made = await self.make(consultant, "waiting")
        # Others chose nothing, and have a webhook all the same; so does one who wants another kind only.
        await (await desk.as_("reviewer.consultant")).post(OWN, json={"url": HOOK})
        await self.make(await desk.as_("dc.contractor"), "created")
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await sent(app.state)
        await desk.act("dc.contractor", letter, "submit")

        ((headers, body),) = await sent(app.state)

        assert verified(made["secret"], headers, body)
        said = json.loads(body)
        assert said["type"] == "notification.created"
        number = letter["documentNumber"]
        assert said["data"]["says"] == {"th": f"{number} รอคุณดำเนินการ", "en": f"{number} awaits your action"}
        assert (said["data"]["notice"], said["data"]["documentPublicId"]) == ("waiting", letter["publicId"])
        assert letter["subject"] not in body.decode()
        assert (await consultant.get("/api/v1/notifications")).json()["unreadCount"] >= 1

    async def test_has_one_id_for_each_notice_and_person(self, desk: Desk, app: FastAPI) -> None:
        for account in ("dc.consultant", "reviewer.consultant"):
            await self.make(await desk.as_(account), "waiting")
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")

        got = await sent(app.state)

        assert len(got) == 2
        assert len({headers["webhook-id"] for headers, _ in got}) == 2

    async def test_is_seen_and_changed_by_its_owner_alone(self, desk: Desk, signed_in: SignIn) -> None:
        owner, admin = await desk.as_("dc.contractor"), await signed_in("admin")
        made = await self.make(owner)
        address = f"/api/v1/webhooks/{made['publicId']}"

        assert [one["publicId"] for one in (await owner.get(OWN)).json()["items"]] == [made["publicId"]]
        assert (await admin.get(OWN)).json()["items"] == []
        assert [(await admin.get(address)).status_code, (await admin.delete(address)).status_code] == [404, 404]
        assert (await owner.patch(address, json={"isActive": False})).json()["isActive"] is False
        refused = await owner.patch(address, json={"events": ["document.created"]})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/events")
        assert (await owner.delete(address)).status_code == 204

    async def test_never_leads_inside_and_there_are_three_at_most(self, desk: Desk) -> None:
        owner = await desk.as_("dc.contractor")

        inside = await owner.post(OWN, json={"url": "https://10.0.0.1/hook"})
        made = [(await owner.post(OWN, json={"url": HOOK})).status_code for _ in range(3)]
        fourth = await owner.post(OWN, json={"url": HOOK})

        assert (inside.status_code, inside.json()["errors"][0]["code"]) == (422, "private")
        assert made == [201] * 3
        assert (fourth.status_code, fourth.json()["code"]) == (409, "WEBHOOKS_TOO_MANY_OWN")

    async def test_is_made_once_for_a_key(self, desk: Desk) -> None:
        owner = await desk.as_("dc.contractor")

        answers = [await owner.post(OWN, json={"url": HOOK}, headers={"Idempotency-Key": "mine"}) for _ in range(2)]

        assert answers[0].json() == answers[1].json()
        assert len((await owner.get(OWN)).json()["items"]) == 1
