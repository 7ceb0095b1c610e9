"""The first administrator and a project, once: at the terminal on MariaDB, and in two browsers on two servers at once."""

import asyncio
import io
import re
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from saraban import config
from saraban.cli import app
from saraban.cli.output import run_app
from tests.factories.projects import FULL
from tests.processes import RunningSaraban

ROOT = ("--username", "root", "--email", "root@example.org", "--organization", "ทช.", "--password-stdin")


class TestSetup:
    def test_makes_an_empty_database_ready_once(
        self,
        mariadb_url: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        file = tmp_path / "project.yaml"
        file.write_text(FULL)
        chosen = {"DATA_DIR": str(tmp_path), "ENV": "production", "DATABASE_URL": mariadb_url, "LANG": "en"}
        chosen["PUBLIC_URL"] = "https://saraban.example.org"
        for name, value in chosen.items():
            monkeypatch.setenv(f"SARABAN_{name}", value)
        config.load.cache_clear()
        codes = []
        for _ in range(2):
            monkeypatch.setattr(sys, "argv", ["saraban", "setup", *ROOT, "--project", str(file)])
            monkeypatch.setattr(sys, "stdin", io.StringIO("Harbour-Wall-61\n"))
            codes.append(run_app(app))
        config.load.cache_clear()

        printed = capsys.readouterr()
        assert codes == [0, 6]
        assert "somchai: https://saraban.example.org/invitations/" in printed.out
        assert printed.err.count("\n") == 1


FORM = {
    "email": "root@example.org",
    "password": "Harbour-Wall-61",
    "organization": "ทช.",
    "organization-name": "กรมทางหลวงชนบท",
    "start": "thai-public-works",
    "projectCode": "BRIDGE",
    "projectName": "สะพาน",
}
PAGE = {"Accept": "text/html", "Accept-Language": "en", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture(params=["mariadb", pytest.param("sqlite", marks=pytest.mark.faults)])
def two_servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[RunningSaraban]]:
    """Two servers in production on one database that nobody has set up; the second was started last."""
    is_sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'saraban.db'}" if is_sqlite else request.getfixturevalue("mariadb_url")
    key = "of-this-test-and-of-nothing-else-in-the-world"
    chosen = {"env": "production", "secret_key": key, "lang": "en", "run_worker": "false", "database_url": url}
    chosen["public_url"] = "http://localhost"
    with RunningSaraban(tmp_path, **chosen) as first, RunningSaraban(tmp_path, **chosen) as second:
        yield [first, second]


def printed_link(server: RunningSaraban) -> str:
    found = re.search(r"http://\S+/setup\?token=(\S+)", server.log)
    assert found, server.log
    return found[1]


class TestSetUpPage:
    async def test_of_two_who_send_it_at_once_to_two_servers_one_begins(
        self, two_servers: list[RunningSaraban]
    ) -> None:
        replaced, token = map(printed_link, two_servers)
        async with AsyncExitStack() as stack:
            browsers = [
                await stack.enter_async_context(httpx.AsyncClient(base_url=one.address, headers=PAGE, timeout=60))
                for one in two_servers
            ]
            opened = [(await one.get("/setup", params={"token": token})).status_code for one in browsers]
            stale = await browsers[0].get("/setup", params={"token": replaced})
            forms = [FORM | {"token": token, "username": f"root{n}", "email": f"r{n}@example.org"} for n in range(2)]
            sent = await asyncio.gather(
                *(one.post("/setup", data=form) for one, form in zip(browsers, forms, strict=True))
            )
            gone = [(await one.get("/setup", params={"token": token})).headers.get("location") for one in browsers]
            assert sorted(answer.status_code for answer in sent) == [303, 409]
            won = next(one for one, answer in zip(browsers, sent, strict=True) if answer.status_code == 303)
            (signed_in,) = (answer for answer in sent if answer.status_code == 303)
            crumbs = [value.partition(";")[0] for value in signed_in.headers.get_list("set-cookie")]
            headers = {"Cookie": "; ".join(crumbs)}  # they are for TLS, which a proxy does
            projects = (await won.get("/api/v1/projects", headers=headers)).json()["items"]

        assert (opened, stale.status_code) == ([200, 200], 403)
        assert "set up already" in next(answer.text for answer in sent if answer.status_code == 409)
        assert gone == ["/login", "/login"]
        assert [one["projectCode"] for one in projects] == ["BRIDGE"]
