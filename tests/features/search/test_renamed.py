"""Whichever way an organization or a person gets another name, their documents are found by it."""

from collections.abc import Awaitable, Callable

import httpx
import pytest
from fastapi import FastAPI

from saraban.kit.http import MEDIA
from saraban.search.service.indexing import compare
from tests.features.documents.conftest import Desk
from tests.features.search.conftest import indexed
from tests.readable_files import xlsx

API = "/api/v1"
NAME = "นามใหม่ฮฬ"
FILE = """\
organizations: [{{code: ผรม.2, name: {organization}}}]
project: {{code: ใหม่, name: โครงการใหม่}}
members: [{{organization: ผรม.2, role: CONTRACTOR}}]
people:
- username: dc.contractor
  email: dc.contractor@saraban.invalid
  firstName: {person}
  lastName: ผู้รับเหมา
  organization: ผรม.2
  roles: [{{role: Document Control, level: Organization, place: ผรม.2}}]
"""


async def changed(admin: httpx.AsyncClient, desk: Desk) -> httpx.Response:
    return await admin.patch(f"{API}/organizations/{desk.organizations['ผรม.2']}", json={"organizationName": NAME})


async def imported(admin: httpx.AsyncClient, _desk: Desk) -> httpx.Response:
    sheet = xlsx([["organizationCode", "organizationName"], ["ผรม.2", NAME]])
    return await admin.post(f"{API}/organizations/import", content=sheet, headers={"Content-Type": MEDIA["xlsx"]})


async def changed_person(admin: httpx.AsyncClient, _desk: Desk) -> httpx.Response:
    people = (await admin.get(f"{API}/users", params={"search": "dc.contractor"})).json()["items"]
    return await admin.patch(f"{API}/users/{people[0]['publicId']}", json={"firstName": NAME})


async def by_file(admin: httpx.AsyncClient, *, organization: str = "เดิม", person: str = "เดิม") -> httpx.Response:
    content = FILE.format(organization=organization, person=person).encode()
    headers = {"Content-Type": "application/yaml"}
    return await admin.post(f"{API}/projects/apply", content=content, headers=headers, params={"updateShared": True})


WAYS: dict[str, Callable[[httpx.AsyncClient, Desk], Awaitable[httpx.Response]]] = {
    "an organization is changed": changed,
    "organizations are imported": imported,
    "a project file names an organization": lambda admin, _desk: by_file(admin, organization=NAME),
    "a person is changed": changed_person,
    "a project file names a person": lambda admin, _desk: by_file(admin, person=NAME),
}


@pytest.mark.parametrize("way", WAYS)
async def test_what_bears_another_name_is_found_by_it(app: FastAPI, desk: Desk, way: str) -> None:
    letter = await desk.write("dc.contractor", "correspondences", desk.letter())
    await indexed(app)
    admin = await desk.as_("admin")

    answer = await WAYS[way](admin, desk)
    assert answer.status_code == httpx.codes.OK, answer.text
    await indexed(app)

    found = await admin.get(f"{API}/search", params={"q": NAME})
    assert [one["documentNumber"] for one in found.json()["items"]] == [letter["documentNumber"]]
    assert [one async for one in compare(app.state.db)] == []
