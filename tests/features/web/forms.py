"""What a person would type into the form of a new RFA."""

import re

import httpx

from tests.features.web.page_html import html_of

ATTRIBUTES = re.compile(r'(\w[\w-]*)="([^"]*)"')


def selected(page: str, name: str) -> str:
    """Return the value that a select of the page proposes, or of a hidden input."""
    hidden = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)"', page)
    if hidden:
        return hidden[1]
    select = re.search(rf'<select[^>]*name="{name}".*?</select>', page, re.DOTALL)
    assert select, f"no field {name}"
    option = re.search(r'<option value="([^"]*)" selected', select[0])
    return option[1] if option else ""


async def rfa_form(browser: httpx.AsyncClient, **typed: str) -> dict[str, str]:
    """Open the form and give it filled in, as a browser would send it."""
    page = html_of(await browser.get("/rfas/new"))
    names = ("key", "projectPublicId", "originatorOrganizationPublicId", "contractPublicId", "to")
    form = {name: selected(page, name) for name in names}
    form |= {"rfaTypeCode": "RPT", "disciplineCode": "TER", "subject": "รายงานผลการตอกเสาเข็ม", "priority": "HIGH"}
    return form | typed


async def new_rfa(browser: httpx.AsyncClient, **typed: str) -> str:
    """Write a draft and give the address of its page."""
    answer = await browser.post("/rfas/new", data=await rfa_form(browser, **typed))
    assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
    return answer.headers["location"].partition("?")[0]


def hidden(page: str, dialog: str) -> dict[str, str]:
    """Return the hidden fields of the form inside a dialog, with the box ticked that lets an RFA go without a file."""
    found = re.search(rf'<dialog class="sheet" id="{dialog}".*?</dialog>', page, re.DOTALL)
    assert found, f"no dialog {dialog}"
    inputs = [dict(ATTRIBUTES.findall(one)) for one in re.findall(r'<input type="hidden"[^>]*>', found[0])]
    ticked = {"withoutFiles": "1"} if 'name="withoutFiles"' in found[0] else {}
    return {one["name"]: one["value"] for one in inputs} | ticked
