"""What documents make of a workflow that is forced on or ended: they must not look as if they were still under way."""

from typing import Any

import httpx
import pytest

from tests.circulations import order
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk

WHY = "ผู้ตรวจลาออกแล้ว งานหน้างานรอไม่ได้"


async def steer(desk: Desk, account: str, document: dict[str, Any], deed: str, **body: Any) -> httpx.Response:
    instance = document["workflow"]["instancePublicId"]
    client = await desk.as_(account)
    return await client.post(f"/api/v1/workflow/instances/{instance}/{deed}", json={"reason": WHY, **body})


class TestTerminated:
    @pytest.mark.parametrize("register", ["rfas", "correspondences", "transmittals"])
    async def test_shows_that_it_was_ended_and_keeps_its_number(self, desk: Desk, register: str) -> None:
        item = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", item, "submit")
        bodies = {
            "rfas": desk.rfa(),
            "correspondences": desk.letter("คคง."),
            "transmittals": desk.transmittal(item["publicId"]),
        }
        document = await desk.write("dc.contractor", register, bodies[register])
        await desk.act("dc.contractor", document, "submit")

        ended = await steer(desk, "approver.owner" if register == "rfas" else "admin", document, "terminate")
        read = unwrapped(await desk.read("dc.contractor", register, document["publicId"]))

        assert ended.status_code == 200, ended.text
        flow = read["workflow"]
        assert (flow["status"], flow["currentState"], flow["terminal"]) == ("TERMINATED", "terminated", True)
        assert read["status"]["code"] == ("TRM" if register == "rfas" else "TERMINATED")
        assert (read["documentNumber"], read["cancelledAt"]) == (document["documentNumber"], None)
        found = await desk.listed("dc.contractor", register, status="terminated")
        assert [row["publicId"] for row in found] == [document["publicId"]]

    async def test_may_be_followed_by_the_next_revision(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await steer(desk, "approver.owner", rfa, "terminate")

        client = await desk.as_("dc.contractor")
        revised = await client.post(f"/api/v1/rfas/{rfa['publicId']}/revisions", json={})

        assert (revised.status_code, revised.json()["workflow"]["currentState"]) == (201, "draft")

    async def test_is_told_once_in_the_history_with_its_reason(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await steer(desk, "approver.owner", rfa, "force", action="approve")
        await steer(desk, "approver.owner", rfa, "terminate")

        client = await desk.as_("dc.contractor")
        told = (await client.get(f"/api/v1/rfas/{rfa['publicId']}/history")).json()["items"]

        assert [(one["action"], one["forced"], one["comment"]) for one in told[:2]] == [
            ("terminate", False, WHY),
            ("approve", True, WHY),
        ]
        assert [one["source"] for one in told].count("audit") == 1  # that it was created

    async def test_closes_the_open_parts_of_a_sheet(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        sheet = await desk.write(
            "dc.consultant", "circulations", await order(desk, correspondencePublicId=letter["publicId"])
        )
        await desk.act("dc.consultant", sheet, "start")

        ended = await steer(desk, "dc.consultant", sheet, "terminate")
        read = unwrapped(await desk.read("dc.consultant", "circulations", sheet["publicId"]))

        assert ended.status_code == 200, ended.text
        assert (read["status"]["code"], read["workflow"]["status"]) == ("TERMINATED", "TERMINATED")
        assert {part["status"] for part in read["assignees"]} == {"REJECTED"}


class TestForced:
    async def test_gives_an_rfa_the_status_of_where_it_stands(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")

        await steer(desk, "approver.owner", rfa, "force", to="approved")
        read = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))

        assert (read["workflow"]["currentState"], read["status"]["code"]) == ("approved", "FCO")

    async def test_is_refused_in_words_that_help(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")

        refused = await steer(desk, "dc.contractor", rfa, "force", to="approved")
        wrong = await steer(desk, "approver.owner", rfa, "force")
        short = await steer(desk, "approver.owner", rfa, "terminate", reason="เร็ว")
        unknown = await steer(desk, "approver.owner", rfa, "reassign", userPublicId=rfa["publicId"])

        assert (refused.status_code, refused.json()["code"]) == (403, "WORKFLOW_STEERING_FORBIDDEN")
        assert [answer.status_code for answer in (wrong, short, unknown)] == [422] * 3
        assert short.json()["errors"][0]["pointer"] == "/reason"
        assert unknown.json()["errors"][0]["pointer"] == "/userPublicId"


class TestMigrations:
    async def test_are_looked_at_and_made_over_the_api(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        admin, address = await desk.as_("admin"), "/api/v1/workflow/definitions/RFA_APPROVAL"
        raw = (await admin.get(f"{address}/versions/1")).json()["dsl"]
        raw.pop("version", None)
        assert (await admin.post("/api/v1/workflow/definitions", json={"dsl": raw})).status_code == 201
        migrations = f"{address}/versions/2/migrations"

        looked = (await admin.post(migrations, json={})).json()
        some = (await admin.post(migrations, json={"limit": 1})).json()
        moved = (await admin.post(migrations, json={"dryRun": False})).json()
        again = (await admin.post(migrations, json={"dryRun": False})).json()

        assert (looked["counts"], looked["dryRun"], looked["nextAfter"]) == ({"stays": 1}, True, None)
        (line,) = looked["instances"]
        assert (line["number"], line["state"], line["toState"], line["moved"]) == (
            rfa["documentNumber"],
            "pending_review",
            "pending_review",
            False,
        )
        assert some["nextAfter"] == rfa["workflow"]["instancePublicId"]
        assert (moved["instances"][0]["moved"], again["instances"]) == (True, [])
        read = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))
        assert (read["workflow"]["currentState"], read["workflow"]["versionNo"]) == ("pending_review", 3)
        assert (await admin.post("/api/v1/workflow/definitions", json={"dsl": raw})).status_code == 201
        onwards = {"dryRun": False, "mapping": {"pending_review": "pending_approval"}}
        await admin.post(migrations.replace("/2/", "/3/"), json=onwards)
        told = (await (await desk.as_("dc.contractor")).get(f"/api/v1/rfas/{rfa['publicId']}/history")).json()["items"]
        assert [one["action"] for one in told] == ["migrate", "migrate", "submit", "rfa.create"]
        mapped = await admin.post(migrations, json={"mapping": {"draft": "approved"}})
        assert (mapped.status_code, mapped.json()["errors"][0]["pointer"]) == (422, "/mapping/draft")
        assert (await (await desk.as_("approver.owner")).post(migrations, json={})).status_code == 403
