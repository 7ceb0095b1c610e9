"""The lists of the set-up, as a browser meets them."""

import re

import httpx

from tests.features.web.page_html import html_of

FRAGMENT = {"HX-Request": "true"}


async def home_of(browser: httpx.AsyncClient) -> str:
    """Return the address of the set-up of the demo project."""
    return (await browser.get("/project-setup")).headers["location"]  # type: ignore[no-any-return]


async def contract_of(browser: httpx.AsyncClient) -> str:
    """Return the address below which the lists of the demo contract stand."""
    home = await home_of(browser)
    found = re.search(rf'href="({home}/contracts/[^"/]+)/disciplines"', html_of(await browser.get(home)))
    assert found
    return found[1]


def faults(answer: httpx.Response) -> dict[str, str]:
    """Return what is said at which field."""
    return dict(re.findall(r'class="fault" id="e-\w+-(\w+)">([^<]*)<', html_of(answer)))


def opened(page: str, name: str) -> str:
    """Return what a field of the open row says."""
    line = re.search(r'<tbody class="line is-open" .*?</tbody>', page)
    found = line and re.search(rf'name="{name}"[^>]*?value="([^"]*)"', line[0])
    assert found, f"no field {name}"
    return found[1].replace("&#34;", '"')


async def open_row(browser: httpx.AsyncClient, url: str, row: str) -> dict[str, str]:
    """Return the hidden fields of a row's form, as a browser sends them."""
    page = html_of(await browser.get(f"{url}/line", params={"row": row}, headers=FRAGMENT))
    return {name: opened(page, name) for name in ("ref", "etag", "was")}


def packed(answer: httpx.Response) -> dict[str, str]:
    found = re.search(r'name="rows" value="([^"]+)"', html_of(answer))
    assert found
    return {"rows": found[1]}


def verdicts(answer: httpx.Response) -> list[tuple[str, str]]:
    return re.findall(r'class="nowrap">\s*(\d+)\s*<span class="badge-state tone-\w+">([\w ]+)<', html_of(answer))
