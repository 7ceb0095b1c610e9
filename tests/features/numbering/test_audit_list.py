"""The audit of numbers as a list: for who sees the numbers of the project, by what was done, whose, to which number and when."""

from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from saraban.kit.dates import local_date
from tests.conftest import SignIn
from tests.numbering_requests import BASE, GENERATE, read_project

AUDIT, ERRORS = f"{BASE}/logs/audit", f"{BASE}/logs/errors"
VOID, GENERATED = ("VOID", "padmin"), [("GENERATE", "dc.contractor"), ("GENERATE", "dc.consultant")]


@pytest_asyncio.fixture
async def project(signed_in: SignIn) -> str:
    """Two people issue a number each; the older one is voided."""
    first, second, manager = [await signed_in(name) for name in ("dc.consultant", "dc.contractor", "padmin")]
    letters = await read_project(first)
    issued = await first.post(GENERATE, json=letters.letter())
    assert (await second.post(GENERATE, json=letters.letter("ผรม.2", "คคง."))).is_success
    void = {"publicId": issued.json()["publicId"], "reason": "ออกเลขซ้ำซ้อน"}
    assert (await manager.post(f"{BASE}/void", json=void)).is_success
    return letters.id


async def found(client: httpx.AsyncClient, project: str, **asked: Any) -> list[dict[str, Any]]:
    answer = await client.get(AUDIT, params={"projectPublicId": project, **asked})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


def brief(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["operation"], one["username"]) for one in rows]


class TestList:
    async def test_tells_who_did_what_newest_first(self, signed_in: SignIn, project: str) -> None:
        rows = await found(await signed_in("padmin"), project)
        void, *issued = rows[:3]

        assert brief(rows[:3]) == [VOID, *GENERATED]
        assert (void["reason"], void["numberPublicId"]) == ("ออกเลขซ้ำซ้อน", issued[1]["numberPublicId"])
        assert issued[1]["counterKey"]["originator"] == "คคง."

    async def test_each_filter_narrows_it(self, app: FastAPI, signed_in: SignIn, project: str) -> None:
        manager = await signed_in("padmin")
        rows = await found(manager, project)
        today = local_date((clock := app.state.clock).now(), clock.zone)

        async def narrowed(**asked: Any) -> list[tuple[str, str]]:
            return brief(await found(manager, project, **asked))

        assert await narrowed(operation="VOID") == [VOID]
        assert await narrowed(person="dc.contractor") == GENERATED[:1]
        assert await narrowed(person="nobody") == []
        assert await narrowed(number=rows[2]["documentNumber"]) == [VOID, GENERATED[1]]
        assert await narrowed(number="ไม่มี") == []
        assert await narrowed(series=rows[1]["series"]) == GENERATED[:1]
        assert (await narrowed(**{"from": str(today), "until": str(today)}))[:3] == [VOID, *GENERATED]
        assert await narrowed(until="2020-12-31") == []
        assert await narrowed(operation="GENERATE", person="dc.consultant") == GENERATED[1:]

    async def test_is_turned_over_without_losing_a_row(self, signed_in: SignIn, project: str) -> None:
        manager = await signed_in("padmin")
        asked = {"projectPublicId": project, "limit": 2}
        first = (await manager.get(AUDIT, params=asked)).json()
        second = (await manager.get(AUDIT, params={**asked, "cursor": first["nextCursor"]})).json()

        assert brief([*first["items"], *second["items"]])[:3] == [VOID, *GENERATED]
        assert len({one["publicId"] for one in (*first["items"], *second["items"])}) == 4

    @pytest.mark.parametrize("route", [AUDIT, ERRORS])
    async def test_a_period_that_ends_before_it_begins_is_named(
        self, signed_in: SignIn, project: str, route: str
    ) -> None:
        client = await signed_in("admin")
        asked = {"from": "2026-03-02", "until": "2026-03-01"} | ({"projectPublicId": project} if route == AUDIT else {})

        answer = await client.get(route, params=asked)

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "query:until")
