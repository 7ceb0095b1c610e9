"""What documents carry is called as it is called today, and what was closed stays on them and leaves the forms."""

from typing import Any

import httpx
import pytest_asyncio
from fastapi import FastAPI

from tests.conftest import SignIn
from tests.numbering_requests import read_project

API = "/api/v1"
HTML = {"Accept": "text/html", "Accept-Language": "en"}
NAMES = {"nameTh": "ชื่อใหม่ที่ตั้ง", "nameEn": "Called anew"}


class Papers:
    """A letter, a request with an answer, a transmittal and a circulation, each with all that documents are classified by."""

    def __init__(self, writer: httpx.AsyncClient, admin: httpx.AsyncClient) -> None:
        self.writer, self.admin = writer, admin
        self.places: dict[str, str] = {}
        self.papers: dict[str, str] = {}

    async def write(self, reviewer: httpx.AsyncClient) -> None:
        known = await read_project(self.writer)
        detail = (await self.admin.get(f"{API}/projects/{known.id}")).json()
        contract = next(one["publicId"] for one in detail["contracts"] if one["contractCode"] == "LCBP3-C2")
        self.places = {"project": known.id, "contract": contract, "organization": known.organizations["คคง."]}
        recipients = [{"organizationPublicId": known.organizations["คคง."], "recipientType": "TO"}]
        head = {"projectPublicId": known.id, "contractPublicId": contract, "subject": "เรื่อง", "recipients": recipients}
        head["originatorOrganizationPublicId"] = known.organizations["ผรม.2"]
        await self.make("correspondences", head | {"correspondenceTypeCode": "LETTER", "disciplineCode": "STR"})
        made = await self.make("rfas", head | {"rfaTypeCode": "SDW", "disciplineCode": "STR"})
        steps = f"{API}/workflow/instances/{made['workflow']['instancePublicId']}/transitions"
        assert (await self.writer.post(steps, json={"action": "submit"})).status_code == 200
        items = [{"documentPublicId": self.papers["rfas"]}]
        await self.make("transmittals", head | {"subTypeCode": "GEN", "items": items})
        answered = await reviewer.post(steps, json={"action": "approve", "responseCode": "1C"})
        assert answered.status_code == 200, answered.text
        who = (await reviewer.get(f"{API}/auth/me")).json()["publicId"]
        sheet = {"projectPublicId": known.id, "subject": "เวียน", "assignees": [{"userPublicId": who, "kind": "MAIN"}]}
        self.writer, own = reviewer, self.writer
        await self.make("circulations", sheet)
        self.writer = own

    async def make(self, register: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self.writer.post(f"{API}/{register}", json=body)
        assert answer.status_code == 201, answer.text
        self.papers[register] = answer.json()["data"]["publicId"]
        return answer.json()  # type: ignore[no-any-return]

    async def data(self, register: str) -> dict[str, Any]:
        answer = await self.admin.get(f"{API}/{register}/{self.papers[register]}")
        return answer.json()["data"]  # type: ignore[no-any-return]

    async def page(self, path: str) -> str:
        return (await self.writer.get(path.format(**self.papers, **self.places), headers=HTML)).text


@pytest_asyncio.fixture
async def papers(app: FastAPI, signed_in: SignIn) -> Papers:
    made = Papers(await signed_in("dc.contractor"), await signed_in("admin"))
    await made.write(await signed_in("reviewer.consultant"))
    return made


# The address of each, the register of a document that carries it, and the field.
CODED = {
    "/contracts/{contract}/disciplines/STR": ("rfas", "discipline"),
    "/contracts/{contract}/rfa-types/SDW": ("rfas", "rfaType"),
    "/contracts/{contract}/sub-types/GEN?typeCode=TRANSMITTAL": ("transmittals", "subType"),
    "/correspondence-statuses/DRAFT": ("correspondences", "status"),
    "/rfa-statuses/FAP": ("rfas", "status"),
    "/rfa-approve-codes/1C": ("rfas", "approveCode"),
    "/circulation-statuses/OPEN": ("circulations", "status"),
}
# Those with names of their own, and where documents say them.
NAMED = {
    "/organizations/{organization}": ("organizationName", lambda data: data["recipients"][0]),
    "/contracts/{contract}": ("contractName", lambda data: data["contract"]),
    "/projects/{project}": ("projectName", lambda data: data["project"]),
}
# What can be closed, the page of a form that offers it, and how the form does.
OFFERED = {
    "/contracts/{contract}/disciplines/STR": ("rfas", "/rfas/new?projectPublicId={project}", 'value="STR"'),
    "/contracts/{contract}/rfa-types/SDW": ("rfas", "/rfas/new?projectPublicId={project}", 'value="SDW"'),
    "/contracts/{contract}/sub-types/GEN": (
        "transmittals",
        "/transmittals/new?projectPublicId={project}",
        'value="GEN"',
    ),
    "/organizations/{organization}": ("correspondences", "/correspondences/new?projectPublicId={project}", "คคง."),
    "/contracts/{contract}": ("rfas", "/rfas/new?projectPublicId={project}", '{contract}"'),
}


async def test_a_name_that_changes_changes_on_old_documents(papers: Papers) -> None:
    shown = {}
    for address, (register, field) in CODED.items():
        changed = await papers.admin.patch(API + address.format(**papers.places), json=NAMES)
        assert changed.status_code == 200, changed.text
        shown[address] = (await papers.data(register))[field]
    for address, (name, where) in NAMED.items():
        changed = await papers.admin.patch(API + address.format(**papers.places), json={name: "ชื่อใหม่ที่ตั้ง"})
        assert changed.status_code == 200, changed.text
        shown[address] = {"nameTh": where(await papers.data("rfas"))[name]}

    assert {address: row["nameTh"] for address, row in shown.items()} == dict.fromkeys(shown, "ชื่อใหม่ที่ตั้ง")
    assert {shown[address]["name"] for address in CODED} == {"Called anew"}


async def test_the_name_of_a_document_type_changes_on_pages_and_in_registers(papers: Papers) -> None:
    await papers.admin.patch(f"{API}/correspondence-types/LETTER", json=NAMES)
    await papers.admin.patch(f"{API}/contracts/{papers.places['contract']}/disciplines/STR", json=NAMES)

    page, register = await papers.page("/correspondences/{correspondences}"), await papers.page("/correspondences")

    assert page.count("Called anew") >= 2
    assert "Called anew" in register


async def test_what_was_closed_stays_on_old_documents_and_leaves_the_forms(papers: Papers) -> None:
    for address, (register, form, offer) in OFFERED.items():
        offered = offer.format(**papers.places)
        before = await papers.data(register)
        assert offered in await papers.page(form), address

        of_type = {"typeCode": "TRANSMITTAL"} if "sub-types" in address else {}
        closed = await papers.admin.post(f"{API}{address.format(**papers.places)}/close", params=of_type)

        assert closed.status_code == 200, closed.text
        assert await papers.data(register) == before
        assert before["documentNumber"] in await papers.page(f"/{register}/{{{register}}}")
        assert offered not in await papers.page(form), address
