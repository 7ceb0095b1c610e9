"""The working days and reminders of a project in the browser."""

import re

import httpx
import pytest

from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of


async def project_of(browser: httpx.AsyncClient) -> dict[str, str]:
    page = html_of(await browser.get("/calendar?year=2026"))
    found = re.search(r'name="project" value="([^"]+)"', page)
    assert found
    return {"project": found[1], "year": "2026"}


def chosen(page: str) -> set[str]:
    return set(re.findall(r'name="weekend" value="(\w+)" checked', page))


class TestCalendar:
    @pytest.mark.parametrize(
        ("language", "words"),
        [("th", ("วันทำการ", "วันสงกรานต์", "2569")), ("en", ("Project calendar", "Songkran", "2026"))],
    )
    async def test_shows_the_year_with_its_public_holidays(
        self, sit: Sit, language: str, words: tuple[str, ...]
    ) -> None:
        page = html_of(await (await sit("padmin", language)).get("/calendar?year=2026"))

        assert all(word in page for word in words)
        assert chosen(page) == {"SATURDAY", "SUNDAY"}

    async def test_says_when_the_holidays_of_a_year_are_not_known(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")

        known, unknown = [html_of(await browser.get(f"/calendar?year={year}")) for year in (2026, 2040)]

        assert "are not in the system yet" not in known
        assert "The public holidays of 2040 are not in the system yet" in unknown

    async def test_takes_a_weekend_of_one_day(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        saved = await browser.post("/calendar/weekend", data=await project_of(browser) | {"weekend": ["SUNDAY"]})

        page = html_of(await browser.get(saved.headers["location"]))

        assert chosen(page) == {"SUNDAY"}
        assert "Calendar saved" in page

    async def test_refuses_a_week_without_a_working_day_and_keeps_the_ticks(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        all_of_it = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]

        refused = await browser.post("/calendar/weekend", data=await project_of(browser) | {"weekend": all_of_it})

        assert refused.status_code == 422
        assert chosen(html_of(refused)) == set(all_of_it)

    async def test_takes_a_day_of_the_project_and_takes_it_back(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        form = await project_of(browser)
        named = {"date": "2026-06-15", "kind": "HOLIDAY", "nameTh": "วันก่อตั้งบริษัท", "nameEn": "Founders' day"}

        added = await browser.post("/calendar/days", data=form | named)
        with_it = html_of(await browser.get(added.headers["location"]))
        removed = await browser.post("/calendar/days/remove", data=form | {"date": "2026-06-15"})
        without = html_of(await browser.get(removed.headers["location"]))

        assert "Founders&#39; day" in with_it
        assert "Founders&#39; day" not in without

    async def test_keeps_what_was_typed_when_it_is_refused(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")

        refused = await browser.post("/calendar/days", data=await project_of(browser) | {"nameEn": "Founders"})

        assert refused.status_code == 422
        assert 'value="Founders"' in html_of(refused)
        assert all(f'id="e-{name}"' in html_of(refused) for name in ("date", "nameTh"))

    async def test_is_read_by_those_of_the_project_and_changed_by_its_admin(self, sit: Sit) -> None:
        admin, contractor = await sit("padmin", "en"), await sit("dc.contractor", "en")
        form = await project_of(admin)

        page = html_of(await contractor.get("/calendar?year=2026"))
        refused = await contractor.post("/calendar/weekend", data=form | {"weekend": ["SUNDAY"]})

        assert "Songkran" in page
        assert "data-submit" not in page
        assert refused.status_code == 403
        assert 'href="/calendar"' in html_of(await admin.get("/inbox"))
        assert 'href="/calendar"' not in html_of(await contractor.get("/inbox"))


class TestReminders:
    async def test_are_kept_as_they_were_typed(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        form = await project_of(browser) | {"before": "5, 0", "after": "2", "every": "", "hour": "7"}

        saved = await browser.post("/calendar/reminders", data=form)
        page = html_of(await browser.get(saved.headers["location"]))

        assert "Reminders saved" in page
        assert re.search(r'name="before"[^>]*value="5, 0"', page)
        assert '<option value="7" selected>' in page

    @pytest.mark.parametrize(
        ("name", "typed"), [("before", "soon"), ("after", "0"), ("every", "-1"), ("before", "1,2,3,4,5,6")]
    )
    async def test_name_the_field_that_is_wrong_and_keep_it(self, sit: Sit, name: str, typed: str) -> None:
        browser = await sit("padmin", "en")
        form = await project_of(browser) | {"before": "3", "after": "1", "every": "5", "hour": "8"} | {name: typed}

        refused = await browser.post("/calendar/reminders", data=form)

        assert refused.status_code == 422
        assert f'id="e-{name}"' in html_of(refused)
        assert f'value="{typed}"' in html_of(refused)
