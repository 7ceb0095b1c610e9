"""Lending one's own steps while away, over HTTP: who may, what is refused, and what both names look like afterwards."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.kit.clock import local_date
from tests.features.documents.conftest import Desk, pointers

HOME = "/api/v1/delegations"


async def person(desk: Desk, account: str) -> str:
    return str((await (await desk.as_(account)).get("/api/v1/auth/me")).json()["publicId"])


def day(app: FastAPI, later: int) -> str:
    return (local_date(app.state.clock.now(), app.state.clock.zone) + timedelta(days=later)).isoformat()


async def lend(
    desk: Desk, app: FastAPI, account: str, to: str, *, first: int = 0, last: int = 6, **more: Any
) -> httpx.Response:
    client = await desk.as_(account)
    body = {"delegatePublicId": await person(desk, to), "startsOn": day(app, first), "endsOn": day(app, last), **more}
    return await client.post(HOME, json=body)


class TestDelegate:
    async def test_lends_and_shows_it_to_both_and_to_nobody_else(self, desk: Desk, app: FastAPI) -> None:
        made = await lend(desk, app, "approver.owner", "viewer", reason="ลาพักร้อน", workflowCodes=["RFA_APPROVAL"])

        assert made.status_code == 201, made.text
        address = f"{HOME}/{made.json()['publicId']}"
        assert made.headers["location"] == address
        assert (made.json()["status"], made.json()["reason"]) == ("active", "ลาพักร้อน")
        for account in ("approver.owner", "viewer", "admin"):
            read = await (await desk.as_(account)).get(address)
            assert (read.status_code, read.headers.get("etag")) == (200, made.headers["etag"]), account
            assert read.json() == made.json()
        assert (await (await desk.as_("dc.consultant")).get(address)).status_code == 404
        for account, many in (("approver.owner", 1), ("viewer", 1), ("dc.consultant", 0)):
            items = (await (await desk.as_(account)).get(HOME)).json()["items"]
            assert len(items) == many, account

    @pytest.mark.parametrize(
        ("changes", "pointer"),
        [
            ({"first": -1}, "/startsOn"),
            ({"first": 3, "last": 2}, "/endsOn"),
            ({"last": 366}, "/endsOn"),
            ({"to": "approver.owner"}, "/delegatePublicId"),
            ({"to": "dc.contractor"}, "/delegatePublicId"),
            ({"to": "svc.loadtest"}, "/delegatePublicId"),
            ({"workflowCodes": ["RFA_APPROVAL", "NOWHERE"]}, "/workflowCodes/1"),
            ({"projectPublicId": "01930b5e-0000-7000-8000-0000000000ff"}, "/projectPublicId"),
        ],
        ids=["past", "order", "long", "self", "stranger", "program", "workflow", "project"],
    )
    async def test_names_the_field_that_is_wrong(
        self, desk: Desk, app: FastAPI, changes: dict[str, Any], pointer: str
    ) -> None:
        refused = await lend(desk, app, "approver.owner", **({"to": "viewer"} | changes))

        assert (refused.status_code, pointers(refused)) == (422, [pointer]), refused.text

    async def test_ends_chains(self, desk: Desk, app: FastAPI) -> None:
        assert (await lend(desk, app, "approver.owner", "viewer")).status_code == 201

        on = await lend(desk, app, "viewer", "admin", first=6, last=9)
        away = await lend(desk, app, "admin", "approver.owner", first=6, last=9)
        twice = await lend(desk, app, "approver.owner", "admin", first=6, last=9)
        later = await lend(desk, app, "viewer", "admin", first=7, last=9)

        assert [(one.status_code, one.json()["code"]) for one in (on, away, twice)] == [
            (409, "DELEGATION_CHAINED"),
            (409, "DELEGATE_AWAY"),
            (409, "DELEGATION_OVERLAPS"),
        ]
        assert pointers(away) == ["/delegatePublicId"]
        assert later.status_code == 201

    async def test_has_one_effect_under_one_key(self, desk: Desk, app: FastAPI) -> None:
        client = await desk.as_("approver.owner")
        body = {"delegatePublicId": await person(desk, "viewer"), "startsOn": day(app, 0), "endsOn": day(app, 1)}

        first, again = [await client.post(HOME, json=body, headers={"Idempotency-Key": "leave"}) for _ in range(2)]

        assert (first.json(), again.headers["idempotent-replay"]) == (again.json(), "true")
        assert len((await client.get(HOME)).json()["items"]) == 1

    async def test_offers_colleagues(self, desk: Desk) -> None:
        client = await desk.as_("reviewer.consultant")

        everybody = (await client.get(f"{HOME}/colleagues")).json()["items"]
        found = (await client.get(f"{HOME}/colleagues", params={"q": "เดชา"})).json()["items"]

        assert [one["displayName"] for one in everybody] == ["เดชา รับส่งดี"]
        assert found == everybody
        assert (await client.get(f"{HOME}/colleagues", params={"q": "nobody"})).json()["items"] == []


class TestRevoke:
    async def test_takes_it_back_at_once_and_once(self, desk: Desk, app: FastAPI) -> None:
        made = await lend(desk, app, "approver.owner", "viewer")
        address, client = f"{HOME}/{made.json()['publicId']}", await desk.as_("approver.owner")

        others = [(await (await desk.as_(one)).delete(address)).status_code for one in ("viewer", "dc.consultant")]
        stale = await client.delete(address, headers={"If-Match": '"7"'})
        done = await client.delete(address, headers={"If-Match": made.headers["etag"]})
        again = await client.delete(address)

        assert others == [404, 404]
        assert (stale.status_code, stale.json()["code"]) == (412, "DELEGATION_CHANGED")
        assert (done.status_code, again.status_code) == (204, 204)
        read = (await client.get(address)).json()
        assert (read["status"], read["revokedAt"] is not None) == ("revoked", True)
        async with app.state.db.reading() as session:
            kept = await session.scalars(sa.select(AuditLog.action).where(AuditLog.entity_type == "delegation"))
        assert sorted(kept.all()) == ["delegation.create", "delegation.revoke"]

    async def test_is_for_whoever_manages_the_account_too(self, desk: Desk, app: FastAPI) -> None:
        made = await lend(desk, app, "approver.owner", "viewer")
        admin, owner = await desk.as_("admin"), await person(desk, "approver.owner")

        listed = await admin.get(HOME, params={"userPublicId": owner})
        foreign = await (await desk.as_("dc.consultant")).get(HOME, params={"userPublicId": owner})

        assert [one["publicId"] for one in listed.json()["items"]] == [made.json()["publicId"]]
        assert foreign.status_code == 404
        assert (await admin.delete(f"{HOME}/{made.json()['publicId']}")).status_code == 204
