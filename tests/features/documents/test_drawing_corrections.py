"""Revisions of drawings are put right, and get the files that they lack, until approval has been asked for them."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from tests.conftest import unwrapped
from tests.drawing_imports import DrawingImports
from tests.features.documents.conftest import Desk, pointers

SUBMITTED = (409, "DRAWING_REVISION_SUBMITTED")


async def correct(desk: Desk, drawing: dict[str, Any], *, version: str = "", **sent: Any) -> httpx.Response:
    path = f"/api/v1/drawings/{drawing['kind']}/revisions/{drawing['revision']['publicId']}"
    headers = {"If-Match": version} if version else {}
    return await (await desk.as_("admin")).patch(path, json=sent, headers=headers)


async def add_file(desk: Desk, drawing: dict[str, Any]) -> httpx.Response:
    return await correct(desk, drawing, attachmentPublicIds=[await desk.upload("admin")])


async def imported(desk: Desk, app: FastAPI, folder: Path) -> dict[str, Any]:
    """Return a shop drawing as an import leaves it: without a file."""
    imports = DrawingImports(await desk.as_("admin"), app, desk.project, folder)
    await imports.imported(["N-1", "", "", "1", "", "แปลนฐานราก"])
    (found,) = await desk.listed("admin", "drawings/shop", projectPublicId=desk.project)
    return found


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_what_was_imported_gets_its_files(desk: Desk, app: FastAPI, tmp_path: Path) -> None:
    drawing = await imported(desk, app, tmp_path)
    for _ in "12":
        answer = await add_file(desk, drawing)

    assert answer.status_code == httpx.codes.OK, answer.text
    (revision,) = unwrapped(answer)["revisions"]
    assert revision["revisionLabel"] == "1"
    assert [(one["fileType"], one["isMain"]) for one in revision["attachments"]] == [("PDF", True), ("PDF", False)]


@pytest.mark.parametrize("kind", ["contract", "shop", "asbuilt"])
async def test_what_was_mistyped_is_corrected_once_for_each_version(desk: Desk, kind: str, app: FastAPI) -> None:
    drawing = await desk.register("admin", kind, "N-1", titleEn="Foundatoin plan", revision={"statusCode": "S1"})
    given = {"title": "แปลนเสาเข็ม", "titleEn": "Pile plan", "date": "2026-03-02", "statusCode": None, "reason": "พิมพ์ผิด"}
    answer = await correct(desk, drawing, version='"1"', legacyNumber="OLD-7", **given)
    stale = await correct(desk, drawing, version='"1"', title="อื่น")
    same = await correct(desk, drawing, **given)
    empty = await correct(desk, drawing, title=None)

    assert (answer.status_code, answer.headers["ETag"], same.headers["ETag"]) == (200, '"2"', '"2"')
    (revision,) = unwrapped(answer)["revisions"]
    read = {name: revision[name] for name in ("title", "titleEn", "statusCode", "reason", "legacyNumber")}
    assert read == {name: value for name, value in given.items() if name != "date"} | {"legacyNumber": "OLD-7"}
    assert (revision["revisionDate"], revision["revisionLabel"]) == ("2026-03-02", "0")
    assert refused(stale) == (412, "DRAWING_CHANGED")
    assert pointers(empty) == ["/title"]
    async with app.state.db.reading() as session:
        query = sa.select(AuditLog.details_json).where(AuditLog.action == f"{kind}_drawing.correct")
        (told,) = await session.scalars(query)
    assert told["changes"]["title_en"] == {"old": "Foundatoin plan", "new": "Pile plan"}
    assert told["changes"]["date"] == {"old": None, "new": "2026-03-02"}


async def test_what_was_sent_keeps_its_words(desk: Desk) -> None:
    drawing = await desk.register("admin", "shop", "N-1")
    body = desk.transmittal(drawingRevisionPublicIds=[drawing["revision"]["publicId"]])
    sent = await desk.write("dc.contractor", "transmittals", body)
    await desk.act("dc.contractor", sent, "submit")
    answer = await correct(desk, drawing, title="แปลนเสาเข็ม")
    read = unwrapped(await desk.read("dc.contractor", "transmittals", sent["publicId"]))

    assert unwrapped(answer)["revision"]["title"] == "แปลนเสาเข็ม"
    assert [one["title"] for one in read["drawings"]] == ["แปลนฐานราก"]


class TestInAnRfa:
    async def test_stays_as_it_was_submitted_with_its_first_files_at_most(self, desk: Desk) -> None:
        drawing = await desk.register("admin", "shop", "N-1")
        items = [{"drawingRevisionPublicId": drawing["revision"]["publicId"]}]
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(items=items))
        in_draft = await correct(desk, drawing, title="แปลนเสาเข็ม")
        await desk.act("dc.contractor", rfa, "submit")
        while_open = await correct(desk, drawing, title="อื่น")
        first, second = [await add_file(desk, drawing) for _ in "12"]
        await desk.act("reviewer.consultant", rfa, "approve")
        await desk.act("approver.owner", rfa, "approve")
        answered = await correct(desk, drawing, statusCode="S4")

        assert in_draft.status_code == first.status_code == httpx.codes.OK
        assert [refused(one) for one in (while_open, second, answered)] == [SUBMITTED] * 3


class TestInAWorkflow:
    async def test_stays_as_it_was_submitted(self, desk: Desk) -> None:
        client = await desk.as_("admin")
        chosen = {"revisionScheme": "0", "approval": "workflow"}
        await client.put(f"/api/v1/projects/{desk.project}/drawing-registers/shop", json=chosen)
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        drawing = await desk.register("dc.contractor", "shop", "N-1", **own)
        in_draft = await correct(desk, drawing, title="แปลนเสาเข็ม")
        await desk.act("dc.contractor", unwrapped(in_draft)["revisions"][0], "submit")
        while_open = await correct(desk, drawing, title="อื่น")

        assert in_draft.status_code == httpx.codes.OK
        assert refused(while_open) == SUBMITTED
