"""Sheets of drawings, and how they are sent in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from saraban.documents.drawing.domain import SHOP
from saraban.documents.drawing.models import DrawingImport
from saraban.documents.drawing.service import DRAWING_IMPORTERS
from saraban.documents.drawing.service.import_lines import RegisterImport
from saraban.identity.domain.context import RequestContext
from saraban.imports.domain import ImportState
from saraban.imports.models import ImportRow
from saraban.imports.service.run import ImportTurn
from saraban.imports.service.worker import ImportWorker
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.kit.workbooks import SheetWriter
from saraban.projects.domain.master_data import ProjectRef
from saraban.projects.models import Project

SHOP_HEAD = ["drawing_number", "main_category", "sub_category", "revision", "revision_date", "title"]
CONTRACT_HEAD = ["drawing_number", "title", "volume", "page", "category", "sub_category"]


def drawing_worker(app: FastAPI, **more: Any) -> ImportWorker[Any]:
    return ImportWorker(app.state.db, app.state.storage, DRAWING_IMPORTERS["shop"], clock=app.state.clock, **more)


def sheet(path: Path, *lines: Sequence[object], head: Sequence[str] = SHOP_HEAD) -> bytes:
    with SheetWriter(path, head) as book:
        for line in lines:
            book.add(line)
    return path.read_bytes()


async def begun_import(db: Database, ctx: RequestContext, project: Project) -> tuple[RegisterImport, ImportTurn[Any]]:
    """Return an import of shop drawings under way, as its worker has it."""
    row = DrawingImport(
        public_id=new_id(),
        project_id=project.id,
        user_id=ctx.caller.user_id,
        kind=SHOP.path,
        file_name="a.csv",
        file_sha256="",
        state=ImportState.IMPORTING,
        lease=new_id(),
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    async with db.writing() as session:
        session.add(row)
        await session.commit()
    run = RegisterImport(ctx, SHOP, ProjectRef(project.id, project.public_id, project.project_code, ""), {})
    async with db.reading() as session:
        await run.load(session)
    assert row.lease is not None
    return run, ImportTurn(ImportRow(row, project.public_id, "admin", ctx.caller.public_id), row.lease)


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
