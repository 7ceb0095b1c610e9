"""`/api/v1/rfa` is `/api/v1/rfas` by another name (E3): one rewrite, before limits, labels and routes read the path."""

from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, desk

__all__ = ["desk"]

ALIAS = "/api/v1/rfa"


async def test_creates_reads_and_moves_the_same_rfas(desk: Desk) -> None:
    client = await desk.as_("dc.contractor")
    created = await client.post(ALIAS, json=desk.rfa(), headers={"Idempotency-Key": "once"})
    again = await client.post("/api/v1/rfas", json=desk.rfa(), headers={"Idempotency-Key": "once"})
    rfa = unwrapped(created)
    await desk.act("dc.contractor", rfa, "submit")

    read, listed, revisions = [
        await client.get(f"{ALIAS}{rest}") for rest in (f"/{rfa['publicId']}", "", f"/{rfa['publicId']}/revisions")
    ]

    assert created.headers["location"] == f"/api/v1/rfas/{rfa['publicId']}"
    assert unwrapped(again)["publicId"] == rfa["publicId"]
    assert read.json()["workflow"]["currentState"] == "pending_review"
    assert read.json() == (await desk.read("dc.contractor", "rfas", rfa["publicId"])).json()
    assert [one["data"]["publicId"] for one in listed.json()["items"]] == [rfa["publicId"]]
    assert [one["data"]["revisionLabel"] for one in revisions.json()["items"]] == ["A"]


async def test_is_no_second_set_of_operations(app: FastAPI, desk: Desk) -> None:
    client = await desk.as_("dc.contractor")

    assert not [path for path in app.openapi()["paths"] if path.startswith(f"{ALIAS}/") or path == ALIAS]
    assert (await client.get(f"{ALIAS}x")).status_code == httpx.codes.NOT_FOUND


async def test_has_the_body_limit_and_the_label_of_rfas(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    client = await desk.as_("dc.contractor")
    large: dict[str, Any] = desk.rfa(body="ก" * 100_000)  # 300 KB: more than other addresses take

    answers = [await client.post(path, json=large) for path in (ALIAS, "/api/v1/rfas")]

    assert answers[0].status_code == answers[1].status_code != httpx.codes.REQUEST_ENTITY_TOO_LARGE
    routes = [one.msg["route"] for one in caplog.records if one.name == "saraban.access" and isinstance(one.msg, dict)]
    assert routes[-2:] == ["/api/v1/rfas"] * 2


async def test_counts_against_the_limit_of_numbers(app: FastAPI, desk: Desk) -> None:
    client = await desk.as_("dc.contractor")
    app.state = replace(app.state, rates=replace(app.state.rates, user=1, address=0, everybody=0, looks=0))

    statuses = [(await client.post(path, json=desk.rfa())).status_code for path in (ALIAS, "/api/v1/rfas")]

    assert statuses == [201, 429]
