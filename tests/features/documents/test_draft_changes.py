"""Editing a draft, issuing the next revision, cancelling: each once, each by whom it belongs to, each with its proof."""

import copy
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.models import Attachment, AttachmentText
from saraban.documents.core.models import DocumentRevision
from saraban.numbering.series.models import LedgerEntry
from saraban.projects.models import CorrespondenceStatus
from tests.conftest import unwrapped
from tests.definitions import RFA
from tests.features.documents.conftest import Desk, pointers


class TestEdit:
    async def test_changes_a_draft_and_its_version(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")
        old, new = await desk.upload("dc.consultant"), await desk.upload("dc.consultant")
        created = await client.post("/api/v1/correspondences", json=desk.letter(attachmentPublicIds=[old]))
        address, version = created.headers["location"], created.headers["etag"]
        changes = {"subject": "เรื่องใหม่", "addAttachmentPublicIds": [new], "removeAttachmentPublicIds": [old]}

        changed = await client.patch(address, json=changes, headers={"If-Match": version})
        stale = await client.patch(address, json={"subject": "ช้าไป"}, headers={"If-Match": version})

        assert changed.status_code == 200, changed.text
        assert changed.json()["data"]["subject"] == "เรื่องใหม่"
        assert [(file["publicId"], file["isMain"]) for file in changed.json()["data"]["attachments"]] == [(new, True)]
        assert changed.headers["etag"] != version
        assert (stale.status_code, stale.json()["code"]) == (412, "DOCUMENT_CHANGED")

    @pytest.mark.parametrize("issued", [False, True])
    async def test_deletes_a_file_that_is_removed_before_anybody_else_could_read_it(
        self, desk: Desk, app: FastAPI, issued: bool
    ) -> None:
        client = await desk.as_("dc.consultant")
        old, kept = await desk.upload("dc.consultant"), await desk.upload("dc.consultant")
        created = await client.post("/api/v1/correspondences", json=desk.letter(attachmentPublicIds=[old, kept]))
        state, later = app.state, app.state.clock.now() + timedelta(hours=1)

        async def note(session: AsyncSession) -> None:
            if issued:
                await session.execute(sa.update(DocumentRevision).values(issued_date=state.clock.now()))
            key = sa.select(Attachment.id).where(Attachment.public_id == UUID(old)).scalar_subquery()
            text = {"attachment_id": key, "text": "read", "extracted_at": state.clock.now()}
            await session.execute(sa.insert(AttachmentText).values(text))

        await state.db.transact(note)
        changed = await client.patch(created.headers["location"], json={"removeAttachmentPublicIds": [old]})
        again = await client.patch(created.headers["location"], json={"addAttachmentPublicIds": [old]})
        deleted = await attachments.clean_up(state.db, state.storage, now=later)

        assert (changed.status_code, again.status_code) == (200, 422)
        never = sa.update(DocumentRevision).values(issued_date=None)  # as its workflow has it
        await state.db.transact(lambda session: session.execute(never))
        async with state.db.reading() as session:
            left = set(await session.scalars(sa.select(Attachment.public_id)))
        files = [path for path in (state.settings.data_dir / "files").rglob("*") if path.is_file()]
        assert (deleted, UUID(old) in left, UUID(kept) in left) == ((0, True, True) if issued else (1, False, True))
        assert {path.name for path in files} >= {str(one) for one in left}
        assert (old in {path.name for path in files}) == issued

    async def test_keeps_what_the_number_prints(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        client = await desk.as_("dc.contractor")
        changes = {"disciplineCode": "STR", "rfaTypeCode": "SDW"}

        answer = await client.patch(f"/api/v1/rfas/{rfa['publicId']}", json=changes)

        assert (answer.status_code, answer.json()["code"]) == (409, "NUMBER_ALREADY_DRAWN")
        assert set(pointers(answer)) == {"/disciplineCode", "/rfaTypeCode"}

    async def test_ends_with_the_draft(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        address = f"/api/v1/rfas/{rfa['publicId']}"
        body = {"subject": "แก้ทีหลัง"}

        mine = await (await desk.as_("dc.contractor")).patch(address, json=body, headers={"Accept-Language": "th"})
        theirs = await (await desk.as_("dc.consultant")).patch(address, json=body)

        assert (mine.status_code, mine.json()["userMessage"]) == (409, "สามารถแก้ไขได้เฉพาะในสถานะ Draft")
        assert theirs.status_code == 403

    @pytest.mark.parametrize(("name", "editable", "status"), [("pending_review", True, 200), ("draft", False, 409)])
    async def test_asks_the_state_whether_it_is_editable_and_not_its_name(
        self, desk: Desk, name: str, editable: bool, status: int
    ) -> None:
        raw = copy.deepcopy(RFA)
        next(state for state in raw["states"] if state["name"] == name)["editable"] = editable
        admin, client = await desk.as_("admin"), await desk.as_("dc.contractor")
        made = await admin.post("/api/v1/workflow/definitions", json={"dsl": raw, "activate": True})
        assert made.status_code == httpx.codes.CREATED, made.text
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        if name != "draft":
            rfa |= await desk.act("dc.contractor", rfa, "submit")

        answer = await client.patch(f"/api/v1/rfas/{rfa['publicId']}", json={"subject": "เรื่องใหม่"})

        assert (rfa["workflow"]["currentState"], rfa["workflow"]["canEdit"]) == (name, editable)
        assert answer.status_code == status, answer.text

    async def test_names_what_cannot_be_left_out_or_is_too_early(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        client = await desk.as_("dc.consultant")

        for changes, pointer in (
            ({"subject": None}, "/subject"),
            ({"priority": None}, "/priority"),
            ({"dueDate": "2020-01-01"}, "/dueDate"),
            ({"removeAttachmentPublicIds": [letter["publicId"]]}, "/removeAttachmentPublicIds/0"),
        ):
            answer = await client.patch(f"/api/v1/correspondences/{letter['publicId']}", json=changes)
            assert (answer.status_code, pointers(answer)) == (422, [pointer])


class TestRevise:
    async def test_waits_for_the_answer_in_the_words_of_the_specification(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        client = await desk.as_("dc.contractor")

        answer = await client.post(
            f"/api/v1/rfas/{rfa['publicId']}/revisions", json={}, headers={"Accept-Language": "th"}
        )

        assert (answer.status_code, answer.json()["userMessage"]) == (409, "ต้องรอคำตอบของ Revision ก่อนหน้าก่อน")

    async def test_prints_the_number_again_after_a_rejection(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await desk.act("reviewer.consultant", rfa, "reject", comment="ผลทดสอบไม่ครบ")
        client = await desk.as_("dc.contractor")
        address = f"/api/v1/rfas/{rfa['publicId']}/revisions"
        file = await desk.upload("dc.contractor")
        body = {"subject": "ฉบับที่สอง", "attachmentPublicIds": [file]}

        answer = await client.post(address, json=body, headers={"Idempotency-Key": "rev-b"})
        again = await client.post(address, json=body, headers={"Idempotency-Key": "rev-b"})
        revisions = (await client.get(address)).json()["items"]

        assert answer.status_code == 201, answer.text
        assert again.json() == answer.json()
        assert answer.json()["data"]["documentNumber"] == "LCBP3-C2-RFA-TER-RPT-0001-B"
        assert answer.json()["workflow"]["currentState"] == "draft"
        assert [(one["data"]["revisionLabel"], one["data"]["isCurrent"]) for one in revisions] == [
            ("B", True),
            ("A", False),
        ]
        assert [one["data"]["documentNumber"][-1] for one in revisions] == ["B", "A"]
        assert revisions[1]["workflow"]["currentState"] == "rejected"
        assert [one["publicId"] for one in revisions[0]["data"]["attachments"]] == [file]

    async def test_records_the_verdict_of_each_revision(self, desk: Desk) -> None:
        rfa = await desk.approved_rfa()

        answer = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))

        assert (answer["status"]["code"], answer["approveCode"]["code"]) == ("FCO", "1A")
        assert answer["approvedDate"] is not None

    async def test_belongs_to_the_originator(self, desk: Desk) -> None:
        rfa = await desk.approved_rfa()

        answer = await (await desk.as_("dc.consultant")).post(f"/api/v1/rfas/{rfa['publicId']}/revisions", json={})

        assert answer.status_code == 403

    async def test_keeps_a_number_without_a_revision(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        await desk.act("dc.consultant", letter, "submit")
        await desk.act("approver.owner", letter, "approve")
        client = await desk.as_("dc.consultant")

        answer = await client.post(f"/api/v1/correspondences/{letter['publicId']}/revisions", json={})

        assert answer.status_code == 201, answer.text
        assert answer.json()["data"]["documentNumber"] == letter["documentNumber"]
        assert answer.json()["data"]["revision"]["revisionLabel"] == "B"


class TestVersions:
    async def test_of_a_document_and_of_its_workflow_are_not_taken_for_each_other(self, desk: Desk) -> None:
        client = await desk.as_("dc.consultant")
        created = await client.post("/api/v1/correspondences", json=desk.letter())
        flow = created.json()["workflow"]
        address = f"/api/v1/workflow/instances/{flow['instancePublicId']}"
        tag, version = created.headers["etag"], (await client.get(address)).headers["etag"]

        async def submit(if_match: str) -> httpx.Response:
            return await client.post(
                f"{address}/transitions", json={"action": "submit"}, headers={"If-Match": if_match}
            )

        wrong, right = await submit(tag), await submit(version)

        assert version == f'"{flow["versionNo"]}"'
        assert (wrong.status_code, pointers(wrong)) == (422, ["header:If-Match"])
        assert "ETag of a document" in wrong.json()["errors"][0]["message"]
        assert right.status_code == 200


class TestSentBack:
    @pytest.mark.parametrize(("account", "expected"), [("reviewer.consultant", "REPCSC"), ("approver.owner", "REPOWN")])
    async def test_shows_whose_reply_it_is(self, desk: Desk, app: Any, account: str, expected: str) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        if account == "approver.owner":
            await desk.act("reviewer.consultant", rfa, "approve")

        await desk.act(account, rfa, "request-revision", comment="ขาดผลทดสอบ")

        status = (
            sa.select(CorrespondenceStatus.status_code)
            .join(DocumentRevision, DocumentRevision.correspondence_status_id == CorrespondenceStatus.id)
            .where(DocumentRevision.correspondence_number == rfa["documentNumber"])
        )
        async with app.state.db.reading() as session:
            assert await session.scalar(status) == expected
        found = await desk.listed("dc.contractor", "rfas", status="revision_requested")
        assert [row["publicId"] for row in found] == [rfa["publicId"]]


class TestCancel:
    async def test_marks_the_number_and_ends_the_workflow(self, desk: Desk, app: Any) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        client = await desk.as_("dc.consultant")
        address = f"/api/v1/correspondences/{letter['publicId']}/cancel"
        headers = {"Idempotency-Key": "cancel-1"}

        answer = await client.post(address, json={"reason": "ออกซ้ำกับฉบับก่อน"}, headers=headers)
        again = await client.post(address, json={"reason": "ออกซ้ำกับฉบับก่อน"}, headers=headers)
        twice = await client.post(address, json={"reason": "ออกซ้ำกับฉบับก่อน"})
        other = await desk.write("dc.consultant", "correspondences", desk.letter())

        assert answer.status_code == 200, answer.text
        assert answer.json() == again.json()
        assert answer.json()["data"]["cancelReason"] == "ออกซ้ำกับฉบับก่อน"
        assert answer.json()["data"]["status"]["code"] == "CANCELLED"
        assert answer.json()["workflow"]["status"] == "CANCELLED"
        assert answer.json()["workflow"]["availableActions"] == []
        assert (twice.status_code, twice.json()["code"]) == (409, "DOCUMENT_CANCELLED")
        assert other["documentNumber"] != letter["documentNumber"]
        async with app.state.db.reading() as session:
            entry = await session.scalar(
                sa.select(LedgerEntry).where(LedgerEntry.document_number == letter["documentNumber"])
            )
        assert entry.document_number_status == "CANCELLED"

    @pytest.mark.parametrize("steps", [[], ["submit"], ["submit", "approve"]], ids=["draft", "in_review", "approved"])
    async def test_is_the_last_step_of_the_workflow_wherever_it_stood(self, desk: Desk, steps: list[str]) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        for action in steps:
            await desk.act("approver.owner" if action == "approve" else "dc.consultant", letter, action)
        client, address = await desk.as_("dc.consultant"), f"/api/v1/correspondences/{letter['publicId']}"
        stood = (await client.get(address)).json()["workflow"]

        flow = (await client.post(f"{address}/cancel", json={"reason": "ออกซ้ำกับฉบับก่อน"})).json()["workflow"]
        taken = await client.get(f"/api/v1/workflow/instances/{flow['instancePublicId']}/history")
        last = taken.json()["items"][-1]

        assert (flow["currentState"], flow["stateLabel"]["en"], flow["terminal"]) == ("cancelled", "Cancelled", True)
        assert (flow["status"], flow["versionNo"]) == ("CANCELLED", stood["versionNo"] + 1)
        assert (last["fromState"], last["action"], last["toState"]) == (stood["currentState"], "cancel", "cancelled")
        assert (last["actionLabel"]["th"], last["comment"]) == ("ยกเลิกแล้ว", "ออกซ้ำกับฉบับก่อน")
        for state, expected in ((stood["currentState"], []), ("cancelled", [letter["publicId"]])):
            found = await desk.listed("dc.consultant", "correspondences", status=state)
            assert [row["publicId"] for row in found] == expected

    async def test_stays_hidden_from_those_who_never_got_it(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        client = await desk.as_("dc.consultant")
        await client.post(f"/api/v1/correspondences/{letter['publicId']}/cancel", json={"reason": "ไม่ส่งแล้ว"})

        assert (await desk.read("approver.owner", "correspondences", letter["publicId"])).status_code == 404

    async def test_of_an_rfa_ends_with_the_draft(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        client = await desk.as_("dc.contractor")

        answer = await client.post(
            f"/api/v1/rfas/{rfa['publicId']}/cancel",
            json={"reason": "ขอถอนเรื่อง"},
            headers={"Accept-Language": "th"},
        )

        assert (answer.status_code, answer.json()["userMessage"]) == (409, "สามารถยกเลิกได้เฉพาะในสถานะ Draft")

    async def test_of_what_was_issued_is_not_for_the_recipient(self, desk: Desk) -> None:
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        await desk.act("dc.consultant", letter, "submit")
        address = f"/api/v1/correspondences/{letter['publicId']}/cancel"

        theirs = await (await desk.as_("approver.owner")).post(address, json={"reason": "ไม่ชอบเรื่องนี้"})
        short = await (await desk.as_("dc.consultant")).post(address, json={"reason": "เลิก"})
        mine = await (await desk.as_("dc.consultant")).post(address, json={"reason": "ส่งผิดเรื่อง"})

        assert theirs.status_code == 403
        assert (short.status_code, pointers(short)) == (422, ["/reason"])
        assert mine.status_code == 200


class TestHistory:
    async def test_tells_steps_and_deeds_with_names_and_without_keys(self, desk: Desk) -> None:
        rfa = await desk.approved_rfa()

        answer = await desk.read("dc.contractor", "rfas", f"{rfa['publicId']}/history")

        items = answer.json()["items"]
        assert [item["action"] for item in items if item["source"] == "workflow"] == ["approve", "approve", "submit"]
        assert items[-1]["action"] == "rfa.create"
        assert all(item["actor"]["displayName"] for item in items)
        assert items == sorted(items, key=lambda item: item["at"], reverse=True)
