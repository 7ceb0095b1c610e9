"""Sheets of drawings, and how they are sent in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from saraban.documents.drawing.service import DrawingImportJob
from saraban.imports.service import ImportWorker
from saraban.kit.workbooks import SheetWriter

SHOP_HEAD = ["drawing_number", "main_category", "sub_category", "revision", "revision_date", "title"]
CONTRACT_HEAD = ["drawing_number", "title", "volume", "page", "category", "sub_category"]


def drawing_worker(app: FastAPI, **more: Any) -> ImportWorker[Any]:
    return ImportWorker(app.state.db, app.state.storage, DrawingImportJob(), clock=app.state.clock, **more)


def sheet(path: Path, *lines: Sequence[object], head: Sequence[str] = SHOP_HEAD) -> bytes:
    with SheetWriter(path, head) as book:
        for line in lines:
            book.add(line)
    return path.read_bytes()


class DrawingImports:
    """Somebody with sheets of drawings to send in."""

    def __init__(self, client: httpx.AsyncClient, app: FastAPI, project: str, folder: Path) -> None:
        self.client, self.app, self.project, self.folder = client, app, project, folder

    async def send(
        self,
        *lines: Sequence[object],
        kind: str = "shop",
        name: str = "drawings.xlsx",
        head: Sequence[str] | None = None,
        **query: str,
    ) -> httpx.Response:
        head = head or (CONTRACT_HEAD if kind == "contract" else SHOP_HEAD)
        return await self.send_bytes(sheet(self.folder / name, *lines, head=head), kind, name, **query)

    async def send_bytes(self, content: bytes, kind: str, name: str, **query: str) -> httpx.Response:
        asked = {"projectPublicId": self.project, **query}
        return await self.client.post(f"/api/v1/drawings/{kind}/imports", params=asked, files={"file": (name, content)})

    async def read(self, kind: str, public_id: str) -> dict[str, Any]:
        answer = await self.client.get(f"/api/v1/drawings/{kind}/imports/{public_id}")
        assert answer.status_code == httpx.codes.OK, answer.text
        return dict(answer.json())

    async def checked(self, *lines: Sequence[object], kind: str = "shop", **more: Any) -> dict[str, Any]:
        answer = await self.send(*lines, kind=kind, **more)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        assert await drawing_worker(self.app).round()
        return await self.read(kind, answer.json()["publicId"])

    async def commit(self, kind: str, public_id: str, *, create_missing: bool = False) -> httpx.Response:
        body = {"createMissing": create_missing}
        return await self.client.post(f"/api/v1/drawings/{kind}/imports/{public_id}/commit", json=body)

    async def imported(
        self, *lines: Sequence[object], kind: str = "shop", create_missing: bool = False, **more: Any
    ) -> dict[str, Any]:
        found = await self.checked(*lines, kind=kind, **more)
        answer = await self.commit(kind, found["publicId"], create_missing=create_missing)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        assert await drawing_worker(self.app).round()
        return await self.read(kind, found["publicId"])
