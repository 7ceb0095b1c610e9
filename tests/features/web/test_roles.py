"""The matrix of roles and permissions in the browser, and roles of one's own in it."""

import re

import httpx
import pytest

from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

HOME = "/roles"
NEW = {"name": "ผู้ตรวจแบบ", "nameEn": "Drawing checker", "copyOf": "Contract Admin"}


def form_of(page: str, role: str) -> dict[str, str]:
    found = re.search(rf'action="{HOME}/{role}"[^>]*>\s*<input type="hidden" name="etag" value="([^"]+)"', page)
    assert found, "the role has no form in its column"
    return {"etag": found[1].replace("&#34;", '"')}


async def made(browser: httpx.AsyncClient, **form: str) -> tuple[str, str]:
    """Make a role and return its public id with the page that comes next."""
    answer = await browser.post(HOME, data=NEW | form)
    assert answer.status_code == 303, html_of(answer)
    role = re.search(r"role=([0-9a-f-]+)", answer.headers["location"])
    assert role
    return role[1], html_of(await browser.get(answer.headers["location"]))


class TestMatrix:
    @pytest.mark.parametrize(
        ("language", "words"),
        [
            ("th", ("บทบาทและสิทธิ์", "ผู้ดูแลสัญญา", "ตัดสินใจในขั้นตอนปัจจุบัน", "กระบวนงาน")),
            ("en", ("Roles and permissions", "Contract Admin", "Decide in the current step", "Workflows")),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_shows_who_may_do_what(self, sit: Sit, language: str, words: tuple[str, ...]) -> None:
        browser = await sit("padmin", language)
        page = html_of(await browser.get(HOME))

        assert all(one in page for one in words)
        assert f'href="{HOME}"' in html_of(await browser.get("/inbox"))
        assert 'name="permission"' not in page  # what shipped stays as it is

    async def test_is_not_for_everybody(self, sit: Sit) -> None:
        viewer = await sit("viewer")

        assert (await viewer.get(HOME)).status_code == 403
        assert (await viewer.post(HOME, data=NEW)).status_code == 403
        assert f'href="{HOME}"' not in html_of(await viewer.get("/inbox"))

    async def test_is_read_by_who_gives_roles_and_changes_none(self, sit: Sit) -> None:
        browser = await sit("dc.contractor", "en")
        page = html_of(await browser.get(HOME))

        assert 'id="new"' not in page
        assert (await browser.post(HOME, data=NEW)).status_code == 403


class TestOwnRole:
    async def test_is_copied_changed_in_its_column_closed_and_reopened(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        role, page = await made(browser)
        assert "Drawing checker: Decide in the current step" in page

        saved = await browser.post(f"{HOME}/{role}", data=form_of(page, role) | {"permission": "document.view"})
        after = html_of(await browser.get(saved.headers["location"]))
        ticked = re.findall(rf'checked form="m-{role}" name="permission" value="([^"]+)"', after)
        closed = await browser.post(f"{HOME}/{role}/close")
        shut = html_of(await browser.get(closed.headers["location"]))
        await browser.post(f"{HOME}/{role}/reopen")
        renamed = await browser.post(f"{HOME}/{role}/name", data={"name": "ผู้ตรวจ", "nameEn": "Checker"})

        assert ticked == ["document.view"]
        assert "Reopen role" in shut
        assert "Checker" in html_of(await browser.get(renamed.headers["location"]))

    async def test_that_somebody_else_changed_is_not_overwritten(self, sit: Sit) -> None:
        browser = await sit("admin", "en")
        role, page = await made(browser)
        form = form_of(page, role) | {"permission": "document.view"}

        first, second = [await browser.post(f"{HOME}/{role}", data=form) for _ in "ab"]

        assert (first.status_code, second.status_code) == (303, 412)
        assert "This role has changed in the meantime." in html_of(second)

    async def test_of_a_project_offers_what_its_editor_holds(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        offered = re.search(
            r'name="projectPublicId".*?<option value="([^"]+)"', html_of(await browser.get(HOME)), re.DOTALL
        )
        assert offered
        role, _ = await made(browser, projectPublicId=offered[1])
        page = html_of(await browser.get(HOME, params={"project": offered[1]}))

        assert f'form="m-{role}" name="permission" value="contract.edit"' in page
        assert f'form="m-{role}" name="permission" value="workflow.action_review"' not in page
        assert role not in html_of(await browser.get(HOME))  # the installation's alone

    @pytest.mark.parametrize(
        ("form", "field"), [({"name": ""}, "name"), ({"name": "Superadmin"}, "name"), ({"level": "Planet"}, "level")]
    )
    async def test_keeps_what_was_typed_beside_the_fault(self, sit: Sit, form: dict[str, str], field: str) -> None:
        browser = await sit("admin", "en")
        answer = await browser.post(HOME, data=NEW | form)

        assert answer.status_code == 422
        assert f'id="e-{field}"' in html_of(answer)
        assert 'value="Drawing checker"' in html_of(answer)
