"""Files of old registers, and how they are sent in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from python_calamine import CalamineWorkbook

from saraban.imports.service.worker import ImportWorker
from saraban.kit.workbooks import SheetWriter
from saraban.numbering.service import NUMBER_IMPORTER
from tests.numbering_requests import BASE

URL = f"{BASE}/imports"

HEAD = ["number", "type", "originator", "recipient", "year", "sequence"]


def work_of(app: FastAPI, **more: Any) -> ImportWorker[Any]:
    return ImportWorker(app.state.db, app.state.storage, NUMBER_IMPORTER, clock=app.state.clock, **more)


class Desk:
    """The project's administrator with sheets to send in."""

    def __init__(self, client: httpx.AsyncClient, app: FastAPI, project: str, folder: Path) -> None:
        self.client, self.app, self.project, self.folder = client, app, project, folder

    async def send(self, *lines: Sequence[object], name: str = "old.csv", **headers: str) -> httpx.Response:
        return await self.send_bytes(written(self.folder / name, *lines).read_bytes(), name, **headers)

    async def send_bytes(self, content: bytes, name: str, **headers: str) -> httpx.Response:
        sent = {"file": (name, content)}
        return await self.client.post(URL, params={"projectPublicId": self.project}, files=sent, headers=headers)

    async def checked(self, *lines: Sequence[object], name: str = "old.csv") -> dict[str, Any]:
        answer = await self.send(*lines, name=name)
        assert answer.status_code == 202, answer.text
        assert await work_of(self.app).round()
        return await self.read(answer.json()["publicId"])

    async def read(self, public_id: str) -> dict[str, Any]:
        answer = await self.client.get(f"{URL}/{public_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def commit(self, public_id: str, *moves: tuple[str, int], **headers: str) -> httpx.Response:
        body = {"moves": [{"series": series, "to": to} for series, to in moves]}
        return await self.client.post(f"{URL}/{public_id}/commit", json=body, headers=headers)


def letter(sequence: int) -> list[object]:
    return [f"คคง.-ผรม.1-{sequence:04}-2567", "LETTER", "คคง.", "ผรม.1", "2567", ""]


def written(path: Path, *lines: Sequence[object], head: list[str] | None = None) -> Path:
    with SheetWriter(path, head or HEAD) as sheet:
        for line in lines:
            sheet.add(line)
    return path


def sheet_of(path: Path) -> list[Sequence[object]]:
    with CalamineWorkbook.from_path(str(path)) as book:
        return list(book.get_sheet_by_index(0).iter_rows())
