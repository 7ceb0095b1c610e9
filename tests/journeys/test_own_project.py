"""
A project of one's own, on an empty MariaDB in production: set up over the API, from one file, and by hand through the pages.

The three make the same project: their exports are equal. In it a contractor's document controller sends a request for
approval, and a reviewer of another organization approves it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml
from playwright.async_api import Browser, FilePayload, Page, expect

from saraban.setup.service import project_files
from tests.conftest import SIGNING_KEY
from tests.journeys.conftest import LANGUAGES, Person
from tests.preloaded import PreloadedProgram, read_from
from tests.processes import RunningSaraban, environment_of
from tests.servers import MariaDb

pytestmark = [
    pytest.mark.servers,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="session"),
]

SECRET = "Piles-and-piers-2569"
FIRST = "Handed-over-at-the-gate"  # set by the administrator, so that its person changes it first
NUMBER = "BRIDGE-RFA-PIE-SDW-0001-A"
TEMPLATE = "thai-public-works"
OWNER, CONSULTANT, CONTRACTOR = "ทช.", "ทปษ.", "ผรม."
NAMES = {OWNER: "กรมทางหลวงชนบท", CONSULTANT: "บริษัทที่ปรึกษา", CONTRACTOR: "บริษัทผู้รับเหมา"}
PARTIES = {OWNER: "OWNER", CONSULTANT: "CONSULTANT", CONTRACTOR: "CONTRACTOR"}
PROJECT = {"code": "BRIDGE", "name": "สะพานข้ามแม่น้ำ"}
CONTRACT = "BRIDGE-C1"
PIERS = {"code": "PIE", "nameTh": "ตอม่อ", "nameEn": "Piers"}
PEOPLE = [
    {"username": "somsri", "firstName": "สมศรี", "lastName": "เอกสารครบ", "organization": CONTRACTOR},
    {"username": "prasit", "firstName": "ประสิทธิ์", "lastName": "ตรวจละเอียด", "organization": CONSULTANT},
]
ROLES = {"somsri": ("Document Control", "Organization", CONTRACTOR), "prasit": ("Contract Admin", "Contract", CONTRACT)}
ROOT = ("--username", "root", "--email", "root@example.org", "--organization", OWNER)


def project_file() -> str:
    """The template that the set-up page begins with, with the organizations and people of this project."""
    content = yaml.safe_load(project_files.template(TEMPLATE))
    content["organizations"] = [{"code": code, "name": name} for code, name in NAMES.items()]
    content["project"] = PROJECT
    contract = content["contracts"][0] | {"code": CONTRACT}
    for place, key in ((content, "members"), (contract, "parties")):
        place[key] = [{"organization": code, "role": role} for code, role in PARTIES.items()]
    content["contracts"] = [contract]
    contract["disciplines"].append(PIERS)
    content["people"] = [
        {
            **person,
            "email": f"{person['username']}@example.org",
            "roles": [dict(zip(("role", "level", "place"), ROLES[person["username"]], strict=True))],
        }
        for person in PEOPLE
    ]
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False)


@dataclass
class Installation:
    """An empty database, and what runs on it."""

    folder: Path
    database_url: str

    def __post_init__(self) -> None:
        self.settings = {
            "env": "production",
            "public_url": "http://localhost",
            "secret_key": SIGNING_KEY,
            "database_url": self.database_url,
            "lang": "en",
        }
        self._commands = count(1)

    def server(self) -> RunningSaraban:
        return RunningSaraban(self.folder, **self.settings)

    def run(self, *words: str, typed: str = "") -> str:
        """Run a command at a terminal, and give what it prints."""
        log, given = (self.folder / f"{next(self._commands)}.{what}" for what in ("log", "typed"))
        given.write_text(typed, "utf-8")
        settings = environment_of(data_dir=self.folder, **self.settings)
        program = PreloadedProgram(
            *words, environment=settings, folder=self.folder, log=log, prepare=partial(read_from, given)
        )
        program.wait(60)
        printed = log.read_text("utf-8")
        assert program.poll() == 0, printed
        return printed


@pytest.fixture
def installation(mariadb_url: str, tmp_path: Path) -> Installation:
    return Installation(tmp_path, mariadb_url)


@pytest.fixture(scope="module")
def from_file(
    mariadb_server: MariaDb, mariadb_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The export of the project that one file made."""
    url = mariadb_server.create("from_file", statements=mariadb_template)
    installation = Installation(tmp_path_factory.mktemp("file"), url)
    installation.run("setup", *ROOT, "--organization-name", NAMES[OWNER], "--password-stdin", typed=SECRET)
    installation.run("project", "apply", "-", typed=project_file())
    yield installation.run("project", "export", "BRIDGE")
    mariadb_server.drop("from_file")


class Api:
    """Speaks to the API as one person after the other."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.tokens: dict[str, str] = {}

    async def sign_in(self, username: str, password: str = SECRET) -> None:
        answer = await self.post("", "/auth/login", username=username, password=password)
        self.tokens[username] = answer["accessToken"]

    async def post(self, who: str, path: str, **body: Any) -> Any:
        return await self.ask(who, "POST", path, body)

    async def ask(self, who: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        answer = await self.client.request(method, f"/api/v1{path}", json=body, headers=headers)
        assert answer.is_success, f"{method} {path} {body}: {answer.text}"
        return answer.json() if answer.content else None


class Hand:
    """People at browsers of their own, one after the other; what they click, type, choose and press is counted."""

    page: Page

    def __init__(self, browser: Browser, address: str, language: str) -> None:
        self.browser = browser
        self.address = address
        self.locale = {"th": "th-TH", "en": "en-GB"}[language]
        self.count = 0
        self.complaints: list[str] = []
        self.seats: dict[str, Person] = {}

    async def sit(self, name: str) -> None:
        """Somebody else comes, or comes back: that is no interaction."""
        if name not in self.seats:
            context = await self.browser.new_context(locale=self.locale, reduced_motion="reduce")
            self.seats[name] = Person(await context.new_page(), self.address)
        self.page = self.seats[name].page

    async def open(self, link: str) -> None:
        self.count += 1
        await self.page.goto(link if "://" in link else self.address + link)

    async def click(self, selector: str) -> None:
        """Once the page waits for nothing."""
        self.count += 1
        await expect(self.page.locator(".htmx-request")).to_have_count(0)
        await self.page.locator(selector).first.click()

    async def type(self, **fields: str) -> None:
        for name, text in fields.items():
            self.count += 1
            await self.page.locator(f"main [name={name}]").last.fill(text)

    async def choose(self, **fields: str) -> None:
        for name, wanted in fields.items():
            self.count += 1
            field = self.page.locator(f"main select[name={name}]").last
            option = field.locator("option", has_text=wanted)
            known = await field.locator(f"option[value='{wanted}']").count()
            value = wanted if known else await option.first.get_attribute("value")
            await field.select_option(value)

    async def attach(self, name: str) -> None:
        self.count += 1
        file = FilePayload(name=name, mimeType="application/pdf", buffer=b"%PDF-1.4\ntrailer<<>>\n%%EOF\n")
        await self.page.set_input_files("main input[type=file]", file)
        await expect(self.page.locator(".upload-row.is-done")).to_have_count(1)

    async def press(self, key: str) -> None:
        self.count += 1
        await self.page.keyboard.press(key)

    async def leave(self) -> None:
        for person in self.seats.values():
            self.complaints += person.complaints
            await person.page.context.close()


class TestProjectOfOnesOwn:
    async def test_is_set_up_over_the_api(self, installation: Installation, from_file: str) -> None:
        with installation.server() as server:
            async with httpx.AsyncClient(base_url=server.address, timeout=60) as client:
                await self.begin(client, printed_token(server))
                api = Api(client)
                await api.sign_in("root")
                await self.fill(api)
                await self.first_rfa(api)
            assert installation.run("project", "export", "BRIDGE") == from_file

    async def begin(self, client: httpx.AsyncClient, token: str) -> None:
        form = {"token": token, "username": "root", "email": "root@example.org", "password": SECRET, "start": "none"}
        form |= {"organization": OWNER, "organization-name": NAMES[OWNER]}
        answer = await client.post("/setup", data=form, headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        client.cookies.clear()

    async def fill(self, api: Api) -> None:
        """Make the project, its parties and its people by the calls of the contract for programs."""
        places = {OWNER: (await api.ask("root", "GET", "/organizations"))["items"][0]["publicId"]}
        for code in (CONSULTANT, CONTRACTOR):
            made = await api.post("root", "/organizations", organizationCode=code, organizationName=NAMES[code])
            places[code] = made["publicId"]
        begun = {"projectCode": PROJECT["code"], "projectName": PROJECT["name"], "template": TEMPLATE}
        project = (await api.post("root", "/projects", **begun))["publicId"]
        contract = (await api.ask("root", "GET", f"/projects/{project}/contracts"))["items"][0]["publicId"]
        places[CONTRACT] = contract
        for above in (f"/projects/{project}", f"/contracts/{contract}"):
            for code, role in PARTIES.items():
                await api.ask("root", "PUT", f"{above}/organizations/{places[code]}", {"role": role})
        await api.post("root", f"/contracts/{contract}/disciplines", **PIERS)
        for person in PEOPLE:
            await self.open_account(api, person, places)

    async def open_account(self, api: Api, person: dict[str, str], places: dict[str, str]) -> None:
        name = person["username"]
        named = {key: person[key] for key in ("username", "firstName", "lastName")}
        organization = places[person["organization"]]
        account = named | {"email": f"{name}@example.org", "organizationPublicId": organization, "password": FIRST}
        user = (await api.post("root", "/users", **account))["publicId"]
        role, level, place = ROLES[name]
        await api.post("root", f"/users/{user}/roles", role=role, level=level, placePublicId=places[place])
        await api.sign_in(name, FIRST)
        await api.post(name, "/auth/password", currentPassword=FIRST, newPassword=SECRET)
        await api.sign_in(name)

    async def first_rfa(self, api: Api) -> None:
        """Each finds what they need by what the API shows to them."""
        project = (await api.ask("somsri", "GET", "/projects"))["items"][0]["publicId"]
        parties = (await api.ask("somsri", "GET", f"/projects/{project}"))["organizations"]
        consultant = next(one["publicId"] for one in parties if one["role"] == "CONSULTANT")
        rfa = await api.post(
            "somsri",
            "/rfas",
            projectPublicId=project,
            recipients=[{"organizationPublicId": consultant, "recipientType": "TO"}],
            subject="ขออนุมัติแบบขยายเหล็กเสริมตอม่อ",
            disciplineCode=PIERS["code"],
            rfaTypeCode="SDW",
        )
        assert rfa["data"]["documentNumber"] == NUMBER
        await self.step(api, "somsri", rfa, "submit")
        waiting = (await api.ask("prasit", "GET", "/inbox"))["items"]
        assert [one["data"]["subject"]["number"] for one in waiting] == [NUMBER]
        reached = [await self.step(api, who, rfa, "approve") for who in ("prasit", "root")]
        assert reached == ["pending_approval", "approved"]

    @pytest.mark.browser
    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.faults
    async def test_is_set_up_by_hand(
        self, installation: Installation, from_file: str, browser: Browser, language: str
    ) -> None:
        with installation.server() as server:
            hand = Hand(browser, server.address, language)
            try:
                await self.set_up(hand, printed_token(server))
                await self.add_parties(hand)
                await self.add_discipline(hand)
                links = [await self.invite(hand, person) for person in PEOPLE]
                assert installation.run("project", "export", "BRIDGE") == from_file
                for link in links:
                    await self.accept(hand, link)
                await self.send(hand, links[0])
                await self.approve(hand, links[1])
            finally:
                await hand.leave()
            assert hand.complaints == []
            assert hand.count == stated_in_readme()

    async def set_up(self, hand: Hand, token: str) -> None:
        await hand.sit("root")
        await hand.open(f"/setup?token={token}")
        typed = {"username": "root", "email": "root@example.org", "password": SECRET, "organization": OWNER}
        typed |= {"organization-name": NAMES[OWNER], "projectCode": PROJECT["code"], "projectName": PROJECT["name"]}
        await hand.type(**typed)
        await hand.choose(role=PARTIES[OWNER])
        await hand.click("[data-submit]")
        await hand.page.wait_for_url("**/inbox")

    async def add_parties(self, hand: Hand) -> None:
        """Who takes part in the contract takes part in its project."""
        await hand.click("#to-do a[href$='/parties']")
        for code in (CONSULTANT, CONTRACTOR):
            await hand.type(organizationCode=code, organizationName=NAMES[code])
            if PARTIES[code] != await hand.page.input_value(".line.is-new [name=role]"):
                await hand.choose(role=PARTIES[code])
            await hand.press("Enter")
            await expect(hand.page.locator(".line:not(.is-new)", has_text=code)).to_be_visible()
            field = hand.page.locator(".line.is-new [name=organizationCode]")
            await expect(field).to_have_value("")
            await expect(field).to_be_focused()

    async def add_discipline(self, hand: Hand) -> None:
        await hand.click("#sidebar a[href='/inbox']")
        await hand.click("#to-do a[href$='/disciplines']")
        await hand.type(**PIERS)
        await hand.press("Enter")
        await expect(hand.page.locator(".line:not(.is-new)", has_text=PIERS["code"])).to_be_visible()

    async def invite(self, hand: Hand, person: dict[str, str]) -> str:
        """Fill in the form for an account and its first role, and give the link that the page shows."""
        if not await hand.page.locator("#told").count():
            await hand.click("#sidebar a[href='/people']")
        await hand.click("main a[href='/people/new']")
        name = person["username"]
        named = {key: person[key] for key in ("username", "firstName", "lastName")}
        await hand.type(**named, email=f"{name}@example.org")
        # The place is the person's organization, or the only contract there is.
        await hand.choose(organizationPublicId=person["organization"], role=ROLES[name][0])
        await hand.click("main form [data-submit]")
        return await hand.page.locator("#told").inner_text()

    async def accept(self, hand: Hand, link: str) -> None:
        await hand.sit(link)
        await hand.open(urlsplit(link).path)  # the server has another port than its public address
        await hand.type(password=SECRET, repeat=SECRET)
        await hand.click("[data-submit]")
        await hand.page.wait_for_url("**/inbox")

    async def send(self, hand: Hand, who: str) -> None:
        await hand.sit(who)
        await hand.click("#sidebar a[href='/rfas/new']")
        await hand.choose(rfaTypeCode="SDW", disciplineCode=PIERS["code"])
        await hand.type(subject="ขออนุมัติแบบขยายเหล็กเสริมตอม่อ")
        await hand.attach("ขยายเหล็กเสริม.pdf")
        await expect(hand.page.locator("#number [data-number]")).to_have_text(NUMBER)
        await hand.click("form#create [data-submit]")
        await hand.click('.banner [data-action="submit"]')
        await hand.click("#act-submit [data-submit]")
        await expect(hand.page.locator(".timeline .step.is-done")).to_have_count(1)

    async def approve(self, hand: Hand, who: str) -> None:
        await hand.sit(who)
        await hand.page.reload()
        await hand.click(f'#inbox a:has-text("{NUMBER}")')
        await hand.click('.banner [data-action="approve"]')
        await hand.click("#act-approve [data-submit]")
        await expect(hand.page.locator(".timeline .step.is-done")).to_have_count(2)

    async def step(self, api: Api, who: str, rfa: Any, action: str) -> str:
        path = f"/workflow/instances/{rfa['workflow']['instancePublicId']}/transitions"
        return str((await api.post(who, path, action=action))["workflow"]["currentState"])


def stated_in_readme() -> int:
    """How many interactions the README says that it takes, in both of its languages; at most 60 are wanted."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    english, thai = (re.findall(said, readme) for said in (r"(\d+) interactions", r"ทั้งหมด (\d+) ครั้ง"))
    assert english == thai
    (stated,) = map(int, english)
    assert stated <= 60
    return stated


def printed_token(server: RunningSaraban) -> str:
    """The token of the link that the server printed on its terminal."""
    found = re.search(r"/setup\?token=(\S+)", server.log)
    assert found, server.log
    return found[1]
