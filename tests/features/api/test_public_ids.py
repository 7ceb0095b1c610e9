"""No integer key leaves the process: every operation that reads is asked, and what it says is searched (REQ-IDN-01)."""

import base64
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import orjson
import pytest
from fastapi import FastAPI

from saraban.config import Settings
from saraban.documents.drawing.service import DRAWING_IMPORTERS
from saraban.imports.service.worker import ImportWorker
from saraban.kit.clock import local_date
from saraban.numbering.service import NUMBER_IMPORTER
from saraban.setup.domain.master_kinds import DRAWING_CATEGORIES, TAG
from tests.conftest import SignIn
from tests.features.api.openapi_walk import Operation, operations
from tests.password_reads import password_reads

# Every number that an answer may carry, by the name of its field; whatever else is an integer is a leak.
COUNTS = {
    "skippedTo", "retryCount", "lockWaitMs",
    "sequence", "year", "version", "versionNo", "clientVersionNo", "size", "quantity", "revisionNumber", "expiresIn",
    "status", "unreadCount", "attempts", "width", "position", "stepNumber", "sortOrder", "total", "count", "answered", "mustAnswer",
    "approximateCount", "holders", "drawsPerMinute",
    "in_use", "overflow", "limit", "waiting", "deadLetters", "freeBytes", "totalBytes", "block", "unsealedRows", "verifyFailures",
    "lastNumber", "highestNumber", "ranges", "first", "last",
    "rowsTotal", "rowsDone", "rowsRefused", "ready", "there", "refused", "leftOut", "imported", "line", "highest", "counter", "jump",
    "before", "after", "seriesTotal", "peopleCount", "digestHour", "quietFrom", "quietUntil", "every", "hour",
}  # fmt: skip
# Names that end in "id" and are not keys of rows.
NOT_KEYS = {"publicId", "traceId", "requestId", "entityId"}  # the last in what events say: a public id as text
_KEY_NAME = re.compile(r"(^id$|[a-z]Id$|_id$)")
_WRITES_THAT_ANSWER = {"/api/v1/document-numbering/preview", "/api/v1/workflow/definitions/validate"}


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}/{name}", inner
            yield from walk(inner, f"{path}/{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner, f"{path}[]")


def leaks(body: Any) -> list[str]:
    """What in a JSON answer looks like the key of a row."""
    found = []
    for path, value in walk(body):
        name = path.rpartition("/")[2].removesuffix("[]")
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if is_number and name not in COUNTS:
            found.append(f"{path} = {value}")
        if _KEY_NAME.search(name) and name not in NOT_KEYS and not name.endswith("PublicId"):
            found.append(f"{path} is named like a key")
        if name.endswith(("publicId", "PublicId")) and value is not None:
            try:
                UUID(str(value))
            except ValueError:
                found.append(f"{path} = {value} is no public id")
    return found


def cursor_leaks(body: Any) -> list[str]:
    cursor = body.get("nextCursor") if isinstance(body, dict) else None
    if cursor is None:
        return []
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    position = orjson.loads(raw[raw.index(b"[") :])  # behind the mark of the list
    keys = [value for value in position if type(value) is int]
    last = body["items"][-1]
    shown = [value for value in last.values() if type(value) is int]  # a list in the order of what its rows show
    return [] if set(keys) <= set(shown) else [f"the cursor contains {keys}"]


class Known:
    """Public ids met so far, by the path that lists them."""

    def __init__(self) -> None:
        self.by_list: dict[str, str] = {}
        self.instance: str | None = None
        self.attachment: str | None = None
        self.number: str | None = None
        self.series: str | None = None
        self.codes: dict[str, str] = {}

    def learn(self, path: str, body: Any) -> None:
        items = body.get("items") if isinstance(body, dict) else None
        first = items[0].get("data", items[0]) if items and isinstance(items[0], dict) else {}
        if "sortOrder" in first:
            self.codes[path] = quote(first["code"]) + (f"?typeCode={first['typeCode']}" if "typeCode" in first else "")
        if "publicId" in first:
            self.by_list.setdefault(path, first["publicId"])
            self.by_list.setdefault(f"/api/v1/{path.rpartition('/')[2]}", first["publicId"])  # a project's webhooks
        if path.startswith("/api/v1/drawings/") and "revision" in first:
            self.by_list.setdefault(f"{path}/revisions", first["revision"]["publicId"])
        for name, value in walk(body):
            if name.endswith("/documentNumber") and value:
                self.number = self.number or value
            if name.endswith("/series") and value:
                self.series = self.series or value
            if name.endswith("/instancePublicId") and value:
                self.instance = self.instance or value
            if name.endswith("/downloadUrl") and value:
                self.attachment = self.attachment or str(value).split("/attachments/")[1].split("/")[0]

    def address(self, operation: Operation) -> str | None:
        path = operation.path.replace("{kind}", "shop")
        if "{" not in path:
            return path
        if path.startswith("/api/v1/workflow/instances/"):
            return path.replace("{publicId}", self.instance) if self.instance else None
        if path.startswith("/api/v1/attachments/"):
            return path.replace("{publicId}", self.attachment) if self.attachment else None
        if path.startswith("/api/v1/workflow/definitions/"):
            return path.replace("{code}", "RFA_APPROVAL").replace("{version}", "1")
        if path.endswith("/{code}") and (code := self.codes.get(path.removesuffix("/{code}"))):
            path = path.replace("{code}", code)
        if "{" not in path:
            return path
        start = path.partition("/{")[0]
        return re.sub(r"\{\w*[pP]ublicId\}", self.by_list[start], path) if start in self.by_list else None


def needed_of(operation: Operation) -> list[str]:
    return [p["name"] for p in operation.parameters if p["in"] == "query" and p.get("required")]


async def ask(client: httpx.AsyncClient, operation: Operation, address: str, known: Known) -> httpx.Response:
    met = {
        "projectPublicId": known.by_list.get("/api/v1/projects"),
        "number": known.number,
        "series": known.series,
        "permission": "document.view",
        "q": "RFA",
        "kind": "shop",
    }
    needed = {name: met.get(name) or "1" for name in needed_of(operation)}
    if "typeCode=" in address:
        needed |= dict(httpx.URL(address).params)
    return await client.request(operation.method, address, params=needed)


async def send_a_sheet(admin: httpx.AsyncClient, system: Any) -> None:
    """The demo has no import: this makes one that has a report and a result."""
    project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
    rows = "number,type,originator,recipient,year\nคคง.-ผรม.1-0007-2567,LETTER,คคง.,ผรม.1,2567\nX-1,LETTER,คคง.,ผรม.1,2567\n"
    sent = await admin.post(
        "/api/v1/document-numbering/imports",
        params={"projectPublicId": project},
        files={"file": ("old.csv", rows.encode())},
    )
    assert sent.status_code == 202, sent.text
    assert await ImportWorker(system.db, system.storage, NUMBER_IMPORTER, clock=system.clock).round()
    sheet = b"drawing_number,title,revision\nIMP-1,\xe0\xb8\x81,0\nIMP-2,\xe0\xb8\x81,X\n"
    sent = await admin.post(
        "/api/v1/drawings/shop/imports",
        params={"projectPublicId": project},
        files={"file": ("drawings.csv", sheet)},
    )
    assert sent.status_code == 202, sent.text
    assert await ImportWorker(system.db, system.storage, DRAWING_IMPORTERS["shop"], clock=system.clock).round()


async def add_a_webhook(admin: httpx.AsyncClient) -> None:
    project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
    body = {"url": "https://hooks.example.com/saraban", "events": ["document.created"]}
    assert (await admin.post(f"/api/v1/projects/{project}/webhooks", json=body)).status_code == 201


async def lend_steps(admin: httpx.AsyncClient, day: str) -> None:
    colleague = (await admin.get("/api/v1/delegations/colleagues")).json()["items"][0]["publicId"]
    body = {"delegatePublicId": colleague, "startsOn": day, "endsOn": day}
    assert (await admin.post("/api/v1/delegations", json=body)).status_code == 201


async def add_master_rows(admin: httpx.AsyncClient) -> None:
    """Of the lists of a project the demo has none."""
    project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
    for kind in (TAG, *DRAWING_CATEGORIES):
        body = {one.name: one.example for one in kind.fields if one.required}
        assert (await admin.post(f"/api/v1/projects/{project}/{kind.path}", json=body)).status_code == 201


async def add_drawings(admin: httpx.AsyncClient) -> None:
    project = (await admin.get("/api/v1/projects")).json()["items"][0]["publicId"]
    for number in "123":
        body = {"projectPublicId": project, "drawingNumber": f"N-{number}", "title": "แปลนฐานราก"}
        assert (await admin.post("/api/v1/drawings/shop", json=body)).status_code == 201


@pytest.fixture
def settings(settings_with_documents: Settings) -> Settings:
    """Of the demo project with its documents, of every kind."""
    return settings_with_documents


class TestEveryAnswer:
    async def test_carries_public_ids_and_reads_no_password(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        await send_a_sheet(admin, app.state)
        await add_a_webhook(admin)
        await add_master_rows(admin)
        await add_drawings(admin)
        await lend_steps(admin, local_date(app.state.clock.now(), app.state.clock.zone).isoformat())
        known, found, unasked = Known(), [], []
        reads = [one for one in operations(app.openapi()) if one.method == "get" and one.path.startswith("/api/")]
        reads.sort(key=lambda one: not one.path.startswith("/api/v1/projects"))  # they list what others read
        with password_reads() as passwords:
            for operation in sorted(reads, key=lambda one: (one.path.count("{"), len(needed_of(one)))):
                address = known.address(operation)
                if address is None:
                    unasked.append(str(operation))
                    continue
                answer = await ask(admin, operation, address + ("?limit=2" if "{" not in operation.path else ""), known)
                if answer.status_code == 422:
                    answer = await ask(admin, operation, address, known)
                assert answer.status_code == 200, f"{operation}: {answer.status_code} {answer.text[:300]}"
                if answer.headers["content-type"].startswith("application/json"):
                    known.learn(operation.path.replace("{kind}", "shop"), answer.json())
                    found += [f"{operation}: {leak}" for leak in leaks(answer.json()) + cursor_leaks(answer.json())]
                found += [f"{operation}: header {name}" for name in integer_headers(answer)]

        assert unasked == []
        assert passwords == []
        assert found == [], "\n".join(found)

    async def test_that_refuses_carries_none_either(self, app: FastAPI, signed_in: SignIn) -> None:
        outsider = await signed_in("viewer")
        found = []
        for operation in operations(app.openapi()):
            path = re.sub(r"\{\w+\}", "019505a1-7c3e-7000-8000-abc123def456", operation.path)
            answer = await outsider.request(operation.method, path, json={} if operation.body else None)
            if answer.headers.get("content-type") == "application/problem+json":
                found += [f"{operation}: {leak}" for leak in leaks(answer.json())]

        assert found == [], "\n".join(found)


def integer_headers(answer: httpx.Response) -> list[str]:
    allowed = {"content-length", "retry-after", "etag", "age", "x-xss-protection"}
    return [f"{name}: {value}" for name, value in answer.headers.items() if value.isdigit() and name not in allowed]
