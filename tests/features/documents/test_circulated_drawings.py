"""Circulations carry revisions of drawings round the people of one organization."""

from typing import Any

import httpx

from tests.circulations import lose_the_right, order
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk, pointers

CIRCULATIONS = "/api/v1/circulations"


async def send(desk: Desk, *revisions: str) -> httpx.Response:
    client = await desk.as_("dc.consultant")
    return await client.post(CIRCULATIONS, json=await order(desk, drawingRevisionPublicIds=list(revisions)))


def carried(found: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    return [(one["kind"], one["drawingNumber"], one["revisionLabel"], one["isSuperseded"]) for one in found["drawings"]]


class TestASheet:
    async def test_carries_drawings_of_every_register(self, desk: Desk) -> None:
        made = [await desk.register("admin", kind, "N-1") for kind in ("contract", "shop", "asbuilt")]

        sheet = unwrapped(await send(desk, *(one["revision"]["publicId"] for one in made)))

        assert carried(sheet) == [(kind, "N-1", "0", False) for kind in ("contract", "shop", "asbuilt")]

    async def test_takes_others_while_it_is_a_draft_and_says_what_is_superseded(self, desk: Desk) -> None:
        drawing = await desk.register("admin", "shop", "N-1")
        sheet = unwrapped(await send(desk, drawing["revision"]["publicId"]))
        address, client = f"{CIRCULATIONS}/{sheet['publicId']}", await desk.as_("dc.consultant")
        revised = await (await desk.as_("admin")).post(
            f"/api/v1/drawings/shop/{drawing['publicId']}/revisions", json={}
        )
        before = unwrapped(await client.get(address))
        wanted = {"drawingRevisionPublicIds": [unwrapped(revised)["revision"]["publicId"]]}
        after = unwrapped(await client.patch(address, json=wanted))
        nothing = await client.patch(address, json={"drawingRevisionPublicIds": None})
        await desk.act("dc.consultant", sheet, "start")
        late = await client.patch(address, json={"drawingRevisionPublicIds": []})

        assert carried(before) == [("shop", "N-1", "0", True)]
        assert carried(after) == [("shop", "N-1", "1", False)]
        assert (nothing.status_code, pointers(nothing)) == (422, ["/drawingRevisionPublicIds"])
        assert late.status_code == httpx.codes.CONFLICT

    async def test_knows_nothing_of_a_drawing_that_its_writer_is_not_shown(self, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        hidden = await desk.register("admin", "shop", "N-2", **own)
        found = await send(desk, hidden["revision"]["publicId"])
        drafted = unwrapped(await send(desk))
        changed = await (await desk.as_("dc.consultant")).patch(
            f"{CIRCULATIONS}/{drafted['publicId']}", json={"drawingRevisionPublicIds": [hidden["revision"]["publicId"]]}
        )

        assert [(one.status_code, pointers(one)) for one in (found, changed)] == [
            (422, ["/drawingRevisionPublicIds/0"])
        ] * 2

    async def test_lets_those_who_see_it_read_the_sheets(self, desk: Desk, app: Any) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        revision = {"attachmentPublicIds": [await desk.upload("admin")]}
        drawing = await desk.register("admin", "shop", "N-1", revision=revision, **own)
        (file,) = drawing["revisions"][0]["attachments"]
        carrying = {
            "organizationPublicId": desk.organizations["คคง."],
            "drawingRevisionPublicIds": [drawing["revision"]["publicId"]],
        }
        reader, outsider = await desk.as_("reviewer.consultant"), await desk.as_("viewer")
        before = await reader.get(file["downloadUrl"])
        sheet = await desk.write("admin", "circulations", await order(desk, **carrying))
        after = [(await client.get(file["downloadUrl"])).status_code for client in (reader, outsider)]
        read = unwrapped(await reader.get(f"{CIRCULATIONS}/{sheet['publicId']}"))
        await lose_the_right(app, "reviewer.consultant")

        assert before.status_code == httpx.codes.NOT_FOUND
        assert after == [200, 404]
        assert read["drawings"][0]["attachments"] == [file]
        assert (await reader.get(file["downloadUrl"])).status_code == httpx.codes.NOT_FOUND
