"""An RFA that several people review at once, over HTTP: teams, answers, what is hidden, and what lists show."""

import copy
from typing import Any

import httpx
import pytest

from tests.definitions import CONTRACTOR, RFA
from tests.factories.review import BRANCHES
from tests.features.documents.conftest import Desk, pointers

SEATS = {"reviewer.consultant": "STR", "dc.consultant": "MEC", "approver.owner": None}


def reviewed(*, hidden: bool = True) -> dict[str, Any]:
    """The shipped RFA, with a review of three branches in place of the consultant's decision."""
    raw = copy.deepcopy(RFA)
    asked = raw["states"][1]
    branches = copy.deepcopy(BRANCHES)
    branches[1]["assignee"] = {"discipline": "MEC"}  # one that the demo project has
    asked["review"] = {
        "branches": branches,
        "completion": "majority",
        "hidden": hidden,
        "then": {"for": {"to": "pending_approval"}, "against": {"to": "rejected"}},
    }
    del asked["on"]["approve"], asked["on"]["reject"]
    return raw


async def me(desk: Desk, account: str) -> str:
    return str((await (await desk.as_(account)).get("/api/v1/auth/me")).json()["publicId"])


@pytest.fixture
async def rfa(desk: Desk) -> dict[str, Any]:
    """An RFA that waits for its reviewers."""
    await put_in_force(desk, reviewed())
    return await submitted(desk)


async def put_in_force(desk: Desk, definition: dict[str, Any]) -> None:
    """Have RFAs go through a review by people whom the project's administrator has put into a team."""
    manager, admin = await desk.as_("padmin"), await desk.as_("admin")
    team = f"/api/v1/projects/{desk.project}/review-teams/DESIGN"
    assert (await manager.put(team, json={"nameTh": "ทีม", "nameEn": "Team"})).status_code == httpx.codes.OK
    for account, discipline in SEATS.items():
        seat = await manager.put(f"{team}/members/{await me(desk, account)}", json={"disciplineCode": discipline})
        assert seat.status_code == httpx.codes.OK, seat.text
    made = await admin.post("/api/v1/workflow/definitions", json={"dsl": definition, "activate": True})
    assert made.status_code == httpx.codes.CREATED, made.text


async def submitted(desk: Desk, **more: Any) -> dict[str, Any]:
    written = await desk.write("dc.contractor", "rfas", desk.rfa(**more))
    await desk.act("dc.contractor", written, "submit")
    return written


async def branches(desk: Desk, account: str, rfa: dict[str, Any]) -> dict[str, Any]:
    read = await desk.read(account, "rfas", rfa["publicId"])
    return {one["name"]: one for one in read.json()["workflow"]["branches"]}


async def answer(
    desk: Desk, account: str, rfa: dict[str, Any], branch: str, code: str = "approve", **more: Any
) -> httpx.Response:
    client, headers = await desk.as_(account), more.pop("headers", {})
    instance = rfa["workflow"]["instancePublicId"]
    public_id = (await branches(desk, "admin", rfa))[branch]["publicId"]
    url = f"/api/v1/workflow/instances/{instance}/branches/{public_id}/answers"
    return await client.post(url, json={"answer": code, **more}, headers=headers)


class TestReview:
    async def test_runs_from_the_team_to_the_verdict(self, desk: Desk, rfa: dict[str, Any]) -> None:
        asked = (await branches(desk, "reviewer.consultant", rfa))["structure"]
        first = await answer(desk, "reviewer.consultant", rfa, "structure", comment="หน้า 3", clientVersionNo=1)
        unseen = (await branches(desk, "dc.consultant", rfa))["structure"]
        told = await desk.listed("dc.contractor", f"rfas/{rfa['publicId']}/history")
        second = await answer(desk, "dc.consultant", rfa, "electrical", headers={"If-Match": '"1"'})
        seen = (await branches(desk, "dc.contractor", rfa))["structure"]

        assert (asked["mayAnswer"], [one["code"] for one in asked["choices"]]) == (True, ["approve", "reject"])
        assert (first.status_code, second.status_code) == (200, 200), (first.text, second.text)
        assert "etag" not in first.headers
        assert (unseen["status"], unseen["answer"], unseen["answeredBy"]) == ("ANSWERED", None, None)
        assert "หน้า 3" not in str(told)
        assert second.json()["workflow"]["currentState"] == "pending_approval"
        assert (seen["answer"], seen["comment"], seen["versionNo"]) == ("approve", "หน้า 3", 2)
        history = await desk.listed("dc.contractor", f"rfas/{rfa['publicId']}/history")
        assert "หน้า 3" in str(history)
        assert [one["action"] for one in history[:3]] == ["review:for", "review:answer", "review:answer"]
        (listed,) = await desk.listed("dc.contractor", "rfas")
        assert [one["status"] for one in listed["workflow"]["branches"]] == ["ANSWERED", "ANSWERED", "SKIPPED"]

    async def test_refuses_in_the_words_of_the_api(self, desk: Desk, rfa: dict[str, Any]) -> None:
        stranger = await answer(desk, "dc.contractor", rfa, "structure")
        unknown = await answer(desk, "reviewer.consultant", rfa, "structure", "perhaps")
        stale = await answer(desk, "reviewer.consultant", rfa, "structure", clientVersionNo=9)
        failed = await answer(desk, "reviewer.consultant", rfa, "structure", headers={"If-Match": '"9"'})
        await answer(desk, "reviewer.consultant", rfa, "structure")
        twice = await answer(desk, "reviewer.consultant", rfa, "structure")

        assert [(one.status_code, one.json()["code"]) for one in (stranger, unknown, stale, failed, twice)] == [
            (403, "WORKFLOW_ACTION_FORBIDDEN"),
            (422, "VALIDATION_ERROR"),
            (409, "WORKFLOW_VERSION_CONFLICT"),
            (412, "WORKFLOW_PRECONDITION_FAILED"),
            (409, "WORKFLOW_BRANCH_CLOSED"),
        ]
        assert pointers(unknown) == ["/answer"]

    async def test_is_in_the_inbox_of_those_who_have_still_to_answer(self, desk: Desk, rfa: dict[str, Any]) -> None:
        before = await desk.listed("dc.consultant", "inbox")
        await answer(desk, "dc.consultant", rfa, "electrical")
        after = await desk.listed("dc.consultant", "inbox")

        assert [item["subject"]["publicId"] for item in before] == [rfa["publicId"]]
        # He answers for the team's branch too, which is still open.
        assert [item["subject"]["publicId"] for item in after] == [rfa["publicId"]]
        await answer(desk, "approver.owner", rfa, "control")
        assert await desk.listed("dc.consultant", "inbox") == []


class TestItems:
    async def submitted(self, desk: Desk, *, hidden: bool) -> tuple[dict[str, Any], list[str]]:
        """An RFA with two drawings that waits for its reviewers, and the public ids of its items."""
        await put_in_force(desk, reviewed(hidden=hidden))
        made = [await desk.register("admin", "shop", number) for number in ("S-1", "S-2")]
        items = [one["revision"]["publicId"] for one in made]
        return await submitted(desk, items=[{"drawingRevisionPublicId": one} for one in items]), items

    async def test_are_answered_with_a_branch_and_keep_the_last_answer(self, desk: Desk) -> None:
        rfa, (first, second) = await self.submitted(desk, hidden=False)
        one = {"itemResults": [{"publicId": first, "responseCode": "1N"}, {"publicId": second, "responseCode": "1A"}]}
        other = {"itemResults": [{"publicId": second, "responseCode": "3R", "comment": "แก้ระดับ"}]}
        answers = [
            await answer(desk, "reviewer.consultant", rfa, "structure", payload=one),
            await answer(desk, "dc.consultant", rfa, "electrical", payload=other),
        ]

        assert [one.status_code for one in answers] == [200, 200], [one.text for one in answers]
        shown = (await desk.read("dc.contractor", "rfas", rfa["publicId"])).json()["data"]["items"]
        assert [(one["responseCode"]["code"], one["comment"]) for one in shown] == [("1N", None), ("3R", "แก้ระดับ")]
        history = await desk.listed("dc.contractor", f"rfas/{rfa['publicId']}/history")
        assert "แก้ระดับ" in str(history)
        await desk.act("approver.owner", rfa, "approve", responseCode="1A")
        drawings = [await desk.listed("admin", "drawings/shop", projectPublicId=desk.project)]
        assert [one["revision"]["responseCode"]["code"] for one in drawings[0]] == ["1N", "3R"]

    @pytest.mark.parametrize(("hidden", "code"), [(True, "1A"), (False, "9Z")])
    async def test_are_refused_and_nothing_is_half_written(self, desk: Desk, *, hidden: bool, code: str) -> None:
        rfa, (first, _) = await self.submitted(desk, hidden=hidden)
        payload = {"itemResults": [{"publicId": first, "responseCode": code}]}

        refused = await answer(desk, "reviewer.consultant", rfa, "structure", payload=payload)

        assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert pointers(refused) == ["/payload/itemResults" + ("" if hidden else "/0/responseCode")]
        assert (await branches(desk, "admin", rfa))["structure"]["status"] == "PENDING"


class TestRehearsal:
    async def test_takes_answers_for_branches(self, desk: Desk, rfa: dict[str, Any]) -> None:
        admin = await desk.as_("admin")
        steps = [
            {"actor": CONTRACTOR, "action": "submit"},
            {"actor": {"disciplines": ["STR"]}, "action": "approve", "branch": "electrical"},
            {"actor": {"disciplines": ["STR"]}, "action": "approve", "branch": "structure"},
            {"actor": {"teams": ["DESIGN"]}, "action": "approve", "branch": "control"},
        ]

        played = await admin.post(
            "/api/v1/workflow/definitions/RFA_APPROVAL/versions/2/rehearse", json={"steps": steps}
        )

        assert [(one["nextState"], one["code"]) for one in played.json()["steps"]] == [
            ("pending_review", None),
            ("pending_review", "WORKFLOW_ACTION_FORBIDDEN"),
            ("pending_review", None),
            ("pending_approval", None),
        ]
