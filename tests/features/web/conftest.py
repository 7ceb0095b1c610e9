"""People at browsers: a client that keeps cookies, sends forms, and says what a browser says about itself."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import httpx
import pytest_asyncio
from fastapi import FastAPI

from tests.conftest import PASSWORD, client_of

BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}

Sit = Callable[..., Awaitable[httpx.AsyncClient]]


@pytest_asyncio.fixture
async def visitor(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in which nobody has signed in."""
    async with client_of(app, **BROWSER) as browser:
        yield browser


@pytest_asyncio.fixture
async def sit(app: FastAPI) -> AsyncIterator[Sit]:
    """`await sit("dc.contractor")` gives the browser of somebody who has signed in and reads Thai, or `language`."""
    async with AsyncExitStack() as stack:

        async def sit_down(username: str, language: str = "th") -> httpx.AsyncClient:
            browser = await stack.enter_async_context(client_of(app, **BROWSER))
            browser.cookies.set("lang", language)
            answer = await browser.post("/login", data={"username": username, "password": PASSWORD})
            assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
            return browser

        yield sit_down
