"""`POST /api/v1/projects/apply`."""

from typing import Any

import httpx

from saraban.kit.ids import new_id
from tests.conftest import SignIn
from tests.factories.projects import FULL

PATH = "/api/v1/projects/apply"
YAML = {"Content-Type": "application/yaml; charset=utf-8"}


async def sent(client: httpx.AsyncClient, text: str, **query: Any) -> httpx.Response:
    return await client.post(PATH, content=text.encode(), headers=YAML, params=query)


async def test_answers_what_it_changed_and_a_second_time_nothing(signed_in: SignIn) -> None:
    admin = await signed_in("admin")
    dry = await sent(admin, FULL, dryRun="true")
    first = await sent(admin, FULL)
    second = await sent(admin, FULL)

    assert (dry.status_code, first.status_code, second.status_code) == (200, 200, 200)
    assert (dry.json()["applied"], first.json()["applied"]) == (False, True)
    assert dry.json()["changes"] == first.json()["changes"]
    assert {
        "path": "/members/ทช.",
        "change": "add",
        "before": None,
        "after": {"organization": "ทช.", "role": "OWNER"},
    } in first.json()["changes"]
    assert second.json() == {"changes": [], "applied": True}


async def test_names_line_and_place_of_a_fault(signed_in: SignIn) -> None:
    answer = await sent(
        await signed_in("admin"), "project: {code: P, name: a}\nmembers:\n- {organization: X, role: BOSS}"
    )

    assert answer.status_code == 422
    assert [(one["pointer"], one["detail"][:7]) for one in answer.json()["errors"]] == [("/members/0/role", "Line 3:")]


async def test_a_difference_of_what_is_shared_is_a_conflict(signed_in: SignIn) -> None:
    admin = await signed_in("admin")
    text = "organizations: [{code: กทท., name: อื่น}]\nproject: {code: P, name: a}"
    refused, dry = await sent(admin, text), await sent(admin, text, dryRun="true")
    changed = await sent(admin, text, updateShared="true")

    assert (refused.status_code, refused.json()["code"]) == (409, "PROJECT_FILE_CONFLICT")
    assert [one["change"] for one in dry.json()["changes"]] == ["conflict", "add"]
    assert changed.json()["changes"][0]["change"] == "change"


async def test_takes_yaml_from_super_admins_alone(signed_in: SignIn, client: httpx.AsyncClient) -> None:
    admin, other = await signed_in("admin"), await signed_in("padmin")

    assert (await admin.post(PATH, json={"project": {}})).status_code == 415
    assert (await admin.post(PATH, content=b"x")).status_code == 415
    assert (await sent(admin, "#" * 1_000_001)).status_code == 413
    assert (await sent(other, FULL)).status_code == 403
    assert (await sent(client, FULL)).status_code == 401


async def test_gives_the_file_of_a_project_to_whom_manages_it(signed_in: SignIn) -> None:
    admin = await signed_in("admin")
    project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
    address = f"/api/v1/projects/{project}/file"
    given = await admin.get(address)

    assert (given.status_code, given.headers["Content-Type"]) == (200, "application/yaml; charset=utf-8")
    assert (await sent(admin, given.text)).json() == {"changes": [], "applied": True}
    assert (await (await signed_in("viewer")).get(address)).status_code == 403
    assert (await admin.get(f"/api/v1/projects/{new_id()}/file")).status_code == 404


async def test_gives_no_people_to_whom_may_not_see_their_accounts(signed_in: SignIn) -> None:
    admin, manager = await signed_in("admin"), await signed_in("padmin")
    project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
    address = f"/api/v1/projects/{project}/file"

    whole, given = (await admin.get(address)).text, (await manager.get(address)).text

    assert "@" in whole
    assert "@" not in given
    assert "people:" not in given
    # What is left says nothing of them: applied again, it takes no role from anybody.
    assert (await sent(admin, given)).json() == {"changes": [], "applied": True}


async def test_shows_a_contract_with_its_parties(signed_in: SignIn) -> None:
    admin = await signed_in("admin")
    project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
    listed = (await admin.get(f"/api/v1/projects/{project}/contracts")).json()["items"][0]
    address = f"/api/v1/contracts/{listed['publicId']}"

    found = await admin.get(address)
    parties = (await admin.get(f"{address}/organizations")).json()

    assert found.json() == {**listed, "description": None, "organizations": parties["items"]}
    assert {one["role"] for one in parties["items"]} >= {"OWNER", "CONTRACTOR"}
    assert sorted(parties["items"], key=str) == sorted(listed["organizations"], key=str)
    renamed = await admin.patch(address, json={"contractName": "สัญญา"}, headers={"If-Match": found.headers["ETag"]})
    assert renamed.status_code == 200
