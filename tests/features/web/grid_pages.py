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
