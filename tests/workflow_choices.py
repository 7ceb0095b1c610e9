"""Workflows that are published and chosen for documents."""

from typing import Any

import httpx
import pytest_asyncio

from tests.features.documents.conftest import Desk

API = "/api/v1/workflow"

HERE: dict[str, Any] = {"kind": "correspondence"}


def flow(code: str, *, first: str = "draft", middle: str = "checking", **require: Any) -> dict[str, Any]:
    """A workflow of two steps."""
    label = {"th": "คำ", "en": "Word"}
    needs = {"permissions": ["workflow.action_review"], **(require or {"party": ["recipient"]})}
    return {
        "workflow": code,
        "states": [
            {
                "name": first,
                "label": label,
                "initial": True,
                "editable": True,
                "on": {"submit": {"to": middle, "label": label, "require": {"party": ["originator"]}}},
            },
            {"name": middle, "label": label, "on": {"accept": {"to": "approved", "label": label, "require": needs}}},
            {"name": "approved", "label": label, "terminal": True},
        ],
    }


async def publish(admin: httpx.AsyncClient, raw: dict[str, Any], *, activate: bool = True) -> httpx.Response:
    return await admin.post(f"{API}/definitions", json={"dsl": raw, "activate": activate})


async def choose(client: httpx.AsyncClient, code: str, **place: Any) -> httpx.Response:
    return await client.put(f"{API}/choices", json=HERE | place | {"workflowCode": code})


@pytest_asyncio.fixture
async def admin(desk: Desk) -> httpx.AsyncClient:
    """Somebody who may do all of it, where MINE, OURS and THEIRS are in force."""
    client = await desk.as_("admin")
    for code in ("MINE", "OURS", "THEIRS"):
        assert (await publish(client, flow(code))).status_code == 201
    return client
