"""Requests that hold a connection never wait for one another: a burst larger than the pool is served, only later."""

import asyncio

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.config import Settings
from saraban.numbering.series.models import NumberError
from tests.conftest import SignIn

AT_ONCE = 8
API = "/api/v1"
# One of each kind: a register, what reads its caller late, what reads it early, pages with a shell around them.
ADDRESSES = (
    f"{API}/auth/me",
    f"{API}/rfas",
    f"{API}/correspondences",
    f"{API}/transmittals",
    f"{API}/circulations",
    f"{API}/projects",
    f"{API}/organizations",
    f"{API}/correspondence-types",
    f"{API}/inbox",
    f"{API}/notifications",
    f"{API}/workflow/definitions",
    "/inbox",
    "/rfas",
    "/notifications",
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Two connections, which eight requests want."""
    return settings.model_copy(update={"db_pool_size": 1})


async def kept(app: FastAPI) -> int:
    async with app.state.db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.count()).select_from(NumberError)) or 0)


class TestABurst:
    async def test_larger_than_the_pool_is_served(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        for address in ADDRESSES:
            async with asyncio.timeout(15):
                answers = await asyncio.gather(*(admin.get(address) for _ in range(AT_ONCE)))

            assert {answer.status_code for answer in answers} == {200}, address

    async def test_of_refused_requests_about_numbers_is_kept(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        async with asyncio.timeout(15):
            answers = await asyncio.gather(*(admin.get(f"{API}/document-numbering/series") for _ in range(AT_ONCE)))
        for _ in range(200):  # a refusal is answered before long, its row written or not
            if await kept(app) == AT_ONCE:
                break
            await asyncio.sleep(0.05)

        assert {answer.status_code for answer in answers} == {422}
        assert await kept(app) == AT_ONCE
