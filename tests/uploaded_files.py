"""Files that are uploaded over the API, and what becomes of them when a document takes them."""

import io
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.identity import service as identity
from saraban.kit.clock import SystemClock
from tests.factories.contexts import context

PDF = b"%PDF-1.7\n" + bytes(range(256)) * 4


async def upload(client: httpx.AsyncClient, name: str = "แบบ 1.pdf", content: bytes = PDF) -> dict[str, Any]:
    answer = await client.post("/api/v1/attachments", files={"file": (name, io.BytesIO(content))})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def content_of(file: dict[str, Any]) -> str:
    return f"/api/v1/attachments/{file['publicId']}/content"


async def make_permanent(app: Any, username: str, file: dict[str, Any]) -> None:
    """As a document does when it takes a file."""
    clock: SystemClock = app.state.clock

    async def work(session: AsyncSession) -> None:
        caller = await identity.find_caller(session, username=username)
        assert caller is not None
        await attachments.claim(
            context(caller=caller, now=clock.now()), session, public_ids=[UUID(file["publicId"])], pointer="/files"
        )

    await app.state.db.transact(work)
