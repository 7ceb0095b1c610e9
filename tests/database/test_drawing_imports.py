"""Imports of drawings with real servers: killed in the middle, and beside somebody who registers the same numbers."""

from pathlib import Path

import httpx
import pytest

from tests.conftest import unwrapped_items
from tests.drawing_imports import SHOP_HEAD
from tests.processes import RunningSaraban, read_until, signed_in_client

DRAWINGS, REVISIONS = 700, 2


@pytest.mark.faults  # a killed import of numbers, by the same worker, is in `test_import_jobs.py`
@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle_goes_on_where_it_was(started_demo_url: str, tmp_path: Path) -> None:
    server = RunningSaraban(tmp_path / "data", database_url=started_demo_url, import_lease=5).start()
    try:
        with signed_in_client(server, "admin") as client:
            project = client.get("/api/v1/projects").json()["items"][0]["publicId"]
            address = _send(client, project)
            read_until(client, address, lambda body: body["state"] == "CHECKED")
            client.post(f"{address}/commit", json={}).raise_for_status()
            read_until(client, address, lambda body: body["rowsDone"] > 0)
        server.kill()
        server.start()
        with signed_in_client(server, "admin") as client:
            done = read_until(client, address, lambda body: body["state"] == "DONE")
            query = {"projectPublicId": project, "q": "KILL-0000", "limit": 100}
            found = unwrapped_items(client.get("/api/v1/drawings/shop", params=query))
    finally:
        server.kill()

    lines = DRAWINGS * REVISIONS
    assert (done["report"]["imported"], done["report"]["there"], done["rowsDone"]) == (lines, 0, lines)
    assert [(one["drawingNumber"], one["revision"]["revisionNumber"]) for one in found] == [
        (f"KILL-0000{place}", REVISIONS - 1) for place in range(10)
    ]


def _send(client: httpx.Client, project: str) -> str:
    lines = "".join(
        f"KILL-{place:05},,,{label},2026-02-28,แปลนฐานราก\n" for label in range(REVISIONS) for place in range(DRAWINGS)
    )
    sent = client.post(
        "/api/v1/drawings/shop/imports",
        params={"projectPublicId": project},
        files={"file": ("drawings.csv", f"{','.join(SHOP_HEAD)}\n{lines}".encode())},
    )
    return str(sent.raise_for_status().headers["Location"])
