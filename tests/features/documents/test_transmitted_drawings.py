"""Transmittals carry revisions of drawings: as they stand in a draft, as they stood once it is issued."""

from typing import Any

import httpx
import pytest

from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers

TRANSMITTALS = "/api/v1/transmittals"


async def send(desk: Desk, *revisions: str, **changes: Any) -> httpx.Response:
    client = await desk.as_("dc.contractor")
    body = desk.transmittal(drawingRevisionPublicIds=list(revisions), **changes)
    return await client.post(TRANSMITTALS, json=body)


async def revise(desk: Desk, kind: str, drawing: dict[str, Any]) -> dict[str, Any]:
    client = await desk.as_("admin")
    return unwrapped(await client.post(f"/api/v1/drawings/{kind}/{drawing['publicId']}/revisions", json={}))


def carried(found: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    return [(one["kind"], one["drawingNumber"], one["revisionLabel"], one["isSuperseded"]) for one in found["drawings"]]


class TestADraft:
    async def test_carries_drawings_of_every_register(self, desk: Desk) -> None:
        made = [await desk.register("admin", kind, "N-1") for kind in ("contract", "shop", "asbuilt")]
        draft = unwrapped(await send(desk, *(one["revision"]["publicId"] for one in made)))

        assert draft["items"] == []
        assert carried(draft) == [(kind, "N-1", "0", False) for kind in ("contract", "shop", "asbuilt")]

    async def test_carries_something(self, desk: Desk) -> None:
        drawing = await desk.register("admin", "shop", "N-1")
        nothing = await send(desk)
        draft = unwrapped(await send(desk, drawing["revision"]["publicId"]))
        client = await desk.as_("dc.contractor")
        emptied = await client.patch(f"{TRANSMITTALS}/{draft['publicId']}", json={"drawingRevisionPublicIds": []})
        read = unwrapped(await client.get(f"{TRANSMITTALS}/{draft['publicId']}"))

        assert [(one.status_code, pointers(one)) for one in (nothing, emptied)] == [(422, ["/items"])] * 2
        assert len(read["drawings"]) == 1

    async def test_names_what_it_cannot_carry(self, desk: Desk) -> None:
        drawing = (await desk.register("admin", "shop", "N-1"))["revision"]["publicId"]
        hidden = await desk.register("admin", "shop", "N-2", originatorOrganizationPublicId=desk.organizations["สคฉ.3"])
        found = [
            await send(desk, *some)
            for some in ((drawing, drawing), (drawing, desk.project), (drawing, hidden["revision"]["publicId"]))
        ]

        assert [(one.status_code, pointers(one)) for one in found] == [(422, ["/drawingRevisionPublicIds/1"])] * 3

    async def test_says_what_has_been_superseded_and_takes_another(self, desk: Desk) -> None:
        drawing = await desk.register("admin", "shop", "N-1")
        draft = unwrapped(await send(desk, drawing["revision"]["publicId"]))
        newer = await revise(desk, "shop", drawing)
        client = await desk.as_("dc.contractor")
        before = unwrapped(await client.get(f"{TRANSMITTALS}/{draft['publicId']}"))
        wanted = {"drawingRevisionPublicIds": [newer["revision"]["publicId"]]}
        after = unwrapped(await client.patch(f"{TRANSMITTALS}/{draft['publicId']}", json=wanted))

        assert carried(before) == [("shop", "N-1", "0", True)]
        assert carried(after) == [("shop", "N-1", "1", False)]


class TestAnIssue:
    @pytest.fixture
    async def drawing(self, desk: Desk) -> dict[str, Any]:
        file = await desk.upload("admin")
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        return await desk.register("admin", "shop", "N-1", revision={"attachmentPublicIds": [file]}, **own)

    async def issued(self, desk: Desk, drawing: dict[str, Any]) -> dict[str, Any]:
        draft = unwrapped(await send(desk, drawing["revision"]["publicId"]))
        await desk.act("dc.contractor", draft, "submit")
        return draft

    async def test_stays_what_it_was(self, desk: Desk, drawing: dict[str, Any]) -> None:
        sent = await self.issued(desk, drawing)
        client = await desk.as_("admin")
        await client.post(f"/api/v1/drawings/shop/{drawing['publicId']}/revisions", json={"title": "ชื่อใหม่"})
        read = unwrapped(await client.get(f"{TRANSMITTALS}/{sent['publicId']}"))
        changed = await (await desk.as_("dc.contractor")).patch(
            f"{TRANSMITTALS}/{sent['publicId']}", json={"drawingRevisionPublicIds": []}
        )

        assert carried(read) == [("shop", "N-1", "0", True)]
        assert read["drawings"][0]["title"] == "แปลนฐานราก"
        assert changed.status_code == httpx.codes.CONFLICT

    async def test_lets_its_recipients_read_the_sheets(self, desk: Desk, drawing: dict[str, Any]) -> None:
        (file,) = drawing["revisions"][0]["attachments"]
        consultant = await desk.as_("dc.consultant")
        before = await consultant.get(file["downloadUrl"])
        sent = await self.issued(desk, drawing)
        after = await consultant.get(file["downloadUrl"])
        of_drawing = await consultant.get(f"/api/v1/drawings/shop/{drawing['publicId']}")
        read = unwrapped(await consultant.get(f"{TRANSMITTALS}/{sent['publicId']}"))

        assert [one.status_code for one in (before, after, of_drawing)] == [404, 200, 404]
        assert read["drawings"][0]["attachments"] == [file]

    async def test_shows_no_sheets_of_a_draft_revision_to_its_recipients(
        self, desk: Desk, drawing: dict[str, Any]
    ) -> None:
        file = await desk.upload("admin")
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        added = await desk.register("admin", "shop", "N-2", revision={"attachmentPublicIds": [file]}, **own)
        sent = await self.issued(desk, drawing)
        await desk.act("dc.consultant", sent, "acknowledge")
        client = await desk.as_("dc.contractor")
        path = f"{TRANSMITTALS}/{sent['publicId']}"
        again = await client.post(f"{path}/revisions", json={})
        assert again.status_code == httpx.codes.CREATED, again.text
        await client.patch(path, json={"drawingRevisionPublicIds": [added["revision"]["publicId"]]})
        url = added["revisions"][0]["attachments"][0]["downloadUrl"]
        consultant = await desk.as_("dc.consultant")
        before = await consultant.get(url)
        await desk.act("dc.contractor", unwrapped(again), "submit")

        assert [before.status_code, (await consultant.get(url)).status_code] == [404, 200]
