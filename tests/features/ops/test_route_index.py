"""Looking an operation up finds the one that trying every route in turn would find, and nothing that it would not."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import Match

from saraban.app import create_app
from saraban.ops.route_index import RouteIndex
from tests.conftest import settings_in

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
FILLINGS = ("01930b5e-0000-7000-8000-000000000000", "rfas", "new", "1")
STRANGE = (
    "/",
    "//",
    "/api",
    "/api/v1",
    "/api/v1/",
    "/api/v1/rfas/",
    "/api/v2/rfas",
    "/static/",
    "/static/saraban.css",
    "/static/new",
    "/nothing/new",
    "/rfas/",
    "/api/v1/nothing/new/choices",
    "/%2e%2e/new",
    "/บทความ/new",
)


@pytest.fixture(scope="module")
def application() -> FastAPI:
    return create_app(settings_in(Path("nowhere")))


@pytest.fixture(scope="module")
def contexts(application: FastAPI) -> list[RouteContext]:
    return list(iter_route_contexts(application.routes))


def scope_of(method: str, path: str) -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}


def matching(contexts: list[RouteContext], path: str) -> list[RouteContext]:
    """Return the routes that have something to say of a path, whatever the method."""
    return [one for one in contexts if one.matches(scope_of("GET", path))[0] is not Match.NONE]


def by_turns(contexts: list[RouteContext], scope: dict[str, Any]) -> tuple[str, str, Any] | None:
    """What the routes say, each asked in turn; None where the answer is not an operation's."""
    for context in contexts:
        if isinstance(context.original_route, APIRoute):
            match, matched = context.matches(scope)
            if match is Match.PARTIAL and str(context.path).startswith("/api/"):
                taken = [one for one in contexts if one.path == context.path and scope["method"] in (one.methods or ())]
                if not taken:
                    return None
            if match is Match.FULL:
                return str(context.path), context.original_route.name, matched["path_params"]
        elif context.original_route.matches(scope)[0] is not Match.NONE:
            return None
    return None


def looked_up(board: RouteIndex, scope: dict[str, Any]) -> tuple[str, str, Any] | None:
    try:
        found = board.find(scope)
    except HTTPException:
        found = None
    return None if found is None else (found[0].path, found[0].context.original_route.name, found[1]["path_params"])  # type: ignore[attr-defined]


async def unreachable(*_: Any) -> None:
    raise AssertionError("nothing is asked here")


class TestFind:
    def test_is_what_the_routes_say_in_turn(self, application: FastAPI, contexts: list[RouteContext]) -> None:
        board = RouteIndex(application, unreachable)
        paths = {re.sub(r"\{.*?\}", filling, str(context.path)) for context in contexts for filling in FILLINGS}
        asked = [(path, scope_of(method, path)) for path in sorted(paths | set(STRANGE)) for method in METHODS]
        found = [looked_up(board, scope) for _, scope in asked]
        candidates = {path: matching(contexts, path) for path in paths | set(STRANGE)}

        assert found == [by_turns(candidates[path], scope) for path, scope in asked]
        assert len({one[:2] for one in found if one is not None}) > 100

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("PUT", "/api/v1/rfas", "GET, POST"),
            ("OPTIONS", "/api/v1/document-numbering/configs", "GET, PUT"),
            ("PUT", "/api/v1/document-numbering/configs/parse", "POST"),
            ("GET", "/api/v1/document-numbering/configs/preview", "POST"),
            ("POST", "/api/v1/document-numbering/configs/01930b5e-0000-7000-8000-000000000000", "DELETE, GET, PUT"),
            ("DELETE", "/api/v1/delegations/colleagues", "GET"),
        ],
    )
    def test_refuses_another_method_of_the_api_with_all_that_the_address_takes(
        self, application: FastAPI, method: str, path: str, allowed: str
    ) -> None:
        with pytest.raises(HTTPException) as refused:
            RouteIndex(application, unreachable).find(scope_of(method, path))

        assert refused.value.status_code == 405
        assert refused.value.headers == {"Allow": allowed}

    def test_leaves_another_method_of_a_page_to_the_router(self, application: FastAPI) -> None:
        board = RouteIndex(application, unreachable)

        assert board.find(scope_of("GET", "/login")) is not None
        assert board.find(scope_of("PUT", "/login")) is None


class TestAnswers:
    async def test_are_the_routers_where_nothing_is_found(self, client: httpx.AsyncClient) -> None:
        wrong = await client.put("/api/v1/rfas")
        slash = await client.get("/api/v1/rfas/", follow_redirects=False)
        unknown = await client.get("/api/v1/nothing")

        assert (wrong.status_code, wrong.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        assert wrong.headers["allow"] == "GET, POST"
        assert (slash.status_code, slash.headers["location"]) == (307, "http://saraban.test/api/v1/rfas")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "NOT_FOUND")

    async def test_know_a_prefix_that_a_proxy_took_away(self, app: FastAPI) -> None:
        transport = httpx.ASGITransport(app, root_path="/saraban")
        async with httpx.AsyncClient(transport=transport, base_url="http://saraban.test") as client:
            answer = await client.get("/saraban/health/live")

        assert answer.status_code == 200
