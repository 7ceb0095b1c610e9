"""The approve code of an RFA where a step is answered with a code of its own."""

import copy
from typing import Any

import httpx
import pytest

from tests.conftest import unwrapped
from tests.definitions import RFA
from tests.features.documents.conftest import Desk

WORDS = {"th": "คำ", "en": "Word"}
# Where the codes of each action lead, and what the engine does then; 9Z is none of the master data.
ACTIONS: dict[str, tuple[dict[str, str], str | None]] = {
    "respond": ({"1C": "pending_approval", "1N": "approved", "3C": "rejected", "9Z": "approved"}, None),
    "note": ({"1R": "checked"}, "close"),
    "doubt": ({"5N": "doubted"}, "drop"),
}


def answered() -> dict[str, Any]:
    """The shipped RFA, whose consultant answers with codes; after some of them the engine goes on by itself."""
    raw = copy.deepcopy(RFA)
    on = raw["states"][1]["on"]
    for action, (leads, follows) in ACTIONS.items():
        on[action] = {
            "label": WORDS,
            "require": on["approve"]["require"],
            "responses": {code: {"to": to} for code, to in leads.items()},
            "events": [{"type": "auto_action", "action": follows}] if follows else [],
        }
    raw["states"] += [
        {"name": "checked", "label": WORDS, "on": {"close": {"to": "approved", "label": WORDS}}},
        {"name": "doubted", "label": WORDS, "on": {"drop": {"to": "rejected", "label": WORDS}}},
    ]
    return raw


@pytest.fixture
async def rfa(desk: Desk) -> dict[str, Any]:
    """An RFA that waits for the consultant's code."""
    admin = await desk.as_("admin")
    made = await admin.post("/api/v1/workflow/definitions", json={"dsl": answered(), "activate": True})
    assert made.status_code == httpx.codes.CREATED, made.text
    written = await desk.write("dc.contractor", "rfas", desk.rfa())
    await desk.act("dc.contractor", written, "submit")
    return written


async def shown(desk: Desk, rfa: dict[str, Any]) -> tuple[str, str | None, bool]:
    """Return the state, the approve code, and whether there is a day of the approval."""
    read = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))
    code = read["approveCode"] and read["approveCode"]["code"]
    return read["workflow"]["currentState"], code, read["approvedDate"] is not None


class TestApproveCode:
    @pytest.mark.parametrize(
        ("action", "response", "expected"),
        [
            ("respond", "1N", ("approved", "1N", True)),
            ("respond", "3C", ("rejected", "3C", False)),
            ("respond", "9Z", ("approved", "1C", True)),  # no approve code: the outcome says it, by who decided
            ("note", "1R", ("approved", "1R", True)),  # what the engine did after it says nothing else
            ("doubt", "5N", ("rejected", "4X", False)),  # it says something else
        ],
    )
    async def test_is_the_one_that_was_answered(
        self, desk: Desk, rfa: dict[str, Any], action: str, response: str, expected: tuple[str, str | None, bool]
    ) -> None:
        await desk.act("reviewer.consultant", rfa, action, responseCode=response)

        assert await shown(desk, rfa) == expected

    async def test_is_that_of_the_last_who_decided(self, desk: Desk, rfa: dict[str, Any]) -> None:
        before = await shown(desk, rfa)
        await desk.act("reviewer.consultant", rfa, "respond", responseCode="1C")
        between = await shown(desk, rfa)
        await desk.act("approver.owner", rfa, "approve")

        assert before == ("pending_review", None, False)
        assert between == ("pending_approval", "1C", False)
        assert await shown(desk, rfa) == ("approved", "1A", True)
