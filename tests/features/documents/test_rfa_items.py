"""What RFAs ask approval for: drawings and documents, one open RFA for each drawing revision, an answer for each item."""

import asyncio
from datetime import date
from typing import Any, cast
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.documents.core.models import DocumentRevision
from saraban.documents.core.service import ReachedState
from saraban.documents.drawing.domain import SHOP
from saraban.documents.drawing.models import RfaItemClaim, ShopDrawingRevision
from saraban.documents.rfa.repository import ItemKey
from saraban.documents.rfa.service import RFA
from saraban.documents.rfa.service import items as rfa_items
from saraban.identity.domain.context import RequestContext
from saraban.workflow.language.subject import ItemResult
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers

RFAS = "/api/v1/rfas"


async def drawings(desk: Desk, *numbers: str, kind: str = "shop", **more: Any) -> list[dict[str, Any]]:
    return [await desk.register("admin", kind, number, **more) for number in numbers]


def items(*made: dict[str, Any]) -> list[dict[str, str]]:
    return [{"drawingRevisionPublicId": one["revision"]["publicId"]} for one in made]


async def send(desk: Desk, *made: dict[str, Any], language: str = "en", **changes: Any) -> httpx.Response:
    client = await desk.as_("dc.contractor")
    body = desk.rfa(items=items(*made), **changes)
    return await client.post(RFAS, json=body, headers={"Accept-Language": language})


async def rfa_of(desk: Desk, *made: dict[str, Any]) -> dict[str, Any]:
    answer = await send(desk, *made)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return unwrapped(answer)


async def carried(desk: Desk, rfa: dict[str, Any], account: str = "dc.contractor") -> list[dict[str, Any]]:
    return unwrapped(await desk.read(account, "rfas", rfa["publicId"]))["items"]  # type: ignore[no-any-return]


async def drawing(desk: Desk, made: dict[str, Any]) -> dict[str, Any]:
    return unwrapped(await desk.read("admin", f"drawings/{made['kind']}", made["publicId"]))


async def revise(desk: Desk, made: dict[str, Any]) -> dict[str, Any]:
    client = await desk.as_("admin")
    answer = await client.post(f"/api/v1/drawings/{made['kind']}/{made['publicId']}/revisions", json={})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return unwrapped(answer)


def results(*said: tuple[dict[str, Any], str]) -> dict[str, Any]:
    return {"itemResults": [{"publicId": made["revision"]["publicId"], "responseCode": code} for made, code in said]}


async def claims(app: FastAPI) -> int:
    async with app.state.db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(RfaItemClaim)) or 0)


async def approved_by(desk: Desk, way: str) -> None:
    """Choose how the project approves shop drawings: by `rfa`, or by a `workflow` of each revision."""
    client = await desk.as_("admin")
    body = {"revisionScheme": "0", "approval": way}
    answer = await client.put(f"/api/v1/projects/{desk.project}/drawing-registers/shop", json=body)
    assert answer.status_code == httpx.codes.OK, answer.text


async def resubmit(desk: Desk, rfa: dict[str, Any]) -> dict[str, Any]:
    answer = await (await desk.as_("dc.contractor")).post(f"{RFAS}/{rfa['publicId']}/revisions", json={})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return unwrapped(answer)


async def answered(desk: Desk, rfa: dict[str, Any], action: str = "approve", **more: Any) -> None:
    """Submit, endorse, and let the owner answer."""
    await desk.act("dc.contractor", rfa, "submit")
    await desk.act("reviewer.consultant", rfa, "approve")
    await desk.act("approver.owner", rfa, action, **more)


class TestAnRfa:
    async def test_carries_drawings_and_documents_in_their_order(self, desk: Desk) -> None:
        shop, other = await drawings(desk, "S-1", "S-2")
        (built,) = await drawings(desk, "S-1", kind="asbuilt", titleEn="As built")
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")
        asked = [*items(other, built, shop), {"documentPublicId": letter["publicId"]}]

        made = await desk.write("dc.contractor", "rfas", desk.rfa(items=asked))

        shown = [(one["kind"], one["number"], one["revisionLabel"], one["isSuperseded"]) for one in made["items"]]
        assert shown == [
            ("shop", "S-2", "0", False),
            ("asbuilt", "S-1", "0", False),
            ("shop", "S-1", "0", False),
            ("document", letter["documentNumber"], "A", False),
        ]
        assert [one["publicId"] for one in made["items"]] == [next(iter(one.values())) for one in asked]
        assert made["items"][1]["titleEn"] == "As built"
        assert all(one["responseCode"] is None for one in made["items"])

    async def test_names_each_item_that_it_cannot_carry(self, desk: Desk) -> None:
        (shop,) = await drawings(desk, "S-1")
        (contract,) = await drawings(desk, "C-1", kind="contract")
        (theirs,) = await drawings(desk, "S-2", originatorOrganizationPublicId=desk.organizations["คคง."])
        draft = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        client = await desk.as_("dc.contractor")
        one = items(shop)[0]
        found = [
            pointers(await client.post(RFAS, json=desk.rfa(items=asked)))
            for asked in (
                [one, one],
                [one, {}],
                [one, {**one, "documentPublicId": draft["publicId"]}],
                [one, *items(contract)],
                [one, {"drawingRevisionPublicId": desk.project}],
                [one, {"documentPublicId": draft["publicId"]}],
                [one, {"documentPublicId": desk.project}],
                [one] * 501,
            )
        ]
        of_others = await send(desk, shop, theirs)

        assert found == [
            ["/items/1"],
            ["/items/1"],
            ["/items/1"],
            ["/items/1/drawingRevisionPublicId"],
            ["/items/1/drawingRevisionPublicId"],
            ["/items/1/documentPublicId"],
            ["/items/1/documentPublicId"],
            ["/items"],
        ]
        assert (of_others.status_code, pointers(of_others)) == (422, ["/items/1/drawingRevisionPublicId"])
        assert (await send(desk, shop)).status_code == httpx.codes.CREATED

    async def test_shows_its_readers_the_sheets(self, desk: Desk) -> None:
        file = await desk.upload("dc.contractor")
        made = await desk.register(
            "dc.contractor",
            "shop",
            "S-1",
            originatorOrganizationPublicId=desk.organizations["ผรม.2"],
            revision={"attachmentPublicIds": [file]},
        )
        reviewer = await desk.as_("reviewer.consultant")
        hidden = await reviewer.get(f"/api/v1/drawings/shop/{made['publicId']}")
        rfa = await rfa_of(desk, made)
        url = rfa["items"][0]["attachments"][0]["downloadUrl"]
        before = await reviewer.get(url)

        await desk.act("dc.contractor", rfa, "submit")

        assert (hidden.status_code, before.status_code) == (404, 404)
        assert (await reviewer.get(url)).status_code == httpx.codes.OK
        assert [one["number"] for one in await carried(desk, rfa, "reviewer.consultant")] == ["S-1"]

    async def test_shows_no_sheets_of_a_draft_revision_to_readers_of_the_one_before(self, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        (first,) = await drawings(desk, "S-1", **own)
        file = await desk.upload("dc.contractor")
        added = await desk.register("dc.contractor", "shop", "S-2", revision={"attachmentPublicIds": [file]}, **own)
        rfa = await rfa_of(desk, first)
        await desk.act("dc.contractor", rfa, "submit")
        await desk.act("reviewer.consultant", rfa, "request-revision", comment="ขาดแบบ")
        again = await resubmit(desk, rfa)
        contractor, reviewer = await desk.as_("dc.contractor"), await desk.as_("reviewer.consultant")
        changed = await contractor.patch(f"{RFAS}/{rfa['publicId']}", json={"items": items(first, added)})
        url = unwrapped(changed)["items"][1]["attachments"][0]["downloadUrl"]
        before = await reviewer.get(url)

        await desk.act("dc.contractor", again, "submit")

        assert [(await contractor.get(url)).status_code, before.status_code] == [200, 404]
        assert (await reviewer.get(url)).status_code == httpx.codes.OK

    async def test_names_each_revision_by_the_number_printed_on_it(self, desk: Desk) -> None:
        admin = await desk.as_("admin")
        path = f"/api/v1/projects/{desk.project}/drawing-categories/shop-main-categories"
        await admin.post(path, json={"code": "FND", "nameTh": "ฐานราก"})
        body = {"projectPublicId": desk.project, "title": "แปลน", "categoryCode": "FND", "disciplineCode": "TER"}
        made = unwrapped(await admin.post("/api/v1/drawings/shop", json=body))
        rfa = await rfa_of(desk, made)

        newer = await revise(desk, made)

        assert newer["drawingNumber"] != made["drawingNumber"]
        shown = [(one["number"], one["revisionLabel"]) for one in await carried(desk, rfa)]
        assert shown == [(made["drawingNumber"], "0")]


class TestADrawingRevision:
    async def test_is_in_one_open_rfa_at_a_time(self, desk: Desk) -> None:
        first, second = await drawings(desk, "S-1", "S-2")
        rfa = await rfa_of(desk, first)

        refused = await send(desk, second, first, language="th")

        assert (refused.status_code, refused.json()["code"]) == (409, "DRAWING_REVISION_IN_RFA")
        assert pointers(refused) == ["/items/1/drawingRevisionPublicId"]
        assert "Shop Drawing Revision นี้มี RFA อยู่แล้ว" in refused.json()["userMessage"]
        assert rfa["documentNumber"] in refused.json()["userMessage"]
        assert (await send(desk, second)).status_code == httpx.codes.CREATED

    async def test_is_given_to_one_of_two_who_ask_at_once(self, desk: Desk, app: FastAPI) -> None:
        (made,) = await drawings(desk, "S-1")

        answers = await asyncio.gather(*(send(desk, made, subject=f"ขออนุมัติ {place}") for place in range(4)))

        assert sorted(one.status_code for one in answers) == [201, 409, 409, 409]
        assert {one.json().get("code") for one in answers} == {None, "DRAWING_REVISION_IN_RFA"}
        assert await claims(app) == 1

    async def test_is_free_again_once_the_rfa_is_cancelled(self, desk: Desk) -> None:
        """And keeps what an earlier RFA was answered with."""
        (made,) = await drawings(desk, "S-1")
        await answered(desk, await rfa_of(desk, made), responseCode="1A")
        rfa = await rfa_of(desk, made)
        client = await desk.as_("dc.contractor")

        await client.post(f"{RFAS}/{rfa['publicId']}/cancel", json={"reason": "แบบไม่ครบ"})

        assert (await send(desk, made)).status_code == httpx.codes.CREATED
        assert (await drawing(desk, made))["revision"]["responseCode"]["code"] == "1A"

    async def test_is_refused_when_it_is_not_the_current_one(self, desk: Desk) -> None:
        (made,) = await drawings(desk, "S-1")
        await revise(desk, made)

        refused = await send(desk, made)

        assert (refused.status_code, refused.json()["code"]) == (409, "DRAWING_REVISION_SUPERSEDED")
        assert pointers(refused) == ["/items/0/drawingRevisionPublicId"]

    async def test_is_refused_when_it_is_replaced_after_the_check(self, desk: Desk, app: FastAPI) -> None:
        (made,) = await drawings(desk, "S-1")
        await revise(desk, made)
        async with app.state.db.writing() as session:
            oldest = sa.select(sa.func.min(ShopDrawingRevision.id))
            checked = rfa_items.CheckedItem(ItemKey(SHOP, await session.scalar(oldest)), "/items/0", "S-1")

            with pytest.raises(rfa_items.DrawingSuperseded):
                await rfa_items.hold(cast("RequestContext", None), session, [checked])

    async def test_is_refused_while_it_is_in_a_workflow_of_its_own(self, desk: Desk) -> None:
        await approved_by(desk, "workflow")
        project = (await (await desk.as_("admin")).get(f"/api/v1/projects/{desk.project}")).json()
        contract = next(one for one in project["contracts"] if one["contractCode"] == "LCBP3-C2")
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        (made,) = await drawings(desk, "S-1", contractPublicId=contract["publicId"], **own)
        await approved_by(desk, "rfa")
        running = await send(desk, made)
        await desk.act("dc.contractor", made["revisions"][0], "submit")
        await desk.act("reviewer.consultant", made["revisions"][0], "reject", comment="แนวเสาไม่ตรง")

        ended = await send(desk, made)

        assert (running.status_code, pointers(running)) == (422, ["/items/0/drawingRevisionPublicId"])
        assert ended.status_code == httpx.codes.CREATED

    async def test_is_marked_where_it_is_superseded_while_its_rfa_is_open(self, desk: Desk) -> None:
        made, other = await drawings(desk, "S-1", "S-2")
        rfa = await rfa_of(desk, made, other)
        await desk.act("dc.contractor", rfa, "submit")

        await revise(desk, made)

        assert [one["isSuperseded"] for one in await carried(desk, rfa)] == [True, False]

    async def test_is_put_into_another_category_while_its_rfa_is_open(self, desk: Desk, app: FastAPI) -> None:
        """What was submitted stays submitted, and the trail has both categories."""
        admin = await desk.as_("admin")
        for code in ("WRONG", "RIGHT"):
            body = {"code": code, "nameTh": code, "nameEn": code}
            await admin.post(f"/api/v1/projects/{desk.project}/drawing-categories/shop-main-categories", json=body)
        (made,) = await drawings(desk, "S-1", categoryCode="WRONG")
        rfa = await rfa_of(desk, made)
        await desk.act("dc.contractor", rfa, "submit")

        changed = await admin.patch(f"/api/v1/drawings/shop/{made['publicId']}", json={"categoryCode": "RIGHT"})

        assert (changed.status_code, unwrapped(changed)["category"]["code"]) == (200, "RIGHT")
        assert [(one["number"], one["isSuperseded"]) for one in await carried(desk, rfa)] == [("S-1", False)]
        async with app.state.db.reading() as session:
            told = await session.scalar(
                sa.select(AuditLog.details_json).where(AuditLog.action == "shop_drawing.change")
            )
        assert told is not None
        assert told["changes"] == {"category_code": {"old": "WRONG", "new": "RIGHT"}}


class TestAnswers:
    async def test_are_given_to_each_item_and_to_the_rest(self, desk: Desk, app: FastAPI) -> None:
        made = await drawings(desk, "S-1", "S-2", "S-3")
        first, second, third = made
        rfa = await rfa_of(desk, *made)
        payload = results((first, "1N"), (second, "3R"))
        payload["itemResults"][1]["comment"] = "แก้ระดับท้องคาน"

        await answered(desk, rfa, responseCode="1A", payload=payload)

        shown = await carried(desk, rfa)
        assert [(one["responseCode"]["code"], one["comment"]) for one in shown] == [
            ("1N", None),
            ("3R", "แก้ระดับท้องคาน"),
            ("1A", None),
        ]
        assert [(await drawing(desk, one))["revision"]["responseCode"]["code"] for one in made] == ["1N", "3R", "1A"]
        assert await claims(app) == 0
        tag = (await desk.read("admin", "drawings/shop", third["publicId"])).headers["ETag"]
        assert tag == '"2"'

    async def test_stand_in_the_history_of_the_rfa(self, desk: Desk) -> None:
        (made,) = await drawings(desk, "S-1")
        rfa = await rfa_of(desk, made)
        await answered(desk, rfa, payload=results((made, "1N")))

        client = await desk.as_("dc.contractor")
        instance = rfa["workflow"]["instancePublicId"]
        steps = (await client.get(f"/api/v1/workflow/instances/{instance}/history")).json()["items"]

        assert [one["action"] for one in steps][-1] == "approve"

    async def test_are_refused_by_the_item(self, desk: Desk) -> None:
        (made,) = await drawings(desk, "S-1")
        rfa = await rfa_of(desk, made)
        await desk.act("dc.contractor", rfa, "submit")
        ids = {"{project}": desk.project, "{item}": made["revision"]["publicId"]}
        for said, pointer in [
            ([{"publicId": "{project}", "responseCode": "1A"}], "/payload/itemResults/0/publicId"),
            ([{"publicId": "{item}", "responseCode": "9Z"}], "/payload/itemResults/0/responseCode"),
            ([{"publicId": "{item}", "responseCode": "1A"}] * 2, "/payload/itemResults/1/publicId"),
            ([{"publicId": "{item}"}], "/payload/itemResults/0/responseCode"),
            ("ทั้งหมด", "/payload/itemResults"),
        ]:
            asked = said if isinstance(said, str) else [one | {"publicId": ids[one["publicId"]]} for one in said]
            client = await desk.as_("reviewer.consultant")
            path = f"/api/v1/workflow/instances/{rfa['workflow']['instancePublicId']}/transitions"

            answer = await client.post(path, json={"action": "approve", "payload": {"itemResults": asked}})

            assert (answer.status_code, pointers(answer)) == (422, [pointer]), (said, pointer)
            assert (await desk.read("dc.contractor", "rfas", rfa["publicId"])).json()["workflow"]["currentState"] == (
                "pending_review"
            ), (said, pointer)
            assert [one["responseCode"] for one in await carried(desk, rfa)] == [None], (said, pointer)

    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.sampled("[th")
    async def test_are_not_the_submitters_own(self, desk: Desk, language: str) -> None:
        (made,) = await drawings(desk, "S-1")
        rfa = await rfa_of(desk, made)
        client = await desk.as_("dc.contractor")
        path = f"/api/v1/workflow/instances/{rfa['workflow']['instancePublicId']}/transitions"
        asked = {"action": "submit", "payload": results((made, "1A"))}

        answer = await client.post(path, json=asked, headers={"Accept-Language": language})

        assert (answer.status_code, pointers(answer)) == (422, ["/payload/itemResults"])
        said = {"th": "ผู้ยื่นตอบผลรายการของตนเองไม่ได้", "en": "Whoever submits the items does not answer them."}
        assert said[language] in answer.text
        assert [one["responseCode"] for one in await carried(desk, rfa)] == [None]

    async def test_reach_the_drawing_from_an_end_without_a_code(self, desk: Desk, app: FastAPI) -> None:
        """As a definition has it that was published before its ends had to say what they mean."""
        made, other = await drawings(desk, "S-1", "S-2")
        rfa = await rfa_of(desk, made, other)
        async with app.state.db.writing() as session:
            answer = ItemResult(UUID(made["revision"]["publicId"]), "1N")
            revision = await session.scalar(
                sa.select(DocumentRevision.id).where(DocumentRevision.correspondence_number == rfa["documentNumber"])
            )
            noted = ReachedState("noted", date(2026, 11, 2), ended=True, item_results=(answer,))
            await RFA.own_statuses(session, revision, noted)
            await session.commit()

        found = [(await drawing(desk, one))["revision"]["responseCode"] for one in (made, other)]
        assert [one and one["code"] for one in found] == ["1N", None]

    async def test_are_for_rfas_alone(self, desk: Desk) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        (made,) = await drawings(desk, "S-1")
        client = await desk.as_("dc.contractor")
        path = f"/api/v1/workflow/instances/{letter['workflow']['instancePublicId']}/transitions"

        answer = await client.post(path, json={"action": "submit", "payload": results((made, "1A"))})

        assert (answer.status_code, pointers(answer)) == (422, ["/payload/itemResults"])


class TestResubmission:
    async def test_takes_over_what_was_not_approved_at_its_current_revision(self, desk: Desk) -> None:
        made = await drawings(desk, "S-1", "S-2", "S-3")
        rfa = await rfa_of(desk, *made)
        await answered(desk, rfa, payload=results((made[0], "1A"), (made[1], "3R"), (made[2], "4X")))
        anew = await revise(desk, made[1])

        again = await resubmit(desk, rfa)

        shown = [(one["number"], one["revisionLabel"], one["responseCode"]) for one in again["items"]]
        assert shown == [("S-2", "1", None), ("S-3", "0", None)]
        refused = await send(desk, anew)
        assert refused.json()["code"] == "DRAWING_REVISION_IN_RFA"
        history = (await (await desk.as_("dc.contractor")).get(f"{RFAS}/{rfa['publicId']}/revisions")).json()["items"]
        assert [len(one["data"]["items"]) for one in history] == [2, 3]

    async def test_leaves_to_another_rfa_what_that_carries_by_now(self, desk: Desk) -> None:
        made = await drawings(desk, "S-1", "S-2")
        rfa = await rfa_of(desk, *made)
        await answered(desk, rfa, payload=results((made[0], "3R"), (made[1], "3R")))
        await rfa_of(desk, made[0])

        again = await resubmit(desk, rfa)

        assert [one["number"] for one in again["items"]] == ["S-2"]

    async def test_leaves_out_what_was_approved_meanwhile_or_is_in_a_workflow_of_its_own(self, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        made = await drawings(desk, "S-1", "S-2", "S-3", **own)
        rfa = await rfa_of(desk, *made)
        await answered(desk, rfa, "request-revision", comment="แก้ไข")
        await answered(desk, await rfa_of(desk, await revise(desk, made[0])), responseCode="1A")
        await approved_by(desk, "workflow")
        await revise(desk, made[1])

        again = await resubmit(desk, rfa)

        assert [(one["number"], one["revisionLabel"]) for one in again["items"]] == [("S-3", "0")]


class TestADraft:
    async def change(self, desk: Desk, rfa: dict[str, Any], *made: dict[str, Any]) -> httpx.Response:
        client = await desk.as_("dc.contractor")
        return await client.patch(f"{RFAS}/{rfa['publicId']}", json={"items": items(*made)})

    async def test_takes_other_items_until_it_is_submitted(self, desk: Desk, app: FastAPI) -> None:
        first, second = await drawings(desk, "S-1", "S-2")
        rfa = await rfa_of(desk, first)

        changed = await self.change(desk, rfa, second)
        free = await send(desk, first)
        taken = await self.change(desk, rfa, second, first)
        await desk.act("dc.contractor", rfa, "submit")
        late = await self.change(desk, rfa)

        assert [one["number"] for one in unwrapped(changed)["items"]] == ["S-2"]
        assert free.status_code == httpx.codes.CREATED
        assert (taken.status_code, pointers(taken)) == (409, ["/items/1/drawingRevisionPublicId"])
        assert late.status_code == httpx.codes.CONFLICT
        assert [one["number"] for one in await carried(desk, rfa)] == ["S-2"]
        assert await claims(app) == 2


class TestAType:
    """An RFA type says whether its RFAs carry drawings and documents."""

    @pytest.mark.parametrize(
        ("rule", "wanted"), [("none", (201, 422, 422)), ("optional", (201, 201, 200)), ("required", (422, 201, 422))]
    )
    async def test_says_what_an_rfa_carries(self, desk: Desk, rule: str, wanted: tuple[int, ...]) -> None:
        first, second = await drawings(desk, "S-1", "S-2")
        admin = await desk.as_("admin")
        project = (await admin.get(f"/api/v1/projects/{desk.project}")).json()
        for contract in project["contracts"]:
            await admin.patch(f"/api/v1/contracts/{contract['publicId']}/rfa-types/RPT", json={"items": rule})
        found = [await send(desk), await send(desk, first)]
        draft = unwrapped(next(one for one in found if one.status_code == httpx.codes.CREATED))
        other = [] if draft["items"] else items(second)
        client = await desk.as_("dc.contractor")
        found.append(await client.patch(f"{RFAS}/{draft['publicId']}", json={"items": other}))

        assert tuple(one.status_code for one in found) == wanted
        assert all(pointers(one) == ["/items"] for one in found if one.status_code == 422)

    async def test_is_asked_again_when_what_was_resubmitted_is_issued(self, desk: Desk) -> None:
        (made,) = await drawings(desk, "S-1")
        admin = await desk.as_("admin")
        project = (await admin.get(f"/api/v1/projects/{desk.project}")).json()
        for contract in project["contracts"]:
            await admin.patch(f"/api/v1/contracts/{contract['publicId']}/rfa-types/RPT", json={"items": "required"})
        rfa = await rfa_of(desk, made)
        await answered(desk, rfa, "request-revision", comment="แก้ไข", payload=results((made, "1A")))
        again = await resubmit(desk, rfa)
        client = await desk.as_("dc.contractor")
        path = f"/api/v1/workflow/instances/{again['workflow']['instancePublicId']}/transitions"

        refused = await client.post(path, json={"action": "submit"})

        assert again["items"] == []
        assert (refused.status_code, pointers(refused)) == (422, ["/items"])
