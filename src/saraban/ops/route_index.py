"""Find the operation of a request by the first words of its path, faster than FastAPI."""

from collections.abc import Callable, Iterable, Sequence
from re import Pattern
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

_API = "/api/"
_DEPTH = 3  # `/api/v1/rfas`
_ANY = ""


class IndexedRoute(NamedTuple):
    """`regex` is None for a mounted app."""

    context: RouteContext
    path: str
    regex: Pattern[str] | None
    matches: Callable[[Scope], tuple[Match, Scope]]
    app: ASGIApp | None

    @classmethod
    def of(cls, context: RouteContext) -> "IndexedRoute":
        route, path = context.original_route, str(context.path)
        if not isinstance(route, APIRoute):
            return cls(context, path, None, route.matches, None)
        return cls(context, path, context.path_regex, context.matches, context.app)


class RouteIndex:
    """The router serves requests that are not in the index."""

    def __init__(self, app: FastAPI, router: ASGIApp) -> None:
        self._app = app
        self._router = router
        self._table: dict[str, list[IndexedRoute]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self.find(scope) if scope["type"] == "http" and not scope.get("root_path") else None
        if operation is None:
            await self._router(scope, receive, send)
            return
        route, matched = operation
        # As FastAPI's own routers do: dependencies, logs and metrics read them.
        scope.setdefault("router", self._app.router)
        scope.update(matched)
        scope["route"] = route.context.original_route
        scope["fastapi"] = {"effective_route_context": route.context}
        assert route.app is not None
        await route.app(scope, receive, send)

    def find(self, scope: Scope) -> tuple[IndexedRoute, Scope] | None:
        """
        Return None if the router must decide.

        :raises HTTPException: 405, for a method that the API path does not take
        """
        if self._table is None:
            self._table = build_index(self._app.routes)
        path = scope["path"]
        others: list[IndexedRoute] = []
        for route in self._table.get(path) or self._table.get(_first_words(path)) or self._table[_ANY]:
            if route.regex is None:
                if route.matches(scope)[0] is not Match.NONE:
                    return None
            elif route.regex.match(path) and _has_same_template(others, route):
                match, matched = route.matches(scope)
                if match is Match.FULL:
                    return route, matched
                others.append(route)
        if others and path.startswith(_API):
            raise HTTPException(405, headers={"Allow": _allowed_methods(others)})
        return None


def _has_same_template(others: Sequence[IndexedRoute], route: IndexedRoute) -> bool:
    return not others or route.path == others[0].path or not route.path.startswith(_API)


def _allowed_methods(routes: Iterable[IndexedRoute]) -> str:
    return ", ".join(sorted({method for route in routes for method in route.context.methods or ()}))


def build_index(routes: Sequence[BaseRoute]) -> dict[str, list[IndexedRoute]]:
    """Index routes by first words; one with a parameter among these is in each list."""
    indexed = [IndexedRoute.of(context) for context in iter_route_contexts(routes)]
    table: dict[str, list[IndexedRoute]] = {
        words: [] for words in (_ANY, *(_first_words(route.path) for route in indexed))
    }
    for route in indexed:
        words = _first_words(route.path)
        for place in table if "{" in words else [words]:
            table[place].append(route)
    addresses = {route.path for route in indexed if route.regex is not None and "{" not in route.path}
    complete_paths = {
        path: [route for route in table[_first_words(path)] if _may_match(route, path)] for path in addresses
    }
    return table | complete_paths  # words never begin with a slash


def _may_match(route: IndexedRoute, path: str) -> bool:
    return route.regex is None or route.regex.match(path) is not None


def _first_words(path: str) -> str:
    if not path.startswith(_API):
        return path.split("/", 2)[1] if path.startswith("/") else path
    return "/".join(path.split("/", _DEPTH + 1)[1 : _DEPTH + 1])


def install(app: FastAPI) -> None:
    router: Any = app.router
    router.middleware_stack = RouteIndex(app, router.middleware_stack)
