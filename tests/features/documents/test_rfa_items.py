"""What RFAs ask approval for: drawings and documents, one open RFA for each drawing revision, an answer for each item."""

import asyncio
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.documents.drawing.models import RfaItemClaim
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
    return (await desk.read("admin", f"drawings/{made['kind']}", made["publicId"])).json()  # type: ignore[no-any-return]


async def revise(desk: Desk, made: dict[str, Any]) -> dict[str, Any]:
    client = await desk.as_("admin")
    answer = await client.post(f"/api/v1/drawings/{made['kind']}/{made['publicId']}/revisions", json={})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return answer.json()  # type: ignore[no-any-return]


def results(*said: tuple[dict[str, Any], str]) -> dict[str, Any]:
    return {"itemResults": [{"publicId": made["revision"]["publicId"], "responseCode": code} for made, code in said]}


async def claims(app: FastAPI) -> int:
    async with app.state.db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(RfaItemClaim)) or 0)


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

        assert (changed.status_code, changed.json()["category"]["code"]) == (200, "RIGHT")
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

    @pytest.mark.parametrize(
        ("said", "pointer"),
        [
            ([{"publicId": "{project}", "responseCode": "1A"}], "/payload/itemResults/0/publicId"),
            ([{"publicId": "{item}", "responseCode": "9Z"}], "/payload/itemResults/0/responseCode"),
            ([{"publicId": "{item}", "responseCode": "1A"}] * 2, "/payload/itemResults/1/publicId"),
            ([{"publicId": "{item}"}], "/payload/itemResults/0/responseCode"),
            ("ทั้งหมด", "/payload/itemResults"),
        ],
    )
    async def test_are_refused_by_the_item(self, desk: Desk, said: Any, pointer: str) -> None:
        (made,) = await drawings(desk, "S-1")
        rfa = await rfa_of(desk, made)
        await desk.act("dc.contractor", rfa, "submit")
        ids = {"{project}": desk.project, "{item}": made["revision"]["publicId"]}
        asked = said if isinstance(said, str) else [one | {"publicId": ids[one["publicId"]]} for one in said]
        client = await desk.as_("reviewer.consultant")
        path = f"/api/v1/workflow/instances/{rfa['workflow']['instancePublicId']}/transitions"

        answer = await client.post(path, json={"action": "approve", "payload": {"itemResults": asked}})

        assert (answer.status_code, pointers(answer)) == (422, [pointer])
        assert (await desk.read("dc.contractor", "rfas", rfa["publicId"])).json()["workflow"]["currentState"] == (
            "pending_review"
        )
        assert [one["responseCode"] for one in await carried(desk, rfa)] == [None]

    async def test_are_for_rfas_alone(self, desk: Desk) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        (made,) = await drawings(desk, "S-1")
        client = await desk.as_("dc.contractor")
        path = f"/api/v1/workflow/instances/{letter['workflow']['instancePublicId']}/transitions"

        answer = await client.post(path, json={"action": "submit", "payload": results((made, "1A"))})

        assert (answer.status_code, pointers(answer)) == (422, ["/payload/itemResults"])


class TestResubmission:
    async def revised(self, desk: Desk, rfa: dict[str, Any]) -> httpx.Response:
        return await (await desk.as_("dc.contractor")).post(f"{RFAS}/{rfa['publicId']}/revisions", json={})

    async def test_takes_over_what_was_not_approved_at_its_current_revision(self, desk: Desk) -> None:
        made = await drawings(desk, "S-1", "S-2", "S-3")
        rfa = await rfa_of(desk, *made)
        await answered(desk, rfa, payload=results((made[0], "1A"), (made[1], "3R"), (made[2], "4X")))
        anew = await revise(desk, made[1])

        answer = await self.revised(desk, rfa)

        assert answer.status_code == httpx.codes.CREATED, answer.text
        shown = [(one["number"], one["revisionLabel"], one["responseCode"]) for one in unwrapped(answer)["items"]]
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

        answer = await self.revised(desk, rfa)

        assert [one["number"] for one in unwrapped(answer)["items"]] == ["S-2"]


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
