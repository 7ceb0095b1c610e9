"""Circulation sheets: inside one organization, everybody's part once, closed with the document they are about."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from saraban.events.models import OutboxEvent
from saraban.kit.clock import FixedClock
from saraban.worker.loop import Worker
from tests.circulations import order, person
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers


class TestSheet:
    async def test_goes_round_and_is_closed_when_everybody_has_answered(self, desk: Desk) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))
        assert sheet["documentNumber"].startswith("คคง.-CIR-0001-25")
        await desk.act("dc.consultant", sheet, "start")
        client, colleague = await desk.as_("dc.consultant"), await desk.as_("reviewer.consultant")
        address = f"/api/v1/circulations/{sheet['publicId']}/responses"

        waiting = (await colleague.get("/api/v1/inbox")).json()["items"]
        first = await colleague.post(address, json={"status": "COMPLETED", "comment": "ตรวจแล้ว"})
        twice = await colleague.post(address, json={"status": "COMPLETED"})
        await client.post(address, json={"status": "REJECTED", "comment": "ไม่เกี่ยวข้อง"})
        done = await desk.act("dc.consultant", sheet, "complete")
        late = await client.post(address, json={"status": "COMPLETED"})

        assert [item["data"]["subject"]["number"] for item in waiting] == [sheet["documentNumber"]]
        assert first.status_code == 201, first.text
        assert (first.json()["data"]["answered"], first.json()["data"]["mustAnswer"]) == (1, 2)
        assert (twice.status_code, twice.json()["code"]) == (409, "CIRCULATION_ANSWERED")
        assert done["workflow"]["currentState"] == "completed"
        assert (late.status_code, late.json()["code"]) == (409, "CIRCULATION_NOT_ROUTING")
        read = unwrapped(await client.get(f"/api/v1/circulations/{sheet['publicId']}"))
        assert read["status"]["code"] == "COMPLETED"
        assert [part["status"] for part in read["assignees"]] == ["REJECTED", "COMPLETED"]

    async def test_says_how_many_answers_are_missing_before_it_can_be_completed(self, desk: Desk) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))
        await desk.act("dc.consultant", sheet, "start")
        client = await desk.as_("dc.consultant")
        await client.post(f"/api/v1/circulations/{sheet['publicId']}/responses", json={"status": "COMPLETED"})
        address = f"/api/v1/workflow/instances/{sheet['workflow']['instancePublicId']}/transitions"

        early = await client.post(address, json={"action": "complete"}, headers={"Accept-Language": "th"})

        assert (early.status_code, early.json()["code"]) == (409, "WORKFLOW_CONDITION_NOT_MET")
        assert early.json()["userMessage"] == "ยังขาดคำตอบอีก 1 ราย จึงปิดใบเวียนไม่ได้"

    async def test_is_found_by_its_deadline(self, desk: Desk, app: Any) -> None:
        late = await desk.write("dc.consultant", "circulations", await order(desk))
        closed = await desk.write("dc.consultant", "circulations", await order(desk))
        await desk.write("dc.consultant", "circulations", await order(desk, deadlineDate=None))
        client = await desk.as_("dc.consultant")
        await client.post(f"/api/v1/circulations/{closed['publicId']}/cancel", json={"reason": "ไม่ต้องเวียนแล้ว"})
        assert await desk.listed("dc.consultant", "circulations", overdue="true") == []
        app.state = replace(
            app.state, clock=FixedClock(app.state.clock.now() + timedelta(days=30), app.state.clock.zone)
        )

        overdue = await desk.listed("dc.consultant", "circulations", overdue="true")
        due = await desk.listed("dc.consultant", "circulations", dueUntil="2100-01-01")

        assert [(row["publicId"], row["isOverdue"]) for row in overdue] == [(late["publicId"], True)]
        assert {row["publicId"] for row in due} == {late["publicId"], closed["publicId"]}

    async def test_asks_no_administrator_who_has_no_part_in_it(self, desk: Desk) -> None:
        member = {"userPublicId": await person(desk, "viewer"), "kind": "MAIN"}
        body = await order(desk, assignees=[member], organizationPublicId=desk.organizations["กทท."])
        sheet = await desk.write("admin", "circulations", body)
        await desk.act("admin", sheet, "start")
        admin = await desk.as_("admin")

        read = unwrapped(await admin.get(f"/api/v1/circulations/{sheet['publicId']}"))

        assert read["workflow"]["availableActions"] == ["force-close"]
        assert (await admin.get("/api/v1/inbox")).json()["items"] == []

    async def test_is_known_to_its_organization_only(self, desk: Desk) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))

        for account in ("dc.contractor", "approver.owner", "viewer", "padmin"):
            assert (await desk.read(account, "circulations", sheet["publicId"])).status_code == 404, account
            assert await desk.listed(account, "circulations") == []
        for account in ("reviewer.consultant", "admin"):
            assert (await desk.read(account, "circulations", sheet["publicId"])).status_code == 200, account
            assert len(await desk.listed(account, "circulations", q="พิจารณา", status="draft")) == 1

    async def test_names_who_cannot_be_assigned(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")
        outsider = {"userPublicId": await person(desk, "dc.contractor"), "kind": "MAIN"}
        program = {"userPublicId": await person(desk, "svc.loadtest"), "kind": "INFORMATION"}
        me = {"userPublicId": await person(desk, "dc.consultant"), "kind": "MAIN"}

        for changes, pointer in (
            ({"assignees": [outsider]}, "/assignees/0/userPublicId"),
            ({"assignees": [me, program]}, "/assignees/1/userPublicId"),
            ({"assignees": [me, me]}, "/assignees/1/userPublicId"),
            ({"assignees": []}, "/assignees"),
            ({"assignees": [me | {"dueDate": "2020-01-01"}]}, "/assignees/0/dueDate"),
            ({"deadlineDate": "2020-01-01"}, "/deadlineDate"),
            ({"correspondencePublicId": desk.project}, "/correspondencePublicId"),
        ):
            answer = await client.post("/api/v1/circulations", json=await order(desk, **changes))
            assert (answer.status_code, pointers(answer)) == (422, [pointer]), answer.text

    async def test_ends_with_the_document_it_is_about(self, desk: Desk, app: Any) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        sheet = await desk.write(
            "dc.consultant", "circulations", await order(desk, correspondencePublicId=letter["publicId"])
        )
        await desk.act("dc.consultant", sheet, "start")
        about = await desk.listed("dc.consultant", "circulations", correspondencePublicId=letter["publicId"])
        assert [row["publicId"] for row in about] == [sheet["publicId"]]
        other = sheet["publicId"]
        assert await desk.listed("dc.consultant", "circulations", correspondencePublicId=other) == []
        client = await desk.as_("dc.consultant")
        second = await client.post(
            "/api/v1/circulations", json=await order(desk, correspondencePublicId=letter["publicId"])
        )

        await client.post(f"/api/v1/correspondences/{letter['publicId']}/cancel", json={"reason": "ออกผิดโครงการ"})

        read = unwrapped(await client.get(f"/api/v1/circulations/{sheet['publicId']}"))
        assert (second.status_code, second.json()["code"]) == (409, "CIRCULATION_EXISTS")
        assert (read["status"]["code"], read["cancelReason"]) == ("CANCELLED", "ออกผิดโครงการ")
        assert {part["status"] for part in read["assignees"]} == {"REJECTED"}
        assert (read["workflow"]["currentState"], read["workflow"]["terminal"]) == ("cancelled", True)
        async with app.state.db.reading() as session:
            told = await session.scalar(
                sa.select(OutboxEvent.payload).where(
                    OutboxEvent.name == "document.cancelled", OutboxEvent.aggregate_id == sheet["publicId"]
                )
            )
        assert set(told["notify"]["users"]) == {part["user"]["publicId"] for part in read["assignees"]}

    async def test_can_be_changed_and_cancelled(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")
        created = await client.post("/api/v1/circulations", json=await order(desk))
        address, version = created.headers["location"], created.headers["etag"]

        changed = await client.patch(address, json={"subject": "เวียนใหม่"}, headers={"If-Match": version})
        stale = await client.patch(address, json={"subject": "ช้าไป"}, headers={"If-Match": version})
        cancelled = await client.post(f"{address}/cancel", json={"reason": "ไม่ต้องเวียนแล้ว"})
        history = (await client.get(f"{address}/history")).json()["items"]

        assert changed.json()["data"]["subject"] == "เวียนใหม่"
        assert stale.status_code == 412
        assert cancelled.json()["data"]["status"]["code"] == "CANCELLED"
        assert {item["action"] for item in history} >= {"circulation.create", "circulation.edit", "circulation.cancel"}

    @pytest.mark.parametrize("leaves", ["closing", "move"])
    async def test_awaits_nobody_after_an_assignee_left_until_its_author_gives_it_to_another(
        self, desk: Desk, app: Any, leaves: str
    ) -> None:
        gone = {"userPublicId": await person(desk, "reviewer.consultant"), "kind": "ACTION"}
        sheet = await desk.write("dc.consultant", "circulations", await order(desk, assignees=[gone]))
        await desk.act("dc.consultant", sheet, "start")
        author, admin = await desk.as_("dc.consultant"), await desk.as_("admin")
        account = f"/api/v1/users/{gone['userPublicId']}"
        role = {"level": "Organization", "placePublicId": desk.organizations["คคง."]}
        # One more event about the account, which is read after the person has left.
        given_role = await admin.post(f"{account}/roles", json={"role": "Document Control", **role})
        if leaves == "move":
            left = await admin.patch(account, json={"organizationPublicId": desk.organizations["ผรม.2"]})
        else:
            left = await admin.post(f"{account}/close")
        await Worker(db=app.state.db, clock=app.state.clock, handlers=app.state.handlers).drain()

        path, instance = f"/api/v1/circulations/{sheet['publicId']}", sheet["workflow"]["instancePublicId"]
        waiting = (await author.get(path)).json()["workflow"]["waitingFor"]
        told = [one["title"] for one in (await author.get("/api/v1/notifications")).json()["items"]]
        order_ = {"userPublicId": await person(desk, "dc.consultant"), "reason": "ผู้รับเดิมลาออกแล้ว"}
        given = await author.post(f"/api/v1/workflow/instances/{instance}/reassign", json=order_)
        answered = await author.post(f"{path}/responses", json={"status": "COMPLETED"})
        done = await desk.act("dc.consultant", sheet, "complete")

        assert (given_role.status_code, left.is_success) == (201, True), left.text
        assert (waiting["people"], waiting["nobody"]) == ([], True)
        assert told.count(f"{sheet['documentNumber']} awaits nobody") == 1
        assert (given.status_code, answered.status_code) == (200, 201), answered.text
        assert done["workflow"]["currentState"] == "completed"
