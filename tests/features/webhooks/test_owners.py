"""What a project's webhook receives: what its owner may see when it is sent, signed with a secret that nobody reads at rest."""

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.identity.models import User
from saraban.kit import encryption
from saraban.kit.clock import FixedClock
from saraban.webhooks import service as webhooks
from tests.conftest import SIGNING_KEY, SignIn, unwrapped
from tests.features.webhooks.standard_receiver import verified
from tests.webhook_receiver import HOOK, Receiver, make, worker

LATER = FixedClock(datetime(2100, 1, 1, tzinfo=UTC), ZoneInfo("Asia/Bangkok"))
EVENTS = ["document.created", "workflow.transitioned"]


@pytest_asyncio.fixture
async def manager(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("padmin")


@pytest_asyncio.fixture
async def project(manager: httpx.AsyncClient) -> str:
    return str((await manager.get("/api/v1/projects")).json()["items"][0]["publicId"])


async def circulate(client: httpx.AsyncClient, project: str) -> dict[str, Any]:
    me = (await client.get("/api/v1/auth/me")).json()
    body = {
        "projectPublicId": project,
        "organizationPublicId": me["organization"]["publicId"],
        "subject": "ลับ",
        "assignees": [{"userPublicId": me["publicId"], "kind": "MAIN"}],
    }
    return unwrapped(await client.post("/api/v1/circulations", json=body))


async def write(client: httpx.AsyncClient, project: str) -> dict[str, Any]:
    places = (await client.get(f"/api/v1/projects/{project}/organizations")).json()["items"]
    to = next(place["publicId"] for place in places if place["organizationCode"] == "กทท.")
    body = {
        "projectPublicId": project,
        "correspondenceTypeCode": "LETTER",
        "recipients": [{"organizationPublicId": to, "recipientType": "TO"}],
        "subject": "ขอเชิญประชุม",
    }
    return unwrapped(await client.post("/api/v1/correspondences", json=body))


async def received(app: FastAPI) -> set[str]:
    receiver = Receiver()
    await worker(app.state.db, LATER, receiver).drain()
    return {json.loads(body)["data"]["documentPublicId"] for _, _, body in receiver.got}


class TestAWebhookOfAManager:
    async def test_is_not_told_of_circulations_that_the_manager_cannot_see(
        self, app: FastAPI, manager: httpx.AsyncClient, signed_in: SignIn, project: str
    ) -> None:
        await make(manager, project, events=EVENTS)
        control = await signed_in("dc.contractor")
        circulation, letter = await circulate(control, project), await write(control, project)
        assert (await manager.get(f"/api/v1/circulations/{circulation['publicId']}")).status_code in {403, 404}

        assert await received(app) == {letter["publicId"]}

    async def test_is_told_nothing_once_the_account_is_closed(
        self, app: FastAPI, manager: httpx.AsyncClient, signed_in: SignIn, project: str
    ) -> None:
        await make(manager, project, events=EVENTS)
        await write(await signed_in("dc.contractor"), project)
        async with app.state.db.writing() as session:
            await session.execute(sa.update(User).where(User.username == "padmin").values(is_active=False))

        assert await received(app) == set()

    async def test_receives_what_the_person_sees_who_gave_its_address(
        self, app: FastAPI, manager: httpx.AsyncClient, signed_in: SignIn, project: str
    ) -> None:
        made = await make(await signed_in("admin"), project, events=EVENTS)
        await manager.patch(f"/api/v1/webhooks/{made['publicId']}", json={"url": f"{HOOK}/of-the-manager"})
        await circulate(await signed_in("dc.contractor"), project)

        assert await received(app) == set()


async def stored(app: FastAPI) -> str:
    async with app.state.db.reading() as session:
        rows = (await session.execute(sa.text("SELECT secret, earlier_secrets FROM webhooks"))).all()
    return str(rows)


class TestSecrets:
    async def test_are_encrypted_at_rest_earlier_ones_too(
        self, app: FastAPI, manager: httpx.AsyncClient, project: str
    ) -> None:
        made = await make(manager, project, events=EVENTS)
        changed = (await manager.post(f"/api/v1/webhooks/{made['publicId']}/rotate-secret")).json()

        kept = await stored(app)

        assert "whsec_" not in kept
        assert not any(one["secret"].removeprefix("whsec_") in kept for one in (made, changed))

    async def test_of_an_earlier_version_are_encrypted_and_go_on_signing(
        self, app: FastAPI, manager: httpx.AsyncClient, signed_in: SignIn, project: str
    ) -> None:
        await make(manager, project, events=EVENTS)
        plain = "whsec_" + "QUFB" * 10 + "QUE="
        async with app.state.db.writing() as session:
            earlier = json.dumps([{"secret": plain, "until": "2101-01-01T00:00:00+00:00"}])
            await session.execute(
                sa.text("UPDATE webhooks SET secret = :plain, earlier_secrets = :earlier"),
                {"plain": plain, "earlier": earlier},
            )

        await app.state.db.transact(webhooks.encrypt_secrets)

        assert "whsec_" not in await stored(app)
        await write(await signed_in("dc.contractor"), project)
        receiver = Receiver()
        await worker(app.state.db, LATER, receiver).drain()
        ((_, headers, body),) = receiver.got
        assert verified(plain, headers, body)

    async def test_of_another_signing_key_sign_nothing_and_say_so(
        self, app: FastAPI, manager: httpx.AsyncClient, signed_in: SignIn, project: str, request: pytest.FixtureRequest
    ) -> None:
        made = await make(manager, project, events=EVENTS)
        await write(await signed_in("dc.contractor"), project)
        request.addfinalizer(lambda: encryption.use_key(SIGNING_KEY))
        encryption.use_key("another-key-of-this-installation-by-now")
        receiver = Receiver()

        await worker(app.state.db, LATER, receiver).drain()

        shown = (await manager.get(f"/api/v1/webhooks/{made['publicId']}/outcomes")).json()["items"]
        assert (receiver.got, {one["error"] for one in shown}) == ([], {"secret_unreadable"})
