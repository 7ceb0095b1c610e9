"""
Somebody who writes documents of one organization in one project, and reviews those of another organization in another.

Each project gives exactly what the role there gives: in lists, forms, numbers, tasks, actions and writes.
"""

from typing import Any

import httpx
import pytest_asyncio
from fastapi import FastAPI

from saraban.identity import service as identity
from saraban.identity.service import NewAccount, RoleGrant
from tests.conftest import SignIn
from tests.factories.contexts import context
from tests.numbering_requests import BASE, read_project
from tests.other_project import add_other_project

API = "/api/v1"
HTML = {"Accept": "text/html", "Accept-Language": "en"}
PERSON = "two.hats"
REVIEWS = ["document.view", "workflow.action_review"]


class TwoHats:
    """A draft of the person's in the demo project, and a request in the other that waits for the person."""

    def __init__(self, person: httpx.AsyncClient) -> None:
        self.person = person
        self.orders: dict[str, dict[str, Any]] = {}
        self.documents: dict[str, dict[str, Any]] = {}

    async def workflow(self, place: str) -> dict[str, Any]:
        answer = await self.person.get(f"{API}/rfas/{self.documents[place]['data']['publicId']}")
        return answer.json()["workflow"]  # type: ignore[no-any-return]

    async def step(self, place: str, action: str) -> httpx.Response:
        instance = self.documents[place]["workflow"]["instancePublicId"]
        return await self.person.post(f"{API}/workflow/instances/{instance}/transitions", json={"action": action})

    async def numbers_of(self, **search: str) -> set[str]:
        items = (await self.person.get(f"{API}/rfas", params=search)).json()["items"]
        return {str(one["data"]["documentNumber"]) for one in items}


def order(project: str, contract: str, sender: str, reader: str, discipline: str) -> dict[str, Any]:
    return {
        "projectPublicId": project,
        "contractPublicId": contract,
        "originatorOrganizationPublicId": sender,
        "recipients": [{"organizationPublicId": reader, "recipientType": "TO"}],
        "rfaTypeCode": "SDW",
        "disciplineCode": discipline,
        "subject": "ขออนุมัติแบบ",
    }


@pytest_asyncio.fixture
async def hats(app: FastAPI, signed_in: SignIn) -> TwoHats:
    there = {name: str(one) for name, one in (await add_other_project(app.state.db)).items()}
    admin = await signed_in("admin")
    role = {"name": "ผู้ตรวจ", "level": "Organization", "permissions": REVIEWS}
    assert (await admin.post(f"{API}/roles", json=role)).status_code == 201
    async with app.state.db.writing() as session:
        ctx = context(caller=await identity.system_caller(session))
        account = NewAccount(PERSON, "two.hats@example.org", organization_code="ผรม.2")
        await identity.create_user(ctx, session, account, password="Correct-Horse-7")
        await identity.grant_role(ctx, session, PERSON, RoleGrant("Document Control", organization_code="ผรม.2"))
        await identity.grant_role(ctx, session, PERSON, RoleGrant("ผู้ตรวจ", organization_code="อื่น"))
    here = await read_project(admin)
    contract = f"{API}/contracts/{there['contract']}"
    consultant = here.organizations["คคง."]
    for made in (
        await admin.put(f"{API}/projects/{there['project']}/organizations/{consultant}", json={"role": "CONTRACTOR"}),
        await admin.put(
            f"{API}/projects/{there['project']}/organizations/{there['organization']}", json={"role": "CONSULTANT"}
        ),
        await admin.put(f"{contract}/organizations/{consultant}", json={"role": "CONTRACTOR"}),
        await admin.put(f"{contract}/organizations/{there['organization']}", json={"role": "CONSULTANT"}),
        await admin.post(f"{contract}/rfa-types", json={"code": "SDW", "nameTh": "แบบขยาย", "nameEn": "Shop drawing"}),
    ):
        assert made.status_code in {200, 201}, made.text
    found = TwoHats(await signed_in(PERSON))
    found.orders = {
        "here": order(here.id, here.contracts["LCBP3-C2"], here.organizations["ผรม.2"], consultant, "STR"),
        "there": order(there["project"], there["contract"], consultant, there["organization"], "XYZ"),
    }
    sender = await signed_in("dc.consultant")
    for place, writer in (("here", found.person), ("there", sender)):
        answer = await writer.post(f"{API}/rfas", json=found.orders[place])
        assert answer.status_code == 201, answer.text
        found.documents[place] = answer.json()
    instance = found.documents["there"]["workflow"]["instancePublicId"]
    sent = await sender.post(f"{API}/workflow/instances/{instance}/transitions", json={"action": "submit"})
    assert sent.status_code == 200, sent.text
    return found


async def test_registers_show_the_documents_of_each_organization(hats: TwoHats) -> None:
    numbers = {place: one["data"]["documentNumber"] for place, one in hats.documents.items()}
    projects = {place: one["projectPublicId"] for place, one in hats.orders.items()}

    assert await hats.numbers_of() == set(numbers.values())
    for place, project in projects.items():
        assert await hats.numbers_of(projectPublicId=project) == {numbers[place]}
        page = await hats.person.get("/rfas", params={"project": project}, headers=HTML)
        assert [number in page.text for number in numbers.values()] == [name == place for name in numbers]


async def test_numbers_are_seen_where_the_role_sees_them(hats: TwoHats, signed_in: SignIn) -> None:
    asked = {place: {"projectPublicId": one["projectPublicId"]} for place, one in hats.orders.items()}

    answers = {place: await hats.person.get(f"{BASE}/series", params=one) for place, one in asked.items()}
    every = await (await signed_in("admin")).get(f"{BASE}/series", params=asked["there"])

    # Those of the organization whose documents the person controls, which takes no part in the other project.
    assert {place: answer.status_code for place, answer in answers.items()} == {"here": 200, "there": 403}
    assert len(answers["here"].json()["items"]) == 1
    assert len(every.json()["items"]) == 1


async def test_actions_and_tasks_are_those_of_the_role_there(hats: TwoHats) -> None:
    offered = {place: (await hats.workflow(place))["availableActions"] for place in hats.documents}
    tasks = (await hats.person.get(f"{API}/inbox")).json()["items"]

    assert offered == {"here": ["submit"], "there": ["approve", "reject", "request-revision"]}
    assert hats.documents["there"]["data"]["publicId"] in str(tasks)
    assert (await hats.step("here", "submit")).status_code == 200
    assert (await hats.workflow("here"))["availableActions"] == []
    assert (await hats.step("here", "approve")).status_code in {403, 409}
    assert (await hats.step("there", "approve")).status_code == 200


async def test_writes_are_those_of_the_role_there(hats: TwoHats) -> None:
    own = hats.orders["here"]["originatorOrganizationPublicId"]
    reviewed = hats.orders["there"]["recipients"][0]["organizationPublicId"]
    tried = {
        "here": hats.orders["here"],
        "there for the sender": hats.orders["there"],
        "there for the reviewer": hats.orders["there"]
        | {
            "originatorOrganizationPublicId": reviewed,
            "recipients": [
                {"organizationPublicId": hats.orders["there"]["originatorOrganizationPublicId"], "recipientType": "TO"}
            ],
        },
        "there for the person's own": hats.orders["there"] | {"originatorOrganizationPublicId": own},
        "here for the reviewer": hats.orders["here"] | {"originatorOrganizationPublicId": reviewed},
    }

    found = {}
    for what, body in tried.items():
        found[what] = (await hats.person.post(f"{API}/rfas", json=body)).status_code

    assert found.pop("here") == 201
    assert set(found.values()) <= {403, 422}, found


async def test_forms_offer_what_may_be_written_there(hats: TwoHats) -> None:
    own = hats.orders["here"]["originatorOrganizationPublicId"]
    pages = {}
    for place, one in hats.orders.items():
        answer = await hats.person.get("/rfas/new", params={"projectPublicId": one["projectPublicId"]}, headers=HTML)
        pages[place] = answer.text

    assert (own in pages["here"], own in pages["there"]) == (True, False)
    assert ("OTHER-1" in pages["here"], "OTHER-1" in pages["there"]) == (False, True)
