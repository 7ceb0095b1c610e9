"""Projects in the browser: the list, a new one, its file, and what it lacks."""

import re

import httpx
import pytest
from fastapi import FastAPI

from tests.conftest import SignIn
from tests.features.documents.conftest import desk_of
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of
from tests.project_callers import CALLERS, add_callers, everybody, statuses

NEW = {"key": "k1", "start": "building", "projectCode": "PIER", "projectName": "ท่าเทียบเรือ", "role": "OWNER"}
TEXT = "project: {code: PIER, name: ท่าเรือ}\nmembers: [{organization: คคง., role: CONSULTANT}]\n"
FILE = "/projects/PIER/file"


async def demo_project(browser: httpx.AsyncClient) -> str:
    listed = (await browser.get("/api/v1/projects")).json()["items"]
    return str(next(one["publicId"] for one in listed if one["projectCode"] == "LCBP3-C2"))


async def looked(browser: httpx.AsyncClient, text: str, **form: str) -> str:
    """Upload a file, and give the page that shows what it would do."""
    return (await browser.post(FILE, data=form, files={"file": ("p.yaml", text.encode())})).text


def shown_in(page: str) -> str:
    found = re.search(r'name="shown" value="(\w+)"', page)
    assert found, page
    return found[1]


class TestNewProject:
    async def test_is_made_once_and_its_checklist_is_on_the_home_page(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        assert "TOWER-SHD-GN-00001-A" in html_of(await browser.get("/projects/new"))

        answers = [await browser.post("/projects/new", data=NEW) for _ in range(2)]

        assert [(one.status_code, one.headers["location"]) for one in answers] == [(303, "/inbox")] * 2
        home = html_of(await browser.get("/inbox"))
        assert "Until the first number of PIER" in home
        assert re.findall(r'class="is-done">.*?href="([^"]*)"', home, re.DOTALL)[0].endswith("/disciplines")
        (setup_of_it,) = re.findall(r'href="(/projects/[^"]*/setup)">PIER', html_of(await browser.get("/projects")))
        for address in (setup_of_it, "/people"):
            assert (await browser.get(address)).status_code == 200
        assert 'href="/people"' in home

    async def test_copies_another_one(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        source = await demo_project(browser)

        answer = await browser.post("/projects/new", data=NEW | {"start": "copy", "copyOf": source, "role": ""})

        assert answer.status_code == 303
        text = (await browser.get(f"{FILE}/download")).text
        assert "PIER-M" in text
        assert "ผรม.1" in text

    @pytest.mark.parametrize("language", ["th", "en"])
    async def test_names_what_is_wrong_at_its_field_and_keeps_the_rest(self, sit: Sit, language: str) -> None:
        browser = await sit("admin", language)
        page = await browser.post("/projects/new", data=NEW | {"projectCode": "LCBP3-C2", "projectNameEn": "Pier"})

        assert page.status_code == 409
        assert 'id="e-projectCode"' in page.text
        assert 'value="Pier"' in page.text
        assert 'value="building" checked' in page.text

    async def test_the_demo_project_lacks_nothing(self, sit: Sit) -> None:
        assert 'id="to-do"' not in html_of(await (await sit("padmin")).get("/inbox"))


class TestProjectFile:
    async def test_shows_its_differences_and_applies_those(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        await browser.post("/projects/new", data=NEW)

        page = await looked(browser, TEXT)
        assert "CONSULTANT" in page
        assert "ท่าเรือ" not in (await browser.get("/api/v1/projects", params={"search": "PIER"})).text
        done = await browser.post(FILE, data={"content": TEXT, "shown": shown_in(page)})

        assert "2 changes applied." in done.text
        assert "Nothing changes" in await looked(browser, TEXT)

    async def test_names_the_lists_of_the_project_too(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        address = f"/projects/{await demo_project(browser)}/file"
        content = (await browser.get(f"{address}/download")).text

        tags = "\ntags:\n  - {code: RUSH, nameTh: ด่วน}\n"
        shown = await browser.post(address, data={"content": content.rstrip("\n") + tags})

        assert shown.status_code == 200, html_of(shown)
        assert "Tag <strong>RUSH</strong>" in html_of(shown)

    async def test_applies_nothing_when_the_project_was_changed_in_between(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        await browser.post("/projects/new", data=NEW)
        shown = shown_in(await looked(browser, TEXT))
        other = TEXT.partition("\n")[2] and "project: {code: PIER, name: อีกชื่อ}\n"
        await browser.post(FILE, data={"content": other, "shown": shown_in(await looked(browser, other))})

        answer = await browser.post(FILE, data={"content": TEXT, "shown": shown})

        assert answer.status_code == 412
        assert "อีกชื่อ" in answer.text  # what there is now, shown anew
        assert shown_in(answer.text) != shown
        assert "คคง." not in (await browser.get(f"{FILE}/download")).text.partition("contracts:")[0]

    async def test_names_faults_by_line_and_key_and_keeps_the_text(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        await browser.post("/projects/new", data=NEW)

        page = await looked(browser, TEXT.replace("CONSULTANT", "BOSS"), prune="1")
        other = await looked(browser, TEXT.replace("PIER", "QUAY"))
        broken = (await browser.post(FILE, files={"file": ("p.yaml", b"\xff")})).text

        assert "members › 0 › role" in page
        assert "BOSS" in page
        assert 'name="prune" value="1" checked' in page
        assert "This file is of the project QUAY" in other
        assert "UTF-8" in broken

    async def test_is_applied_by_super_admins_alone(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        own = f"/projects/{await demo_project(browser)}/file"

        page = await browser.get(own)
        assert (page.status_code, 'type="file"' in page.text) == (200, False)
        assert (await browser.get(f"{own}/download")).status_code == 200
        assert (await browser.post(own, data={"content": TEXT})).status_code == 403

    async def test_of_a_project_that_is_not_there_yet_makes_it(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        page = await browser.post("/projects/file", data={"content": TEXT})

        done = await browser.post("/projects/file", data={"content": TEXT, "shown": shown_in(page.text)})

        assert done.status_code == 200
        assert (await browser.get(FILE)).status_code == 200


MANAGERS = everybody(403, anonymous=401, admin=200, padmin=200, outsider=404, other_manager=404)
SUPER_ADMINS = everybody(403, anonymous=401, admin=200)
# Of each address, what each caller is answered; a page sends whoever is not signed in to the log-in.
ROUTES = {
    "/api/v1/projects/{project}/checklist": MANAGERS,
    "/projects/{project}/file": MANAGERS | {"anonymous": 303},
    "/projects/{project}/file/download": MANAGERS | {"anonymous": 303},
    "/projects/file": SUPER_ADMINS | {"anonymous": 303},
    "/projects/new": SUPER_ADMINS | {"anonymous": 303},
    "/projects": everybody(200, anonymous=303),
    "/setup": dict.fromkeys(CALLERS, 303),
}


class TestCallers:
    async def test_see_what_is_theirs(self, app: FastAPI, signed_in: SignIn, client: httpx.AsyncClient) -> None:
        project = await demo_project(await signed_in("admin"))
        await add_callers(app.state.db)
        found = {}
        for path in ROUTES:
            html = {} if path.startswith("/api/") else {"Accept": "text/html"}
            url = path.format(project=project)
            found[path] = await statuses(lambda one, url=url, html=html: one.get(url, headers=html), signed_in, client)

        assert found == ROUTES

    async def test_change_what_is_theirs(self, app: FastAPI, signed_in: SignIn, client: httpx.AsyncClient) -> None:
        project = await demo_project(await signed_in("admin"))
        await add_callers(app.state.db)
        html = {"Accept": "text/html"}

        file = await statuses(
            lambda one: one.post(f"/projects/{project}/file", data={"content": "x"}, headers=html), signed_in, client
        )
        made = await statuses(lambda one: one.post("/projects/new", data=NEW, headers=html), signed_in, client)

        assert file == everybody(403, anonymous=303, admin=422, outsider=404, other_manager=404)
        assert made == everybody(403, anonymous=303, admin=303)


async def test_a_project_lacks_people_while_nobody_decides_at_a_step_of_its_rfas(signed_in: SignIn) -> None:
    """The shipped workflow asks the owner after the consultant."""
    admin = await signed_in("admin")
    desk = await desk_of(signed_in)
    (owner,) = (await admin.get("/api/v1/users", params={"search": "approver.owner"})).json()["items"]

    async def missing() -> list[str]:
        items = (await admin.get(f"/api/v1/projects/{desk.project}/checklist")).json()["items"]
        return [one["kind"] for one in items if not one["done"]]

    before = await missing()
    closed = await admin.post(f"/api/v1/users/{owner['publicId']}/close")
    after = await missing()

    assert closed.status_code == 200
    assert (before, after) == ([], ["people"])
