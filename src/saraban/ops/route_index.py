"""
Finds the operation that a request means by looking it up, where FastAPI tries every route there is in turn.

It stands before the application's router and serves what it is sure of: an address and a method that one of the routes
takes. An address of the API belongs to the first template that it fits, `/configs/parse` before `/configs/{publicId}`:
another method is refused with all those that the template takes. Everything else (a slash too many, what is mounted, what
is unknown) goes on to the router, which answers as it always does.
"""

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
    """
    What is asked of a route for each request: a `RouteContext` looks every attribute up in another object.

    :param path: its template
    :param regex: None where it is no operation, but something mounted
    """

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
    """
    The routes of an application by the first words of their addresses, in the order in which they were included; an address
    without parameters has a list of its own.

    :param app: whose routes they are; the table is made at the first request, when all of them are there
    :param router: what takes the requests that the table does not know
    """

    def __init__(self, app: FastAPI, router: ASGIApp) -> None:
        self._app = app
        self._router = router
        self._table: dict[str, list[IndexedRoute]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self.find(scope) if scope["type"] == "http" and not scope.get("root_path") else None
        if found is None:
            await self._router(scope, receive, send)
            return
        route, matched = found
        # What FastAPI's own routers leave there: dependencies, logs and measurements ask which operation it was.
        scope.setdefault("router", self._app.router)
        scope.update(matched)
        scope["route"] = route.context.original_route
        scope["fastapi"] = {"effective_route_context": route.context}
        assert route.app is not None
        await route.app(scope, receive, send)

    def find(self, scope: Scope) -> tuple[IndexedRoute, Scope] | None:
        """
        Give the operation and what its address says, or None where the router must look for itself.

        :raises HTTPException: 405 with `Allow`, for an address of the API with a method that it does not take
        """
        if self._table is None:
            self._table = build_index(self._app.routes)
        path = scope["path"]
        others: list[IndexedRoute] = []
        for route in self._table.get(path) or self._table.get(_words(path)) or self._table[_ANY]:
            if route.regex is None:
                if route.matches(scope)[0] is not Match.NONE:
                    return None
            elif route.regex.match(path) and _is_of(others, route):
                match, matched = route.matches(scope)
                if match is Match.FULL:
                    return route, matched
                others.append(route)
        if others and path.startswith(_API):
            raise HTTPException(405, headers={"Allow": _methods(others)})
        return None


def _is_of(others: Sequence[IndexedRoute], route: IndexedRoute) -> bool:
    """Say whether a route is of the template to which the address belongs; pages share theirs."""
    return not others or route.path == others[0].path or not route.path.startswith(_API)


def _methods(routes: Iterable[IndexedRoute]) -> str:
    return ", ".join(sorted({method for route in routes for method in route.context.methods or ()}))


def build_index(routes: Sequence[BaseRoute]) -> dict[str, list[IndexedRoute]]:
    """
    Sort the routes by the first words of their addresses.

    A route with a parameter among these words is in every list, at its place; the list under "" has nothing else. The list of
    a whole address has those of its words that fit it.
    """
    known = [IndexedRoute.of(context) for context in iter_route_contexts(routes)]
    table: dict[str, list[IndexedRoute]] = {words: [] for words in (_ANY, *(_words(route.path) for route in known))}
    for route in known:
        words = _words(route.path)
        for place in table if "{" in words else [words]:
            table[place].append(route)
    addresses = {route.path for route in known if route.regex is not None and "{" not in route.path}
    whole = {path: [route for route in table[_words(path)] if _may_fit(route, path)] for path in addresses}
    return table | whole  # words never begin with a slash


def _may_fit(route: IndexedRoute, path: str) -> bool:
    return route.regex is None or route.regex.match(path) is not None


def _words(path: str) -> str:
    """The first word of a page's address, the first three of the API's."""
    if not path.startswith(_API):
        return path.split("/", 2)[1] if path.startswith("/") else path
    return "/".join(path.split("/", _DEPTH + 1)[1 : _DEPTH + 1])


def install(app: FastAPI) -> None:
    """Put the index before the application's router."""
    router: Any = app.router
    router.middleware_stack = RouteIndex(app, router.middleware_stack)
