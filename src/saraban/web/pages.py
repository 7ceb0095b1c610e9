"""Puts the pages into the application: their routers, their files, and what they show when something goes wrong."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from saraban.kit.errors import DomainError, FieldProblem
from saraban.web import creating, document, failures, files, inbox, notifications, registers, session

STATIC: Final = Path(__file__).parent / "static"


class Files(StaticFiles):
    """Files of our own; a browser asks again whether they changed, because their names stay the same."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        is_font = path.endswith(".woff2")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if is_font else "public, no-cache"
        return response


PageAnswer = Callable[[Request, DomainError, int], Response]
Explain = Callable[[Sequence[Mapping[str, Any]]], list[FieldProblem]]

# The routers that take a register's name from the address come last.
ROUTERS: Final = (
    session.router,
    session.guarded,
    inbox.router,
    notifications.router,
    files.router,
    registers.router,
    creating.router,
    document.router,
)


def install(app: FastAPI, explain: Explain) -> PageAnswer:
    """
    This will add the pages to the application, and give what answers an exception that a page met.

    :param explain: gives what a schema found wrong in both languages; the doors share one
    """
    app.state.explain = explain
    app.mount("/static", Files(directory=STATIC), name="static")
    for router in ROUTERS:
        app.include_router(router)
    return failures.answer
