"""A real server on a free port with the demo project, and Debian's Chromium looking at it."""

import os
import shutil
import signal
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    ConsoleMessage,
    Page,
    StorageState,
    ViewportSize,
    async_playwright,
    expect,
)

from tests.conftest import PASSWORD, SIGNING_KEY
from tests.preloaded import PreloadedProgram
from tests.processes import environment_of
from tests.servers import HOST, free_port, program

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A browser for tests draws less and starts fewer processes: a seventh of its processor time.
    "--disable-extensions",
    "--in-process-gpu",
    "--renderer-process-limit=2",
]
DESK: ViewportSize = {"width": 1280, "height": 800}
PATIENCE = 20_000  # milliseconds; on a busy machine a page takes seconds
BROKEN_OFF = ("htmx:sendAbort", "htmx:afterRequest")
# What a page says in each language is asked of its templates and answers; `make faults` goes each way in both.
LANGUAGES = ["th", pytest.param("en", marks=pytest.mark.faults)]
PICTURES = Path(__file__).resolve().parents[2] / "build" / "screenshots"


@dataclass(frozen=True, slots=True)
class Starting:
    """A server process that has been asked to start."""

    process: PreloadedProgram
    address: str
    log: Path


@pytest.fixture(scope="session")
def starting(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starting]:
    """A server process of its own; it gets ready while the browser opens."""
    folder = tmp_path_factory.mktemp("journey") / "data"
    shutil.copytree(demo_folder, folder)
    port = free_port()
    environment = environment_of(port=port, data_dir=folder, env="test", secret_key=SIGNING_KEY, log_level="WARNING")
    log = folder / "server.log"
    process = PreloadedProgram("serve", environment=environment, folder=folder, log=log)
    try:
        yield Starting(process, f"http://{HOST}:{port}", log)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


@pytest.fixture(scope="session")
def site(starting: Starting) -> str:
    """The address of the server, which answers."""
    _wait(starting)
    return starting.address


def _wait(starting: Starting) -> None:
    for _ in range(1200):
        if starting.process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{starting.address}/health/live", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{starting.log.read_text('utf-8')}")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(starting: Starting) -> AsyncIterator[Browser]:
    """One browser for all journeys; everybody sits in a context of their own."""
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(
            executable_path=program("chromium-headless-shell", package="chromium-headless-shell"),
            args=ARGUMENTS,
        )
        yield opened
        await opened.close()


class Person:
    """Somebody at a browser of their own; what the console complains about is remembered."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.site = site
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        """A page breaks its own request off where a newer one takes its place (`hx-sync`), or where it is left: htmx tells."""
        if message.type == "error" and not message.text.startswith(BROKEN_OFF):
            self.complaints.append(message.text)

    async def log_in(self, username: str) -> None:
        await self.page.goto(f"{self.site}/login")
        await self.page.fill("#username", username)
        await self.page.fill("#password", PASSWORD)
        await self.page.keyboard.press("Enter")
        await self.page.wait_for_url("**/inbox")

    async def goto(self, path: str) -> None:
        await self.page.goto(self.site + path)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)

    async def picture(self, name: str, *, whole: bool = False) -> None:
        """Where `PICTURES` is set, keep what the page looks like: it takes longer than to look for faults."""
        if not os.environ.get("PICTURES"):
            return
        if whole:
            await self.page.evaluate("scrollTo(0, 0)")
        await self.page.screenshot(path=PICTURES / f"{name}.png", full_page=whole)


Sit = Callable[..., Awaitable[Person]]


@pytest.fixture(scope="session")
def sessions() -> dict[str, StorageState]:
    """What a browser keeps of those who have signed in, so that each of them does it once."""
    return {}


@pytest_asyncio.fixture(loop_scope="session")
async def sit(browser: Browser, site: str, sessions: dict[str, StorageState]) -> AsyncIterator[Sit]:
    """`await sit("viewer")` seats somebody who has signed in, at a browser that asks for `language`."""
    async with AsyncExitStack() as stack:

        async def sit_down(
            username: str = "",
            *,
            language: str = "th",
            size: ViewportSize = DESK,
            moves: bool = False,
            scripts: bool = True,
        ) -> Person:
            context = await browser.new_context(
                viewport=size,
                locale={"th": "th-TH", "en": "en-GB"}[language],
                storage_state=sessions.get(username),
                reduced_motion="no-preference" if moves else "reduce",
                java_script_enabled=scripts,
            )
            stack.push_async_callback(context.close)
            page = await context.new_page()
            page.set_default_timeout(PATIENCE)
            person = Person(page, site)
            if not username:
                return person
            await person.goto("/inbox")
            if "/login" in page.url:  # nobody has signed in yet, or that session has ended
                await person.log_in(username)
                sessions[username] = await context.storage_state()
            return person

        yield sit_down
