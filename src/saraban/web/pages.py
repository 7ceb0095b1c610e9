"""Puts the pages into the application: their routers, their files, and what they show when something goes wrong."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from saraban.kit.errors import DomainError, FieldProblem
from saraban.web import (
    assets,
    calendar,
    choosing,
    creating,
    definition_pages,
    delegations,
    document_page,
    editing,
    failures,
    files,
    formats,
    imports,
    inbox,
    migrating,
    notifications,
    number,
    passwords,
    ranges,
    register_pages,
    registers,
    rehearsing,
    resetting,
    session,
    stating,
    steering,
    teams,
    webhooks,
    workflow_editor,
)

PageAnswer = Callable[[Request, DomainError, int], Awaitable[Response]]
Explain = Callable[[Sequence[Mapping[str, Any]]], list[FieldProblem]]

# The routers that take a register's name from the address come last.
ROUTERS: Final = (
    session.router,
    session.guarded,
    passwords.router,
    passwords.guarded,
    inbox.router,
    notifications.router,
    delegations.router,
    files.router,
    formats.router,
    stating.router,
    resetting.router,
    ranges.router,
    imports.router,
    register_pages.router,
    workflow_editor.router,
    choosing.router,
    rehearsing.router,
    migrating.router,
    calendar.router,
    teams.router,
    webhooks.router,
    definition_pages.router,
    number.router,
    registers.router,
    creating.router,
    steering.router,
    document_page.router,
    editing.router,
)


def install(app: FastAPI, explain: Explain) -> PageAnswer:
    """
    Add the pages to the application, and return what answers an exception that a page met.

    :param explain: gives what a schema found wrong in both languages; the doors share one
    """
    app.state.explain = explain
    app.mount(assets.MOUNT, assets.Files(), name="static")
    for router in ROUTERS:
        app.include_router(router)
    return failures.answer
