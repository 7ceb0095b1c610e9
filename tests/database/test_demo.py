"""The demo project's documents and the story on MariaDB and Redis: the same services, other locks and collations."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest_asyncio
from redis import Redis

from saraban import bootstrap
from saraban.documents.demo.service import walk_through
from tests.conftest import settings_in

if TYPE_CHECKING:
    from saraban.bootstrap import System


@pytest_asyncio.fixture
async def on_servers(mariadb_documents_url: str, redis_url: str, tmp_path: Path) -> "AsyncIterator[System]":
    settings = settings_in(tmp_path / "data", database_url=mariadb_documents_url, redis_url=redis_url)
    async with bootstrap.closing(bootstrap.wire(settings)) as system:
        yield system


class TestDemo:
    async def test_is_told_beside_documents_that_are_loaded_once(self, on_servers: "System") -> None:
        assert await on_servers.demo.load_documents() == 0

        scenes = walk_through(on_servers.demo.services, clock=on_servers.clock)
        chapters = [scene.chapter async for scene in scenes if scene.chapter]
        assert len(chapters) == 4
        assert all("-0001" in chapter.document["data"]["documentNumber"] for chapter in chapters)
        assert all(chapter.document["workflow"]["terminal"] for chapter in chapters)


async def test_closing_leaves_no_connection_behind(mariadb_demo_url: str, redis_url: str, tmp_path: Path) -> None:
    name = "saraban-test-closing"
    settings = settings_in(
        tmp_path / "data", database_url=mariadb_demo_url, redis_url=f"{redis_url}?client_name={name}"
    )
    with Redis.from_url(redis_url) as watcher:

        def connections() -> int:
            return sum(client["name"] == name for client in watcher.client_list())

        async with bootstrap.closing(bootstrap.wire(settings)) as system:
            assert system.redis is not None
            await system.redis.ping()
            assert connections() == 1
        for _ in range(500):  # Redis notices a closed socket a moment later
            if not connections():
                break
            await asyncio.sleep(0.01)
        assert connections() == 0
