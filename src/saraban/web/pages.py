"""Puts the pages into the application: their routers, their and what they show when something goes wrong."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from saraban.kit.errors import DomainError, FieldProblem
from saraban.web.documents import document_forms, document_page, editing, interventions, registers
from saraban.web.numbers import counter_reset, formats, imports, manual_number, number_page, ranges, register
from saraban.web.people import delegations, my_tasks, notifications, passwords, project_calendar, review_teams, webhooks
from saraban.web.shell import assets, failure_page, session
from saraban.web.workflows import definitions, editor, migration, simulation, workflow_assignment

PageAnswer = Callable[[Request, DomainError, int], Awaitable[Response]]
Explain = Callable[[Sequence[Mapping[str, Any]]], list[FieldProblem]]

# The routers that take a register's name from the address come last.
ROUTERS: Final = (
    session.router,
    session.guarded,
    passwords.router,
    passwords.guarded,
    my_tasks.router,
    notifications.router,
    delegations.router,
    formats.router,
    manual_number.router,
    counter_reset.router,
    ranges.router,
    imports.router,
    register.router,
    editor.router,
    workflow_assignment.router,
    simulation.router,
    migration.router,
    project_calendar.router,
    review_teams.router,
    webhooks.router,
    definitions.router,
    number_page.router,
    registers.router,
    document_forms.router,
    interventions.router,
    document_page.router,
    editing.router,
)


def install(app: FastAPI, explain: Explain) -> PageAnswer:
    """
    Add the pages to the application, and return what answers an exception that a page met.

    :param explain: gives what a schema found wrong in both languages; the doors share one
    """
    app.state.explain = explain
    app.mount(assets.MOUNT, assets.StaticAssets(), name="static")
    for router in ROUTERS:
        app.include_router(router)
    return failure_page.answer
