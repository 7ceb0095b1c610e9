"""
The API keeps to its description, whoever asks and whatever is sent: schemathesis tries each operation with what its schema
takes and refuses, and holds status, content type, headers and body of every answer against what is documented.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from saraban.app import create_app
from saraban.ops.openapi import operations
from tests.conftest import settings_in

# What is refused for its form is refused for everybody alike: it is tried thoroughly once. Others send what is right, and
# what is wrong, or who is not signed in one request: it is refused before anything is read.
CALLERS = [
    pytest.param("dc.contractor", "location", 1, 3, id="document-control-at-every-third-address"),
    pytest.param("dc.contractor", "location", 1, 1, id="document-control", marks=pytest.mark.faults),
    pytest.param("admin", "place", None, 1, id="super-admin", marks=pytest.mark.faults),
    pytest.param(None, "location", 1, 1, id="nobody", marks=pytest.mark.faults),
]


@pytest.fixture
def served(documents_folder: Path, tmp_path: Path) -> Iterator[FastAPI]:
    """The application, on the event loop that schemathesis keeps; it begins with the first request."""
    shutil.copytree(documents_folder, tmp_path / "data")
    from schemathesis.python import asgi

    yield create_app(settings_in(tmp_path / "data"))
    asgi.shutdown_lifespans()


class TestEveryAnswer:
    @pytest.mark.slow
    @pytest.mark.timeout(900)
    @pytest.mark.parametrize(("account", "alike", "most", "step"), CALLERS)
    def test_is_as_the_description_says(
        self, served: FastAPI, account: str | None, alike: str, most: int | None, step: int
    ) -> None:
        from tests.features.api.contract_cases import faults_in, tried

        addresses = [*served.openapi()["paths"]][::step]
        described = {
            f"{method.upper()} {path}" for path, method, _ in operations(served.openapi()) if path in addresses
        }
        faults: list[str] = []
        asked: set[str] = set()
        for scenario in tried(served, account, alike, most=most, addresses=addresses):
            asked.add(scenario.label)
            faults += faults_in(scenario)

        assert faults == [], f"{len(faults)}:\n" + "\n\n".join(faults[:30])
        assert asked == described
