"""
An RFA with 200 drawings whose server is killed while it is answered: the whole answer is there, or nothing of it. And what an answer
reads of the registers.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.drawings import fill
from saraban.documents.rfa import repository
from saraban.kit.db import Database
from tests.conftest import unwrapped_items
from tests.drawing_imports import SHOP_HEAD
from tests.processes import RunningSaraban, read_until, signed_in_client
from tests.statement_count import rows_read

DRAWINGS = 200


@pytest.mark.slow
@pytest.mark.parametrize("delays", [(0.1,), pytest.param((0.03, 0.06, 0.1), marks=pytest.mark.faults)])
def test_is_whole_or_not_there(started_demo_url: str, tmp_path: Path, delays: Sequence[float]) -> None:
    """:param delays: seconds after which the server is killed, while it reads and while it writes"""
    server = RunningSaraban(tmp_path / "data", database_url=started_demo_url).start()
    try:
        rfa = _submitted(server)
        found = []
        for delay in delays:
            _answer_and_kill(server, rfa, delay)
            server.start()
            found.append(_answered(server, rfa))
        with signed_in_client(server, "reviewer.consultant") as client, suppress(httpx.HTTPStatusError):
            _answer(client, rfa)
        end = _answered(server, rfa)
    finally:
        server.kill()

    whole, nothing = (DRAWINGS, 1), (0, 0)
    assert set(found) <= {whole, nothing}
    assert end == whole


@pytest.mark.servers
async def test_looks_at_its_own_drawings_alone(mariadb_demo_url: str) -> None:
    """A register has a million revisions, and most RFAs carry none of them."""
    db = Database(mariadb_demo_url)
    try:
        await fill(db, 1_000)
        async with db.writing() as session:
            before = await rows_read(session)
            await repository.close_items(session, 1)
            read = await rows_read(session) - before
    finally:
        await db.close()

    assert read < 100


def _submitted(server: RunningSaraban) -> dict[str, Any]:
    with signed_in_client(server, "admin") as client:
        project = client.get("/api/v1/projects").json()["items"][0]
        lines = "".join(f"ANS-{place:03},,,0,2026-02-28,แปลนฐานราก\n" for place in range(DRAWINGS))
        sent = client.post(
            "/api/v1/drawings/shop/imports",
            params={"projectPublicId": project["publicId"]},
            files={"file": ("drawings.csv", f"{','.join(SHOP_HEAD)}\n{lines}".encode())},
        )
        address = sent.raise_for_status().headers["Location"]
        read_until(client, address, lambda body: body["state"] == "CHECKED")
        client.post(f"{address}/commit", json={}).raise_for_status()
        read_until(client, address, lambda body: body["state"] == "DONE")
        organizations = client.get(f"/api/v1/projects/{project['publicId']}").json()["organizations"]
    with signed_in_client(server, "dc.contractor") as client:
        revisions = []
        for page in range(0, DRAWINGS, 100):
            query = {"projectPublicId": project["publicId"], "q": f"ANS-{page // 100}", "limit": 100}
            listed = unwrapped_items(client.get("/api/v1/drawings/shop", params=query).raise_for_status())
            revisions += [one["revision"]["publicId"] for one in listed]
        consultant = next(one["publicId"] for one in organizations if one["organizationCode"] == "คคง.")
        body = {
            "projectPublicId": project["publicId"],
            "recipients": [{"organizationPublicId": consultant, "recipientType": "TO"}],
            "subject": "ขออนุมัติแบบ",
            "rfaTypeCode": "RPT",
            "disciplineCode": "TER",
            "items": [{"drawingRevisionPublicId": one} for one in revisions],
        }
        made: dict[str, Any] = client.post("/api/v1/rfas", json=body).raise_for_status().json()
        _transition(client, made, {"action": "submit"})
    return made


def _transition(client: httpx.Client, rfa: dict[str, Any], body: dict[str, Any]) -> None:
    instance = rfa["workflow"]["instancePublicId"]
    client.post(f"/api/v1/workflow/instances/{instance}/transitions", json=body).raise_for_status()


def _answer(client: httpx.Client, rfa: dict[str, Any]) -> None:
    codes = ("1A", "1C", "3R")
    results = [
        {"publicId": item["publicId"], "responseCode": codes[place % 3], "comment": "ตรวจแล้ว"}
        for place, item in enumerate(rfa["data"]["items"])
    ]
    _transition(client, rfa, {"action": "approve", "payload": {"itemResults": results}})


def _answer_and_kill(server: RunningSaraban, rfa: dict[str, Any], delay: float) -> None:
    with signed_in_client(server, "reviewer.consultant") as client:

        def send() -> None:
            with suppress(httpx.HTTPError):
                _answer(client, rfa)

        sending = threading.Thread(target=send)
        sending.start()
        time.sleep(delay)
        server.kill()
        sending.join()


def _answered(server: RunningSaraban, rfa: dict[str, Any]) -> tuple[int, int]:
    """Return how many items have an answer, and how many steps the history has after the submission."""
    with signed_in_client(server, "reviewer.consultant") as client:
        read = client.get(f"/api/v1/rfas/{rfa['data']['publicId']}").raise_for_status().json()
        instance = rfa["workflow"]["instancePublicId"]
        history = client.get(f"/api/v1/workflow/instances/{instance}/history").raise_for_status().json()["items"]
    answered = sum(one["responseCode"] is not None for one in read["data"]["items"])
    return answered, sum(one["action"] == "approve" for one in history)
