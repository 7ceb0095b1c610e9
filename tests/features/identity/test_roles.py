"""Roles of one's own over the API: who may make and change them, what they may hold, and that a change counts at once."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.bootstrap import System
from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import RoleGrant, people
from saraban.kit.errors import Forbidden, Invalid
from tests.conftest import SignIn
from tests.definitions import shorter
from tests.factories.contexts import context
from tests.other_project import add_other_project

ROLES = "/api/v1/roles"
NOBODY = "01930b5e-0000-7000-8000-000000000000"
DEMO = "LCBP3-C2"


class Ground:
    """The demo project and another one, with an account for each kind of caller."""

    def __init__(self, system: System, signed_in: SignIn) -> None:
        self.system, self.signed_in = system, signed_in
        self.project = self.other = ""

    async def prepare(self) -> None:
        admin = await self.signed_in("admin")
        items = (await admin.get("/api/v1/projects")).json()["items"]
        self.project = next(one["publicId"] for one in items if one["projectCode"] == DEMO)
        self.other = str((await add_other_project(self.system.db))["project"])
        # Who administers the other project alone, who administers an organization, and who has no part in anything.
        for name in ("other.padmin", "orgadmin", "outsider"):
            account = identity.NewAccount(name, f"{name}@example.org", organization_code="อื่น")
            await self.do(identity.create_user, account, password="saraban-demo-A1")
        await self.do(identity.grant_role, "other.padmin", RoleGrant("Project Manager", project_code="OTHER"))
        await self.do(identity.grant_role, "orgadmin", RoleGrant("Org Admin", organization_code="อื่น"))

    async def do(self, verb: Callable[..., Awaitable[Any]], *given: Any, by: str = "system", **named: Any) -> Any:
        async with self.system.db.reading() as session:
            caller = await identity.find_caller(session, username=by)
        assert caller is not None
        ctx: RequestContext = context(caller, self.system.clock.now())
        return await self.system.db.transact(lambda session: verb(ctx, session, *given, **named))

    async def make(self, by: str = "admin", **wanted: Any) -> httpx.Response:
        client = await self.signed_in(by)
        return await client.post(ROLES, json={"name": "ผู้ตรวจแบบ", **wanted})

    async def permissions_of(self, username: str) -> set[str]:
        return set((await (await self.signed_in(username)).get("/api/v1/auth/me")).json()["permissions"])

    async def told(self) -> list[str]:
        async with self.system.db.reading() as session:
            rows = await session.scalars(sa.select(OutboxEvent).where(OutboxEvent.name == "account.changed"))
            return sorted(row.aggregate_id for row in rows)


@pytest_asyncio.fixture
async def ground(app: FastAPI, signed_in: SignIn) -> Ground:
    found = Ground(app.state, signed_in)  # type: ignore[arg-type]
    await found.prepare()
    return found


class TestMatrix:
    async def test_shows_each_role_with_its_permissions_in_both_languages(self, signed_in: SignIn) -> None:
        matrix = (await (await signed_in("admin")).get(ROLES)).json()

        roles = {one["name"]: one for one in matrix["items"]}
        assert roles["Contract Admin"]["called"] == {"th": "ผู้ดูแลสัญญา", "en": "Contract Admin"}
        assert roles["Contract Admin"]["level"] == "Contract"
        assert roles["Contract Admin"]["isShipped"]
        assert "workflow.action_review" in roles["Contract Admin"]["permissions"]
        assert len(roles["Superadmin"]["permissions"]) == len(matrix["permissions"])
        review = next(one for one in matrix["permissions"] if one["name"] == "workflow.action_review")
        assert review["moduleSays"] == {"th": "กระบวนงาน", "en": "Workflows"}
        assert review["says"]["en"] == "Decide in the current step"

    async def test_comes_in_pages(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        first = (await admin.get(ROLES, params={"limit": 4})).json()
        rest = (await admin.get(ROLES, params={"limit": 4, "cursor": first["nextCursor"]})).json()

        assert rest["nextCursor"] is None
        assert len({one["name"] for one in first["items"] + rest["items"]}) == 7


class TestCallers:
    """Nobody but who looks after roles or gives them sees any; who makes one does so where the right is held."""

    @pytest.mark.parametrize(
        ("who", "listing", "everywhere", "here", "closing"),
        [
            ("viewer", 403, 403, 422, 403),
            ("outsider", 403, 403, 422, 403),
            ("reviewer.consultant", 403, 403, 422, 403),
            ("dc.contractor", 200, 403, 422, 404),
            ("orgadmin", 200, 403, 422, 404),
            ("other.padmin", 200, 403, 422, 404),
            ("padmin", 200, 403, 201, 200),
            ("admin", 200, 201, 201, 200),
        ],
    )
    async def test_are_refused_by_default(
        self, ground: Ground, who: str, listing: int, everywhere: int, here: int, closing: int
    ) -> None:
        kept = (await ground.make(name="มีอยู่แล้ว", level="Project", projectPublicId=ground.project)).json()
        client = await ground.signed_in(who)

        assert (await client.get(ROLES)).status_code == listing
        assert (await client.post(ROLES, json={"name": "ก", "level": "Organization"})).status_code == everywhere
        body = {"name": "ข", "level": "Project", "projectPublicId": ground.project}
        assert (await client.post(ROLES, json=body)).status_code == here
        one = f"{ROLES}/{kept['publicId']}"
        assert (await client.get(one)).status_code == closing
        assert (await client.patch(one, json={"description": "x"})).status_code == closing
        assert (await client.post(f"{one}/close")).status_code == closing
        assert (await client.post(f"{one}/reopen")).status_code == closing

    async def test_who_are_strangers_are_asked_who_they_are(self, client: httpx.AsyncClient) -> None:
        for method, path in (("GET", ""), ("POST", ""), ("GET", f"/{NOBODY}"), ("PATCH", f"/{NOBODY}")):
            assert (await client.request(method, ROLES + path)).status_code == 401


class TestMake:
    async def test_copies_what_the_other_role_has(self, ground: Ground) -> None:
        made = await ground.make(copyOf="Contract Admin", nameEn="Drawing checker", description="ตรวจแบบก่อสร้าง")

        role = made.json()
        assert (made.status_code, role["level"], role["isShipped"]) == (201, "Contract", False)
        assert role["called"] == {"th": "ผู้ตรวจแบบ", "en": "Drawing checker"}
        assert "workflow.action_review" in role["permissions"]
        again = await (await ground.signed_in("admin")).get(made.headers["location"])
        assert again.headers["etag"] == made.headers["etag"]

    async def test_of_a_project_leaves_out_what_its_maker_does_not_hold(self, ground: Ground) -> None:
        made = await ground.make(by="padmin", copyOf="Contract Admin", projectPublicId=ground.project)

        assert made.status_code == 201
        assert "contract.edit" in made.json()["permissions"]
        assert "workflow.action_review" not in made.json()["permissions"]

    async def test_never_makes_another_superadmin(self, ground: Ground) -> None:
        made = await ground.make(copyOf="Superadmin")

        assert "system.manage_all" not in made.json()["permissions"]
        assert "user.create" in made.json()["permissions"]

    async def test_names_the_field_at_fault(self, ground: Ground) -> None:
        for wanted, pointer, code in [
            ({"name": ""}, "/name", None),
            ({"name": "Superadmin"}, "/name", "shipped"),
            ({"name": "ผู้ดูแลระบบ"}, "/name", "shipped"),
            ({"nameEn": "superadmin"}, "/nameEn", "shipped"),
            ({"level": "Planet"}, "/level", None),
            ({"permissions": ["document.view", "coffee.make"]}, "/permissions/1", "unknown"),
            ({"permissions": ["system.manage_all"]}, "/permissions/0", "superadmin_only"),
            ({"copyOf": "No such role"}, "/copyOf", "unknown"),
            ({"projectPublicId": NOBODY}, "/projectPublicId", "unknown"),
            ({"level": "Organization", "projectPublicId": "{project}"}, "/level", "above_the_project"),
            ({"projectPublicId": "{project}"}, "/level", "above_the_project"),
        ]:
            wanted = {key: ground.project if value == "{project}" else value for key, value in wanted.items()}
            answer = await ground.make(**wanted)

            assert answer.status_code == 422, (wanted, pointer, code)
            (fault,) = answer.json()["errors"]
            assert fault["pointer"] == pointer, (wanted, pointer, code)
            assert code in {None, fault["code"]}, (wanted, pointer, code)

    async def test_gives_a_name_once(self, ground: Ground) -> None:
        first = (await ground.make(level="Project")).json()
        await (await ground.signed_in("admin")).post(f"{ROLES}/{first['publicId']}/close")

        answer = await ground.make(by="padmin", level="Project", projectPublicId=ground.project)

        assert (answer.status_code, answer.json()["code"]) == (409, "ROLE_NAME_TAKEN")

    async def test_is_done_once_for_a_key(self, ground: Ground) -> None:
        admin = await ground.signed_in("admin")
        answers = [
            await admin.post(ROLES, json={"name": "ครั้งเดียว"}, headers={"Idempotency-Key": "role-1"}) for _ in "ab"
        ]

        assert [one.status_code for one in answers] == [201, 201]
        assert answers[1].json()["publicId"] == answers[0].json()["publicId"]
        assert answers[1].headers["idempotent-replay"] == "true"

    async def test_may_do_no_more_than_its_maker(self, ground: Ground) -> None:
        wanted = {"level": "Project", "projectPublicId": ground.project}
        answer = await ground.make(by="padmin", permissions=["contract.edit", "workflow.action_review"], **wanted)

        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
        assert "workflow.action_review" in answer.json()["detail"]


class TestChange:
    async def test_counts_at_the_next_request_and_is_told_of_each_holder(self, ground: Ground) -> None:
        made = (await ground.make(level="Organization", permissions=["document.view"])).json()
        grant = RoleGrant("ผู้ตรวจแบบ", organization_code="อื่น")
        for name in ("outsider", "orgadmin"):
            await ground.do(identity.grant_role, name, grant)
        before = len(await ground.told())
        admin = await ground.signed_in("admin")

        answer = await admin.patch(
            f"{ROLES}/{made['publicId']}", json={"permissions": ["document.view", "document.attach_files"]}
        )

        assert answer.json()["holders"] == 2
        assert await ground.permissions_of("outsider") == {"document.view", "document.attach_files"}
        assert len(await ground.told()) == before + 2
        async with ground.system.db.reading() as session:
            row = (await session.scalars(sa.select(AuditLog).where(AuditLog.action == "role.edit"))).one()
        assert row.details_json is not None
        assert (row.details_json["gained"], row.details_json["lost"]) == (["document.attach_files"], [])

    async def test_keeps_what_is_not_stated(self, ground: Ground) -> None:
        made = (await ground.make(level="Project", permissions=["document.view"], description="เดิม")).json()
        admin = await ground.signed_in("admin")

        answer = await admin.patch(f"{ROLES}/{made['publicId']}", json={"name": "ชื่อใหม่"})

        assert (answer.json()["name"], answer.json()["description"]) == ("ชื่อใหม่", "เดิม")
        assert answer.json()["permissions"] == ["document.view"]

    async def test_of_an_older_version_is_refused(self, ground: Ground) -> None:
        made = await ground.make(level="Project")
        admin, one = await ground.signed_in("admin"), f"{ROLES}/{made.json()['publicId']}"
        first = await admin.patch(one, json={"description": "1"}, headers={"If-Match": made.headers["etag"]})
        second = await admin.patch(one, json={"description": "2"}, headers={"If-Match": made.headers["etag"]})

        assert (first.status_code, second.status_code) == (200, 412)
        assert second.json()["code"] == "ROLE_CHANGED"
        third = await admin.patch(one, json={"description": "2"}, headers={"If-Match": first.headers["etag"]})
        assert third.status_code == 200

    @pytest.mark.parametrize(("verb", "path"), [("PATCH", ""), ("POST", "/close"), ("POST", "/reopen")])
    async def test_does_not_reach_what_shipped(self, ground: Ground, verb: str, path: str) -> None:
        admin = await ground.signed_in("admin")
        shipped = next(one for one in (await admin.get(ROLES)).json()["items"] if one["name"] == "Viewer")

        answer = await admin.request(verb, f"{ROLES}/{shipped['publicId']}{path}", json={"description": "x"})

        assert (answer.status_code, answer.json()["code"]) == (409, "ROLE_SHIPPED")

    @pytest.mark.parametrize(
        ("permissions", "status"),
        [
            (["document.view"], 403),  # takes away what the Project Manager does not hold
            (["workflow.action_review", "document.view", "document.edit"], 200),
            (["workflow.action_review", "document.view", "workflow.force_proceed"], 403),
            (["workflow.action_review", "document.view"], 200),
        ],
    )
    async def test_is_limited_to_what_its_editor_holds(
        self, ground: Ground, permissions: list[str], status: int
    ) -> None:
        wanted = {"level": "Project", "projectPublicId": ground.project}
        made = (await ground.make(permissions=["workflow.action_review", "document.view"], **wanted)).json()
        padmin = await ground.signed_in("padmin")

        answer = await padmin.patch(f"{ROLES}/{made['publicId']}", json={"permissions": permissions})

        assert answer.status_code == status

    async def test_keeps_the_name_that_a_workflow_asks_for(self, ground: Ground) -> None:
        made = (await ground.make(name="Chief", level="Project")).json()
        admin = await ground.signed_in("admin")
        definition = shorter()
        definition["states"][1]["on"]["approve"]["require"]["roles"] = ["Chief"]
        published = await admin.post("/api/v1/workflow/definitions", json={"dsl": definition})
        assert published.status_code == 201, published.text

        answer = await admin.patch(f"{ROLES}/{made['publicId']}", json={"name": "Chief engineer"})

        assert (answer.status_code, answer.json()["code"]) == (409, "ROLE_NAMED_BY_WORKFLOW")


class TestClose:
    async def test_takes_effect_at_once_and_reopening_gives_it_back(self, ground: Ground) -> None:
        made = (await ground.make(level="Organization", permissions=["document.view"])).json()
        grant = RoleGrant("ผู้ตรวจแบบ", organization_code="อื่น")
        await ground.do(identity.grant_role, "outsider", grant)
        admin, one = await ground.signed_in("admin"), f"{ROLES}/{made['publicId']}"

        closed = (await admin.post(f"{one}/close")).json()
        without = await ground.permissions_of("outsider")
        opened = (await admin.post(f"{one}/reopen")).json()

        assert (closed["isActive"], closed["holders"], without) == (False, 1, set())
        assert (opened["isActive"], await ground.permissions_of("outsider")) == (True, {"document.view"})

    async def test_leaves_nothing_to_give(self, ground: Ground) -> None:
        made = (await ground.make(level="Organization")).json()
        await (await ground.signed_in("admin")).post(f"{ROLES}/{made['publicId']}/close")

        with pytest.raises(Invalid):
            await ground.do(identity.grant_role, "outsider", RoleGrant("ผู้ตรวจแบบ", organization_code="อื่น"))


class TestRoleOfAProject:
    @pytest.mark.parametrize(
        ("level", "place", "given"),
        [
            ("Project", {"project_code": DEMO}, True),
            ("Contract", {"contract_code": DEMO}, True),
            ("Project", {"project_code": "OTHER"}, False),
            ("Contract", {"contract_code": "OTHER-1"}, False),
        ],
    )
    async def test_is_given_there_and_in_its_contracts_alone(
        self, ground: Ground, level: str, place: dict[str, str], given: bool
    ) -> None:
        await ground.make(level=level, projectPublicId=ground.project, permissions=["document.view"])
        grant = RoleGrant("ผู้ตรวจแบบ", **place)

        if given:
            await ground.do(identity.grant_role, "outsider", grant)
            assert await ground.permissions_of("outsider") == {"document.view"}
        else:
            with pytest.raises(Invalid):
                await ground.do(identity.grant_role, "outsider", grant)

    async def test_is_unknown_to_others(self, ground: Ground) -> None:
        await ground.make(by="padmin", level="Project", projectPublicId=ground.project)

        seen = {
            who: "ผู้ตรวจแบบ" in [one["name"] for one in (await (await ground.signed_in(who)).get(ROLES)).json()["items"]]
            for who in ("admin", "padmin", "other.padmin", "dc.contractor")
        }
        assert seen == {"admin": True, "padmin": True, "other.padmin": False, "dc.contractor": False}

    async def test_gives_its_maker_no_more_than_before(self, ground: Ground) -> None:
        """A role that may more than the one who gives it is given by nobody, whoever made it."""
        wanted = {"level": "Project", "projectPublicId": ground.project}
        await ground.make(permissions=["workflow.action_review"], **wanted)

        with pytest.raises(identity.RoleDoesNotFit):
            await ground.do(identity.grant_role, "padmin", RoleGrant("ผู้ตรวจแบบ"), by="padmin")
        with pytest.raises(Forbidden, match="may more than the one who gives it"):
            await ground.do(identity.grant_role, "padmin", RoleGrant("ผู้ตรวจแบบ", project_code=DEMO), by="padmin")


async def test_a_projects_own_role_is_offered_in_that_project_alone(ground: Ground) -> None:
    await ground.make(name="ของโครงการนี้", level="Project", projectPublicId=ground.project)

    offered = {}
    for name in ("padmin", "other.padmin"):
        offer = await ground.do(people.offered_roles, by=name)
        offered[name] = {role.role_name for role in offer.roles}

    assert "ของโครงการนี้" in offered["padmin"]
    assert "ของโครงการนี้" not in offered["other.padmin"]
    assert "Project Manager" in offered["other.padmin"]
