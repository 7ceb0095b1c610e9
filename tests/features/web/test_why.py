"""“Why may they (not)?” in the browser: reached from a document, answered in the reader's language."""

import re

import httpx
import pytest

from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of


class TestWhy:
    @pytest.mark.parametrize(
        ("language", "words"),
        [
            (
                "th",
                (
                    "ทำไม่ได้",
                    "ไม่มีบทบาทใดให้สิทธิ์นี้",
                    "แก้ไขสัญญา · LCBP3-C2",
                    "ผู้จัดการโครงการ (โครงการ LCBP3-C2)",
                    "ปกรณ์ คุมโครงการ",
                ),
            ),
            (
                "en",
                (
                    "may not do this",
                    "Change contracts · LCBP3-C2",
                    "Project Manager (Project LCBP3-C2)",
                    "ปกรณ์ คุมโครงการ",
                ),
            ),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_names_what_is_missing_and_who_can_give_it(
        self, sit: Sit, language: str, words: tuple[str, ...]
    ) -> None:
        browser = await sit("viewer", language)
        form = html_of(await browser.get("/why"))
        project = re.search(r'id="why-project".*?<option value="([0-9a-f-]+)"', form, re.DOTALL)
        assert project

        page = html_of(await browser.get("/why", params={"wanted": "contract.edit", "project": project[1]}))

        assert 'data-reason="missing"' in page
        assert all(one in page for one in words)

    async def test_names_the_role_that_decides(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        form = html_of(await browser.get("/why"))
        project = re.search(r'id="why-project".*?<option value="([0-9a-f-]+)"', form, re.DOTALL)
        assert project

        page = html_of(await browser.get("/why", params={"wanted": "contract.edit", "project": project[1]}))

        assert "Project Manager" in page
        assert "Project LCBP3-C2" in page

    async def test_offers_others_to_those_who_see_their_accounts(self, sit: Sit) -> None:
        admin, viewer = await sit("admin", "en"), await sit("viewer", "en")

        assert (
            "วิไล อ่านอย่างเดียว" in html_of(await admin.get("/why")).partition("why-wanted")[0].partition("why-person")[2]
        )
        assert (
            html_of(await viewer.get("/why")).partition("why-person")[2].partition("</select>")[0].count("<option") == 1
        )

    async def test_says_at_once_what_cannot_be_asked(self, sit: Sit) -> None:
        browser = await sit("viewer", "en")

        assert (await browser.get("/why", params={"wanted": "coffee.make"})).status_code == 422
        stranger = "01930b5e-0000-7000-8000-000000000000"
        assert (await browser.get("/why", params={"document": stranger})).status_code == 404
        assert (await browser.get("/why", params={"person": stranger, "wanted": "rfa.edit"})).status_code == 404

    async def test_needs_somebody_signed_in(self, visitor: httpx.AsyncClient) -> None:
        assert (await visitor.get("/why")).headers["location"].startswith("/login")
