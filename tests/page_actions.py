"""What a reader does on the page of a document."""

import httpx

from tests.features.web.forms import hidden


async def act(browser: httpx.AsyncClient, address: str, action: str, comment: str = "") -> httpx.Response:
    form = hidden((await browser.get(address)).text, f"act-{action}")
    return await browser.post(f"{address}/actions", data=form | {"comment": comment})
