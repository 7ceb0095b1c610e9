"""Somebody in two projects under different roles and organizations: one list of tasks, and everything else within one."""

from typing import Any

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.identity import service as identity
from saraban.identity.models import Organization
from tests.conftest import SignIn
from tests.features.web.conftest import Sit
from tests.numbering_requests import read_project
from tests.other_project import add_other_project

PERSON = "dc.contractor"  # controls documents of ผรม.1 and ผรม.2 in the demo project


@pytest_asyncio.fixture
async def other(app: FastAPI) -> dict[str, Any]:
    """A project in which the same person reads for another organization, that of strangers."""
    made = await add_other_project(app.state.db)
    async with app.state.db.reading() as session:
        ctx = await identity.system_context(session, app.state.clock)
        code = await session.scalar(
            sa.select(Organization.organization_code).where(Organization.public_id == made["organization"])
        )
    grant = identity.RoleGrant("Document Control", organization_code=str(code))
    await app.state.db.transact(lambda session: identity.grant_role(ctx, session, PERSON, grant))
    return made


async def write(client: httpx.AsyncClient, project: str, to: str, subject: str, **more: str) -> str:
    letter = {
        "projectPublicId": project,
        "correspondenceTypeCode": "LETTER",
        "recipients": [{"organizationPublicId": to, "recipientType": "TO"}],
        "subject": subject,
    }
    answer = await client.post("/api/v1/correspondences", json=letter | more)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["data"]["publicId"])


@pytest_asyncio.fixture
async def documents(signed_in: SignIn, other: dict[str, Any]) -> dict[str, str]:
    """A document of each project that the person finds."""
    client = await signed_in(PERSON)
    project = await read_project(client)
    consultant = next(iter(await organizations_of(client, str(other["project"]), "คคง.")))
    own, to = project.organizations["ผรม.2"], project.organizations["คคง."]
    there = str(other["organization"])
    return {
        "demo": project.id,
        "other": str(other["project"]),
        "here": await write(client, project.id, to, "เรื่องของโครงการแรก", originatorOrganizationPublicId=own),
        "there": await write(
            client, str(other["project"]), consultant, "เรื่องของอีกโครงการ", originatorOrganizationPublicId=there
        ),
    }


async def organizations_of(client: httpx.AsyncClient, project: str, code: str) -> list[str]:
    answer = (await client.get(f"/api/v1/projects/{project}")).json()
    return [one["publicId"] for one in answer["organizations"] if one["organizationCode"] == code]


class TestRegister:
    async def test_shows_one_project_and_the_other_after_the_switch(self, sit: Sit, documents: dict[str, str]) -> None:
        browser = await sit(PERSON)
        first = (await browser.get("/correspondences")).text
        await browser.post("/project", data={"project": documents["other"], "next": "/correspondences"})
        second = (await browser.get("/correspondences")).text
        fragment = (await browser.get("/correspondences", headers={"HX-Request": "true"})).text

        assert ("เรื่องของโครงการแรก" in first, "เรื่องของอีกโครงการ" in first) == (True, False)
        assert ("เรื่องของโครงการแรก" in second, "เรื่องของอีกโครงการ" in second) == (False, True)
        assert ("เรื่องของโครงการแรก" in fragment, "เรื่องของอีกโครงการ" in fragment) == (False, True)
        assert "ทุกโครงการ" not in first

    async def test_of_fragments_is_within_the_project_of_its_page(self, sit: Sit, documents: dict[str, str]) -> None:
        """Nothing was ever chosen: the page says in which project it is, and what follows it stays there."""
        browser = await sit(PERSON)
        await browser.get("/correspondences")

        rows = (await browser.get("/correspondences?q=เรื่อง", headers={"HX-Request": "true"})).text

        assert ("เรื่องของโครงการแรก" in rows, "เรื่องของอีกโครงการ" in rows) == (True, False)

    async def test_offers_organizations_of_that_project_alone(self, sit: Sit, documents: dict[str, str]) -> None:
        browser = await sit(PERSON)
        await browser.get("/correspondences")
        here = (await browser.get("/correspondences/filters", headers={"HX-Request": "true"})).text
        await browser.post("/project", data={"project": documents["other"]})
        there = (await browser.get("/correspondences/filters", headers={"HX-Request": "true"})).text

        assert ("สคฉ.3" in here, "องค์กรอื่น" in here) == (True, False)
        assert ("สคฉ.3" in there, "องค์กรอื่น" in there) == (False, True)

    async def test_a_project_in_the_address_is_the_one_that_is_shown(self, sit: Sit, documents: dict[str, str]) -> None:
        browser = await sit(PERSON)

        page = (await browser.get(f"/correspondences?project={documents['other']}")).text

        assert "เรื่องของอีกโครงการ" in page
        assert f'<option value="{documents["other"]}" selected>' in page


class TestDocument:
    async def test_of_another_project_opens_and_the_top_bar_says_which(
        self, sit: Sit, documents: dict[str, str]
    ) -> None:
        browser = await sit(PERSON)
        await browser.post("/project", data={"project": documents["demo"]})

        page = await browser.get(f"/correspondences/{documents['there']}")

        assert page.status_code == 200
        assert f'<option value="{documents["other"]}" selected>' in page.text
        assert "เรื่องของอีกโครงการ" in (await browser.get("/correspondences")).text

    async def test_new_ones_begin_with_the_codes_of_the_project_that_is_shown(
        self, sit: Sit, documents: dict[str, str]
    ) -> None:
        browser = await sit(PERSON)
        await browser.post("/project", data={"project": documents["other"]})

        form = (await browser.get("/correspondences/new")).text

        assert ("OTHER-1" in form, "XYZ" in form) == (True, True)
        assert "ผรม.2" not in form

    async def test_is_picked_as_a_reference_from_its_own_project(self, sit: Sit, documents: dict[str, str]) -> None:
        browser = await sit(PERSON)

        found = (await browser.get(f"/find?find=เรื่อง&projectPublicId={documents['other']}")).text

        assert (documents["there"] in found, documents["here"] in found) == (True, False)


class TestSetUp:
    @pytest.mark.parametrize("page", ["setup", "setup/members", "file"])
    async def test_of_a_project_is_within_it_and_stays_there(
        self, sit: Sit, documents: dict[str, str], page: str
    ) -> None:
        browser = await sit("admin")
        await browser.post("/project", data={"project": documents["demo"]})

        shown = await browser.get(f"/projects/{documents['other']}/{page}")
        menu = await browser.get("/project-setup")

        assert f'<option value="{documents["other"]}" selected>' in shown.text
        assert menu.headers["Location"] == f"/projects/{documents['other']}/setup"


class TestTasks:
    async def test_are_one_list_over_all_projects(self, sit: Sit, signed_in: SignIn, documents: dict[str, str]) -> None:
        writer, browser = await signed_in(PERSON), await sit("dc.consultant")
        for name in ("here", "there"):
            document = (await writer.get(f"/api/v1/correspondences/{documents[name]}")).json()
            steps = f"/api/v1/workflow/instances/{document['workflow']['instancePublicId']}/transitions"
            assert (await writer.post(steps, json={"action": "submit"})).status_code == 200
        pages = []
        for project in ("demo", "other"):
            await browser.post("/project", data={"project": documents[project]})
            pages.append((await browser.get("/inbox")).text)

        for page in pages:
            assert documents["here"] in page
            assert documents["there"] in page


class TestChoice:
    async def test_is_remembered_on_another_device(self, sit: Sit, documents: dict[str, str]) -> None:
        await (await sit(PERSON)).post("/project", data={"project": documents["other"]})

        page = (await (await sit(PERSON)).get("/correspondences")).text

        assert "เรื่องของอีกโครงการ" in page

    async def test_of_a_project_that_is_not_ones_own_is_not_there(self, sit: Sit, documents: dict[str, str]) -> None:
        browser = await sit("viewer")

        refused = await browser.post("/project", data={"project": documents["other"]})
        browser.cookies.set("project", documents["other"])
        page = (await browser.get("/correspondences")).text

        assert refused.status_code == 404
        assert "เรื่องของอีกโครงการ" not in page
