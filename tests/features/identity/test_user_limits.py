"""What one user may do in a minute, an hour or a day, over the API and on pages; each limit is a setting."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from saraban.app import create_app
from saraban.config import Settings
from saraban.identity.dependencies import policies_of
from saraban.kit.rate_limits import DAY, RateLimiter, RateLimitRule
from tests.conftest import PASSWORD, settings_in

NARROW = {
    "search_limit_user": 2,
    "export_limit_user": 2,
    "preview_limit_user": 2,
    "refresh_limit_user": 2,
    "upload_limit_user": 3_000,
}
PDF = {"file": ("a.pdf", b"%PDF-1.7\n" + b" " * 1_000)}
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest_asyncio.fixture
async def narrow(settings: Settings) -> AsyncIterator[FastAPI]:
    application = create_app(settings.model_copy(update=NARROW))
    async with application.router.lifespan_context(application):
        yield application


@pytest_asyncio.fixture
async def sign(narrow: FastAPI) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:

        async def signed(username: str) -> httpx.AsyncClient:
            transport = httpx.ASGITransport(narrow, raise_app_exceptions=False)
            client = httpx.AsyncClient(transport=transport, base_url="http://saraban.test")
            await stack.enter_async_context(client)
            answer = await client.post("/api/v1/auth/login", json={"username": username, "password": PASSWORD})
            client.headers.update({"Authorization": f"Bearer {answer.json()['accessToken']}", "Accept-Language": "en"})
            client.cookies["refresh"] = answer.json()["refreshToken"]
            return client

        yield signed


class TestUser:
    @pytest.mark.parametrize(
        ("method", "path", "more", "window"),
        [
            ("GET", "/api/v1/search", {"params": {"q": "ท่าเรือ"}}, "searches"),
            ("GET", "/api/v1/search/suggestions", {"params": {"q": "ท่าเรือ"}}, "searches"),
            ("GET", "/search", {"params": {"q": "ท่าเรือ"}}, "searches"),
            ("GET", "/api/v1/organizations/export", {}, "exports"),
            ("GET", "/people/import/template", {}, "exports"),
            ("GET", "/organizations/export", {}, "exports"),
            ("POST", "/api/v1/workflow/definitions/validate", {"json": {}}, "looks"),
            ("POST", "/api/v1/projects/apply", {"params": {"dryRun": "true"}, "json": {}}, "looks"),
        ],
    )
    async def test_does_so_much_and_is_told_when_to_go_on(
        self, sign: Any, method: str, path: str, more: dict[str, Any], window: str
    ) -> None:
        client, other = await sign("admin"), await sign("padmin")

        answers = [await client.request(method, path, **more) for _ in range(3)]

        assert [answer.status_code == 429 for answer in answers] == [False, False, True]
        assert int(answers[2].headers["Retry-After"]) >= 1
        assert answers[0].headers["RateLimit"].startswith(f'"{window}";r=1;')
        assert (await other.request(method, path, **more)).status_code != 429
        if path.startswith("/api/"):
            assert answers[2].json()["code"] == "USER_LIMIT_REACHED"

    async def test_uploads_so_many_bytes_in_a_day(self, sign: Any) -> None:
        client = await sign("dc.consultant")

        async def endless() -> AsyncIterator[bytes]:
            yield b"PK"

        answers = [await client.post("/api/v1/attachments", files=PDF) for _ in range(3)]
        small = await client.post("/api/v1/attachments", files={"file": ("a.pdf", b"%PDF-1.7\n")})
        undeclared = await client.post("/api/v1/users/import", content=endless(), headers={"Content-Type": SHEET})

        assert [answer.status_code for answer in answers] == [201, 201, 429]
        assert answers[0].headers["RateLimit-Policy"] == '"uploads";q=3000;w=86400'
        assert small.status_code == 201  # what was refused counted nothing
        assert undeclared.status_code == 429

    async def test_renews_the_session_so_often_and_keeps_it(self, sign: Any) -> None:
        client, other = await sign("dc.consultant"), await sign("padmin")
        token = client.cookies["refresh"]
        answers = []
        for _ in range(3):
            answers.append(await client.post("/api/v1/auth/refresh", json={"refreshToken": token}))
            token = answers[-1].json().get("refreshToken", token)
        unknown = [await client.post("/api/v1/auth/refresh", json={"refreshToken": f"{n}" * 64}) for n in range(3)]
        others = await other.post("/api/v1/auth/refresh", json={"refreshToken": other.cookies["refresh"]})

        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[2].json()["code"] == "USER_LIMIT_REACHED"
        assert [answer.status_code for answer in unknown] == [401, 401, 429]
        assert others.status_code == 200

    async def test_of_a_program_without_a_limit_is_exempt(self, sign: Any) -> None:
        client = await sign("svc.loadtest")

        answers = [await client.get("/api/v1/search", params={"q": "ท่าเรือ"}) for _ in range(4)]

        assert [answer.status_code for answer in answers] == [200] * 4


class TestLimiter:
    async def test_counts_nothing_of_what_it_refuses_of_a_day(self) -> None:
        limiter = RateLimiter()

        taken = [await limiter.take([RateLimitRule("uploads", "a", 10, DAY, cost)]) for cost in (6, 6, 4, 1)]

        assert [result.refused is None for result in taken] == [True, False, True, False]


def test_every_route_that_searches_exports_or_previews_is_counted() -> None:
    """By the names of the functions; the paths are what `policies_of` goes by."""
    names = {"find": "searches", "suggestions": "searches", "suggest_below": "searches", "facets": "searches"}
    names |= {"export": "exports", "template": "exports", "import_template": "exports", "import_result": "exports"}
    names |= {"export_ledger": "exports", "download": "exports", "validate_definition": "looks", "play": "looks"}
    names |= {"look_or_apply": "looks", "rehearse_version": "looks", "replay_version": "looks", "replay": "looks"}
    uncounted = set()
    for context in iter_route_contexts(create_app(settings_in(Path("nowhere"))).routes):
        wanted = names.get(getattr(getattr(context, "endpoint", None), "__name__", ""))
        for method in (getattr(context, "methods", None) or set()) if wanted else set():
            if wanted not in policies_of(method, str(context.path), (), ""):
                uncounted.add(f"{method} {context.path}")

    assert uncounted == set()
