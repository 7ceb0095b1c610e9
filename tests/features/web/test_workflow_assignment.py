"""Choosing in the browser on which workflow documents start, and what the workflows' own pages say of it."""

import json
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.projects.models import Project
from saraban.web.workflows.editor import STARTER
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of
from tests.other_project import add_other_project


async def publish(browser: httpx.AsyncClient, **parts: Any) -> None:
    raw = STARTER | {"workflow": "SITE_MEMO"} | parts
    answer = await browser.post("/workflows/new", data={"text": json.dumps(raw), "activate": "1"})
    assert answer.status_code == httpx.codes.SEE_OTHER, answer.text


@pytest.fixture
async def project(app: FastAPI) -> str:
    async with app.state.db.reading() as session:
        return str(await session.scalar(sa.select(Project.public_id).where(Project.project_code == "LCBP3-C2")))


class TestPage:
    async def test_has_a_project_manager_choose_and_take_back(self, sit: Sit, project: str) -> None:
        await publish(await sit("admin", "en"))
        browser = await sit("padmin", "en")
        form = {"project": project, "kind": "correspondence", "typeCode": "MEMO", "workflowCode": "SITE_MEMO"}

        before = html_of(await browser.get(f"/workflows/choices?project={project}"))
        made = await browser.post("/workflows/choices", data=form)
        chosen = html_of(await browser.get(made.headers["location"]))
        mine = chosen[chosen.index("Correspondence: Memorandum") :].split("</tr>")[0]
        gone = await browser.post("/workflows/choices/remove", data=form)
        after = html_of(await browser.get(gone.headers["location"]))

        assert "Correspondence: Memorandum" not in before
        assert '<option value="SITE_MEMO">' in before
        assert "Workflow assigned" in chosen
        assert "SITE_MEMO" in mine
        assert "LCBP3-C2" in mine
        assert "Remove" in mine
        assert "Correspondence: Memorandum" not in after.split("<form")[-3]
        assert "Assignment removed." in after

    @pytest.mark.parametrize(
        ("language", "words"),
        [
            ("th", ("กำหนดกระบวนงานให้เอกสาร", "มาตรฐานของระบบ")),
            ("en", ("Workflow assignment", "Standard workflow")),
        ],
    )
    async def test_says_what_counts_in_both_languages(self, sit: Sit, language: str, words: tuple[str, str]) -> None:
        page = html_of(await (await sit("admin", language)).get("/workflows/choices?project=all&kind=rfa"))

        assert all(word in page for word in words)
        assert page.count("<tr>") == 6
        assert '<a href="/workflows/RFA_APPROVAL/v1">' in page
        assert '<option value="RPT">' in page

    async def test_offers_only_what_the_documents_can_run_on_and_names_what_is_wrong(
        self, sit: Sit, project: str
    ) -> None:
        browser = await sit("admin", "en")
        await publish(browser)
        page = html_of(await browser.get("/workflows/choices?project=all&kind=circulation"))
        form = {"project": project, "kind": "circulation", "workflowCode": "SITE_MEMO"}
        refused = await browser.post("/workflows/choices", data=form)

        assert '<option value="SITE_MEMO">' not in page
        assert refused.status_code == 422
        assert "Circulations" in html_of(refused).split('id="e-workflowCode"')[1].split("</div>")[0]

    async def test_is_not_there_for_who_may_not_read_workflows_nor_chosen_by_who_manages_nothing(
        self, sit: Sit, project: str
    ) -> None:
        clerk, manager = await sit("dc.contractor"), await sit("padmin", "en")
        form = {"kind": "rfa", "workflowCode": "RFA_APPROVAL"}

        answers = [
            await clerk.get("/workflows/choices"),
            await clerk.post("/workflows/choices", data=form | {"project": project}),
            await manager.post("/workflows/choices", data=form | {"project": "all"}),
        ]
        everywhere = html_of(await manager.get("/workflows/choices?project=all"))

        assert [answer.status_code for answer in answers] == [403, 403, 403]
        assert "Assign a workflow" not in everywhere

    @pytest.mark.parametrize("path", ["/workflows/choices", "/workflows/choices/remove"])
    @pytest.mark.parametrize("where", ["garbage", "", "00000000-0000-4000-8000-000000000000"])
    async def test_takes_no_unknown_project_for_the_whole_installation(self, sit: Sit, path: str, where: str) -> None:
        browser = await sit("admin", "en")
        form = {"kind": "rfa", "workflowCode": "RFA_APPROVAL"}
        made = await browser.post("/workflows/choices", data=form | {"project": "all"})

        answer = await browser.post(path, data=form | {"project": where, "typeCode": "" if "remove" in path else "SDW"})
        left = (await browser.get("/api/v1/workflow/choices")).json()["items"]

        assert (made.status_code, answer.status_code) == (303, 404)
        assert [(one["kind"], one["typeCode"], one["project"]) for one in left] == [("rfa", None, None)]

    async def test_shows_no_other_project_than_the_one_that_is_asked_for(self, app: FastAPI, sit: Sit) -> None:
        other = await add_other_project(app.state.db)
        manager = await sit("padmin", "en")

        asked = ("garbage", "00000000-0000-4000-8000-000000000000", str(other["project"]), "")
        answers = [(await manager.get(f"/workflows/choices?project={one}")).status_code for one in asked]

        assert answers == [404, 404, 404, 200]

    @pytest.mark.parametrize(("language", "name"), [("th", "คำขออนุมัติ (RFA): แบบขยาย"), ("en", "RFAs: Shop Drawing")])
    @pytest.mark.sampled("[th")
    async def test_calls_rfa_types_by_their_names(self, sit: Sit, project: str, language: str, name: str) -> None:
        browser = await sit("admin", language)
        form = {"project": project, "kind": "rfa", "typeCode": "SDW", "workflowCode": "RFA_APPROVAL"}
        made = await browser.post("/workflows/choices", data=form)

        listed = html_of(await browser.get(made.headers["location"])).split("<tbody>")[1].split("</tbody>")[0]
        started = [html_of(await browser.get(path)) for path in ("/workflows/RFA_APPROVAL/v1", "/workflows")]

        assert f">{name}</td>" in listed
        assert all(f"{name} " in page for page in started)

    async def test_calls_an_rfa_type_that_only_other_projects_have_by_its_name(
        self, app: FastAPI, sit: Sit, project: str
    ) -> None:
        other = await add_other_project(app.state.db)
        browser = await sit("admin", "en")
        form = {"project": "all", "kind": "rfa", "typeCode": "SDW", "workflowCode": "RFA_APPROVAL"}
        await browser.post("/workflows/choices", data=form)

        pages = [html_of(await browser.get(f"/workflows/choices?project={one}")) for one in (project, other["project"])]

        assert all(">RFAs: Shop Drawing</td>" in page for page in pages)
        assert '<option value="SDW">' not in html_of(
            await browser.get(f"/workflows/choices?project={other['project']}&kind=rfa")
        )

    async def test_says_who_chose_and_when_on_one_line_of_its_own(self, sit: Sit, project: str) -> None:
        browser = await sit("admin", "en")
        form = {"project": project, "kind": "rfa", "workflowCode": "RFA_APPROVAL"}
        page = html_of(await browser.get((await browser.post("/workflows/choices", data=form)).headers["location"]))

        why = page.split('data-label="Applies to"><div>LCBP3-C2')[1].split("</td>")[0]
        assert why.startswith('<div class="text-secondary"><span class="nowrap">')
        assert '</span> · <time class="nowrap" datetime="' in why


class TestWorkflowsPage:
    async def test_says_what_starts_it_and_warns_when_nothing_does(self, sit: Sit, project: str) -> None:
        browser = await sit("admin", "en")
        await publish(browser)
        lonely = html_of(await browser.get("/workflows/SITE_MEMO/v1"))
        listed = html_of(await browser.get("/workflows"))
        form = {"project": project, "kind": "transmittal", "workflowCode": "SITE_MEMO"}
        assert (await browser.post("/workflows/choices", data=form)).status_code == 303
        chosen = html_of(await browser.get("/workflows/SITE_MEMO/v1"))
        shipped = html_of(await browser.get("/workflows/RFA_APPROVAL/v1"))
        thai = html_of(await (await sit("admin")).get("/workflows/SITE_MEMO/v1"))

        assert "Active, but not assigned" in lonely
        assert "Active, but not assigned" in listed.split('id="w-SITE_MEMO"')[1].split("</section>")[0]
        assert "not assigned" not in chosen
        assert "of project LCBP3-C2" in chosen
        assert "where no other is assigned" in shipped
        assert "โครงการ LCBP3-C2" in thai

    async def test_names_no_project_that_the_reader_does_not_see(self, app: FastAPI, sit: Sit) -> None:
        other = await add_other_project(app.state.db)
        browser = await sit("admin", "en")
        await publish(browser)
        form = {"project": str(other["project"]), "kind": "transmittal", "workflowCode": "SITE_MEMO"}
        assert (await browser.post("/workflows/choices", data=form)).status_code == 303

        pages = [html_of(await (await sit(name, "en")).get("/workflows/SITE_MEMO/v1")) for name in ("admin", "padmin")]

        assert ["of project OTHER" in page for page in pages] == [True, False]
        assert ["documents of other projects" in page for page in pages] == [False, True]

    async def test_warns_over_the_api_too(self, sit: Sit, project: str) -> None:
        browser = await sit("admin", "en")
        address = "/api/v1/workflow/definitions"
        raw = STARTER | {"workflow": "SITE_MEMO"}
        made = (await browser.post(address, json={"dsl": raw, "activate": True})).json()
        rest = (await browser.post(f"{address}/SITE_MEMO/versions/1/deactivate")).json()
        await browser.post(f"{address}/SITE_MEMO/versions/1/activate")
        order = {"kind": "correspondence", "typeCode": "MEMO", "workflowCode": "SITE_MEMO", "projectPublicId": project}
        assert (await browser.put("/api/v1/workflow/choices", json=order)).status_code == 200
        again = (await browser.post(f"{address}/SITE_MEMO/versions/1/activate")).json()

        assert [(one["code"], one["field"]) for one in made["warnings"]] == [("NOTHING_STARTS_IT", "")]
        assert isinstance(made["warnings"][0]["message"], str)
        assert (rest["warnings"], again["warnings"]) == ([], [])
        assert again["startedBy"] == [
            {"kind": "correspondence", "typeCode": "MEMO", "projectCode": "LCBP3-C2", "byDefault": False}
        ]
