"""People in the browser: the list, one form for an account with its first role, one person, and a spreadsheet of many."""

import re
from io import BytesIO

import httpx
import pytest

from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

HOME = "/people"
SOMCHAI = {"firstName": "สมชาย", "lastName": "ใจดี", "username": "somchai", "email": "somchai@example.org"}
SHEET = "username,email,firstName,lastName,organization,role,level,place\n"


def choice(page: str, code: str) -> str:
    found = re.search(rf'<option value="([^"]+)"[^>]*>\s*{re.escape(code)} –', page)
    assert found, code
    return found[1]


async def person(browser: httpx.AsyncClient, name: str) -> str:
    found = re.search(r'href="(/people/[0-9a-f-]{36})"', html_of(await browser.get(HOME, params={"q": name})))
    assert found, name
    return found[1]


async def somchai(browser: httpx.AsyncClient, **changes: str) -> httpx.Response:
    organization = choice(html_of(await browser.get(f"{HOME}/new")), "คคง.")
    return await browser.post(HOME, data=SOMCHAI | {"organizationPublicId": organization, "how": "invite"} | changes)


class TestList:
    @pytest.mark.parametrize(("language", "said"), [("th", "ผู้ใช้งาน"), ("en", "People")])
    async def test_is_in_the_menu_and_narrowed_by_what_is_typed(self, sit: Sit, language: str, said: str) -> None:
        browser = await sit("admin", language)
        whole = html_of(await browser.get(HOME))
        narrowed = html_of(await browser.get(HOME, params={"q": "ระวี", "state": "active", "role": "no such"}))
        one = html_of(await browser.get(HOME, params={"q": "ระวี", "state": "what"}))

        assert said in whole
        assert f'href="{HOME}"' in whole
        assert "dc.contractor" in whole
        assert "reviewer.consultant" not in narrowed
        assert "reviewer.consultant" in one

    async def test_is_for_those_who_administer_people(self, sit: Sit) -> None:
        browser = await sit("viewer")

        assert (await browser.get(HOME)).status_code == 403
        assert f'href="{HOME}"' not in html_of(await browser.get("/inbox"))


class TestNewPerson:
    async def test_is_invited_with_a_first_role_in_one_form(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        page = html_of(await somchai(browser, role="Document Control"))

        link = re.search(r'id="told"[^>]*>http://[^/]+(/invitations/[^<]+)<', page)
        assert link
        assert (await browser.get(link[1])).status_code == 200
        assert "Organization คคง." in page
        assert "/invitations/" not in html_of(await browser.get(await person(browser, "somchai")))

    async def test_keeps_what_was_typed_where_something_is_wrong(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        answer = await somchai(browser, username="two words", role="Project Manager")

        page = html_of(answer)
        assert answer.status_code == 422
        assert 'value="somchai@example.org"' in page
        assert 'id="e-username"' in page

    async def test_a_program_is_told_its_password_once(self, sit: Sit) -> None:
        page = html_of(await somchai(await sit("admin", "en"), how="service"))

        assert re.search(r'id="told"[^>]*>[\w-]{20,}<', page)


class TestPerson:
    async def test_is_changed_closed_and_opened_again(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        page = html_of(await somchai(browser))
        here = await person(browser, "somchai")
        tag = re.search(r'name="tag" value="([^"]+)"', page)
        assert tag
        changes = {
            "firstName": "สมหญิง",
            "lastName": "",
            "email": "new@example.org",
            "tag": tag[1].replace("&#34;", '"'),
        }
        saved = await browser.post(here, data=changes)
        stale = await browser.post(here, data=changes)
        closed = await browser.post(f"{here}/close")
        shown = html_of(await browser.get(closed.headers["location"]))
        opened = await browser.post(f"{here}/reopen")

        assert [saved.status_code, stale.status_code, closed.status_code, opened.status_code] == [303, 412, 303, 303]
        assert "Account closed" in shown
        assert "สมหญิง" in shown

    async def test_is_given_a_role_until_a_day_and_it_is_taken_back(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        await somchai(browser)
        here = await person(browser, "somchai")
        wrong = html_of(
            await browser.post(f"{here}/roles", data={"role": "Editor", "from": "2/1/2030", "until": "1/1/2030"})
        )
        given = await browser.post(f"{here}/roles", data={"role": "Editor", "from": "1/1/2573", "until": "2/1/2030"})
        page = html_of(await browser.get(here))
        role = re.search(r'name="rolePublicId" value="([^"]+)"', page)
        assert role
        taken = await browser.post(f"{here}/take-role", data={"rolePublicId": role[1]})

        assert 'id="e-until"' in wrong
        assert [given.status_code, taken.status_code] == [303, 303]
        assert "2 Jan 2030" in page
        assert "No roles yet" in html_of(await browser.get(here))

    @pytest.mark.parametrize(
        "action", ["", "/close", "/invite", "/reset-link", "/password", "/roles", "/take-role", "/sign-out"]
    )
    async def test_of_others_is_not_there(self, sit: Sit, action: str) -> None:
        here = await person(await sit("admin"), "viewer")
        answer = await (await sit("dc.contractor")).post(here + action, data={"role": "Viewer", "password": "Aa345678"})

        assert answer.status_code in {403, 404, 422}
        assert "viewer@saraban.invalid" not in answer.text


class TestImport:
    async def sent(self, browser: httpx.AsyncClient, rows: str) -> httpx.Response:
        file = {"file": ("people.csv", BytesIO((SHEET + rows).encode()), "text/csv")}
        return await browser.post(f"{HOME}/import", files=file)

    async def test_shows_every_fault_by_row_and_column(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        answer = await self.sent(browser, "one,one@example.org,,,คคง.,,,\ntwo,nowhere,,,คคง.,King,,\n")

        page = html_of(answer)
        assert answer.status_code == 422
        assert re.findall(r'data-label="Column">([^<]+)<', page) == ["Role", "E-mail"]
        assert re.findall(r'data-label="Row">(\d+)<', page) == ["3", "3"]

    async def test_invites_what_was_checked_and_hands_the_links_out(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        checked = html_of(await self.sent(browser, "one,one@example.org,,,คคง.,Viewer,,คคง.\n"))
        rows = re.search(r'name="rows" value="([^"]+)"', checked)
        assert rows
        assert "Nobody found" in html_of(await browser.get(HOME, params={"q": "one@example.org"}))
        done = html_of(await browser.post(f"{HOME}/import/commit", data={"rows": rows[1]}))
        links = re.search(r'name="rows" value="([^"]+)"', done)
        assert links
        file = await browser.post(f"{HOME}/import/links", data={"rows": links[1]})

        assert "One person was invited." in done
        assert file.headers["content-disposition"] == 'attachment; filename="invitations.xlsx"'
        assert html_of(await browser.get(await person(browser, "one@example.org")))

    async def test_takes_nothing_that_the_page_did_not_pack(self, sit: Sit) -> None:
        answer = await (await sit("admin")).post(f"{HOME}/import/commit", data={"rows": "bm9uc2Vuc2U="})

        assert answer.status_code == 422

    async def test_has_an_empty_sheet(self, sit: Sit) -> None:
        answer = await (await sit("admin")).get(f"{HOME}/import/template")

        assert answer.headers["content-disposition"] == 'attachment; filename="people.xlsx"'
