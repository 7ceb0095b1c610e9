"""How often a request asks MariaDB: what is read of one document is read once and handed on."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest_asyncio
from sqlalchemy.engine import make_url

from saraban.app import create_app
from tests.conftest import access_token, client_of, settings_in
from tests.proxy import cutting_proxy

Count = Callable[[Awaitable[httpx.Response]], Awaitable[int]]


class Site:
    """
    A server whose every question to MariaDB is counted, with an RFA in review.

    :param draft: what another RFA is created with
    """

    def __init__(self, count: Count, contractor: httpx.AsyncClient, draft: dict[str, object], rfa: str) -> None:
        self.count, self.contractor, self.draft, self.rfa = count, contractor, draft, rfa


async def _draft(contractor: httpx.AsyncClient) -> dict[str, object]:
    projects = (await contractor.get("/api/v1/projects")).json()["items"]
    organizations = (await contractor.get("/api/v1/organizations")).json()["items"]
    recipient = next(one["publicId"] for one in organizations if one["organizationCode"] == "คคง.")
    return {
        "projectPublicId": next(one["publicId"] for one in projects if one["projectCode"] == "LCBP3-C2"),
        "recipients": [{"organizationPublicId": recipient, "recipientType": "TO"}],
        "subject": "รายงานผลการทดสอบเสาเข็ม",
        "rfaTypeCode": "RPT",
        "disciplineCode": "TER",
    }


async def _reviewed(contractor: httpx.AsyncClient, draft: dict[str, object]) -> str:
    created = await contractor.post("/api/v1/rfas", json=draft)
    assert created.status_code == 201, created.text
    instance = created.json()["workflow"]["instancePublicId"]
    taken = await contractor.post(f"/api/v1/workflow/instances/{instance}/transitions", json={"action": "submit"})
    assert taken.status_code == 200, taken.text
    return str(created.json()["data"]["publicId"])


@pytest_asyncio.fixture
async def site(mariadb_demo_url: str, tmp_path: Path) -> AsyncIterator[Site]:
    url = make_url(mariadb_demo_url)
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(cutting_proxy(url.host or "", url.port or 0))
        through = url.set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
        app = create_app(settings_in(tmp_path / "data", database_url=through, run_worker=False))
        await stack.enter_async_context(app.router.lifespan_context(app))
        contractor = await stack.enter_async_context(client_of(app))
        contractor.headers["Authorization"] = f"Bearer {await access_token(app, 'dc.contractor')}"

        async def count(request: Awaitable[httpx.Response]) -> int:
            before = proxy.commands
            answer = await request
            assert answer.is_success, answer.text
            return proxy.commands - before

        draft = await _draft(contractor)
        yield Site(count, contractor, draft, await _reviewed(contractor, draft))


class TestOneDocument:
    async def test_is_created_in_twenty_three(self, site: Site) -> None:
        """One for each statement; more where the plan is renewed."""
        asked = [
            await site.count(
                site.contractor.post("/api/v1/rfas", json=site.draft, headers={"Idempotency-Key": f"draft-{number}"})
            )
            for number in range(4)
        ]

        assert min(asked) <= 23

    async def test_is_read_in_eleven_round_trips_over_the_api(self, site: Site) -> None:
        address = f"/api/v1/rfas/{site.rfa}"
        await site.contractor.get(address)

        assert await site.count(site.contractor.get(address)) <= 11

    async def test_is_shown_as_a_page_in_twenty(self, site: Site) -> None:
        address, accept = f"/rfas/{site.rfa}", {"Accept": "text/html"}
        page = await site.contractor.get(address, headers=accept)
        assert re.search("รายงานผลการทดสอบเสาเข็ม", page.text)

        # The least of three: the measurements of the process can send statements meanwhile.
        asked = [await site.count(site.contractor.get(address, headers=accept)) for _ in range(3)]

        assert min(asked) <= 20


class TestTransition:
    async def test_submits_an_rfa_in_sixteen(self, site: Site) -> None:
        asked = []
        for _ in range(4):
            created = (await site.contractor.post("/api/v1/rfas", json=site.draft)).json()
            address = f"/api/v1/workflow/instances/{created['workflow']['instancePublicId']}/transitions"
            asked.append(await site.count(site.contractor.post(address, json={"action": "submit"})))

        assert min(asked) <= 16
