"""The security log: who was refused what, and who was handed which file; without its row no file is sent."""

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError

from saraban import bootstrap
from saraban.audit.models import AuditLog
from saraban.bootstrap import System
from saraban.identity.models import Permission, Role, RolePermission
from saraban.kit.http import stored_workbook
from saraban.ops import security_log
from saraban.ops.openapi import operations
from tests.conftest import SignIn
from tests.numbering_requests import read_project
from tests.uploaded_files import content_of, make_permanent, upload

# They answer with `stored_workbook`, once a worker has read the sheet.
RESULTS: Final = ("/imports/{publicId}/result",)


async def rows(app: FastAPI, *actions: str) -> list[AuditLog]:
    async with app.state.db.reading() as session:
        found = sa.select(AuditLog).where(AuditLog.action.in_(actions)).order_by(AuditLog.audit_id)
        return list(await session.scalars(found))


async def files(app: FastAPI) -> list[str]:
    return [row.action for row in await rows(app, "attachment.view", "attachment.download", "export.download")]


def routes_of_files(app: FastAPI) -> Iterator[str]:
    """Yield the operations of the API that answer with a file."""
    for path, method, operation in operations(app.openapi()):
        kinds = operation["responses"].get("200", {}).get("content", {})
        if method == "get" and kinds and not any("json" in kind for kind in kinds) and not path.endswith(RESULTS):
            yield path


class TestFiles:
    async def test_of_every_route_are_recorded(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        contract = (await admin.get(f"/api/v1/projects/{project.id}")).json()["contracts"][0]["publicId"]
        file = (await upload(admin))["publicId"]
        silent, asked = [], 0
        for path in routes_of_files(app):
            known = {"contracts": contract, "attachments": file}.get(path.split("/")[3], project.id)
            address = path.replace("{publicId}", str(known)).replace("{kind}", "shop")
            before = await files(app)
            answer = await admin.get(address, params={"projectPublicId": project.id} if "audit" not in path else {})
            if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
                answer = await admin.get(address)
            asked += 1
            if answer.status_code != httpx.codes.OK or len(await files(app)) != len(before) + 1:
                silent.append((address, answer.status_code))

        assert silent == []
        assert asked > 20
        assert "content-disposition" in stored_workbook(_nothing(), "import.xlsx").headers

    async def test_of_pages_are_recorded(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        answers = [await admin.get(path) for path in ("/people/import/template", "/projects/LCBP3-C2/file/download")]

        assert [one.status_code for one in answers] == [200, 200]
        assert await files(app) == ["export.download"] * 2

    async def test_name_the_file_and_who_took_it(self, app: FastAPI, signed_in: SignIn) -> None:
        client = await signed_in("dc.contractor")
        file = await upload(client)
        await client.get(content_of(file))
        await client.get(content_of(file), params={"inline": "true"})

        taken, seen = await rows(app, "attachment.view", "attachment.download")
        assert (taken.action, seen.action) == ("attachment.download", "attachment.view")
        assert taken.entity_id == file["publicId"]
        assert taken.actor_uuid is not None
        assert taken.details_json is not None
        assert taken.details_json["fileName"] == "แบบ 1.pdf"

    async def test_that_the_browser_has_already_are_viewed_too(self, app: FastAPI, signed_in: SignIn) -> None:
        client = await signed_in("dc.contractor")
        address = content_of(await upload(client))
        tag = (await client.get(address)).headers["etag"]
        again = await client.get(address, headers={"If-None-Match": tag})

        assert again.status_code == httpx.codes.NOT_MODIFIED
        assert len(await files(app)) == 2

    @pytest.mark.parametrize(
        "ranges", [["", "bytes=10-19", "bytes=20-29"], ["bytes=0-9", "bytes=10-19"], ["bytes=1-", "bytes=9-"]]
    )
    async def test_read_in_ranges_are_one_view(self, app: FastAPI, signed_in: SignIn, ranges: list[str]) -> None:
        client = await signed_in("dc.contractor")
        address = content_of(await upload(client))
        for one in ranges:
            answer = await client.get(address, headers={"Range": one} if one else {})
            assert answer.is_success

        assert len(await files(app)) == 1

    async def test_are_not_sent_without_their_row(
        self, app: FastAPI, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = await signed_in("dc.contractor")
        address = content_of(await upload(client))

        async def fails(*_: Any, **__: Any) -> None:
            raise OperationalError("INSERT", {}, Exception("no database"))

        monkeypatch.setattr(security_log.audit, "record", fails)
        answer = await client.get(address)

        assert answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR
        assert b"%PDF" not in answer.content


async def _nothing() -> Any:
    return
    yield b""


class TestRefusals:
    async def test_name_the_permission_and_what_it_was_asked_for(self, app: FastAPI, signed_in: SignIn) -> None:
        viewer = await signed_in("viewer")
        project = await read_project(viewer)
        answer = await viewer.patch(f"/api/v1/projects/{project.id}", json={"projectName": "อื่น"})

        (row,) = await rows(app, "access.refused")
        assert answer.status_code == httpx.codes.FORBIDDEN
        assert (row.entity_id, row.severity) == (project.id, "WARN")
        assert row.details_json is not None
        assert row.details_json["permission"] == "project.edit"
        assert row.details_json["problem"] == "PERMISSION_DENIED"
        assert (row.details_json["method"], row.details_json["status"]) == ("PATCH", 403)

    async def test_that_hide_a_thing_are_recorded(self, app: FastAPI, signed_in: SignIn) -> None:
        file = await upload(await signed_in("dc.contractor"))
        await make_permanent(app, "dc.contractor", file)
        answer = await (await signed_in("dc.consultant")).get(content_of(file))

        (row,) = await rows(app, "access.refused")
        assert answer.status_code == httpx.codes.NOT_FOUND
        assert row.entity_id == file["publicId"]
        assert await files(app) == []

    async def test_of_pages_are_recorded(self, app: FastAPI, signed_in: SignIn) -> None:
        answer = await (await signed_in("viewer")).get("/audit", headers={"Accept": "text/html"})

        assert answer.status_code == httpx.codes.FORBIDDEN
        assert len(await rows(app, "access.refused")) == 1

    async def test_cannot_flood_the_journal(self, app: FastAPI, signed_in: SignIn) -> None:
        viewer = await signed_in("viewer")
        for _ in range(security_log.REFUSALS_PER_MINUTE + 5):
            assert (await viewer.get("/api/v1/audit")).status_code == httpx.codes.FORBIDDEN
        await (await signed_in("padmin")).get("/api/v1/audit")

        names = [row.actor_uuid for row in await rows(app, "access.refused")]
        assert len(names) == security_log.REFUSALS_PER_MINUTE + 1
        assert len(set(names)) == 2

    async def test_of_strangers_are_stored_nowhere(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        answers = [
            await client.get("/api/v1/audit"),
            await client.get("/api/v1/audit", headers={"Authorization": "Bearer nonsense"}),
            await client.get("/api/v1/projects/01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"),
        ]

        assert [one.status_code for one in answers] == [401] * 3
        assert await rows(app, "access.refused") == []


class TestDocumentController:
    """Reads the trail of the own organization, page and export, and `security` narrows it."""

    async def test_reads_what_people_of_the_organization_did(self, app: FastAPI, signed_in: SignIn) -> None:
        own, other = await signed_in("dc.consultant"), await signed_in("dc.contractor")
        for client in (own, other):
            await client.get(content_of(await upload(client)))
            await client.get("/api/v1/system")

        found = (await own.get("/api/v1/audit", params={"action": "security"})).json()["items"]
        assert {one["person"]["username"] for one in found} == {"dc.consultant"}
        assert [one["action"] for one in found] == ["access.refused", "attachment.download"]
        assert (await own.get("/api/v1/audit/export?format=csv")).status_code == httpx.codes.OK

    @pytest.mark.parametrize(("language", "words"), [("th", "ดาวน์โหลดไฟล์"), ("en", "File downloaded")])
    @pytest.mark.sampled("[th")
    async def test_reads_the_page(self, signed_in: SignIn, language: str, words: str) -> None:
        own = await signed_in("dc.consultant")
        await own.get(content_of(await upload(own)))
        page = await own.get("/audit", params={"action": "security"}, headers={"Accept-Language": language})

        assert page.status_code == httpx.codes.OK
        assert words in page.text
        assert 'href="/audit"' in page.text

    async def test_security_events_are_found_by_those_who_see_all(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        await admin.get(content_of(await upload(admin)))

        found = (await admin.get("/api/v1/audit", params={"action": "security"})).json()["items"]
        assert [one["action"] for one in found] == ["attachment.download"]

    async def test_of_an_installation_that_is_upgraded_may_read_it_too(self, system: System) -> None:
        permission = sa.select(Permission.permission_id).where(Permission.permission_name == "audit.view_own")
        async with system.db.writing() as session:
            gone = sa.delete(RolePermission).where(RolePermission.permission_id.in_(permission))
            await session.execute(gone, execution_options={"synchronize_session": False})
        await bootstrap.seed(system, demo=False)

        async with system.db.reading() as session:
            held = sa.select(Role.role_name).join(RolePermission, RolePermission.role_id == Role.role_id)
            names = set(await session.scalars(held.where(RolePermission.permission_id.in_(permission))))
        assert {"Document Control", "Org Admin"} <= names
