"""Every door to a circulation sheet asks the same: one's own organization, and the right to see its sheets there."""

from typing import Any

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.circulation import repository
from saraban.documents.circulation.domain import CirculationReach, may_see
from saraban.documents.circulation.models import Circulation
from tests.circulations import lose_the_right, order
from tests.features.documents.conftest import Desk, pointers

DOORS = (
    ("get", "/api/v1/circulations/{sheet}", None),
    ("get", "/api/v1/circulations/{sheet}/history", None),
    ("patch", "/api/v1/circulations/{sheet}", {"subject": "เวียนใหม่"}),
    ("post", "/api/v1/circulations/{sheet}/responses", {"status": "COMPLETED"}),
    ("post", "/api/v1/circulations/{sheet}/cancel", {"reason": "ไม่ต้องเวียนแล้ว"}),
    ("get", "/api/v1/workflow/instances/{instance}", None),
    ("get", "/api/v1/workflow/instances/{instance}/history", None),
    ("post", "/api/v1/workflow/instances/{instance}/transitions", {"action": "respond"}),
    ("get", "/api/v1/workflow/instances/{instance}/steering", None),
    ("post", "/api/v1/workflow/instances/{instance}/terminate", {"reason": "ยุติเพราะออกซ้ำกับใบเวียนฉบับก่อน"}),
    ("get", "/api/v1/attachments/{file}", None),
    ("get", "/api/v1/attachments/{file}/content", None),
    ("get", "/circulations/{sheet}", None),
    ("get", "/circulations/{sheet}/edit", None),
    ("post", "/circulations/{sheet}/cancel", {"reason": "ไม่ต้องเวียนแล้ว"}),
    ("post", "/circulations/{sheet}/responses", {"status": "COMPLETED"}),
    ("post", "/circulations/{sheet}/actions", {"action": "respond"}),
    ("get", "/documents/circulation/{sheet}", None),
    ("get", "/files/{file}", None),
)
READ_BY_A_COLLEAGUE = [
    path for method, path, _ in DOORS if method == "get" and not path.endswith(("/edit", "/steering"))
]


async def knock(client: httpx.AsyncClient, door: tuple[str, str, Any], where: dict[str, str]) -> httpx.Response:
    method, path, body = door
    sent = {} if body is None else {"json": body} if path.startswith("/api/") else {"data": body}
    return await client.request(method, path.format(**where), follow_redirects=True, **sent)


@pytest_asyncio.fixture
async def sheet(desk: Desk) -> dict[str, Any]:
    """One under way, with a file; `reviewer.consultant` has a part in it."""
    file = await desk.upload("dc.consultant")
    written = await desk.write("dc.consultant", "circulations", await order(desk, attachmentPublicIds=[file]))
    await desk.act("dc.consultant", written, "start")
    return written


@pytest.fixture
def where(sheet: dict[str, Any]) -> dict[str, str]:
    instance = sheet["workflow"]["instancePublicId"]
    return {"sheet": sheet["publicId"], "instance": instance, "file": sheet["attachments"][0]["publicId"]}


class TestEveryDoor:
    async def test_is_shut_to_a_member_without_the_right(
        self, desk: Desk, app: FastAPI, sheet: dict[str, Any], where: dict[str, str]
    ) -> None:
        await lose_the_right(app, "reviewer.consultant")
        client = await desk.as_("reviewer.consultant")

        answers = {f"{door[0]} {door[1]}": (await knock(client, door, where)).status_code for door in DOORS}

        assert {door: status for door, status in answers.items() if status != 404} == {}
        assert await desk.listed("reviewer.consultant", "circulations") == []
        assert (await client.get("/api/v1/inbox")).json()["items"] == []
        for page in ("/circulations", "/inbox", f"/find?q={sheet['documentNumber']}"):
            assert sheet["subject"] not in (await client.get(page, follow_redirects=True)).text, page

    async def test_is_open_to_a_member_who_has_it(self, desk: Desk, where: dict[str, str]) -> None:
        client = await desk.as_("reviewer.consultant")

        for path in READ_BY_A_COLLEAGUE:
            answer = await client.get(path.format(**where), follow_redirects=True)
            assert answer.status_code == 200, path

    async def test_is_shut_to_the_right_in_another_organization(self, desk: Desk, where: dict[str, str]) -> None:
        client = await desk.as_("dc.contractor")

        answers = {f"{door[0]} {door[1]}": (await knock(client, door, where)).status_code for door in DOORS}

        assert {door: status for door, status in answers.items() if status != 404} == {}


class TestAssignee:
    async def test_without_the_right_is_refused_by_name(self, desk: Desk, app: FastAPI) -> None:
        await lose_the_right(app, "reviewer.consultant")
        client = await desk.as_("dc.consultant")

        answer = await client.post("/api/v1/circulations", json=await order(desk))

        assert (answer.status_code, pointers(answer)) == (422, ["/assignees/1/userPublicId"])
        assert answer.json()["errors"][0]["code"] == "may_not_see"


class TestRule:
    async def test_is_the_same_in_sql_as_in_words(self, desk: Desk, app: FastAPI) -> None:
        written = await desk.write("dc.consultant", "circulations", await order(desk))
        none = frozenset[int]()
        async with app.state.db.reading() as session:
            sheet = (await session.scalars(sa.select(Circulation))).one()
            us, here = frozenset({sheet.organization_id}), frozenset({sheet.project_id})
            for reach in (
                CirculationReach(True, none, none, none),
                CirculationReach(False, us, none, us),
                CirculationReach(False, none, here, us),
                CirculationReach(False, none, here, none),
                CirculationReach(False, none, none, us),
            ):
                seen = await repository.visible(session, reach=reach, public_ids=[sheet.public_id])
                said = may_see(reach, organization=sheet.organization_id, project=sheet.project_id)
                assert [str(row.public_id) for row in seen] == ([written["publicId"]] if said else []), reach
