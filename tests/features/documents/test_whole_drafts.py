"""A draft is changed whole: further recipients, references, what a transmittal carries, whom a sheet asks."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from saraban.audit import service as audit
from tests.circulations import order
from tests.circulations import person as person_id
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers
from tests.workflow_choices import choose, flow, publish

EDITOR = "dc.consultant"


async def changed(desk: Desk, path: str, document: dict[str, Any], **changes: Any) -> httpx.Response:
    client = await desk.as_(EDITOR)
    return await client.patch(f"/api/v1/{path}/{document['publicId']}", json=changes)


async def audited(app: FastAPI, kind: str, document: dict[str, Any]) -> dict[str, Any]:
    async with app.state.db.reading() as session:
        trail = await audit.list_records(
            session, entity_type=kind, entity_id=document["publicId"], cursor=None, limit=10
        )
    (edit,) = [entry for entry in trail.items if entry.action == f"{kind}.edit"]
    return edit.details["changes"]  # type: ignore[no-any-return]


def carried(sheet: dict[str, Any]) -> list[str]:
    return [one["documentNumber"] for one in sheet["items"]]


@pytest.fixture
async def letter(desk: Desk) -> dict[str, Any]:
    return await desk.write(EDITOR, "correspondences", desk.letter("สคฉ.3", recipients=desk.to("สคฉ.3", cc=("ผรม.1",))))


class TestRecipients:
    async def test_besides_the_main_one_can_be_others(self, desk: Desk, letter: dict[str, Any], app: FastAPI) -> None:
        wanted = desk.to("สคฉ.3", "ผรม.2")

        answer = await changed(desk, "correspondences", letter, recipients=wanted)

        assert answer.status_code == 200, answer.text
        told = [(one["organizationCode"], one["recipientType"]) for one in answer.json()["data"]["recipients"]]
        assert told == [("สคฉ.3", "TO"), ("ผรม.2", "TO")]
        assert answer.json()["data"]["documentNumber"] == letter["documentNumber"]
        assert (await audited(app, "correspondence", letter))["recipients"] == {
            "old": [f"TO {desk.organizations['สคฉ.3']}", f"CC {desk.organizations['ผรม.1']}"],
            "new": [f"TO {desk.organizations[code]}" for code in ("สคฉ.3", "ผรม.2")],
        }
        await desk.act(EDITOR, letter, "submit")
        seen = [(await desk.read(who, "correspondences", letter["publicId"])).status_code for who in ("dc.contractor",)]
        assert seen == [200]

    @pytest.mark.parametrize("codes", [("ผรม.2",), ("ผรม.2", "สคฉ.3")])
    async def test_keep_the_main_one_which_the_number_prints(
        self, desk: Desk, letter: dict[str, Any], codes: tuple[str, ...]
    ) -> None:
        answer = await changed(desk, "correspondences", letter, recipients=desk.to(*codes))

        assert (answer.status_code, answer.json()["code"]) == (409, "NUMBER_ALREADY_DRAWN")
        assert pointers(answer) == ["/recipients"]
        assert answer.json()["recovery"]

    async def test_are_named_where_they_cannot_be(self, desk: Desk, letter: dict[str, Any]) -> None:
        twice = await changed(desk, "correspondences", letter, recipients=desk.to("สคฉ.3", "ผรม.2", cc=("ผรม.2",)))
        own = await changed(desk, "correspondences", letter, recipients=desk.to("สคฉ.3", cc=("คคง.",)))
        nobody = await changed(desk, "correspondences", letter, recipients=None)

        assert [answer.status_code for answer in (twice, own, nobody)] == [422] * 3
        assert [pointers(answer)[0] for answer in (twice, own, nobody)] == [
            "/recipients/2/organizationPublicId",
            "/recipients/1/organizationPublicId",
            "/recipients",
        ]
        kept = unwrapped(await desk.read(EDITOR, "correspondences", letter["publicId"]))
        assert kept["recipients"] == letter["recipients"]

    async def test_who_have_read_it_stay(self, desk: Desk, letter: dict[str, Any]) -> None:
        await desk.act(EDITOR, letter, "submit")
        await desk.act("approver.owner", letter, "reject", comment="ขอข้อมูลเพิ่ม")
        client = await desk.as_(EDITOR)
        assert (await client.post(f"/api/v1/correspondences/{letter['publicId']}/revisions", json={})).is_success

        fewer = await changed(desk, "correspondences", letter, recipients=desk.to("สคฉ.3"))
        more = await changed(desk, "correspondences", letter, recipients=desk.to("สคฉ.3", cc=("ผรม.1", "ผรม.2")))

        assert (fewer.status_code, fewer.json()["code"]) == (409, "DOCUMENT_ALREADY_ISSUED")
        assert pointers(fewer) == ["/recipients"]
        assert more.status_code == 200, more.text


class TestReferences:
    async def test_are_replaced(self, desk: Desk, letter: dict[str, Any], app: FastAPI) -> None:
        first, second = [await desk.write(EDITOR, "correspondences", desk.letter()) for _ in range(2)]
        before = await changed(desk, "correspondences", letter, referencePublicIds=[first["publicId"]])
        version = {"If-Match": before.headers["etag"]}

        client, address = await desk.as_(EDITOR), f"/api/v1/correspondences/{letter['publicId']}"
        after = await client.patch(address, json={"referencePublicIds": [second["publicId"]]}, headers=version)
        late = await client.patch(address, json={"referencePublicIds": []}, headers=version)

        assert [one["publicId"] for one in before.json()["data"]["references"]] == [first["publicId"]]
        assert [one["publicId"] for one in after.json()["data"]["references"]] == [second["publicId"]]
        assert late.status_code == 412

    async def test_are_named_where_they_cannot_be(self, desk: Desk, letter: dict[str, Any]) -> None:
        itself = await changed(desk, "correspondences", letter, referencePublicIds=[letter["publicId"]])
        unknown = await changed(desk, "correspondences", letter, referencePublicIds=[desk.project])

        assert [answer.status_code for answer in (itself, unknown)] == [422, 422]
        assert pointers(itself) == pointers(unknown) == ["/referencePublicIds/0"]


class TestTransmittal:
    async def test_carries_what_its_draft_says_last(self, desk: Desk, app: FastAPI) -> None:
        first, second = [await desk.write(EDITOR, "correspondences", desk.letter("ผรม.2")) for _ in range(2)]
        for one in (first, second):
            await desk.act(EDITOR, one, "submit")
        body = desk.transmittal(first["publicId"], recipients=desk.to("ผรม.2"))
        sheet = await desk.write(EDITOR, "transmittals", body)
        items = [{"documentPublicId": second["publicId"], "quantity": 3, "remarks": "สำเนา"}]

        answer = await changed(desk, "transmittals", sheet, items=items, purpose="FOR_REVIEW")
        wrong = await changed(desk, "transmittals", sheet, items=[*items, {"documentPublicId": desk.project}])
        await desk.act(EDITOR, sheet, "submit")
        late = await changed(desk, "transmittals", sheet, items=body["items"])

        assert answer.status_code == 200, answer.text
        told = answer.json()["data"]
        assert [(one["documentNumber"], one["quantity"], one["remarks"]) for one in told["items"]] == [
            (second["documentNumber"], 3, "สำเนา")
        ]
        assert told["purpose"] == "FOR_REVIEW"
        assert (wrong.status_code, pointers(wrong)) == (422, ["/items/1/documentPublicId"])
        assert late.status_code == 409
        assert set(await audited(app, "transmittal", sheet)) == {"items", "purpose"}

    async def test_on_its_next_revision_carries_what_that_draft_says(self, desk: Desk) -> None:
        first, second, third = [await desk.write(EDITOR, "correspondences", desk.letter("ผรม.2")) for _ in range(3)]
        for one in (first, second, third):
            await desk.act(EDITOR, one, "submit")
        body = desk.transmittal(first["publicId"], second["publicId"], recipients=desk.to("ผรม.2"))
        sheet = await desk.write(EDITOR, "transmittals", body)
        await desk.act(EDITOR, sheet, "submit")
        await desk.act("dc.contractor", sheet, "return", comment="หน้า 2 ไม่ครบ")
        client, address = await desk.as_(EDITOR), f"/api/v1/transmittals/{sheet['publicId']}"
        revised = await client.post(f"{address}/revisions", json={})
        assert carried(revised.json()["data"]) == carried(sheet)
        items = [{"documentPublicId": third["publicId"]}, {"documentPublicId": first["publicId"], "quantity": 3}]

        answer = await changed(desk, "transmittals", sheet, items=items)
        seen = unwrapped(await desk.read("dc.contractor", "transmittals", sheet["publicId"]))
        kept = await client.post(f"{address}/withdraw-revision", json={"reason": "ส่งฉบับเดิม"})

        assert answer.status_code == 200, answer.text
        now = answer.json()["data"]
        assert [(one["documentNumber"], one["quantity"]) for one in now["items"]] == [
            (third["documentNumber"], 1),
            (first["documentNumber"], 3),
        ]
        assert carried(seen) == carried(kept.json()["data"]) == carried(sheet)

    async def test_that_was_issued_keeps_its_list_when_its_workflow_leads_back_to_an_edit(self, desk: Desk) -> None:
        admin = await desk.as_("admin")
        label = {"th": "คำ", "en": "Word"}
        raw = flow("BACK", middle="handed_over")
        raw["states"][1]["on"]["back"] = {"to": "draft", "label": label, "require": {"party": ["recipient"]}}
        assert (await publish(admin, raw)).status_code == 201
        assert (await choose(admin, "BACK", kind="transmittal")).status_code == 200
        first, second = [await desk.write(EDITOR, "correspondences", desk.letter("ผรม.2")) for _ in range(2)]
        for one in (first, second):
            await desk.act(EDITOR, one, "submit")
        body = desk.transmittal(first["publicId"], recipients=desk.to("ผรม.2"))
        sheet = await desk.write(EDITOR, "transmittals", body)
        await desk.act(EDITOR, sheet, "submit")
        await desk.act("dc.contractor", sheet, "back")

        answer = await changed(desk, "transmittals", sheet, items=[{"documentPublicId": second["publicId"]}])

        assert (answer.status_code, answer.json()["code"]) == (409, "DOCUMENT_ALREADY_ISSUED")
        assert pointers(answer) == ["/items"]


class TestSheet:
    async def test_asks_whom_its_draft_names_last(self, desk: Desk, app: FastAPI) -> None:
        sheet = await desk.write(EDITOR, "circulations", await order(desk))
        engineer = await person_id(desk, "reviewer.consultant")
        asked = [{"userPublicId": engineer, "kind": "MAIN", "dueDate": "2099-01-02"}]

        answer = await changed(desk, "circulations", sheet, assignees=asked)
        wrong = await changed(desk, "circulations", sheet, assignees=[*asked, asked[0]])
        nobody = await changed(desk, "circulations", sheet, assignees=[])
        await desk.act(EDITOR, sheet, "start")
        late = await changed(desk, "circulations", sheet, assignees=asked)

        assert answer.status_code == 200, answer.text
        told = answer.json()["data"]["assignees"]
        assert [(one["user"]["publicId"], one["kind"], one["dueDate"]) for one in told] == [
            (engineer, "MAIN", "2099-01-02")
        ]
        assert [one.status_code for one in (wrong, nobody, late)] == [422, 422, 409]
        assert pointers(wrong)[0].startswith("/assignees/1")
        assert set(await audited(app, "circulation", sheet)) == {"assignees"}
