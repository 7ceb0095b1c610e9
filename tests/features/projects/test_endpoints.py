"""Who sees which project, and what its lists offer to forms."""

from typing import Any

import httpx
import pytest

from saraban.projects.models import Project
from tests.conftest import SignIn

PEOPLE = [
    "admin",
    "padmin",
    "dc.contractor",
    "dc.consultant",
    "reviewer.consultant",
    "approver.owner",
    "viewer",
    "svc.loadtest",
]
LISTS = ["organizations", "contracts", "disciplines", "rfa-types", "sub-types"]


async def the_project(client: httpx.AsyncClient) -> str:
    (project,) = (await client.get("/api/v1/projects")).json()["items"]
    return f"/api/v1/projects/{project['publicId']}"


async def add_projects(app: Any) -> dict[str, str]:
    """A project nobody takes part in, and a sandbox."""
    async with app.state.db.writing() as session:
        rows = [
            Project(project_code="CLOSED-SHOP", project_name="โครงการของผู้อื่น", created_at=app.state.clock.now()),
            Project(project_code="SANDBOX", project_name="ลองเล่น", is_sandbox=True, created_at=app.state.clock.now()),
        ]
        session.add_all(rows)
        await session.flush()
        return {row.project_code: f"/api/v1/projects/{row.public_id}" for row in rows}


class TestProjects:
    @pytest.mark.parametrize("username", PEOPLE)
    async def test_are_shown_to_those_who_take_part(self, app: Any, signed_in: SignIn, username: str) -> None:
        others = await add_projects(app)
        client = await signed_in(username)
        codes = {one["projectCode"] for one in (await client.get("/api/v1/projects")).json()["items"]}
        statuses = {code: (await client.get(path)).status_code for code, path in others.items()}

        if username == "admin":
            assert codes == {"LCBP3-C2", "CLOSED-SHOP", "SANDBOX"}
            assert set(statuses.values()) == {200}
        else:
            assert codes == {"LCBP3-C2"}
            assert set(statuses.values()) == {404}

    async def test_carry_their_code_and_names(self, signed_in: SignIn) -> None:
        (project,) = (await (await signed_in("viewer")).get("/api/v1/projects")).json()["items"]

        assert set(project) == {"publicId", "projectCode", "projectName", "projectNameEn", "isActive"}

    async def test_are_found_by_words_and_paged(self, app: Any, signed_in: SignIn) -> None:
        await add_projects(app)
        admin = await signed_in("admin")
        found = (await admin.get("/api/v1/projects", params={"search": "sand"})).json()["items"]
        first = (await admin.get("/api/v1/projects", params={"limit": 2})).json()
        second = (await admin.get("/api/v1/projects", params={"limit": 2, "cursor": first["nextCursor"]})).json()

        assert [one["projectCode"] for one in found] == ["SANDBOX"]
        assert len({one["projectCode"] for one in first["items"] + second["items"]}) == 3
        assert second["nextCursor"] is None

    async def test_show_their_parties_and_contracts(self, signed_in: SignIn) -> None:
        viewer = await signed_in("viewer")
        project = (await viewer.get(await the_project(viewer))).json()

        assert [one["organizationCode"] for one in project["organizations"]] == [
            "กทท.",
            "สคฉ.3",
            "คคง.",
            "ผรม.1",
            "ผรม.2",
        ]
        assert {
            one["contractCode"]: [(party["organizationCode"], party["role"]) for party in one["organizations"]][-1]
            for one in project["contracts"]
        } == {"LCBP3-C2": ("ผรม.2", "CONTRACTOR"), "LCBP3-C2-M": ("ผรม.1", "CONTRACTOR")}

    async def test_are_for_people_who_are_signed_in(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/v1/projects")).status_code == 401
        assert (await client.get("/api/v1/correspondence-types")).status_code == 401


class TestLists:
    @pytest.mark.parametrize("name", LISTS)
    async def test_of_a_project_one_may_not_see_are_not_there(self, app: Any, signed_in: SignIn, name: str) -> None:
        others = await add_projects(app)

        answer = await (await signed_in("viewer")).get(f"{others['CLOSED-SHOP']}/{name}")

        assert answer.status_code == 404

    @pytest.mark.parametrize("name", LISTS)
    async def test_come_whole(self, signed_in: SignIn, name: str) -> None:
        viewer = await signed_in("viewer")
        answer = (await viewer.get(f"{await the_project(viewer)}/{name}")).json()

        assert answer["items"]
        assert answer["nextCursor"] is None

    async def test_of_codes_can_be_limited_to_a_contract(self, signed_in: SignIn) -> None:
        viewer = await signed_in("viewer")
        path = await the_project(viewer)
        contracts = (await viewer.get(f"{path}/contracts")).json()["items"]
        marine = next(one["publicId"] for one in contracts if one["contractCode"] == "LCBP3-C2-M")
        params = {"contractPublicId": marine}

        disciplines = (await viewer.get(f"{path}/disciplines", params=params)).json()["items"]
        rfa_types = (await viewer.get(f"{path}/rfa-types", params=params)).json()["items"]

        assert [one["code"] for one in disciplines] == ["STR", "GEO", "NAV", "DVR"]  # as the file has them
        assert [one["code"] for one in rfa_types] == ["SDW", "MST", "BM"]
        assert all(one["nameTh"] and one["nameEn"] for one in disciplines + rfa_types)

    async def test_of_sub_types_say_what_they_print(self, signed_in: SignIn) -> None:
        viewer = await signed_in("viewer")
        path = await the_project(viewer)
        answer = await viewer.get(f"{path}/sub-types", params={"typeCode": "TRANSMITTAL"})

        assert {one["code"]: one["number"] for one in answer.json()["items"]} == {
            "MAT": "11",
            "SHP": "12",
            "DWG": "13",
            "GEN": "21",
        }

    async def test_of_document_types_speak_both_languages(self, signed_in: SignIn) -> None:
        items = (await (await signed_in("viewer")).get("/api/v1/correspondence-types")).json()["items"]

        assert {"nameTh": "หนังสือ", "nameEn": "Letter"}.items() <= items[0].items()
        assert {one["code"] for one in items} >= {"RFA", "RFI", "TRANSMITTAL", "CIRCULATION", "DRAWING", "MOM"}

    @pytest.mark.parametrize("name", LISTS)
    async def test_show_no_integer_key(self, signed_in: SignIn, name: str) -> None:
        viewer = await signed_in("viewer")
        answer = (await viewer.get(f"{await the_project(viewer)}/{name}")).json()

        assert not [key for key in _keys(answer) if key == "id" or (key.endswith("Id") and not key.endswith("ublicId"))]
        assert not [value for value in _values(answer) if isinstance(value, int) and not isinstance(value, bool)]


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return [key for inner in value for key in _keys(inner)] if isinstance(value, list) else []


def _values(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if inner is None else [leaf for one in inner for leaf in _values(one)]
