"""A register of drawings as a file: what is filtered and what its reader is shown, in the columns that an import takes."""

import csv
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.drawing.models import ShopDrawing, ShopDrawingRevision
from saraban.documents.drawing.service import register_export
from saraban.kit.clock import local_date
from tests.drawing_imports import DrawingImports, drawing_worker
from tests.features.documents.conftest import PDF, Desk
from tests.number_imports import sheet_of


async def exported(desk: Desk, account: str, kind: str = "shop", **query: Any) -> httpx.Response:
    client = await desk.as_(account)
    return await client.get(f"/api/v1/drawings/{kind}/export", params={"projectPublicId": desk.project, **query})


def numbers(answer: httpx.Response) -> list[str]:
    assert answer.status_code == httpx.codes.OK, answer.text
    return [line.partition(",")[0] for line in answer.content.decode("utf-8-sig").splitlines()[1:]]


class TestSheet:
    async def test_has_what_is_filtered(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(register_export, "PAGE", 2)
        for place in range(5):
            await desk.register("admin", "shop", f"N-{place}", title="แปลนคาน" if place % 2 else "แปลนฐานราก")

        assert numbers(await exported(desk, "admin", format="csv")) == [f"N-{place}" for place in range(5)]
        assert numbers(await exported(desk, "admin", format="csv", q="คาน", limit=1)) == ["N-1", "N-3"]

    async def test_has_what_its_reader_is_shown(self, desk: Desk) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
        await desk.register("dc.contractor", "shop", "S-1", **own)
        await desk.register("admin", "shop", "S-2")

        found = {name: numbers(await exported(desk, name, format="csv")) for name in ("dc.contractor", "dc.consultant")}

        assert found == {"dc.contractor": ["S-1", "S-2"], "dc.consultant": ["S-2"]}

    async def test_can_be_imported_again(self, desk: Desk, app: FastAPI, tmp_path: Path) -> None:
        for kind in ("contract", "shop"):
            revision = {"label": "3", "date": "2026-02-28", "statusCode": "S2", "legacyNumber": "เดิม-7"}
            more = {"revision": revision, "scale": "1:100", "titleEn": "Plan", "zone": "โซน 2"}
            await desk.register("admin", kind, "N-1", **more)
            content = (await exported(desk, "admin", kind)).content
            imports = DrawingImports(await desk.as_("admin"), app, desk.project, tmp_path)
            sent = await imports.send_bytes(content, kind, "again.xlsx")

            assert await drawing_worker(app).round()
            report = (await imports.read(kind, sent.json()["publicId"]))["report"]

            assert (report["there"], report["refused"], report["ready"]) == (1, 0, 0)

    async def test_says_of_the_register_of_a_day_what_is_superseded_by_now(self, desk: Desk, app: FastAPI) -> None:
        made = [await desk.register("admin", "shop", number) for number in ("N-1", "N-2")]
        clock = app.state.clock
        async with app.state.db.writing() as session:
            began = clock.now() - timedelta(days=40)
            await session.execute(sa.update(ShopDrawing).values(created_at=began))
            await session.execute(sa.update(ShopDrawingRevision).values(current_from=began))
        client = await desk.as_("admin")
        await client.post(f"/api/v1/drawings/shop/{made[0]['publicId']}/revisions", json={"label": "3"})
        day = local_date(clock.now(), clock.zone) - timedelta(days=1)

        text = (await exported(desk, "admin", format="csv", asOf=day.isoformat())).content.decode("utf-8-sig")

        head, *lines = csv.reader(text.splitlines())
        assert head[-1] == "ถูกแทนที่ด้วยฉบับ / Superseded by"
        assert [(line[0], line[3], line[-1]) for line in lines] == [("N-1", "0", "3"), ("N-2", "0", "")]

    async def test_keeps_a_spreadsheet_from_taking_a_title_for_a_formula(self, desk: Desk) -> None:
        await desk.register("admin", "shop", "N-1", title="+1+1")

        assert "'+1+1" in (await exported(desk, "admin", format="csv")).text


class TestZip:
    async def test_has_a_folder_for_each_drawing(self, desk: Desk, app: FastAPI, tmp_path: Path) -> None:
        clock = app.state.clock
        client = await desk.as_("admin")
        sent = [await client.post("/api/v1/attachments", files={"file": ("แปลน.pdf", PDF)}) for _ in "12"]
        files = [one.json()["publicId"] for one in sent]
        await desk.register("admin", "shop", "LP3/HW-1", revision={"attachmentPublicIds": files})
        await desk.register("admin", "shop", "N-2")
        answer = await exported(desk, "admin", format="zip")

        with ZipFile(BytesIO(answer.content)) as packed:
            (tmp_path / "register.xlsx").write_bytes(packed.read("register.xlsx"))
            names, content = packed.namelist(), packed.read("LP3-HW-1 Rev.0/แปลน.pdf")
            days = {date(*one.date_time[:3]) for one in packed.infolist()}

        assert names == ["register.xlsx", "LP3-HW-1 Rev.0/แปลน.pdf", "LP3-HW-1 Rev.0/แปลน (2).pdf"]
        assert content == PDF
        assert min(days) >= local_date(clock.now(), clock.zone) - timedelta(days=1)
        assert [row[0] for row in sheet_of(tmp_path / "register.xlsx")][1:] == ["LP3/HW-1", "N-2"]

    async def test_refuses_more_than_it_takes(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(register_export, "MOST_BYTES", 10)
        file = await desk.upload("admin")
        await desk.register("admin", "shop", "N-1", revision={"attachmentPublicIds": [file]})
        answer = await exported(desk, "admin", format="zip")

        assert (answer.status_code, answer.json()["code"]) == (409, "DRAWING_EXPORT_TOO_LARGE")
