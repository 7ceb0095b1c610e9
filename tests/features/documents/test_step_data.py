"""An RFA that is submitted with an amount, over HTTP: nobody replaces it, everybody reads it, and a replay asks who did what."""

import copy
from typing import Any

import httpx
import pytest

from tests.definitions import RFA
from tests.features.documents.conftest import Desk

DEFINITIONS = "/api/v1/workflow/definitions"
AMOUNT = {"type": "number", "minimum": 1, "label": {"th": "จำนวนเงิน", "en": "Amount"}}


def priced(**amount: Any) -> dict[str, Any]:
    raw = copy.deepcopy(RFA)
    payload = {"type": "object", "properties": {"amount": AMOUNT | amount, "grade": {"type": "string"}}}
    raw["context_schema"] = {"type": "object", "properties": {"payload": payload}}
    for state in raw["states"][1:3]:  # so that a yes needs no code
        state["on"]["approve"] = {
            "to": "approved" if state["name"] == "pending_approval" else "pending_approval",
            "label": {"th": "อนุมัติ", "en": "Approve"},
            "require": state["on"]["approve"]["require"],
        }
    return raw


async def publish(desk: Desk, raw: dict[str, Any], *, activate: bool = False) -> int:
    made = await (await desk.as_("admin")).post(DEFINITIONS, json={"dsl": raw, "activate": activate})
    assert made.status_code == httpx.codes.CREATED, made.text
    return int(made.json()["version"])


@pytest.fixture
async def decided(desk: Desk) -> dict[str, Any]:
    """An RFA over 99,000,000 that the consultant and the owner have approved."""
    await publish(desk, priced(), activate=True)
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
    await desk.act("dc.contractor", rfa, "submit", payload={"amount": 99_000_000})
    reviewer = await desk.as_("reviewer.consultant")
    url = f"/api/v1/workflow/instances/{rfa['workflow']['instancePublicId']}"
    smaller = await reviewer.post(f"{url}/transitions", json={"action": "approve", "payload": {"amount": 5}})
    assert smaller.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    await desk.act("reviewer.consultant", rfa, "approve", payload={"grade": "B"})
    await desk.act("approver.owner", rfa, "approve")
    return rfa


class TestAnAmount:
    async def test_is_what_the_contractor_stated_for_everybody(self, desk: Desk, decided: dict[str, Any]) -> None:
        owner = await desk.as_("approver.owner")
        instance = decided["workflow"]["instancePublicId"]

        values = (await owner.get(f"/api/v1/workflow/instances/{instance}")).json()["data"]["values"]
        history = (await owner.get(f"/api/v1/rfas/{decided['publicId']}/history")).json()["items"]

        assert [(one["name"], one["text"]["th"]) for one in values] == [("amount", "99,000,000"), ("grade", "B")]
        brought = [(entry["action"], [one["name"] for one in entry["values"]]) for entry in history if entry["values"]]
        assert brought == [("approve", ["grade"]), ("submit", ["amount"])]


class TestAReplay:
    async def test_asks_what_the_record_of_the_document_knows(self, desk: Desk, decided: dict[str, Any]) -> None:
        alone, owners = priced(), priced()
        alone["states"][0]["on"]["submit"]["require"]["notSubmitter"] = True
        owners["states"][1]["on"]["approve"]["require"] = {"organizationRoles": ["OWNER"]}
        admin = await desk.as_("admin")
        told = []
        for raw in (priced(), priced(maximum=100), alone, owners):
            version = await publish(desk, raw)
            answer = await admin.post(f"{DEFINITIONS}/RFA_APPROVAL/versions/{version}/replay", json={"limit": 5})
            told.append([(one["step"], one["code"]) for one in answer.json()["differing"]])
            assert answer.json()["leftOut"] == 0

        assert told == [[], [(1, "context")], [(1, "not_submitter")], [(2, "party")]]
