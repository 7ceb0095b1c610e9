"""New projects: empty, from a template, or as a copy; whichever way they are made, they are the same."""

from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import yaml
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.projects.models import Project
from saraban.setup import service as setup
from saraban.setup.schemas.new_project import NewProjectIn
from tests.conftest import SignIn
from tests.factories.contexts import context
from tests.factories.projects import FULL
from tests.project_callers import add_callers, everybody, statuses
from tests.project_files import applied

PATH = "/api/v1/projects"
PIER = {"projectCode": "PIER", "projectName": "ท่าเทียบเรือ"}


async def exported(db: Database, code: str) -> dict[str, Any]:
    async with db.reading() as session:
        text = await setup.export(context(caller=await identity.system_caller(session)), session, code=code)
    data: dict[str, Any] = yaml.safe_load(text)
    return data


async def how_many(db: Database) -> int:
    async with db.reading() as session:
        return await session.scalar(sa.select(sa.func.count()).select_from(Project)) or 0


class TestCreate:
    async def test_an_empty_one_has_the_number_formats_that_ship(self, app: FastAPI, signed_in: SignIn) -> None:
        answer = await (await signed_in("admin")).post(PATH, json=PIER)

        assert answer.status_code == 201, answer.text
        assert (answer.json()["projectCode"], answer.json()["contracts"]) == ("PIER", [])
        made = await exported(app.state.db, "PIER")
        assert [one.get("type") for one in made["numberFormats"]] == [
            *(None, "RFA", "TRANSMITTAL", "CIRCULATION", "DRAWING"),
        ]
        assert (made["members"], made["people"], made["contracts"]) == ([], [], [])

    @pytest.mark.parametrize("template", setup.TEMPLATES)
    async def test_one_from_a_template_has_its_codes_and_none_of_its_examples(
        self, app: FastAPI, signed_in: SignIn, template: str
    ) -> None:
        order = PIER | {"template": template, "role": "OWNER"}
        answer = await (await signed_in("admin")).post(PATH, json=order)

        assert answer.status_code == 201, answer.text
        made, shipped = await exported(app.state.db, "PIER"), yaml.safe_load(setup.template(template))
        (contract,), (model,) = made["contracts"], shipped["contracts"]
        assert contract["code"].startswith("PIER-")
        assert {one["code"] for one in contract["disciplines"]} == {one["code"] for one in model["disciplines"]}
        assert len(contract["rfaTypes"]) == len(model["rfaTypes"])
        assert {one["template"] for one in made["numberFormats"]} == {
            one["template"] for one in shipped["numberFormats"]
        }
        assert made["members"] == contract["parties"] == [{"organization": "กทท.", "role": "OWNER"}]

    async def test_a_copy_is_the_same_but_for_its_codes_and_its_people(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        await copied(empty_db, with_people=False)

        source, copy = await exported(empty_db, "BRIDGE"), await exported(empty_db, "PIER")
        for part in ("organizations", "members", "numberFormats", "assignments", "calendar", "drawingRegisters"):
            assert copy[part] == source[part], part
        assert copy["contracts"] == [source["contracts"][0] | {"code": "PIER-BR-1"}]
        assert (copy["people"], copy["reviewTeams"][0]["members"]) == (
            [one for one in source["people"] if one["roles"][0]["level"] == "Organization"],
            [],
        )

    async def test_a_copy_with_its_people_gives_them_the_same_roles_there(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        await copied(empty_db, with_people=True)

        copy = await exported(empty_db, "PIER")
        roles = {one["username"]: [role["place"] for role in one["roles"]] for one in copy["people"]}
        assert roles == {"somchai": ["ที่ปรึกษา"], "malee": ["PIER-BR-1"]}
        assert copy["reviewTeams"][0]["members"][0]["person"] == "somchai"

    async def test_the_same_file_comes_out_whichever_way_went_in(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        await admin.post(PATH, json=PIER | {"template": "building", "role": "OWNER"})
        text = await admin_export(app.state.db, "PIER")

        await applied(app.state.db, text.replace("PIER", "QUAY"), by="admin")

        assert await admin_export(app.state.db, "QUAY") == text.replace("PIER", "QUAY")

    async def test_writes_what_was_made_into_the_audit_trail(self, app: FastAPI, signed_in: SignIn) -> None:
        await (await signed_in("admin")).post(PATH, json=PIER | {"template": "building"})

        async with app.state.db.reading() as session:
            rows = await session.scalars(sa.select(AuditLog).where(AuditLog.action == "project.create"))
            details = [row.details_json for row in rows]
        assert {one["section"] for one in details} >= {"project", "contracts", "numberFormats"}
        assert {one["template"] for one in details} == {"building"}
        assert details[0]["changes"][0]["before"] is None

    async def test_sent_twice_with_its_key_it_is_made_once(self, app: FastAPI, signed_in: SignIn) -> None:
        admin, key = await signed_in("admin"), {"Idempotency-Key": "pier-1"}
        first, second = [await admin.post(PATH, json=PIER, headers=key) for _ in range(2)]

        assert (first.status_code, second.status_code) == (201, 201)
        assert first.json() == second.json()
        assert second.headers["Idempotent-Replay"] == "true"


async def copied(db: Database, *, with_people: bool) -> None:
    async def work(session: Any) -> None:
        ctx = context(await identity.system_caller(session))
        source = await session.scalar(sa.select(Project.public_id).where(Project.project_code == "BRIDGE"))
        order = NewProjectIn.model_validate(PIER | {"copyOf": source, "withPeople": with_people})
        await setup.new_project(ctx, session, order)

    await db.transact(work)


async def admin_export(db: Database, code: str) -> str:
    async with db.reading() as session:
        return await setup.export(context(caller=await identity.system_caller(session)), session, code=code)


class TestRefusals:
    @pytest.mark.parametrize(
        ("order", "status", "pointer"),
        [
            ({"projectCode": "LCBP3-C2"}, 409, "/projectCode"),
            ({"projectCode": "lcbp3-c2"}, 422, "/projectCode"),
            ({"projectCode": ""}, 422, "/projectCode"),
            ({"projectCode": "x" * 49, "template": "building"}, 422, "/projectCode"),
            ({"projectName": " "}, 422, "/projectName"),
            ({"template": "castle"}, 422, "/template"),
            ({"copyOf": "01930b5e-0000-7000-8000-000000000001"}, 422, "/copyOf"),
            ({"copyOf": "01930b5e-0000-7000-8000-000000000001", "template": "building"}, 422, "/copyOf"),
            ({"role": "BOSS"}, 422, "/role"),
        ],
    )
    async def test_name_the_field_and_leave_nothing_behind(
        self, app: FastAPI, signed_in: SignIn, order: dict[str, str], status: int, pointer: str
    ) -> None:
        before = await how_many(app.state.db)
        answer = await (await signed_in("admin")).post(PATH, json=PIER | order)

        assert (answer.status_code, [one["pointer"] for one in answer.json()["errors"]]) == (status, [pointer])
        assert await how_many(app.state.db) == before

    async def test_a_contract_that_would_have_a_code_of_another_names_it(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        await applied(app.state.db, "project: {code: P, name: a}\ncontracts: [{code: PIER-MC, name: b}]")

        answer = await admin.post(PATH, json=PIER | {"template": "building"})

        assert (answer.status_code, answer.json()["code"]) == (409, "MASTER_CODE_TAKEN")
        assert "PIER-MC" in answer.json()["userMessage"]

    async def test_every_caller_but_a_super_admin_is_refused(
        self, app: FastAPI, signed_in: SignIn, client: httpx.AsyncClient
    ) -> None:
        await add_callers(app.state.db)

        found = await statuses(lambda one: one.post(PATH, json=PIER), signed_in, client)

        assert found == everybody(403, anonymous=401, admin=201)
