"""
The first day at the terminal, without the demo: an empty SQLite database in production that serves one screen until it is set
up, a project from a file, people invited, and a request for approval that two organizations decide about.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import yaml
from playwright.async_api import Browser, FilePayload, Page, expect

from saraban.setup.service import project_files
from tests.conftest import SIGNING_KEY
from tests.journeys.conftest import Person
from tests.preloaded import PreloadedProgram, read_from
from tests.processes import RunningSaraban, environment_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.asyncio(loop_scope="session"),
]

SECRET = "Piles-and-piers-2569"
NUMBER = "TPW-01-RFA-BRG-MAT-0001-A"
PEOPLE = [
    {"username": "somsri", "organization": "ผรจ.", "roles": [("Document Control", "Organization", "ผรจ.")]},
    {"username": "prasit", "organization": "ปคง.", "roles": [("Contract Admin", "Contract", "TPW-01-C1")]},
    {"username": "wichai", "organization": "กรม", "roles": [("Contract Admin", "Contract", "TPW-01-C1")]},
]
CONTRACTOR, CONSULTANT, OWNER = (str(person["username"]) for person in PEOPLE)


@dataclass(frozen=True)
class Installation:
    """A server that was set up by hand, and the links that its people were invited with."""

    address: str
    invitations: dict[str, str]


def command(folder: Path, *words: str, text: str = "", **settings: str) -> str:
    """Run the product's command as an operator does, and give what it prints."""
    (typed := folder / "typed").write_text(text, "utf-8")
    log = folder / "command.log"
    environment = environment_of() | settings
    done = PreloadedProgram(*words, environment=environment, folder=folder, log=log, prepare=partial(read_from, typed))
    done.wait(60)
    printed = log.read_text("utf-8")
    assert done.poll() == 0, printed
    return printed


def project_file(folder: Path) -> Path:
    """A project administrator's file: the template, with people."""
    content = yaml.safe_load(project_files.template("thai-public-works"))
    content["people"] = [
        {
            "username": person["username"],
            "email": f"{person['username']}@example.org",
            "firstName": "คุณ",
            "lastName": person["username"],
            "organization": person["organization"],
            "roles": [dict(zip(("role", "level", "place"), role, strict=True)) for role in person["roles"]],
        }
        for person in PEOPLE
    ]
    path = folder / "project.yaml"
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), "utf-8")
    return path


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    settings = {
        "env": "production",
        "secret_key": SIGNING_KEY,
        "public_url": "http://localhost",
        "database_url": f"sqlite:///{tmp_path / 'data' / 'saraban.db'}",
        "lang": "en",
    }
    running = RunningSaraban(tmp_path / "data", **settings)
    variables = {f"SARABAN_{name.upper()}": value for name, value in settings.items()}
    variables |= {
        "SARABAN_DATA_DIR": str(tmp_path / "data"),
        "SARABAN_PUBLIC_URL": running.address,
        "SARABAN_LANG": "en",
    }
    with running:
        with pytest.raises(HTTPError) as before:
            urlopen(f"{running.address}/login")
        assert (before.value.code, "saraban setup" in before.value.read().decode()) == (503, True)
        assert "run `saraban setup`" in running.log
        printed = command(
            tmp_path,
            *(
                "setup",
                "--username",
                "root",
                "--email",
                "root@example.org",
                "--organization",
                "กรม",
                "--password-stdin",
            ),
            *("--project", str(project_file(tmp_path))),
            text=SECRET,
            **variables,
        )
        lines = (line.split(": ", 1) for line in printed.splitlines() if "/invitations/" in line)
        yield Installation(running.address, dict(lines))


class TestFirstDay:
    async def test_ends_with_requests_that_two_organizations_approved(
        self, installation: Installation, browser: Browser
    ) -> None:
        people = {name: await self.accept(browser, installation, name) for name in (CONTRACTOR, CONSULTANT, OWNER)}

        page = people[CONTRACTOR].page
        await self.write(page, NUMBER)
        await self.decide(page, "submit", "รอตรวจสอบ")
        for name, state in ((CONSULTANT, "รออนุมัติ"), (OWNER, "อนุมัติแล้ว")):
            page = people[name].page
            await page.goto(f"{installation.address}/inbox")
            await page.click(f'#inbox a:has-text("{NUMBER}")')
            await self.decide(page, "approve", state)
        assert [fault for person in people.values() for fault in person.complaints] == []

        for person in people.values():
            await person.page.context.close()

    async def accept(self, browser: Browser, installation: Installation, name: str) -> Person:
        """Open the link that somebody was given, choose a password, and be signed in."""
        context = await browser.new_context(locale="th-TH")
        person = Person(await context.new_page(), installation.address)
        page = person.page
        page.set_default_timeout(15_000)
        await page.goto(installation.invitations[name])
        for field in await page.locator("input[type=password]").all():
            await field.fill(SECRET)
        await page.click("[data-submit]")
        await page.wait_for_url("**/inbox")
        return person

    async def write(self, page: Page, number: str) -> None:
        await page.goto(page.url.replace("/inbox", "/rfas/new"))
        await page.select_option("[name=rfaTypeCode]", "MAT")
        await page.select_option("[name=disciplineCode]", "BRG")
        await expect(page.locator("#number [data-number]")).to_have_text(number)
        await page.fill("[name=subject]", "ขออนุมัติใช้เหล็กเสริม SD50")
        sent = FilePayload(
            name="ใบรับรองเหล็กเสริม.pdf", mimeType="application/pdf", buffer=b"%PDF-1.4\ntrailer<<>>\n%%EOF\n"
        )
        await page.set_input_files("form#create input[type=file]", sent)
        await expect(page.locator(".upload-row.is-done")).to_have_count(1)
        await page.click("form#create [data-submit]")
        await expect(page.locator("#document-number")).to_have_text(number)

    async def decide(self, page: Page, action: str, state: str) -> None:
        await page.click(f'.banner [data-action="{action}"]')
        await page.locator(f"#act-{action} [data-submit]").click()
        await expect(page.locator(".banner .badge-state").first).to_have_text(state)
