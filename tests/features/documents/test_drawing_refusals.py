"""Drawings that are not taken: what is wrong is named by its field or by row and column, and nothing is half written."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.domain.register_import import columns_of
from saraban.documents.drawing.repository.tables import REFERENCES, tables_of
from saraban.kit.db import Database
from tests.conftest import unwrapped
from tests.drawing_imports import DrawingImports
from tests.features.documents.conftest import PDF, Desk, pointers
from tests.other_project import add_other_project

LISTS = {
    "contract": ("contract-volumes", "contract-categories"),
    "shop": ("shop-main-categories", "shop-sub-categories"),
    "asbuilt": ("shop-main-categories", "shop-sub-categories"),
}


async def rows(db: Database) -> int:
    """Every row of the three registers."""
    tables: list[Any] = []
    for kind in KINDS.values():
        found = tables_of(kind)
        tables += [found.head, found.revision, found.file, *([REFERENCES[kind].link] if kind in REFERENCES else [])]
    async with db.reading() as session:
        return sum([await session.scalar(sa.select(sa.func.count()).select_from(one)) or 0 for one in tables])


@pytest.fixture
async def strange(desk: Desk, app: FastAPI) -> dict[str, Any]:
    """Another project, whose lists have the code `ELSEWHERE`."""
    other = await add_other_project(app.state.db)
    client = await desk.as_("admin")
    for name in {one for lists in LISTS.values() for one in lists}:
        answer = await client.post(
            f"/api/v1/projects/{other['project']}/drawing-categories/{name}",
            json={"code": "ELSEWHERE", "nameTh": "ที่อื่น", "nameEn": "Elsewhere"},
        )
        assert answer.status_code == httpx.codes.CREATED, answer.text
    return {
        "contractPublicId": str(other["contract"]),
        "originatorOrganizationPublicId": str(other["organization"]),
        "disciplineCode": "XYZ",
        "categoryCode": "ELSEWHERE",
        "subCategoryCode": "ELSEWHERE",
        "volumeCode": "ELSEWHERE",
    }


async def sent(
    client: httpx.AsyncClient, method: str, path: str, cases: dict[str, dict[str, Any]]
) -> dict[str, tuple[int, list[str]]]:
    """Send each body, and return what it was answered with, by the pointer that is wanted."""
    found = {}
    for pointer, body in cases.items():
        answer = await client.request(method, path, json=body)
        found[pointer] = (answer.status_code, pointers(answer))
    return found


def each_at_its_field(cases: dict[str, Any]) -> dict[str, tuple[int, list[str]]]:
    return {pointer: (422, [pointer]) for pointer in cases}


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=lambda kind: kind.path)
class TestFields:
    async def test_of_a_new_drawing(self, desk: Desk, app: FastAPI, kind: DrawingKind, strange: dict[str, Any]) -> None:
        client, path = await desk.as_("admin"), f"/api/v1/drawings/{kind.path}"
        theirs = await client.post("/api/v1/attachments", files={"file": ("a.pdf", PDF)})
        body = {"projectPublicId": desk.project, "drawingNumber": "N-1", "title": "แปลนฐานราก"}
        good = {"label": "0", "attachmentPublicIds": [theirs.json()["publicId"]]}
        # A sub category of contract drawings is asked for with its category.
        left_out = {"subCategoryCode"} if kind.whole else {"volumeCode"}
        cases: dict[str, dict[str, Any]] = {f"/{name}": {name: value} for name, value in strange.items()}
        cases = {pointer: one for pointer, one in cases.items() if pointer[1:] not in left_out}
        cases |= {
            "/title": {"title": "ก" * 300},
            "/titleEn": {"titleEn": "ก" * 300},
            "/drawingNumber": {"drawingNumber": "=1+1"},
            "/revision/label": {"revision": {**good, "label": "C"}},
            "/revision/title": {"revision": {**good, "title": "ก" * 300}},
            "/revision/attachmentPublicIds/1": {
                "revision": {**good, "attachmentPublicIds": [*good["attachmentPublicIds"], desk.project]}
            },
            # A contract drawing derives from nothing.
            f"/revision/derivedFromPublicIds{'' if kind.whole else '/0'}": {
                "revision": {**good, "derivedFromPublicIds": [desk.project]}
            },
        }
        before = await rows(app.state.db)

        found = await sent(client, "POST", path, {pointer: {**body, **one} for pointer, one in cases.items()})

        assert found == each_at_its_field(cases)
        assert await rows(app.state.db) == before == 0
        made = await client.post(path, json={**body, "revision": good})
        assert made.status_code == httpx.codes.CREATED  # and the file is still free

    async def test_of_one_that_is_classified_otherwise(
        self, desk: Desk, app: FastAPI, kind: DrawingKind, strange: dict[str, Any]
    ) -> None:
        made = await desk.register("admin", kind.path, "N-1", zone="1")
        client, path = await desk.as_("admin"), f"/api/v1/drawings/{kind.path}/{made['publicId']}"
        names = ["disciplineCode", "categoryCode", "volumeCode" if kind.whole else "subCategoryCode"]
        cases = {f"/{name}": {"zone": "2", name: strange[name]} for name in names}
        cases |= {"/scale": {"zone": "2", "scale": "1" * 60}}

        found = await sent(client, "PATCH", path, cases)

        assert found == each_at_its_field(cases)
        assert unwrapped(await client.get(path)) == made


async def test_a_revision_is_refused_by_its_field(desk: Desk, app: FastAPI) -> None:
    made = await desk.register("admin", "shop", "N-1", revision={"label": "4"})
    client, path = await desk.as_("admin"), f"/api/v1/drawings/shop/{made['publicId']}/revisions"
    file = await desk.upload("dc.contractor")
    cases: dict[str, dict[str, Any]] = {
        "/label": {"label": "A"},
        "/title": {"title": "ก" * 300},
        "/date": {"date": "2026-02-30"},
        "/attachmentPublicIds/0": {"attachmentPublicIds": [file]},  # somebody else's
        "/derivedFromPublicIds/0": {"derivedFromPublicIds": [made["publicId"]]},
    }
    before = await rows(app.state.db)

    found = await sent(client, "POST", path, cases)
    backwards = await client.post(path, json={"label": "3"})

    assert found == each_at_its_field(cases)
    assert (backwards.status_code, pointers(backwards)) == (409, ["/label"])
    assert await rows(app.state.db) == before == 2
    assert unwrapped(await client.get(f"/api/v1/drawings/shop/{made['publicId']}")) == made


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [("N-1.pdf", b"", "VALIDATION_ERROR"), ("N-1.pdf", b"MZ" + b"\0" * 200, "FILE_TYPE_MISMATCH")],
)
async def test_a_sheet_that_is_none_never_becomes_a_file(desk: Desk, name: str, content: bytes, code: str) -> None:
    """Files are uploaded before the drawing that names them."""
    client = await desk.as_("dc.contractor")

    answer = await client.post("/api/v1/attachments", files={"file": (name, content)})

    assert (answer.status_code, answer.json()["code"], pointers(answer)) == (422, code, ["/file"])


@pytest.mark.parametrize("kind", ["contract", "shop"])
async def test_a_line_is_refused_by_its_column_and_harms_no_other(
    desk: Desk, app: FastAPI, tmp_path: Path, kind: str, strange: dict[str, Any]
) -> None:
    client = await desk.as_("admin")
    settings = f"/api/v1/projects/{desk.project}/drawing-registers/{kind}"
    await client.put(settings, json={"revisionScheme": "0", "numberPattern": "N-##"})
    imports = DrawingImports(client, app, desk.project, tmp_path)
    head = [column.key for column in columns_of(KINDS[kind])]
    cases: list[tuple[str, str, str]] = [
        ("drawing_number", "X-1", "not_in_pattern"),
        ("contract", "OTHER-1", "unknown"),
        ("originator", "อื่น", "unknown"),
        ("discipline", strange["disciplineCode"], "unknown"),
        ("title", "ก" * 300, "too_long"),
        ("title", "=1+1", "formula"),
        ("title_en", "=HYPERLINK(1)", "formula"),
        ("scale", "=1/100", "formula"),
        ("revision", "A", "not_in_scheme"),
        ("revision_date", "2026-02-30", "no_such_day"),
    ]
    if kind == "contract":
        cases.append(("page", "twelve", "malformed"))
    said = [
        {"drawing_number": f"N-{place:02}", "title": "แปลน", column: value}
        for place, (column, value, _) in enumerate(cases, 1)
    ]
    lines = [[one.get(name, "") for name in head] for one in [*said, {"drawing_number": "N-99", "title": "ดี"}]]

    done = await imports.imported(*lines, kind=kind, head=head, name="bad.csv")

    wanted = {(place, column, code) for place, (column, _, code) in enumerate(cases, 2)}
    assert {(one["line"], one["column"], one["code"]) for one in done["report"]["faults"]} == wanted
    assert (done["rowsRefused"], done["report"]["imported"]) == (len(cases), 1)
    assert await rows(app.state.db) == 2
