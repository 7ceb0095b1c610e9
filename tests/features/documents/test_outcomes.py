"""What registers show when a workflow of somebody's own comes to an end: what the definition says, whatever names it has."""

import copy
from typing import Any

import httpx
import pytest

from tests.conftest import unwrapped
from tests.definitions import RFA
from tests.features.documents.conftest import Desk
from tests.outcome_workflow import ENDS, own


@pytest.fixture
async def rfa(desk: Desk) -> dict[str, Any]:
    """A draft on such a path."""
    admin = await desk.as_("admin")
    made = await admin.post("/api/v1/workflow/definitions", json={"dsl": own(), "activate": True})
    assert made.status_code == httpx.codes.CREATED, made.text
    return await desk.write("dc.contractor", "rfas", desk.rfa())


async def seen(desk: Desk, rfa: dict[str, Any]) -> dict[str, Any]:
    found = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))
    code = found["approveCode"] and found["approveCode"]["code"]
    return {
        "status": found["status"]["code"],
        "code": code,
        "dated": found["approvedDate"] is not None,
        "outcome": found["workflow"]["outcome"],
    }


async def numbers(desk: Desk, status: str) -> list[str]:
    return [one["documentNumber"] for one in await desk.listed("dc.contractor", "rfas", status=status)]


class TestOwnNames:
    async def test_tell_the_register_what_the_shipped_ones_would(self, desk: Desk, rfa: dict[str, Any]) -> None:
        await desk.act("dc.contractor", rfa, "submit")
        reviewed = await seen(desk, rfa)
        await desk.act("reviewer.consultant", rfa, "pass-on")
        decided = await seen(desk, rfa)
        await desk.act("approver.owner", rfa, "accepted")

        assert reviewed == {"status": "FRE", "code": None, "dated": False, "outcome": None}
        assert decided == {"status": "FAP", "code": "1C", "dated": False, "outcome": None}
        assert await seen(desk, rfa) == {"status": "FCO", "code": "1A", "dated": True, "outcome": "approved"}
        assert await numbers(desk, "approved") == [rfa["documentNumber"]]
        assert await numbers(desk, "pending_approval") == []

    @pytest.mark.parametrize("end", ["approved_as_built", "turned_down", "once_more", "no_matter"])
    async def test_of_ends_give_the_code_of_what_they_mean(self, desk: Desk, rfa: dict[str, Any], end: str) -> None:
        code, outcome = ENDS[end]
        await desk.act("dc.contractor", rfa, "submit")
        await desk.act("reviewer.consultant", rfa, "pass-on")
        await desk.act("approver.owner", rfa, end.replace("_", "-"))

        found = await seen(desk, rfa)
        good = code.startswith("1")
        assert found == {"status": "FCO" if good else "FRE", "code": code, "dated": good, "outcome": outcome}
        overdue = await desk.listed("dc.contractor", "rfas", overdue="true")
        assert overdue == []

    async def test_of_a_draft_given_up_open_it_to_nobody(self, desk: Desk, rfa: dict[str, Any]) -> None:
        await desk.act("dc.contractor", rfa, "give-up")

        assert await seen(desk, rfa) == {"status": "CC", "code": None, "dated": False, "outcome": "withdrawn"}
        for account in ("reviewer.consultant", "approver.owner"):
            assert (await desk.read(account, "rfas", rfa["publicId"])).status_code == httpx.codes.NOT_FOUND


class TestPublishing:
    @pytest.mark.parametrize("door", ["validate", ""])
    async def test_of_an_rfa_names_the_ends_that_say_nothing(self, desk: Desk, door: str) -> None:
        admin, raw = await desk.as_("admin"), own()
        for state in raw["states"]:
            state.pop("outcome", None)
        answer = await admin.post(f"/api/v1/workflow/definitions/{door}".rstrip("/"), json={"dsl": raw})

        body = answer.json()
        told = [(one["pointer"], one["code"]) for one in body.get("errors", [])]
        assert told == [(f"/dsl/states/{place}", "outcome_needed") for place in range(3, 9)], answer.text

    async def test_of_an_rfa_accepts_the_names_that_have_always_said_it(self, desk: Desk) -> None:
        raw = copy.deepcopy(RFA)
        for state in raw["states"]:
            state.pop("outcome", None)
        answer = await (await desk.as_("admin")).post("/api/v1/workflow/definitions", json={"dsl": raw})

        assert answer.status_code == httpx.codes.CREATED, answer.text


class TestShippedCodes:
    async def test_are_kept_where_nobody_gives_one(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await desk.act("reviewer.consultant", rfa, "approve")
        between = await seen(desk, rfa)
        await desk.act("approver.owner", rfa, "approve", responseCode="1N", comment="แก้ตามหมายเหตุในแบบ")
        instance = rfa["workflow"]["instancePublicId"]
        history = (await (await desk.as_("dc.contractor")).get(f"/api/v1/workflow/instances/{instance}/history")).json()

        assert (between["status"], between["code"]) == ("FAP", "1C")
        assert await seen(desk, rfa) == {"status": "FCO", "code": "1N", "dated": True, "outcome": "approved"}
        assert [one["responseCode"] for one in history["items"]] == [None, "1C", "1N"]


class TestEarlierVersions:
    async def test_are_read_by_their_names_and_take_no_code(self, desk: Desk) -> None:
        """As the release before shipped it: without words for its ends, without codes."""
        raw = copy.deepcopy(RFA)
        for state in raw["states"]:
            state.pop("outcome", None)
            for step in state.get("on", {}).values():
                step.pop("responses", None)
        made = await (await desk.as_("admin")).post("/api/v1/workflow/definitions", json={"dsl": raw, "activate": True})
        assert made.status_code == httpx.codes.CREATED, made.text
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await desk.act("reviewer.consultant", rfa, "approve")
        between = await seen(desk, rfa)
        await desk.act("approver.owner", rfa, "approve")

        assert between == {"status": "FAP", "code": None, "dated": False, "outcome": None}
        assert await seen(desk, rfa) == {"status": "FCO", "code": "1A", "dated": True, "outcome": "approved"}
