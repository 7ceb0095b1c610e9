"""Sheets that are made for one request, asked of a real server by several at once."""

import asyncio
import shutil
from pathlib import Path

import httpx
import pytest

from tests.numbering_requests import read_project
from tests.processes import RunningSaraban, sign_in

pytestmark = pytest.mark.servers
REQUESTS = 12  # of each sheet
AT_ONCE = 8  # as many as a server answers at once however slow it has become: more are refused on a busy machine
NUMBERING = "/api/v1/document-numbering"


async def test_of_several_at_once_every_one_arrives_whole(tmp_path: Path, demo_folder: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(demo_folder / "saraban.db", folder)
    with RunningSaraban(folder) as server:
        limits = httpx.Limits(max_connections=AT_ONCE)
        async with httpx.AsyncClient(base_url=server.address, timeout=60, limits=limits) as client:
            await sign_in(client, "admin")
            ledger = {"projectPublicId": (await read_project(client)).id, "format": "csv"}
            answers = await asyncio.gather(
                *(client.get(f"{NUMBERING}/imports/template") for _ in range(REQUESTS)),
                *(client.get(f"{NUMBERING}/ledger/export", params=ledger) for _ in range(REQUESTS)),
            )

    assert [answer.text for answer in answers if answer.status_code != 200] == []
    assert all(len(answer.content) == int(answer.headers["content-length"]) > 0 for answer in answers)
    assert {answer.content[:2] for answer in answers[:REQUESTS]} == {b"PK"}
    assert 'filename="ledger.csv"' in answers[-1].headers["content-disposition"]
