"""
Every route, of the API and of the pages, as every kind of caller: `tests/data/route_access.txt` says what each is answered.

A route without a row fails, and a row without a route. A letter that changes has to be meant.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from fastapi import FastAPI

from saraban.ops import middleware
from tests.access_matrix import Matrix, without_commits
from tests.access_world import CALLERS, FOREIGN, OWN, Builder, add_foreign_project, close_account
from tests.conftest import SignIn, client_of

TABLE = Path(__file__).parents[2] / "data" / "route_access.txt"


@pytest.mark.slow
@pytest.mark.timeout(900)
class TestRoutes:
    @pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.faults)])
    async def test_answer_each_kind_of_caller_as_the_table_says(
        self, app: FastAPI, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch, is_whole: bool
    ) -> None:
        monkeypatch.setattr(middleware, "record_access", AsyncMock())  # it commits what the security log keeps
        monkeypatch.setattr(tempfile.TemporaryDirectory, "_cleanup", classmethod(_remove_folder))
        await add_foreign_project(app)
        async with client_of(app, **{"Accept-Language": "en"}) as nobody:
            clients = {name: await signed_in(account) if account else nobody for name, account in CALLERS.items()}
            sides = {side: await Builder(clients["super"], side).build() for side in (OWN, FOREIGN)}
            await close_account(app, "m.closed")
            for caller in clients.values():
                caller.auth = None  # no session is renewed
            with without_commits() as (reached, keeping):
                matrix = Matrix(app, clients, sides, reached, keeping, is_whole)
                await matrix.learn_codes()
                rows = {f"{method} {path}": await matrix.row(method, path) for method, path in matrix.routes()}

        assert matrix.leaks == []
        assert matrix.failures == []
        known = dict(_lines())
        assert "\n".join(f"{route} {row}" for route, row in rows.items() if not agrees(known.get(route), row)) == ""
        assert known.keys() - rows.keys() == set()


def _remove_folder(_class: type, name: str, *_: object, **__: object) -> None:
    """Remove the folder of an answer that a refused commit kept from being sent; without the warning, which comes any time later."""
    shutil.rmtree(name, ignore_errors=True)


def agrees(known: str | None, row: str) -> bool:
    """Whether the row is as it is known; what was not asked is."""
    return known is not None and all(one in {other, "?"} for one, other in zip(row, known, strict=True))


def _lines() -> Iterator[tuple[str, str]]:
    for line in TABLE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            method, path, own, foreign = line.split()
            yield f"{method} {path}", f"{own} {foreign}"
