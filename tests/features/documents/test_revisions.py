"""What was sent back stays as it was read; what comes next is the next revision, which can be withdrawn as a draft."""

from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.models import Document
from saraban.identity.models import Organization
from saraban.numbering.series.models import LedgerEntry, NumberAudit, NumberRendering
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers
from tests.reach import rebuild
from tests.workflow_choices import choose, flow, publish

LETTER = ("correspondences", "request-revision", "revision_requested", "REPCSC")
TRANSMITTAL = ("transmittals", "return", "returned", "REPCSC")


async def sent_back(desk: Desk, path: str, action: str) -> dict[str, Any]:
    """A document of ผรม.2 that คคง. has read and sent back."""
    if path == "transmittals":
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        body = desk.transmittal(rfa["publicId"])
    else:
        body = desk.letter("คคง.")
    document = await desk.write("dc.contractor", path, body)
    await desk.act("dc.contractor", document, "submit")
    await desk.act("dc.consultant", document, action, comment="หน้า 2 ไม่ครบ")
    return document


@pytest.mark.parametrize(("path", "action", "state", "status"), [LETTER, TRANSMITTAL], ids=["letter", "transmittal"])
class TestSentBack:
    async def test_stays_with_those_who_read_it(
        self, desk: Desk, path: str, action: str, state: str, status: str
    ) -> None:
        document = await sent_back(desk, path, action)

        read = await desk.read("dc.consultant", path, document["publicId"])
        history = await desk.read("dc.consultant", path, f"{document['publicId']}/history")

        assert read.status_code == 200, read.text
        assert (read.json()["workflow"]["currentState"], read.json()["data"]["status"]["code"]) == (state, status)
        assert read.json()["data"]["issuedAt"] is not None
        steps = [step for step in history.json()["items"] if step["source"] == "workflow"]
        assert (steps[0]["action"], steps[0]["comment"]) == (action, "หน้า 2 ไม่ครบ")

    async def test_cannot_be_overwritten_and_is_answered_by_the_next_revision(
        self, desk: Desk, path: str, action: str, state: str, status: str
    ) -> None:
        document = await sent_back(desk, path, action)
        client, address = await desk.as_("dc.contractor"), f"/api/v1/{path}/{document['publicId']}"

        changed = await client.patch(address, json={"subject": "เขียนทับ"})
        revised = await client.post(f"{address}/revisions", json={"subject": "ฉบับที่ (Rev.)"})
        seen = unwrapped(await desk.read("dc.consultant", path, document["publicId"]))

        assert (changed.status_code, changed.json()["code"]) == (409, "DOCUMENT_NOT_DRAFT")
        assert revised.status_code == 201, revised.text
        assert revised.json()["data"]["revision"]["revisionLabel"] == "B"
        assert (seen["subject"], seen["revision"]["revisionLabel"]) == (document["subject"], "A")
        assert seen["workflow"]["currentState"] == state
        assert [row["publicId"] for row in await desk.listed("dc.consultant", path, status=state)] == [
            document["publicId"]
        ], status


async def draft_b(desk: Desk) -> tuple[dict[str, Any], str]:
    """An RFA whose revision A was rejected and whose revision B is a draft; with its address."""
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
    await desk.act("dc.contractor", rfa, "submit")
    await desk.act("reviewer.consultant", rfa, "reject", comment="ผลทดสอบไม่ครบ")
    address = f"/api/v1/rfas/{rfa['publicId']}"
    revised = await (await desk.as_("dc.contractor")).post(f"{address}/revisions", json={"subject": "ฉบับที่สอง"})
    assert revised.status_code == 201, revised.text
    return rfa, address


class TestWithdrawRevision:
    async def test_goes_back_to_the_revision_before(self, desk: Desk) -> None:
        rfa, address = await draft_b(desk)
        client, body = await desk.as_("dc.contractor"), {"reason": "ขอทำใหม่"}

        answer = await client.post(f"{address}/withdraw-revision", json=body, headers={"Idempotency-Key": "w-1"})
        again = await client.post(f"{address}/withdraw-revision", json=body, headers={"Idempotency-Key": "w-1"})
        read = unwrapped(await client.get(address))
        listed = (await client.get(f"{address}/revisions")).json()["items"]
        history = (await client.get(f"{address}/history")).json()["items"]

        assert answer.status_code == 200, answer.text
        assert again.json() == answer.json()
        assert (read["documentNumber"], read["revision"]["isCurrent"]) == (rfa["documentNumber"], True)
        assert read["workflow"]["currentState"] == "rejected"
        assert [(one["data"]["revisionLabel"], one["data"]["isCurrent"]) for one in listed] == [
            ("B", False),
            ("A", True),
        ]
        assert listed[0]["workflow"]["currentState"] == "cancelled"
        assert "rfa.withdraw-revision" in [entry["action"] for entry in history]
        assert await desk.listed("dc.contractor", "rfas", status="draft") == []

    async def test_leaves_the_label_to_the_next_one(self, desk: Desk) -> None:
        rfa, address = await draft_b(desk)
        client = await desk.as_("dc.contractor")
        await client.post(f"{address}/withdraw-revision", json={"reason": "ขอทำใหม่"})

        revised = await client.post(f"{address}/revisions", json={"subject": "ฉบับที่สองจริง"})

        assert revised.status_code == 201, revised.text
        assert revised.json()["data"]["documentNumber"] == rfa["documentNumber"].removesuffix("A") + "B"
        assert revised.json()["data"]["subject"] == "ฉบับที่สองจริง"
        await desk.act("dc.contractor", revised.json(), "submit")
        read = unwrapped(await desk.read("reviewer.consultant", "rfas", rfa["publicId"]))
        assert (read["subject"], read["revision"]["revisionLabel"]) == ("ฉบับที่สองจริง", "B")

    async def test_takes_the_number_back_and_keeps_every_rendering(self, desk: Desk, app: Any) -> None:
        rfa, address = await draft_b(desk)
        client = await desk.as_("dc.contractor")
        await client.post(f"{address}/withdraw-revision", json={"reason": "ขอทำใหม่"})
        second = (await client.post(f"{address}/revisions", json={})).json()["data"]["documentNumber"]
        await client.post(f"{address}/withdraw-revision", json={"reason": "ขอทำใหม่อีกครั้ง"})
        first = rfa["documentNumber"]

        async with app.state.db.reading() as session:
            head = await session.scalar(sa.select(Document).where(Document.correspondence_number == first))
            entry = await session.scalar(sa.select(LedgerEntry).where(LedgerEntry.document_number == first))
            printed = await session.scalars(
                sa.select(NumberRendering.document_number).where(NumberRendering.reservation_id == entry.id)
            )
            noted = await session.execute(
                sa.select(NumberAudit.old_value, NumberAudit.new_value)
                .where(NumberAudit.reservation_uuid == entry.public_id, NumberAudit.operation == "REVISE")
                .order_by(NumberAudit.id)
            )

        assert head is not None
        assert entry.revision_label == "A"
        assert sorted(printed) == [first, second]
        assert [tuple(row) for row in noted] == [(first, second), (second, first)] * 2

    async def test_comes_before_cancelling_the_whole_document(self, desk: Desk) -> None:
        _, rfa = await draft_b(desk)
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        await desk.act("dc.consultant", letter, "submit")
        await desk.act("approver.owner", letter, "approve")
        client = await desk.as_("dc.consultant")
        paper = f"/api/v1/correspondences/{letter['publicId']}"
        await client.post(f"{paper}/revisions", json={})

        for account, address in (("dc.contractor", rfa), ("dc.consultant", paper)):
            answer = await (await desk.as_(account)).post(f"{address}/cancel", json={"reason": "ไม่ใช้แล้ว"})
            assert (answer.status_code, answer.json()["code"]) == (409, "WITHDRAW_REVISION_FIRST")
        back = await client.post(f"{paper}/withdraw-revision", json={"reason": "ไม่แก้แล้ว"})
        cancelled = await client.post(f"{paper}/cancel", json={"reason": "ไม่ใช้แล้ว"})

        assert back.json()["workflow"]["currentState"] == "approved"
        assert cancelled.status_code == 200, cancelled.text

    async def test_is_for_drafts_that_follow_an_issue_and_for_the_originator(self, desk: Desk) -> None:
        first = await desk.write("dc.contractor", "rfas", desk.rfa())
        _, address = await draft_b(desk)

        never = await (await desk.as_("dc.contractor")).post(
            f"/api/v1/rfas/{first['publicId']}/withdraw-revision", json={"reason": "ไม่ใช้แล้ว"}
        )
        theirs = await (await desk.as_("dc.consultant")).post(
            f"{address}/withdraw-revision", json={"reason": "ไม่ใช้แล้ว"}
        )

        assert (never.status_code, never.json()["code"]) == (409, "NO_DRAFT_REVISION")
        assert theirs.status_code == 403


class TestTransmittedItems:
    async def test_stay_at_the_revision_that_was_sent(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        sheet = await desk.write("dc.contractor", "transmittals", desk.transmittal(rfa["publicId"]))
        await desk.act("dc.contractor", sheet, "submit")
        await desk.act("reviewer.consultant", rfa, "reject", comment="ผลทดสอบไม่ครบ")
        client = await desk.as_("dc.contractor")
        revised = await client.post(f"/api/v1/rfas/{rfa['publicId']}/revisions", json={"subject": "ฉบับที่สอง"})
        await desk.act("dc.contractor", revised.json(), "submit")

        (item,) = unwrapped(await desk.read("dc.consultant", "transmittals", sheet["publicId"]))["items"]

        assert (item["documentNumber"], item["subject"]) == (rfa["documentNumber"], rfa["subject"])

    async def test_go_along_as_they_stand_on_the_day_of_sending(self, desk: Desk) -> None:
        rfa, address = await draft_b(desk)
        client = await desk.as_("dc.contractor")
        await client.post(f"{address}/withdraw-revision", json={"reason": "ขอทำใหม่"})
        sheet = await desk.write("dc.contractor", "transmittals", desk.transmittal(rfa["publicId"]))
        revised = unwrapped(await client.post(f"{address}/revisions", json={"subject": "ฉบับที่สอง"}))
        await desk.act("dc.contractor", revised, "submit")
        await desk.act("dc.contractor", sheet, "submit")

        (item,) = unwrapped(await desk.read("dc.consultant", "transmittals", sheet["publicId"]))["items"]

        assert (item["documentNumber"], item["subject"]) == (revised["documentNumber"], "ฉบับที่สอง")

    async def test_stay_with_the_revision_they_went_along_with(self, desk: Desk) -> None:
        rfa, address = await draft_b(desk)
        client = await desk.as_("dc.contractor")
        await client.post(f"{address}/withdraw-revision", json={"reason": "ขอทำใหม่"})
        sheet = await desk.write("dc.contractor", "transmittals", desk.transmittal(rfa["publicId"]))
        await desk.act("dc.contractor", sheet, "submit")
        revised = unwrapped(await client.post(f"{address}/revisions", json={"subject": "ฉบับที่สอง"}))
        await desk.act("dc.contractor", revised, "submit")
        await desk.act("dc.consultant", sheet, "return", comment="หน้า 2 ไม่ครบ")
        own = f"/api/v1/transmittals/{sheet['publicId']}/revisions"
        draft = unwrapped(await client.post(own, json={}))
        hidden = (await desk.read("dc.consultant", "transmittals", f"{sheet['publicId']}/revisions")).json()["items"]
        await desk.act("dc.contractor", draft, "submit")

        after = unwrapped(await desk.read("dc.consultant", "transmittals", sheet["publicId"]))
        told = (await desk.read("dc.consultant", "transmittals", f"{sheet['publicId']}/revisions")).json()["items"]

        said = [[(one["documentNumber"], one["subject"]) for one in item["data"]["items"]] for item in told]
        was, is_now = (rfa["documentNumber"], rfa["subject"]), (revised["documentNumber"], "ฉบับที่สอง")
        assert said == [[is_now], [was]]
        assert [(one["documentNumber"], one["subject"]) for one in after["items"] + draft["items"]] == [is_now, is_now]
        assert [item["data"]["revisionLabel"] for item in hidden] == ["A"]

    async def test_are_rfas_of_any_status_but_a_draft(self, desk: Desk) -> None:
        """Of several the one that is no issue yet is named; the others go along, and who receives them is shown all."""
        approved = await desk.approved_rfa()
        pending, draft = [await desk.write("dc.contractor", "rfas", desk.rfa()) for _ in "12"]
        await desk.act("dc.contractor", pending, "submit")
        client = await desk.as_("dc.contractor")
        mixed = desk.transmittal(*(one["publicId"] for one in (approved, draft, pending)))

        refused = await client.post("/api/v1/transmittals", json=mixed)
        sent = await desk.write(
            "dc.contractor", "transmittals", desk.transmittal(approved["publicId"], pending["publicId"])
        )
        await desk.act("dc.contractor", sent, "submit")

        assert (refused.status_code, refused.json()["code"]) == (422, "TRANSMITTAL_ITEM_DRAFT")
        assert pointers(refused) == ["/items/1"]
        assert draft["documentNumber"] in refused.json()["userMessage"]
        received = unwrapped(await desk.read("reviewer.consultant", "transmittals", sent["publicId"]))
        assert [one["documentNumber"] for one in received["items"]] == [
            approved["documentNumber"],
            pending["documentNumber"],
        ]
        assert [one["status"]["code"] for one in received["items"]] == ["CLBOWN", "SUBCSC"]

    async def test_say_how_a_document_stands_to_who_may_see_it_alone(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter("สคฉ.3"))
        await desk.act("dc.consultant", letter, "submit")
        body = desk.transmittal(letter["publicId"], recipients=desk.to("ผรม.2"))
        sheet = await desk.write("dc.consultant", "transmittals", body)
        await desk.act("dc.consultant", sheet, "submit")

        async def status(account: str) -> Any:
            return unwrapped(await desk.read(account, "transmittals", sheet["publicId"]))["items"][0]["status"]

        assert (await status("dc.consultant"))["code"] == "SUBOWN"
        assert await status("dc.contractor") is None

    async def test_are_not_cancelled_when_listed_nor_when_sent(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        await desk.act("dc.consultant", letter, "submit")
        body = desk.transmittal(letter["publicId"], recipients=desk.to("ผรม.2"))
        sheet = await desk.write("dc.consultant", "transmittals", body)
        client = await desk.as_("dc.consultant")
        await client.post(f"/api/v1/correspondences/{letter['publicId']}/cancel", json={"reason": "ออกซ้ำ"})

        listed = await client.post("/api/v1/transmittals", json=body)
        instance = sheet["workflow"]["instancePublicId"]
        submitted = await client.post(f"/api/v1/workflow/instances/{instance}/transitions", json={"action": "submit"})

        for answer in (listed, submitted):
            assert (answer.status_code, answer.json()["code"]) == (422, "TRANSMITTAL_ITEM_CANCELLED")
            assert pointers(answer) == ["/items/0"]
            assert letter["documentNumber"] in answer.json()["userMessage"]


class TestItemsOnAWorkflowOfOnesOwn:
    """The states of the project's own workflow have other names than those that ship."""

    @pytest_asyncio.fixture
    async def sheet(self, desk: Desk) -> dict[str, Any]:
        """A draft transmittal of a letter that was sent."""
        admin = await desk.as_("admin")
        assert (await publish(admin, flow("HANDOVER", middle="handed_over"))).status_code == 201
        assert (await choose(admin, "HANDOVER", kind="transmittal")).status_code == 200
        letter = await desk.write("dc.consultant", "correspondences", desk.letter("ผรม.2"))
        await desk.act("dc.consultant", letter, "submit")
        return await desk.write(
            "dc.consultant", "transmittals", desk.transmittal(letter["publicId"], recipients=desk.to("ผรม.2"))
        )

    async def issue(self, desk: Desk, sheet: dict[str, Any]) -> httpx.Response:
        instance = sheet["workflow"]["instancePublicId"]
        client = await desk.as_("dc.consultant")
        return await client.post(f"/api/v1/workflow/instances/{instance}/transitions", json={"action": "submit"})

    async def test_say_what_they_said_when_they_were_issued(self, desk: Desk, sheet: dict[str, Any]) -> None:
        (before,) = sheet["items"]
        assert (await self.issue(desk, sheet)).json()["workflow"]["currentState"] == "handed_over"
        letter = f"/api/v1/correspondences/{before['documentPublicId']}"
        renumbered = await (await desk.as_("admin")).post(f"{letter}/renumber", json={"reason": "ออกเลขผิดชุด"})
        assert renumbered.status_code == 200, renumbered.text

        (after,) = unwrapped(await desk.read("dc.contractor", "transmittals", sheet["publicId"]))["items"]

        assert renumbered.json()["data"]["documentNumber"] != before["documentNumber"]
        assert after == before

    async def test_are_looked_at_when_they_are_issued(self, desk: Desk, sheet: dict[str, Any]) -> None:
        letter = f"/api/v1/correspondences/{sheet['items'][0]['documentPublicId']}"
        await (await desk.as_("dc.consultant")).post(f"{letter}/cancel", json={"reason": "ออกซ้ำ"})

        answer = await self.issue(desk, sheet)

        assert (answer.status_code, answer.json()["code"]) == (422, "TRANSMITTAL_ITEM_CANCELLED")
        read = unwrapped(await desk.read("dc.consultant", "transmittals", sheet["publicId"]))
        assert read["workflow"]["currentState"] == "draft"

    async def test_are_documents_that_the_originator_may_see(
        self, desk: Desk, sheet: dict[str, Any], app: FastAPI
    ) -> None:
        other = sa.select(Organization.id).where(Organization.organization_code == "สคฉ.3").scalar_subquery()
        letter = Document.public_id == UUID(sheet["items"][0]["documentPublicId"])

        async def give_away(session: AsyncSession) -> None:
            await session.execute(sa.update(Document).where(letter).values(originator_id=other))

        await app.state.db.transact(give_away)
        await rebuild(app.state.db)

        answer = await self.issue(desk, sheet)

        assert (answer.status_code, pointers(answer)) == (422, ["/items/0/documentPublicId"])


class TestAuditOfAnEdit:
    async def test_keeps_old_and_new_values_for_the_auditor_alone(self, desk: Desk, app: Any) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter(body="ก" * 900))
        client, address = await desk.as_("dc.consultant"), f"/api/v1/correspondences/{letter['publicId']}"
        changes = {"subject": "เรื่องใหม่", "body": "ข" * 900, "dueDate": "2099-01-02", "priority": letter["priority"]}
        assert (await client.patch(address, json=changes)).status_code == 200

        async with app.state.db.reading() as session:
            trail = await audit.list_records(
                session, entity_type="correspondence", entity_id=letter["publicId"], cursor=None, limit=10
            )
        (edit,) = [entry for entry in trail.items if entry.action == "correspondence.edit"]
        told = (await client.get(f"{address}/history")).json()["items"]

        assert edit.details["changes"] == {
            "subject": {"old": letter["subject"], "new": "เรื่องใหม่"},
            "body": {"old": "ก" * 499 + "…", "new": "ข" * 499 + "…"},
            "dueDate": {"old": None, "new": "2099-01-02"},
        }
        assert all("changes" not in entry["details"] for entry in told if entry["source"] == "audit")
