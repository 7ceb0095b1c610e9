"""Who may look into what happens: the audit trail, events, the system, as pages and over the API; callers by routes."""

from typing import Final

import pytest
from fastapi import FastAPI

from tests.conftest import SignIn, client_of
from tests.further_people import add_people

# In the order of `CALLERS`.
CALLERS: Final = (
    "anonymous",
    "outsider",
    "viewer",
    "dc.consultant",
    "reviewer.consultant",
    "padmin",
    "orgadmin",
    "admin",
)
OF_OPERATORS: Final = (401, 403, 403, 403, 403, 403, 403, 200)
OF_AUDITORS: Final = (401, 403, 403, 403, 403, 403, 200, 200)
ROUTES: Final = {
    "/api/v1/audit": OF_AUDITORS,
    "/api/v1/audit/export?format=csv": OF_AUDITORS,
    "/api/v1/audit/export?format=xlsx": OF_AUDITORS,
    "/audit": OF_AUDITORS,
    "/api/v1/system": OF_OPERATORS,
    "/system": OF_OPERATORS,
    "/events": OF_OPERATORS,
    "/numbers/audit": (401, 403, 403, 403, 403, 200, 403, 200),
    "/numbers/audit?tab=refusals": OF_OPERATORS,
    "/docs/api": (401, 200, 200, 200, 200, 200, 200, 200),
}


async def test_each_caller_sees_what_is_theirs(app: FastAPI, signed_in: SignIn) -> None:
    await add_people(app)
    found: dict[str, list[int]] = {route: [] for route in ROUTES}
    for caller in CALLERS:
        client = client_of(app) if caller == "anonymous" else await signed_in(caller)
        for route in ROUTES:
            answer = await client.get(route)
            # A page leads whoever is not signed in to the log-in.
            found[route].append(401 if answer.headers.get("location", "").startswith("/login") else answer.status_code)

    assert found == {route: list(expected) for route, expected in ROUTES.items()}


@pytest.mark.parametrize(
    ("caller", "entries"),
    [
        ("orgadmin", {"/audit"}),
        ("padmin", {"/numbers/audit"}),
        ("dc.consultant", set()),
        ("admin", {"/audit", "/events", "/system", "/numbers/audit"}),
    ],
)
async def test_the_menu_has_the_pages_that_open(
    app: FastAPI, signed_in: SignIn, caller: str, entries: set[str]
) -> None:
    await add_people(app)

    page = (await (await signed_in(caller)).get("/inbox")).text

    assert {one for one in ("/audit", "/events", "/system", "/numbers/audit") if f'href="{one}"' in page} == entries
