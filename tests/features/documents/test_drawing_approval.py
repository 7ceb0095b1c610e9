"""Revisions of drawings that go through a workflow of their own, where the project has chosen that for a register."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.conftest import unwrapped
from tests.drawing_imports import DrawingImports
from tests.features.documents.conftest import Desk, pointers


async def choose(desk: Desk, kind: str = "shop", approval: str = "workflow") -> httpx.Response:
    client = await desk.as_("admin")
    body = {"revisionScheme": "0", "approval": approval}
    return await client.put(f"/api/v1/projects/{desk.project}/drawing-registers/{kind}", json=body)


async def contract_of(desk: Desk) -> str:
    path = f"/api/v1/projects/{desk.project}/contracts"
    items = (await (await desk.as_("admin")).get(path)).json()["items"]
    return next(str(one["publicId"]) for one in items if one["contractCode"] == "LCBP3-C2")


async def drawn(desk: Desk, kind: str = "shop", number: str = "N-1", **more: Any) -> dict[str, Any]:
    """Register a drawing of the contractor in its contract."""
    place = {
        "originatorOrganizationPublicId": desk.organizations["ผรม.2"],
        "contractPublicId": await contract_of(desk),
    }
    return await desk.register("dc.contractor", kind, number, **place, **more)


async def current(desk: Desk, drawing: dict[str, Any], account: str = "dc.contractor") -> dict[str, Any]:
    read = await desk.read(account, f"drawings/{drawing['kind']}", drawing["publicId"])
    return unwrapped(read)["revisions"][0]  # type: ignore[no-any-return]


async def revise(desk: Desk, drawing: dict[str, Any]) -> dict[str, Any]:
    path = f"/api/v1/drawings/{drawing['kind']}/{drawing['publicId']}/revisions"
    answer = await (await desk.as_("dc.contractor")).post(path, json={})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return unwrapped(answer)


def states(drawing: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [
        (one["workflow"]["currentState"], one["responseCode"] and one["responseCode"]["code"])
        for one in drawing["revisions"]
    ]


class TestRevision:
    @pytest.mark.parametrize("kind", ["shop", "asbuilt"])
    async def test_goes_from_its_contractor_to_the_consultant(self, desk: Desk, kind: str) -> None:
        await choose(desk, kind)
        drawing = await drawn(desk, kind)
        first = drawing["revisions"][0]

        submitted = await desk.act("dc.contractor", first, "submit")
        inbox = await desk.listed("reviewer.consultant", "inbox")
        answered = await desk.act("reviewer.consultant", submitted, "approve-as-noted", comment="แก้ระดับท้องคาน")

        assert first["workflow"]["workflowCode"] == "SHOP_DRAWING_FLOW_V1"
        assert submitted["workflow"]["currentState"] == "pending_review"
        assert drawing["publicId"] in str(inbox)
        assert answered["workflow"]["outcome"] == "approved_with_comments"
        shown = await current(desk, drawing)
        assert (shown["responseCode"]["code"], shown["workflow"]["terminal"]) == ("1N", True)

    async def test_keeps_the_code_that_was_answered(self, desk: Desk) -> None:
        await choose(desk)
        drawing = await drawn(desk)
        submitted = await desk.act("dc.contractor", drawing["revisions"][0], "submit")
        sent_back = {"comment": "แนวเสาไม่ตรง", "responseCode": "3C"}
        await desk.act("reviewer.consultant", submitted, "request-revision", **sent_back)

        revised = await revise(desk, drawing)

        assert states(revised) == [("draft", None), ("revision_requested", "3C")]

    async def test_ends_when_another_takes_its_place(self, desk: Desk) -> None:
        await choose(desk)
        drawing = await drawn(desk)
        await desk.act("dc.contractor", drawing["revisions"][0], "submit")

        revised = await revise(desk, drawing)

        assert states(revised) == [("draft", None), ("cancelled", None)]
        assert await desk.listed("reviewer.consultant", "inbox") == []

    async def test_ends_when_an_import_takes_its_place(self, desk: Desk, app: FastAPI, tmp_path: Path) -> None:
        await choose(desk)
        drawing = await drawn(desk)
        await desk.act("dc.contractor", drawing["revisions"][0], "submit")
        imports = DrawingImports(await desk.as_("admin"), app, desk.project, tmp_path)

        await imports.imported(["N-1", "", "", "1", "", "แปลนฐานราก"])

        whole = unwrapped(await desk.read("dc.contractor", "drawings/shop", drawing["publicId"]))
        newer, older = (one["workflow"] for one in whole["revisions"])
        assert (newer, older["currentState"]) == (None, "cancelled")
        assert await desk.listed("reviewer.consultant", "inbox") == []

    async def test_is_the_consultants_of_the_contract_alone(self, desk: Desk) -> None:
        await choose(desk)
        drawing = await drawn(desk)
        submitted = await desk.act("dc.contractor", drawing["revisions"][0], "submit")
        client = await desk.as_("dc.contractor")
        path = f"/api/v1/workflow/instances/{submitted['workflow']['instancePublicId']}/transitions"

        own = await client.post(path, json={"action": "approve"})
        theirs = await (await desk.as_("reviewer.consultant")).get(path.removesuffix("/transitions"))

        assert (own.status_code, own.json()["code"]) == (403, "WORKFLOW_ACTION_FORBIDDEN")
        assert theirs.status_code == httpx.codes.OK

    async def test_is_hidden_with_its_drawing(self, desk: Desk) -> None:
        await choose(desk)
        hidden = await desk.register(
            "dc.contractor", "shop", "N-1", originatorOrganizationPublicId=desk.organizations["ผรม.2"]
        )
        instance = hidden["revisions"][0]["workflow"]["instancePublicId"]

        answer = await (await desk.as_("dc.consultant")).get(f"/api/v1/workflow/instances/{instance}")

        assert answer.status_code == httpx.codes.NOT_FOUND

    async def test_is_for_the_workflow_what_it_is_for_people(self, desk: Desk) -> None:
        await choose(desk)
        drawing = await drawn(desk)
        instance = drawing["revisions"][0]["workflow"]["instancePublicId"]

        read = (await (await desk.as_("dc.contractor")).get(f"/api/v1/workflow/instances/{instance}")).json()

        subject = read["data"]["subject"]
        assert (subject["kind"], subject["number"], subject["title"]) == ("shop_drawing", "N-1", "แปลนฐานราก")
        assert subject["publicId"] == drawing["publicId"]


class TestChoice:
    async def test_is_rfas_unless_it_is_made(self, desk: Desk) -> None:
        drawing = await drawn(desk)

        assert drawing["revisions"][0]["workflow"] is None
        assert drawing["canStartApproval"] is False

    async def test_keeps_drawings_of_the_register_out_of_rfas(self, desk: Desk) -> None:
        await choose(desk)
        drawing = await drawn(desk)
        items = [{"drawingRevisionPublicId": drawing["revision"]["publicId"]}]

        answer = await (await desk.as_("dc.contractor")).post("/api/v1/rfas", json=desk.rfa(items=items))

        assert (answer.status_code, pointers(answer)) == (422, ["/items/0/drawingRevisionPublicId"])

    async def test_is_none_for_what_was_signed(self, desk: Desk) -> None:
        answer = await choose(desk, "contract")

        assert (answer.status_code, pointers(answer)) == (422, ["/approval"])

    async def test_leaves_what_nobody_could_submit(self, desk: Desk) -> None:
        await choose(desk)

        drawing = await desk.register("admin", "shop", "N-1")

        assert (drawing["revisions"][0]["workflow"], drawing["canStartApproval"]) == (None, False)


class TestStart:
    async def test_is_for_what_has_no_workflow_yet(self, desk: Desk, app: FastAPI, tmp_path: Any) -> None:
        before = await drawn(desk, number="N-0")
        await choose(desk)
        imports = DrawingImports(await desk.as_("admin"), app, desk.project, tmp_path)
        await imports.imported(["N-0", "", "", "1", "", "แปลน"])
        client = await desk.as_("dc.contractor")
        read = await desk.read("dc.contractor", "drawings/shop", before["publicId"])
        path = f"/api/v1/drawings/shop/{before['publicId']}/approval"

        started = await client.post(path)
        again = await client.post(path)

        assert [one["workflow"] for one in unwrapped(read)["revisions"]] == [None, None]
        assert unwrapped(read)["canStartApproval"] is True
        assert started.status_code == httpx.codes.CREATED, started.text
        assert unwrapped(started)["revisions"][0]["workflow"]["currentState"] == "draft"
        assert (again.status_code, again.json()["code"]) == (409, "DRAWING_APPROVAL_STARTED")

    async def test_is_refused_where_rfas_approve(self, desk: Desk) -> None:
        drawing = await drawn(desk)

        path = f"/api/v1/drawings/shop/{drawing['publicId']}/approval"
        answer = await (await desk.as_("dc.contractor")).post(path)

        assert (answer.status_code, answer.json()["code"]) == (409, "DRAWING_APPROVED_BY_RFA")

    async def test_waits_for_the_rfa_that_carries_it(self, desk: Desk) -> None:
        drawing = await drawn(desk)
        client = await desk.as_("dc.contractor")
        body = desk.rfa(items=[{"drawingRevisionPublicId": drawing["revision"]["publicId"]}])
        carried = await client.post("/api/v1/rfas", json=body)
        await choose(desk)

        answer = await client.post(f"/api/v1/drawings/shop/{drawing['publicId']}/approval")

        assert carried.status_code == httpx.codes.CREATED, carried.text
        assert (answer.status_code, answer.json()["code"]) == (409, "DRAWING_APPROVAL_IN_RFA")
