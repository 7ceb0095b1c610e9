"""Roles in one place, tried on what belongs to the installation or to another place."""

import httpx
from fastapi import FastAPI

from saraban.identity import service as identity
from saraban.identity.service import NewAccount, RoleGrant
from tests.access_world import FOREIGN_CODE, add_foreign_project
from tests.conftest import SignIn
from tests.factories.contexts import context

VERSION = "/api/v1/workflow/definitions/CORRESPONDENCE_FLOW_V1/versions/1"


async def designer_of(app: FastAPI, signed_in: SignIn) -> httpx.AsyncClient:
    """Sign in an account that manages workflow definitions by a role in the demo project alone."""
    permissions = ["workflow.view_definitions", "workflow.manage_definitions"]
    role = {"name": "Designer", "level": "Project", "permissions": permissions}
    answer = await (await signed_in("admin")).post("/api/v1/roles", json=role)
    assert answer.status_code == 201, answer.text
    async with app.state.db.writing() as session:
        ctx = context(caller=await identity.system_caller(session))
        account = NewAccount("designer", "designer@example.org", organization_code="กทท.")
        await identity.create_user(ctx, session, account, password="Correct-Horse-7")
        await identity.grant_role(ctx, session, "designer", RoleGrant("Designer", project_code="LCBP3-C2"))
    return await signed_in("designer")


class TestARoleInOneProject:
    async def test_changes_no_definition_of_the_installation(self, app: FastAPI, signed_in: SignIn) -> None:
        designer = await designer_of(app, signed_in)
        asked = [
            await designer.post(f"{VERSION}/{act}", json={})
            for act in ("deactivate", "activate", "migrations", "replay")
        ]
        asked.append(await designer.post("/workflows/CORRESPONDENCE_FLOW_V1/v1/deactivate"))
        asked.append(await designer.get("/workflows/new"))

        assert [answer.status_code for answer in asked] == [403] * len(asked)
        assert (await designer.get(VERSION)).json()["isActive"]

    async def test_still_reads_definitions(self, app: FastAPI, signed_in: SignIn) -> None:
        designer = await designer_of(app, signed_in)

        assert (await designer.get("/api/v1/workflow/definitions")).status_code == 200


class TestAnAdministratorOfAnOrganization:
    async def test_reads_no_number_formats_of_a_project_that_it_has_no_part_in(
        self, app: FastAPI, signed_in: SignIn
    ) -> None:
        await add_foreign_project(app)
        admin, administrator = await signed_in("admin"), await signed_in("m.orgadmin")
        listed = (await admin.get("/api/v1/projects", params={"search": FOREIGN_CODE})).json()["items"]
        foreign = {"projectPublicId": listed[0]["publicId"]}
        formats = (await admin.get("/api/v1/document-numbering/configs", params=foreign)).json()["items"]

        async def status(path: str, **query: str) -> int:
            answer: httpx.Response = await administrator.get(f"/api/v1/document-numbering/configs{path}", params=query)
            return answer.status_code

        assert await status("", **foreign) == 403
        assert {await status(f"/{one['publicId']}{more}") for one in formats for more in ("", "/history")} == {404}
        assert await status("") == 200
