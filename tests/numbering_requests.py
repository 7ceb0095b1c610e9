"""Requests to the numbering API in the demo project, and what they leave in the database."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import pytest
import sqlalchemy as sa

from saraban.kit.clock import SystemClock
from saraban.kit.db import Database
from saraban.numbering.series.models import LedgerEntry, NumberAudit

GENERATE = "/api/v1/document-numbering/generate"

PREVIEW = "/api/v1/document-numbering/preview"

CONFIGS = "/api/v1/document-numbering/configs"

WHY = "The owner asked for it."

BASE = "/api/v1/document-numbering"

REASON = "A reason that is long enough."


class Project:
    """The demo project's public ids, read over the API as any client would."""

    def __init__(self, project: dict[str, Any]) -> None:
        self.id = project["publicId"]
        self.organizations = {one["organizationCode"]: one["publicId"] for one in project["organizations"]}
        self.contracts = {one["contractCode"]: one["publicId"] for one in project["contracts"]}

    def letter(self, originator: str = "คคง.", recipient: str | None = "ผรม.1", **more: Any) -> dict[str, Any]:
        body = {
            "projectPublicId": self.id,
            "correspondenceTypeCode": "LETTER",
            "originatorOrganizationPublicId": self.organizations[originator],
        }
        if recipient:
            body["recipientOrganizationPublicId"] = self.organizations[recipient]
        return body | more


async def read_project(client: httpx.AsyncClient) -> Project:
    listed = (await client.get("/api/v1/projects")).json()["items"]
    public_id = next(one["publicId"] for one in listed if one["projectCode"] == "LCBP3-C2")
    return Project((await client.get(f"/api/v1/projects/{public_id}")).json())


async def count(db: Database, model: Any) -> int:
    async with db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(model)) or 0)


@pytest.fixture
def db(app: Any) -> Database:
    return app.state.db  # type: ignore[no-any-return]


def present() -> datetime:
    return SystemClock(ZoneInfo("Asia/Bangkok")).now()


async def audited(db: Database, operation: str) -> list[NumberAudit]:
    async with db.reading() as session:
        return list(await session.scalars(sa.select(NumberAudit).where(NumberAudit.operation == operation)))


async def let_run_out(db: Database, public_id: str) -> None:
    """Have a reservation end an hour ago."""
    async with db.writing() as session:
        await session.execute(
            sa.update(LedgerEntry)
            .where(LedgerEntry.public_id == UUID(public_id))
            .values(expires_at=present() - timedelta(hours=1))
        )


async def reserved(client: Any, project: Project, **more: Any) -> dict[str, Any]:
    answer = await client.post(f"{BASE}/reserve", json=project.letter(**more))
    assert answer.status_code == 201, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def without_originator(admin: Any, project: Project) -> None:
    """Have the letters of everybody in the project count together."""
    wanted = {"projectPublicId": project.id, "correspondenceTypeCode": "LETTER", "template": "{PROJECT}-L-{SEQ:4}"}
    saved = await admin.put(f"{BASE}/configs", json=wanted | {"reason": REASON})
    assert saved.status_code == 200, saved.text
