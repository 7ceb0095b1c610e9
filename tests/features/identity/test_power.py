"""
Nobody gives what they do not hold nor raises themselves, and the last Super Admin stays: by each way in, over the API, through
pages, with a spreadsheet of people, with a project file and at the terminal.
"""

from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.identity.models import RolePermission, User, UserAssignment
from saraban.kit.db import Database
from tests.conftest import SignIn
from tests.features.cli.conftest import command
from tests.project_callers import CONTROL, MANAGER, ORG_ADMIN, OTHER_MANAGER, OUTSIDER, REVIEWER, SUPER, add_callers
from tests.terminal import Command

__all__ = ["command"]

HTML = {"Accept": "text/html"}
SHEET = "username,email,firstName,lastName,organization,role,level,place\n"
FILE = """\
organizations: [{{code: อื่น, name: องค์กรอื่น}}]
project: {{code: {project}, name: โครงการ}}
members: [{{organization: อื่น, role: OTHER}}]
people:
- {{username: {who}, email: {who}@example.org, firstName: ก, lastName: ข, organization: อื่น, roles: [{role}]}}
"""
SUPERADMIN = "{role: Superadmin, level: Global}"
Power = dict[str, set[Any]]


async def power(db: Database) -> Power:
    """Who is there and open, what each holds where, and what each role may do."""
    held = (UserAssignment.user_id, UserAssignment.role_id, UserAssignment.organization_id, UserAssignment.project_id)
    async with db.reading() as session:
        return {
            "people": set(await session.execute(sa.select(User.username, User.is_active))),
            "held": set(await session.execute(sa.select(*held, UserAssignment.contract_id))),
            "roles": set(await session.execute(sa.select(RolePermission.role_id, RolePermission.permission_id))),
        }


class Ways:
    """Every way in which somebody could give a role, as one who asks."""

    def __init__(self, client: httpx.AsyncClient, known: dict[str, str]) -> None:
        self.client, self.known = client, known

    async def page(self, path: str, data: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        return await self.client.post(path, data=data or {}, headers=HTML, **more)

    async def file(self, path: str, **more: str) -> list[httpx.Response]:
        content = FILE.format(project="LCBP3-C2", who="raised.by.file", role=SUPERADMIN)
        sent = {"file": ("project.yaml", BytesIO(content.encode()), "application/yaml")}
        return [await self.page(path, data, files=dict(sent)) for data in ({}, {"shown": "0" * 64})]

    async def all(self, role: str, level: str, place: str, code: str) -> dict[str, int]:
        """
        :param place: public id of the place, and `code`, its code: empty where the role counts everywhere
        """
        wanted = {"role": role, "level": level} | ({"placePublicId": place} if place else {})
        new = {"username": "raised", "email": "raised@example.org", "how": "invite", "firstName": "ก", "lastName": "ข"}
        home, me, other = (self.known[name] for name in ("home", "me", "other"))
        file = FILE.format(project="LCBP3-C2", who="raised.by.api", role=SUPERADMIN).encode()
        people = {
            "file": (
                "p.csv",
                BytesIO(f"{SHEET}raised,r@x.org,ก,ข,{self.known['code']},{role},{level},{code}\n".encode()),
            )
        }
        answers = {
            "to oneself over the API": await self.client.post(f"/api/v1/users/{me}/roles", json=wanted),
            "to another over the API": await self.client.post(f"/api/v1/users/{other}/roles", json=wanted),
            "to oneself on the page": await self.page(f"/people/{me}/roles", wanted),
            "to another on the page": await self.page(f"/people/{other}/roles", wanted),
            "to a new person on the page": await self.page("/people", new | wanted | {"organizationPublicId": home}),
            "with a spreadsheet": await self.page("/people/import", files=people),
            "with a project file over the API": await self.client.post(
                "/api/v1/projects/apply", content=file, headers={"Content-Type": "application/yaml"}
            ),
        }
        for name, path in (("any", "/projects/file"), ("this", f"/projects/{self.known['project']}/file")):
            answers |= {
                f"with the file of {name} project, {turn}": one for turn, one in enumerate(await self.file(path))
            }
        own = {"name": "มากกว่า", "level": level, "permissions": ["user.create", "user.delete"]}
        answers["with a role of one's own"] = await self.client.post("/api/v1/roles", json=own)
        return {way: answer.status_code for way, answer in answers.items()}


async def prepared(app: FastAPI, signed_in: SignIn, who: str) -> tuple[Ways, dict[str, str], dict[str, str]]:
    """Give the ways of somebody, and the public ids of projects and of organizations by their codes."""
    await add_callers(app.state.db)
    admin, client = await signed_in(SUPER), await signed_in(who)
    me = (await client.get("/api/v1/auth/me")).json()
    users = (await admin.get("/api/v1/users", params={"limit": 100})).json()["items"]
    projects = {one["projectCode"]: one["publicId"] for one in (await admin.get("/api/v1/projects")).json()["items"]}
    listed = (await admin.get("/api/v1/organizations", params={"limit": 100})).json()["items"]
    organizations = {one["organizationCode"]: one["publicId"] for one in listed}
    home = me["organization"]["publicId"]
    known = {
        "name": who,
        "me": me["publicId"],
        "home": home,
        "code": next(code for code, public_id in organizations.items() if public_id == home),
        "other": next(one["publicId"] for one in users if one["username"] == "viewer"),
        "project": projects["LCBP3-C2"],
    }
    return Ways(client, known), projects, organizations


@pytest.mark.parametrize("raiser", [MANAGER, CONTROL, REVIEWER, OTHER_MANAGER, ORG_ADMIN, OUTSIDER])
@pytest.mark.sampled("org.admin", "padmin")
async def test_nobody_gives_what_they_do_not_hold(app: FastAPI, signed_in: SignIn, raiser: str) -> None:
    ways, projects, organizations = await prepared(app, signed_in, raiser)
    foreign = "LCBP3-C2" if raiser in {OTHER_MANAGER, ORG_ADMIN, OUTSIDER} else "OTHER"
    before = await power(app.state.db)

    found = []
    for wish in (
        ("Superadmin", "Global", "", ""),
        ("Project Manager", "Project", projects[foreign], foreign),
        ("Org Admin", "Organization", organizations["กทท."], "กทท."),
    ):
        answers = await ways.all(*wish)
        found += [f"{wish[0]} {way}: {status}" for way, status in answers.items() if status not in {403, 404, 409, 422}]
        assert await power(app.state.db) == before, wish
    assert found == []


async def test_the_same_ways_are_open_to_whoever_holds_it(app: FastAPI, signed_in: SignIn) -> None:
    """Else the others would be refused for their form."""
    ways, projects, _ = await prepared(app, signed_in, SUPER)

    found = await ways.all("Project Manager", "Project", projects["OTHER"], "OTHER")

    # What the API has given the page gives no second time, and nobody has been shown what the file would do.
    again = {
        "to oneself on the page",
        "to another on the page",
        "with the file of any project, 1",
        "with the file of this project, 1",
    }
    assert {way for way, status in found.items() if status not in {200, 201, 303}} == again
    assert {found[way] for way in again} == {409, 412}


async def test_a_spreadsheet_leaves_the_roles_of_who_sends_it(app: FastAPI, signed_in: SignIn) -> None:
    await add_callers(app.state.db)
    client, before = await signed_in(ORG_ADMIN), await power(app.state.db)
    row = f"{SHEET}{ORG_ADMIN},{ORG_ADMIN}@example.org,,,ผรม.2,Superadmin,Global,\n"

    answer = await client.post("/people/import", files={"file": ("p.csv", BytesIO(row.encode()))}, headers=HTML)

    assert (answer.status_code, await power(app.state.db)) == (422, before)


def _over_the_api(client: httpx.AsyncClient, me: str, role: str) -> list[Awaitable[httpx.Response]]:
    return [client.post(f"/api/v1/users/{me}/close"), client.delete(f"/api/v1/users/{me}/roles/{role}")]


def _on_the_page(client: httpx.AsyncClient, me: str, role: str) -> list[Awaitable[httpx.Response]]:
    forms: dict[str, dict[str, str]] = {"close": {}, "take-role": {"rolePublicId": role}}
    return [client.post(f"/people/{me}/{action}", data=data, headers=HTML) for action, data in forms.items()]


@pytest.mark.parametrize("ways", [_over_the_api, _on_the_page])
async def test_the_last_super_admin_stays(
    app: FastAPI, signed_in: SignIn, ways: Callable[..., list[Awaitable[httpx.Response]]]
) -> None:
    client, before = await signed_in(SUPER), await power(app.state.db)
    me = (await client.get("/api/v1/auth/me")).json()["publicId"]
    (role,) = (await client.get(f"/api/v1/users/{me}/roles")).json()["items"]

    answers = [await one for one in ways(client, me, role["publicId"])]

    assert [one.status_code for one in answers] == [409, 409]
    assert await power(app.state.db) == before


async def test_a_project_file_takes_no_super_admin_away(app: FastAPI, signed_in: SignIn) -> None:
    await add_callers(app.state.db)
    client, before = await signed_in(SUPER), await power(app.state.db)
    content = FILE.format(project="LCBP3-C2", who=SUPER, role="").encode()

    answer = await client.post(
        "/api/v1/projects/apply",
        params={"prune": True, "updateShared": True},
        content=content,
        headers={"Content-Type": "application/yaml"},
    )

    assert answer.status_code in {200, 409, 422}, answer.text
    after = await power(app.state.db)
    async with app.state.db.reading() as session:
        key = await session.scalar(sa.select(User.user_id).where(User.username == SUPER))
    assert {row for row in after["held"] if row[0] == key} == {row for row in before["held"] if row[0] == key}
    assert (SUPER, True) in after["people"]


class TestTerminal:
    """Whoever sits at it owns the installation; what would lock everybody out is refused all the same."""

    @pytest.mark.parametrize("words", [("disable", "admin"), ("revoke", "admin", "Superadmin")])
    def test_keeps_the_last_super_admin(self, command: Command, words: tuple[str, ...]) -> None:
        code, _, said = command("user", *words)

        assert code == 6
        assert "Somebody has to remain" in said
        assert "Superadmin" in command("user", "list")[1]

    def test_gives_no_more_with_a_file_in_somebodys_name(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "project.yaml"
        file.write_text(FILE.format(project="LCBP3-C2", who=MANAGER, role=SUPERADMIN), "utf-8")

        code, _, said = command("project", "apply", str(file), "--as", MANAGER)

        assert (code, "permission" in said) == (4, True)
