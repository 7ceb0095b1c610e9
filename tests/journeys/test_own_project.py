"""
A project of one's own, on an empty MariaDB in production: set up over the API, from one file, and by hand through the pages.

The three make the same project: their exports are equal. In it a contractor's document controller sends a request for
approval, and a reviewer of another organization approves it.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import SIGNING_KEY
from tests.preloaded import PreloadedProgram
from tests.processes import RunningSaraban, environment_of
from tests.servers import MariaDb

pytestmark = [
    pytest.mark.servers,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.asyncio(loop_scope="session"),
]

SECRET = "Piles-and-piers-2569"
NUMBER = "BRIDGE-RFA-STR-SDW-0001-A"
FILE = """\
organizations:
- {code: ทช., name: กรมทางหลวงชนบท}
- {code: ทปษ., name: บริษัทที่ปรึกษา}
- {code: ผรม., name: บริษัทผู้รับเหมา}
project: {code: BRIDGE, name: สะพานข้ามแม่น้ำ}
members:
- {organization: ทช., role: OWNER}
- {organization: ทปษ., role: CONSULTANT}
- {organization: ผรม., role: CONTRACTOR}
contracts:
- code: BR-1
  name: งานสะพาน
  parties:
  - {organization: ทช., role: OWNER}
  - {organization: ทปษ., role: CONSULTANT}
  - {organization: ผรม., role: CONTRACTOR}
  disciplines:
  - {code: STR, nameTh: โครงสร้าง, nameEn: Structure}
  rfaTypes:
  - {code: SDW, nameTh: แบบขยาย, nameEn: Shop drawing}
people:
- username: somsri
  email: somsri@example.org
  firstName: สมศรี
  lastName: เอกสารครบ
  organization: ผรม.
  roles: [{role: Document Control, level: Organization, place: ผรม.}]
- username: prasit
  email: prasit@example.org
  firstName: ประสิทธิ์
  lastName: ตรวจละเอียด
  organization: ทปษ.
  roles: [{role: Contract Admin, level: Contract, place: BR-1}]
"""
ROOT = ("--username", "root", "--email", "root@example.org", "--organization", "ทช.")


@dataclass
class Installation:
    """An empty database, and what runs on it."""

    folder: Path
    database_url: str

    def __post_init__(self) -> None:
        self.settings = {
            "env": "production",
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
            *words, environment=settings, folder=self.folder, log=log, prepare=partial(_read_from, given)
        )
        program.wait(60)
        printed = log.read_text("utf-8")
        assert program.poll() == 0, printed
        return printed


def _read_from(path: Path) -> None:
    sys.stdin = path.open(encoding="utf-8")


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
    installation.run("setup", *ROOT, "--organization-name", "กรมทางหลวงชนบท", "--password-stdin", typed=SECRET)
    installation.run("project", "apply", "-", typed=FILE)
    yield installation.run("project", "export", "BRIDGE")
    mariadb_server.drop("from_file")


class Api:
    """Speaks to the API as one person after the other."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.tokens: dict[str, str] = {}

    async def sign_in(self, username: str) -> None:
        answer = await self.post("", "/auth/login", username=username, password=SECRET)
        self.tokens[username] = answer["accessToken"]

    async def post(self, who: str, path: str, **body: Any) -> Any:
        return await self.ask(who, "POST", path, body)

    async def ask(self, who: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        answer = await self.client.request(method, f"/api/v1{path}", json=body, headers=headers)
        assert answer.is_success, f"{method} {path} {body}: {answer.text}"
        return answer.json() if answer.content else None


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
        form |= {"organization": "ทช.", "organization-name": "กรมทางหลวงชนบท"}
        answer = await client.post("/setup", data=form, headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        client.cookies.clear()

    async def fill(self, api: Api) -> None:
        """Make the project, its contract and its people by the calls of the contract for programs."""
        owner = (await api.ask("root", "GET", "/organizations"))["items"][0]["publicId"]
        others = [
            await api.post("root", "/organizations", organizationCode=code, organizationName=name)
            for code, name in (("ทปษ.", "บริษัทที่ปรึกษา"), ("ผรม.", "บริษัทผู้รับเหมา"))
        ]
        consultant, contractor = (one["publicId"] for one in others)
        project = (await api.post("root", "/projects", projectCode="BRIDGE", projectName="สะพานข้ามแม่น้ำ"))["publicId"]
        contract = await api.post(
            "root", f"/projects/{project}/contracts", contractCode="BR-1", contractName="งานสะพาน"
        )
        place = f"/contracts/{contract['publicId']}"
        for above in (f"/projects/{project}", place):
            for organization, role in ((owner, "OWNER"), (consultant, "CONSULTANT"), (contractor, "CONTRACTOR")):
                await api.ask("root", "PUT", f"{above}/organizations/{organization}", {"role": role})
        await api.post("root", f"{place}/disciplines", code="STR", nameTh="โครงสร้าง", nameEn="Structure")
        await api.post("root", f"{place}/rfa-types", code="SDW", nameTh="แบบขยาย", nameEn="Shop drawing")
        people = (
            ("somsri", "สมศรี", "เอกสารครบ", contractor, "Document Control", "Organization", contractor),
            ("prasit", "ประสิทธิ์", "ตรวจละเอียด", consultant, "Contract Admin", "Contract", contract["publicId"]),
        )
        for name, first, last, organization, role, level, where in people:
            user = await api.post(
                "root",
                "/users",
                username=name,
                email=f"{name}@example.org",
                firstName=first,
                lastName=last,
                organizationPublicId=organization,
                password=SECRET,
            )
            await api.post("root", f"/users/{user['publicId']}/roles", role=role, level=level, placePublicId=where)
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
            disciplineCode="STR",
            rfaTypeCode="SDW",
        )
        assert rfa["data"]["documentNumber"] == NUMBER
        await self.step(api, "somsri", rfa, "submit")
        waiting = (await api.ask("prasit", "GET", "/inbox"))["items"]
        assert [one["data"]["subject"]["number"] for one in waiting] == [NUMBER]
        reached = [await self.step(api, who, rfa, "approve") for who in ("prasit", "root")]
        assert reached == ["pending_approval", "approved"]

    async def step(self, api: Api, who: str, rfa: Any, action: str) -> str:
        path = f"/workflow/instances/{rfa['workflow']['instancePublicId']}/transitions"
        return str((await api.post(who, path, action=action))["workflow"]["currentState"])


def printed_token(server: RunningSaraban) -> str:
    """The token of the link that the server printed on its terminal."""
    found = re.search(r"/setup\?token=(\S+)", server.log)
    assert found, server.log
    return found[1]
