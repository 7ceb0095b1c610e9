"""
Finds the operation that a request means by looking it up, where FastAPI tries every route there is in turn.

It stands before the application's router and serves what it is sure of: an address and a method that one of the routes
takes. An address of the API belongs to the first template that it fits, `/configs/parse` before `/configs/{publicId}`:
another method is refused with all those that the template takes. Everything else (a slash too many, what is mounted, what
is unknown) goes on to the router, which answers as it always does.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

_API = "/api/"
_DEPTH = 3  # `/api/v1/rfas`
_ANY = ""


class RouteIndex:
    """
    The routes of an application by the first words of their addresses, in the order in which they were included.

    :param app: whose routes they are; the table is made at the first request, when all of them are there
    :param router: what takes the requests that the table does not know
    """

    def __init__(self, app: FastAPI, router: ASGIApp) -> None:
        self._app = app
        self._router = router
        self._table: dict[str, list[RouteContext]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self.find(scope) if scope["type"] == "http" and not scope.get("root_path") else None
        if found is None:
            await self._router(scope, receive, send)
            return
        context, matched = found
        # What FastAPI's own routers leave there: dependencies, logs and measurements ask which operation it was.
        scope.setdefault("router", self._app.router)
        scope.update(matched)
        scope["route"] = context.original_route
        scope["fastapi"] = {"effective_route_context": context}
        await context.app(scope, receive, send)

    def find(self, scope: Scope) -> tuple[RouteContext, Scope] | None:
        """
        Give the operation and what its address says, or None where the router must look for itself.

        :raises HTTPException: 405 with `Allow`, for an address of the API with a method that it does not take
        """
        if self._table is None:
            self._table = build_index(self._app.routes)
        path = scope["path"]
        others: list[RouteContext] = []
        for context in self._table.get(_words(path), self._table[_ANY]):
            if not isinstance(context.original_route, APIRoute):
                if context.original_route.matches(scope)[0] is not Match.NONE:
                    return None
            elif context.path_regex.match(path) and _is_of(others, context):
                match, matched = context.matches(scope)
                if match is Match.FULL:
                    return context, matched
                others.append(context)
        if others and path.startswith(_API):
            raise HTTPException(405, headers={"Allow": _methods(others)})
        return None


def _is_of(others: Sequence[RouteContext], context: RouteContext) -> bool:
    """Say whether a route is of the template to which the address belongs; pages share theirs."""
    return not others or context.path == others[0].path or not str(context.path).startswith(_API)


def _methods(contexts: Iterable[RouteContext]) -> str:
    return ", ".join(sorted({method for context in contexts for method in context.methods or ()}))


def build_index(routes: Sequence[BaseRoute]) -> dict[str, list[RouteContext]]:
    """
    Sort the routes by the first words of their addresses.

    A route with a parameter among these words is in every list, at its place; the list under "" has nothing else.
    """
    contexts = list(iter_route_contexts(routes))
    known = {_ANY, *(_words(str(context.path)) for context in contexts)}
    table: dict[str, list[RouteContext]] = defaultdict(list)
    for context in contexts:
        for words in _lists(context, known):
            table[words].append(context)
    return {words: table[words] for words in known}


def _lists(context: RouteContext, known: Iterable[str]) -> Iterable[str]:
    words = _words(str(context.path))
    return known if "{" in words else [words]


def _words(path: str) -> str:
    """The first word of a page's address, the first three of the API's."""
    if not path.startswith(_API):
        return path.split("/", 2)[1] if path.startswith("/") else path
    return "/".join(path.split("/", _DEPTH + 1)[1 : _DEPTH + 1])


def install(app: FastAPI) -> None:
    """Put the index before the application's router."""
    router: Any = app.router
    router.middleware_stack = RouteIndex(app, router.middleware_stack)
