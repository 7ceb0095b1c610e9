"""Lists of documents carry the envelope of each row, for the caller, and ask the database no more for many than for few."""

import re
from collections import Counter
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from saraban.config import Settings
from saraban.documents.core.service import registers
from tests.conftest import SignIn
from tests.statement_count import counting

ENVELOPE = {
    *("instancePublicId", "workflowCode", "currentState", "availableActions", "canEdit", "lastTransitionAt"),
    *("versionNo",),
}


@pytest.fixture
def settings(settings_with_documents: Settings) -> Settings:
    """Of the demo project with its documents, of every kind."""
    return settings_with_documents


async def test_ask_no_more_for_many_rows_than_for_few(app: FastAPI, signed_in: SignIn) -> None:
    """A statement may be sent again for another contract, or for the facts of workflows beside the list; never for each row."""
    admin = await signed_in("admin")
    seen = {}
    for kind in ("correspondences", "rfas", "transmittals", "circulations"):
        statements, rows = await asked(app, admin, kind, limit=20)

        most, sql = max((times, sql) for sql, times in Counter(map(alike, statements)).items())
        seen[kind] = len(rows)
        # Recipients are asked for by the facts of workflows and by the list.
        assert most <= max(len(rows) // 2, 2), (kind, sql)
        assert all(row["workflow"].keys() >= ENVELOPE for row in rows)
    assert sum(seen.values()) > 20 and min(seen.values()) > 1, seen


def alike(statement: str) -> str:
    """Return what a statement is, however many rows it asks for."""
    return re.sub(r"\(\?(, \?)*\)", "(?)", statement)


async def asked(app: FastAPI, client: httpx.AsyncClient, kind: str, *, limit: int) -> tuple[list[str], list[Any]]:
    with counting(app.state.db) as statements:
        answer = await client.get(f"/api/v1/{kind}", params={"limit": limit})
    assert answer.status_code == 200, answer.text
    return statements, answer.json()["items"]


async def test_count_exactly_up_to_a_bound(app: FastAPI, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that somebody sees, and what a filter leaves of it, along its index where all would be too many."""
    admin = await signed_in("admin")

    async def count(**search: str) -> int:
        answer = await admin.get("/api/v1/correspondences", params={"limit": 1, **search})
        return int(answer.json()["approximateCount"])

    every, drafts = await count(), await count(status="draft")
    assert 0 < drafts < every
    monkeypatch.setattr(registers, "FEW", 0)  # so that it is not counted along an index at once
    for bound in range(drafts - 1, every + 1):
        monkeypatch.setattr(registers, "COUNTED", bound)
        assert await count() == min(every, bound + 1)
        assert await count(status="draft") == min(drafts, bound + 1)
