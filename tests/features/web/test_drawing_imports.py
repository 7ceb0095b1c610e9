"""The pages that take a sheet of drawings and show how far its import is."""

import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from tests.drawing_imports import drawing_worker, sheet
from tests.features.web.conftest import Sit
from tests.features.web.forms import selected
from tests.features.web.page_html import html_of

BASE = "/drawings/shop/imports"
FORM = re.compile(r'action="(/drawings/shop/imports\?[^"]+)"')


async def sent(browser: httpx.AsyncClient, path: Path, *lines: list[str]) -> httpx.Response:
    (action,) = FORM.findall(html_of(await browser.get(BASE)))
    file = {"file": (path.name, sheet(path, *lines))}
    return await browser.post(action.replace("&amp;", "&"), files=file)


@pytest.mark.parametrize(("language", "words"), [("th", "ยังไม่เคยนำเข้า"), ("en", "No imports yet")])
@pytest.mark.sampled("[th")
async def test_an_empty_list_leads_to_the_template(sit: Sit, language: str, words: str) -> None:
    browser = await sit("padmin", language)
    page = html_of(await browser.get(BASE))

    assert words in page
    assert re.search(rf'href="/api/v1{BASE}/template\?projectPublicId=[0-9a-f-]+&(amp;)?format=xlsx"', page)
    assert f'href="{BASE}"' in html_of(await browser.get("/drawings/shop"))


async def test_whose_they_are_is_the_callers_own_until_it_is_chosen(sit: Sit) -> None:
    browser = await sit("dc.contractor")
    own = selected(html_of(await browser.get(BASE)), "originator")
    nobody = selected(html_of(await browser.get(f"{BASE}?chosen=1")), "originator")

    assert own.startswith("ผรม.")
    assert nobody == ""


@pytest.mark.parametrize(("language", "missing"), [("th", "เพิ่มรหัสที่ยังไม่มี"), ("en", "Create the missing codes")])
@pytest.mark.sampled("[th")
async def test_a_file_is_checked_shown_and_imported(
    sit: Sit, app: FastAPI, tmp_path: Path, language: str, missing: str
) -> None:
    browser = await sit("padmin", language)
    lines = [["N-1", "QQ", "QQ-1", "0", "31/12/2569", "แปลน"], ["N-2", "", "", "X", "", "แปลน"]]
    received = await sent(browser, tmp_path / "drawings.csv", *lines)
    address = received.headers["Location"]
    waiting = html_of(await browser.get(address))
    assert await drawing_worker(app).round()
    checked = html_of(await browser.get(address))
    await browser.post(f"{address}/commit", data={"createMissing": "1"})
    assert await drawing_worker(app).round()
    done = html_of(await browser.get(address, headers={"HX-Request": "true"}))

    assert 'hx-trigger="every 1s"' in waiting
    assert (missing in checked, "QQ-1" in checked) == (True, True)
    assert "every 1s" not in done
    assert "N-1" in html_of(await browser.get("/drawings/shop"))
    assert "drawings.csv" in html_of(await browser.get(BASE))

    await sent(browser, tmp_path / "bad.csv", lines[1])
    assert await drawing_worker(app).round()
    assert {"th": "ไม่ผ่านทุกแถว", "en": "All rows rejected"}[language] in html_of(await browser.get(BASE))


async def test_what_is_no_sheet_is_said_at_the_field(sit: Sit) -> None:
    browser = await sit("padmin", "en")
    (action,) = FORM.findall(html_of(await browser.get(BASE)))
    page = html_of(await browser.post(action.replace("&amp;", "&"), files={"file": ("a.pdf", b"%PDF")}))

    assert "The file must be XLSX, XLSM, XLS, ODS or CSV." in page


async def test_who_registers_no_drawings_has_no_way_in(sit: Sit) -> None:
    browser = await sit("viewer")

    assert (await browser.get(BASE)).status_code == httpx.codes.FORBIDDEN
    assert BASE not in html_of(await browser.get("/drawings/shop"))
