"""The main job over HTTP: one request for approval from the contractor's desk to the owner's, and what is written about it."""

from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from saraban.documents.demo import service as demo
from saraban.kit.clock import local_date
from saraban.kit.dates import BUDDHIST_OFFSET
from saraban.worker.loop import Worker
from tests.conftest import SignIn, unwrapped

API = "/api/v1"
CONTRACTOR, CONSULTANT, REVIEWER, OWNER = "dc.contractor", "dc.consultant", "reviewer.consultant", "approver.owner"


@dataclass
class Site:
    """The demo project as its people reach it: public ids by code, and verbs that read like the story."""

    sign_in: SignIn
    project: str = ""
    organizations: dict[str, str] = field(default_factory=dict)

    async def get(self, who: str, path: str, **query: Any) -> Any:
        answer = await (await self.sign_in(who)).get(API + path, params=query)
        assert answer.status_code == httpx.codes.OK, answer.text
        return answer.json()

    async def post(self, who: str, path: str, body: Any, *, key: str | None = None) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key else {}
        return await (await self.sign_in(who)).post(API + path, json=body, headers=headers)

    async def write(self, who: str, path: str, *, to: str, key: str | None = None, **fields: Any) -> Any:
        recipients = [{"organizationPublicId": self.organizations[to], "recipientType": "TO"}]
        body = {"projectPublicId": self.project, "recipients": recipients, **fields}
        answer = await self.post(who, path, body, key=key)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return unwrapped(answer)

    async def upload(self, who: str, name: str) -> str:
        sent = {"file": (name, demo.content(name))}
        answer = await (await self.sign_in(who)).post(f"{API}/attachments", files=sent)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return str(answer.json()["publicId"])

    async def step(self, who: str, document: Any, action: str, comment: str | None = None) -> Any:
        answer = await self.attempt(who, document, action, comment)
        assert answer.status_code == httpx.codes.OK, answer.text
        document["workflow"] = answer.json()["workflow"]
        return document["workflow"]

    async def attempt(self, who: str, document: Any, action: str, comment: str | None = None) -> httpx.Response:
        envelope = document["workflow"]
        body = {"action": action, "comment": comment, "clientVersionNo": envelope["versionNo"]}
        return await self.post(who, f"/workflow/instances/{envelope['instancePublicId']}/transitions", body)

    async def inbox(self, who: str) -> dict[str, list[str]]:
        """What waits, by number, with the actions that may be taken."""
        page = await self.get(who, "/inbox")
        return {item["data"]["subject"]["number"]: item["workflow"]["availableActions"] for item in page["items"]}


@pytest_asyncio.fixture
async def site(signed_in: SignIn) -> Site:
    found = Site(signed_in)
    found.project = (await found.get(CONTRACTOR, "/projects"))["items"][0]["publicId"]
    detail = await found.get(CONTRACTOR, f"/projects/{found.project}")
    found.organizations = {one["organizationCode"]: one["publicId"] for one in detail["organizations"]}
    return found


@pytest.fixture
def year(app: FastAPI) -> int:
    return local_date(app.state.clock.now(), app.state.clock.zone).year + BUDDHIST_OFFSET


async def write_rfa(site: Site) -> Any:
    uploaded = [await site.upload(CONTRACTOR, name) for name in ("pile-test.pdf", "pile-test.png")]
    return await site.write(
        CONTRACTOR,
        "/rfas",
        to="คคง.",
        key="the-rfa-of-the-story",
        subject="ขออนุมัติรายงานผลทดสอบเสาเข็ม",
        disciplineCode="TER",
        rfaTypeCode="RPT",
        attachmentPublicIds=uploaded,
    )


async def approved_rfa(site: Site) -> Any:
    rfa = await write_rfa(site)
    await site.step(CONTRACTOR, rfa, "submit")
    await site.step(REVIEWER, rfa, "approve")
    await site.step(OWNER, rfa, "approve")
    return rfa


class TestRfa:
    async def test_goes_from_the_contractor_over_the_consultant_to_the_owner(self, site: Site) -> None:
        rfa = await write_rfa(site)
        assert rfa["documentNumber"] == "LCBP3-C2-RFA-TER-RPT-0001-A"
        assert [file["fileName"] for file in rfa["attachments"]] == ["pile-test.pdf", "pile-test.png"]
        assert rfa["workflow"]["availableActions"] == ["submit"]

        assert (await site.step(CONTRACTOR, rfa, "submit"))["currentState"] == "pending_review"

        assert set((await site.inbox(REVIEWER))[rfa["documentNumber"]]) == {"approve", "reject", "request-revision"}
        assert rfa["documentNumber"] not in await site.inbox(OWNER)
        assert (await site.step(REVIEWER, rfa, "approve", "ตรวจแล้ว"))["currentState"] == "pending_approval"

        assert rfa["documentNumber"] in await site.inbox(OWNER)
        final = await site.step(OWNER, rfa, "approve")
        assert (final["currentState"], final["terminal"], final["availableActions"]) == ("approved", True, [])
        assert await site.inbox(OWNER) == {}

        for who in (CONTRACTOR, REVIEWER, OWNER, CONSULTANT, "viewer"):
            seen = await site.get(who, f"/rfas/{rfa['publicId']}")
            assert seen["workflow"]["currentState"] == "approved"
            assert seen["data"]["approveCode"]["code"] == "1A"

    async def test_keeps_its_history_and_its_audit_trail(self, site: Site) -> None:
        rfa = await approved_rfa(site)

        steps = await site.get("viewer", f"/workflow/instances/{rfa['workflow']['instancePublicId']}/history")
        assert [(step["action"], step["toState"]) for step in steps["items"]] == [
            ("submit", "pending_review"),
            ("approve", "pending_approval"),
            ("approve", "approved"),
        ]
        assert [step["actor"]["displayName"] for step in steps["items"]] == [
            "ดวงใจ เอกสารครบ",
            "ระวี ตรวจละเอียด",
            "อนันต์ เห็นชอบ",
        ]

        life = await site.get("viewer", f"/rfas/{rfa['publicId']}/history")
        assert [entry["action"] for entry in life["items"]] == ["approve", "approve", "submit", "rfa.create"]

    async def test_sent_twice_with_one_key_is_one_document(self, site: Site) -> None:
        order = {
            "projectPublicId": site.project,
            "recipients": [{"organizationPublicId": site.organizations["คคง."], "recipientType": "TO"}],
            "subject": "ขออนุมัติรายงาน",
            "disciplineCode": "TER",
            "rfaTypeCode": "RPT",
        }

        first = await site.post(CONTRACTOR, "/rfas", order, key="once")
        again = await site.post(CONTRACTOR, "/rfas", order, key="once")

        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert len((await site.get(CONTRACTOR, "/rfas"))["items"]) == 1

    async def test_is_seen_but_not_decided_by_a_viewer(self, site: Site) -> None:
        rfa = await write_rfa(site)
        hidden = await (await site.sign_in("viewer")).get(f"{API}/rfas/{rfa['publicId']}")
        assert hidden.status_code == httpx.codes.NOT_FOUND

        await site.step(CONTRACTOR, rfa, "submit")

        seen = await site.get("viewer", f"/rfas/{rfa['publicId']}")
        assert seen["workflow"]["availableActions"] == []
        assert await site.inbox("viewer") == {}
        refused = await site.attempt("viewer", rfa, "approve")
        assert refused.status_code == httpx.codes.FORBIDDEN
        assert refused.json()["code"] == "WORKFLOW_ACTION_FORBIDDEN"

    async def test_is_not_decided_by_its_own_contractor(self, site: Site) -> None:
        rfa = await write_rfa(site)
        await site.step(CONTRACTOR, rfa, "submit")

        assert (await site.attempt(CONTRACTOR, rfa, "approve")).status_code == httpx.codes.FORBIDDEN

    async def test_sent_back_comes_again_as_revision_b(self, site: Site) -> None:
        rfa = await write_rfa(site)
        await site.step(CONTRACTOR, rfa, "submit")
        silent = await site.attempt(REVIEWER, rfa, "request-revision")
        assert silent.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert silent.json()["errors"][0]["pointer"] == "/comment"
        await site.step(REVIEWER, rfa, "request-revision", "ขาดกราฟการทรุดตัว")

        revised = await site.post(CONTRACTOR, f"/rfas/{rfa['publicId']}/revisions", {})

        assert revised.status_code == httpx.codes.CREATED
        assert revised.json()["data"]["documentNumber"] == "LCBP3-C2-RFA-TER-RPT-0001-B"
        assert revised.json()["workflow"]["currentState"] == "draft"

    async def test_tells_people_what_waits_and_how_it_ended(self, site: Site, app: FastAPI) -> None:
        rfa = await approved_rfa(site)
        await Worker(db=app.state.db, clock=app.state.clock, handlers=app.state.handlers).drain()

        told = await site.get(REVIEWER, "/notifications")
        assert [note for note in told["items"] if note["entityPublicId"] == rfa["publicId"]]
        ended = await site.get(CONTRACTOR, "/notifications")
        assert any(rfa["documentNumber"] in note["title"] for note in ended["items"])


class TestWhatIsWrittenAboutIt:
    async def test_a_letter_is_sent_and_approved(self, site: Site, year: int) -> None:
        rfa = await approved_rfa(site)
        letter = await site.write(
            CONSULTANT,
            "/correspondences",
            to="สคฉ.3",
            correspondenceTypeCode="LETTER",
            subject="แจ้งผลการตรวจรายงาน",
            referencePublicIds=[rfa["publicId"]],
        )
        assert letter["documentNumber"] == f"คคง.-สคฉ.3-0001-{year}"
        assert letter["references"][0]["documentNumber"] == rfa["documentNumber"]

        await site.step(CONSULTANT, letter, "submit")
        assert letter["documentNumber"] in await site.inbox(OWNER)
        assert (await site.step(OWNER, letter, "approve"))["currentState"] == "approved"

    async def test_a_transmittal_of_sub_type_21_is_acknowledged(self, site: Site, year: int) -> None:
        rfa = await approved_rfa(site)
        transmittal = await site.write(
            CONSULTANT,
            "/transmittals",
            to="สคฉ.3",
            subject="นำส่งรายงานฉบับอนุมัติ",
            subTypeCode="GEN",
            items=[{"documentPublicId": rfa["publicId"], "quantity": 3}],
        )
        assert transmittal["documentNumber"] == f"คคง.-สคฉ.3-21-0001-{year}"
        assert transmittal["items"][0]["documentNumber"] == rfa["documentNumber"]

        await site.step(CONSULTANT, transmittal, "submit")
        assert (await site.step(OWNER, transmittal, "acknowledge"))["currentState"] == "completed"

    async def test_a_draft_cannot_be_handed_over(self, site: Site) -> None:
        rfa = await write_rfa(site)
        body = {
            "projectPublicId": site.project,
            "recipients": [{"organizationPublicId": site.organizations["คคง."], "recipientType": "TO"}],
            "subject": "นำส่ง",
            "subTypeCode": "GEN",
            "items": [{"documentPublicId": rfa["publicId"]}],
        }

        answer = await site.post(CONTRACTOR, "/transmittals", body)

        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert answer.json()["errors"][0]["pointer"] == "/items/0"

    async def test_a_circulation_sheet_collects_an_answer(self, site: Site, year: int) -> None:
        rfa = await approved_rfa(site)
        reviewer = (await site.get(REVIEWER, "/auth/me"))["publicId"]
        body = {
            "projectPublicId": site.project,
            "correspondencePublicId": rfa["publicId"],
            "subject": "เวียนผลการอนุมัติ",
            "assignees": [{"userPublicId": reviewer, "kind": "MAIN"}],
        }
        answer = await site.post(CONSULTANT, "/circulations", body)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        sheet = unwrapped(answer)
        assert sheet["documentNumber"] == f"คคง.-CIR-0001-{year}"

        await site.step(CONSULTANT, sheet, "start")
        assert sheet["documentNumber"] in await site.inbox(REVIEWER)
        early = await site.attempt(CONSULTANT, sheet, "complete")
        assert early.status_code == httpx.codes.CONFLICT
        await site.step(REVIEWER, sheet, "respond", "แจ้งผู้ควบคุมงานแล้ว")
        assert (await site.step(CONSULTANT, sheet, "complete"))["currentState"] == "completed"

        other = await (await site.sign_in("viewer")).get(f"{API}/circulations/{sheet['publicId']}")
        assert other.status_code == httpx.codes.NOT_FOUND
