"""Drawings that go round with a sheet, in the browser: named by their numbers, and marked once they are superseded."""

import re
from html import unescape

import httpx

from tests.conftest import SignIn
from tests.features.documents.conftest import desk_of
from tests.features.web.conftest import Sit
from tests.features.web.forms import selected
from tests.features.web.page_html import html_of


async def test_a_sheet_takes_numbers_and_marks_what_is_superseded(sit: Sit, signed_in: SignIn) -> None:
    desk = await desk_of(signed_in)
    made = [await desk.register("admin", kind, "N-1") for kind in ("contract", "shop")]
    browser = await sit("dc.consultant", "en")
    page = html_of(await browser.get("/circulations/new"))
    part = re.search(r'name="(part-[^"]+)"', page)
    assert part
    form = {name: selected(page, name) for name in ("key", "projectPublicId", "organizationPublicId")}
    form |= {"subject": "เวียนแบบ", part[1]: "MAIN", "contractNumbers": "N-1", "shopNumbers": "N-1"}
    wrong = await browser.post("/circulations/new", data=form | {"asbuiltNumbers": "N-1"})
    answer = await browser.post("/circulations/new", data=form)
    address = answer.headers["location"].partition("?")[0]
    await (await desk.as_("admin")).post(f"/api/v1/drawings/shop/{made[1]['publicId']}/revisions", json={})
    shown = html_of(await browser.get(address))
    draft = (await browser.get(f"{address}/edit")).text
    kept = {
        name: unescape(re.findall(rf'name="{name}"\s+value="([^"]*)"', draft)[0]) for name in ("version", "project")
    }

    changed = await browser.post(f"{address}/edit", data={**kept, "subject": "เวียนแบบ", "shopNumbers": "N-1"})

    assert "There is no as-built drawing “N-1”." in html_of(wrong)
    assert "Circulated drawings" in shown
    assert "1 item has a newer revision by now." in shown
    assert changed.status_code == httpx.codes.SEE_OTHER, changed.text
    after = html_of(await browser.get(address))
    assert "newer revision" not in after
    assert f"/drawings/contract/{made[0]['publicId']}" in shown
    assert f"/drawings/contract/{made[0]['publicId']}" not in after
