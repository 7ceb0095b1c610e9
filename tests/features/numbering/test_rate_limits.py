"""Limits on drawing numbers: by account, address and all together, told in headers, apart from previews (REQ-OPS-01, REQ-OPS-02)."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban import config
from saraban.app import create_app
from saraban.config import Settings
from saraban.identity.models import User
from saraban.identity.service.first_run import seed_demo_accounts
from saraban.kit.rate_limits import RateLimiter, RateLimitRule
from saraban.numbering.series.models import NumberError
from tests.command_tree import run_program
from tests.conftest import PASSWORD, client_of
from tests.numbering_requests import GENERATE, PREVIEW, Project, read_project

NARROW = {"draw_limit_user": 3, "draw_limit_address": 5, "draw_limit_all": 7, "preview_limit_user": 4}
Sign = Callable[..., Any]


@pytest_asyncio.fixture
async def narrow(settings: Settings) -> AsyncIterator[FastAPI]:
    application = create_app(settings.model_copy(update=NARROW))
    async with application.router.lifespan_context(application):
        yield application


@pytest_asyncio.fixture
async def sign(narrow: FastAPI) -> AsyncIterator[Sign]:
    """`await sign("dc.consultant", at="10.0.0.1")` gives that account's client, coming from that address."""
    async with AsyncExitStack() as stack:

        async def signed(username: str, at: str = "10.0.0.1") -> httpx.AsyncClient:
            transport = httpx.ASGITransport(narrow, raise_app_exceptions=False, client=(at, 1234))
            client = await stack.enter_async_context(
                httpx.AsyncClient(
                    transport=transport, base_url="http://saraban.test", headers={"Accept-Language": "en"}
                )
            )
            answer = await client.post("/api/v1/auth/login", json={"username": username, "password": PASSWORD})
            client.headers["Authorization"] = f"Bearer {answer.json()['accessToken']}"
            return client

        yield signed


async def draw(client: httpx.AsyncClient, project: Project, **more: Any) -> httpx.Response:
    return await client.post(GENERATE, json=project.letter(**more))


class TestUser:
    async def test_draws_so_many_in_a_minute_and_is_told_when_to_go_on(self, sign: Sign) -> None:
        client = await sign("dc.consultant")
        project = await read_project(client)

        answers = [await draw(client, project) for _ in range(5)]

        assert [answer.status_code for answer in answers] == [201] * 3 + [429] * 2
        refused = answers[-1]
        assert refused.json()["code"] == "RATE_LIMITED"
        assert 1 <= int(refused.headers["Retry-After"]) <= 60

    async def test_is_told_in_every_answer_what_is_left(self, sign: Sign) -> None:
        client = await sign("dc.consultant")
        project = await read_project(client)

        answers = [await draw(client, project) for _ in range(4)]

        assert answers[0].headers["RateLimit-Policy"] == '"user";q=3;w=60, "address";q=5;w=60, "all";q=7;w=60'
        assert [answer.headers["RateLimit"].split(";")[1] for answer in answers] == ["r=2", "r=1", "r=0", "r=0"]
        assert answers[0].headers["RateLimit"].startswith('"user";')

    async def test_is_refused_before_a_number_is_drawn(self, sign: Sign) -> None:
        client, other = await sign("dc.consultant"), await sign("padmin", at="10.0.0.2")
        project = await read_project(client)
        for _ in range(5):
            await draw(client, project)

        following = await draw(other, project)

        assert following.json()["sequence"] == 4

    async def test_is_charged_for_bad_input_but_not_for_what_is_no_json(self, sign: Sign) -> None:
        """Whatever can be read costs a draw: what lacks every field, and what names a code that nobody knows."""
        client = await sign("dc.consultant")
        project = await read_project(client)

        torn = [await client.post(GENERATE, content="{", headers={"Content-Type": "application/json"}) for _ in "12345"]
        empty = await client.post(GENERATE, json={})
        unknown = await draw(client, project, correspondenceTypeCode="NOPE")
        good = [await draw(client, project) for _ in range(2)]

        assert [(answer.status_code, "RateLimit" in answer.headers) for answer in torn] == [(422, False)] * 5
        assert [answer.status_code for answer in (empty, unknown, *good)] == [422, 422, 201, 429]
        assert [answer.headers["RateLimit"].split(";")[1] for answer in (empty, unknown)] == ["r=2", "r=1"]

    async def test_speaks_thai(self, sign: Sign) -> None:
        client = await sign("dc.consultant")
        client.headers["Accept-Language"] = "th"
        project = await read_project(client)

        answers = [await draw(client, project) for _ in range(4)]

        assert "กรุณารอ" in answers[-1].json()["userMessage"]

    async def test_may_preview_when_draws_are_used_up(self, sign: Sign) -> None:
        client = await sign("dc.consultant")
        project = await read_project(client)
        for _ in range(4):
            await draw(client, project)

        previews = [await client.post(PREVIEW, json=project.letter()) for _ in range(5)]

        assert [answer.status_code for answer in previews] == [200] * 4 + [429]
        assert previews[0].headers["RateLimit-Policy"] == '"looks";q=4;w=60'

    async def test_reads_on_the_wide_count_and_not_on_that_of_draws(self, sign: Sign) -> None:
        client = await sign("padmin")
        project = await read_project(client)
        asked = {"projectPublicId": project.id}

        answers = [await client.get("/api/v1/document-numbering/series", params=asked) for _ in range(5)]

        assert [answer.status_code for answer in answers] == [200] * 4 + [429]
        assert answers[0].headers["RateLimit-Policy"] == '"looks";q=4;w=60'
        assert (await draw(client, project)).status_code == 201

    async def test_writes_documents_on_the_same_account(self, sign: Sign) -> None:
        """Drawing for a document is drawing; the page keeps what was typed."""
        client = await sign("dc.consultant")
        project = await read_project(client)
        for _ in range(3):
            await draw(client, project)

        api = await client.post("/api/v1/correspondences", json={})

        assert api.status_code == 429


class TestAddress:
    async def test_counts_all_accounts_behind_it(self, sign: Sign) -> None:
        one, two = await sign("dc.consultant"), await sign("padmin")
        project = await read_project(one)

        answers = [await draw(client, project) for client in (one, two) for _ in range(3)]

        assert [answer.status_code for answer in answers] == [201] * 5 + [429]
        assert answers[-1].headers["RateLimit"].startswith('"address";r=0;')


class TestEverybody:
    async def test_together_draw_no_more_than_the_whole_may(self, sign: Sign) -> None:
        people = [await sign(name, at=at) for name, at in (("dc.consultant", "a"), ("padmin", "b"), ("admin", "c"))]
        project = await read_project(people[0])

        answers = [await draw(client, project) for client in people for _ in range(3)]

        assert sorted(answer.status_code for answer in answers) == [201] * 7 + [429] * 2


class TestServiceAccount:
    @pytest.mark.parametrize(("limit", "expected"), [("6", [201] * 6 + [429] * 2), ("exempt", [201] * 8)])
    async def test_has_a_limit_of_its_own(
        self,
        sign: Sign,
        settings: Settings,
        monkeypatch: pytest.MonkeyPatch,
        limit: str,
        expected: list[int],
    ) -> None:
        client = await sign("dc.consultant")
        project = await read_project(client)
        assert await asyncio.to_thread(command, monkeypatch, settings, "limit", "dc.consultant", limit) == 0

        answers = [await draw(client, project) for _ in range(8)]

        assert [answer.status_code for answer in answers] == expected
        assert ("RateLimit" in answers[0].headers) == (limit != "exempt")

    async def test_of_the_demo_is_exempt(self, sign: Sign) -> None:
        client = await sign("svc.loadtest")
        project = await read_project(client)

        assert [(await draw(client, project)).status_code for _ in range(8)] == [201] * 8

    async def test_of_an_older_demo_is_exempt_too_unless_it_has_a_limit(self, narrow: FastAPI) -> None:
        limits = []
        for before in (None, 60):
            async with narrow.state.db.writing() as session:
                mine = User.username == "svc.loadtest"
                await session.execute(sa.update(User).where(mine).values(draws_per_minute=before))
                await seed_demo_accounts(session)
                limits.append(await session.scalar(sa.select(User.draws_per_minute).where(mine)))

        assert limits == [0, 60]

    @pytest.mark.parametrize("limit", ["-1", "0", "ten", "1000001"])
    def test_is_not_given_what_is_no_limit(
        self, settings: Settings, monkeypatch: pytest.MonkeyPatch, limit: str
    ) -> None:
        assert command(monkeypatch, settings, "limit", "dc.consultant", "--", limit) == 3


def command(monkeypatch: pytest.MonkeyPatch, settings: Settings, *words: str) -> int:

    monkeypatch.setenv("SARABAN_DATA_DIR", str(settings.data_dir))
    monkeypatch.setattr(sys, "argv", ["saraban", "user", *words])
    config.load.cache_clear()
    try:
        return run_program()
    finally:
        config.load.cache_clear()


class TestPage:
    async def test_keeps_what_was_typed_when_it_is_too_soon(self, narrow: FastAPI) -> None:
        from tests.features.web.forms import rfa_form

        async with client_of(narrow, **{"Accept-Language": "en"}) as browser:
            await browser.post("/login", data={"username": "dc.contractor", "password": PASSWORD})
            for number in range(4):
                form = await rfa_form(browser, subject=f"เรื่องที่ {number}")
                answer = await browser.post("/rfas/new", data=form)

        assert answer.status_code == 429
        assert "Too many requests" in answer.text
        assert "เรื่องที่ 3" in answer.text

    async def test_is_kept_among_the_refusals_with_who_asked(self, narrow: FastAPI) -> None:
        from tests.features.web.forms import rfa_form

        async with client_of(narrow, **{"Accept-Language": "en"}) as browser:
            await browser.post("/login", data={"username": "dc.contractor", "password": PASSWORD})
            form = await rfa_form(browser)
            for number in range(4):
                await browser.post("/rfas/new", data=form | {"key": f"key-{number}"})

        async with narrow.state.db.reading() as session:
            kept = (await session.scalars(sa.select(NumberError))).all()
        assert [(one.context_data["code"], one.user_id is not None) for one in kept] == [("RATE_LIMITED", True)]

    async def test_that_replaces_a_number_counts_as_a_draw(self, narrow: FastAPI, sign: Sign) -> None:
        client = await sign("padmin")
        project = await read_project(client)
        drawn = [(await draw(client, project)).json() for _ in range(3)]

        async with client_of(narrow, **{"Accept-Language": "th"}) as browser:
            await browser.post("/login", data={"username": "padmin", "password": PASSWORD})
            form = {"reason": "ออกผิดผู้รับ", "replace": "1", "key": "one"}
            answer = await browser.post(f"/numbers/{drawn[0]['publicId']}/void", data=form)

        assert answer.status_code == 429
        assert "กรุณารอ" in answer.text
        assert "ออกผิดผู้รับ" in answer.text

    async def test_looks_at_numbers_on_the_wide_count(self, narrow: FastAPI) -> None:
        from tests.features.web.forms import rfa_form

        async with client_of(narrow, **{"Accept-Language": "en"}) as browser:
            await browser.post("/login", data={"username": "dc.contractor", "password": PASSWORD})
            form = await rfa_form(browser)
            answers = [await browser.post("/rfas/new/number", data=form) for _ in range(5)]

        assert ["Too many requests" in answer.text for answer in answers] == [False] * 4 + [True]


class TestLimiter:
    async def test_lets_exactly_so_many_through_at_once(self) -> None:
        limiter = RateLimiter()

        tallies = await asyncio.gather(*(limiter.take([RateLimitRule("user", "a", 50)]) for _ in range(200)))

        assert sum(tally.refused is None for tally in tallies) == 50

    async def test_charges_nobody_else_for_who_is_refused(self) -> None:
        limiter = RateLimiter()
        charges = [RateLimitRule("user", "a", 1), RateLimitRule("all", "", 3)]

        tallies = [await limiter.take(charges) for _ in range(5)]
        others = [await limiter.take([RateLimitRule("user", "b", 9), RateLimitRule("all", "", 3)]) for _ in range(3)]

        assert [tally.refused is None for tally in tallies] == [True] + [False] * 4
        assert [tally.refused is None for tally in others] == [True, True, False]
