"""Both storages that ship keep the same promises."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import pytest

from saraban.attachments.adapters import FolderStorage, MemoryStorage
from saraban.attachments.domain import Storage

KEY = "files/2026/11/019505a1-7c3e-7000-8000-abc123def456"


async def pieces(*chunks: bytes, fault: BaseException | None = None) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    if fault is not None:
        raise fault


async def whole(storage: Storage, key: str, *, start: int = 0, length: int | None = None) -> bytes:
    return b"".join([chunk async for chunk in storage.read(key, start=start, length=length)])


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture(params=["folder", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return FolderStorage(tmp_path / "files") if request.param == "folder" else MemoryStorage()


class TestStorage:
    async def test_gives_back_what_was_written(self, storage: Storage) -> None:
        await storage.write(KEY, pieces(b"abc", b"def", b"ghi"))

        assert await whole(storage, KEY) == b"abcdefghi"
        assert await whole(storage, KEY, start=2, length=5) == b"cdefg"
        assert await storage.holds(KEY)

    async def test_lets_the_bytes_be_examined(self, storage: Storage) -> None:
        await storage.write(KEY, pieces(b"abc"))

        def last(file: BinaryIO) -> bytes:
            file.seek(-1, 2)
            return file.read()

        assert await storage.examine(KEY, last) == b"c"

    @pytest.mark.parametrize("fault", [RuntimeError("too large"), asyncio.CancelledError()])
    async def test_keeps_nothing_of_a_write_that_broke_off(self, storage: Storage, fault: BaseException) -> None:
        with pytest.raises(type(fault)):
            await storage.write(KEY, pieces(b"abc", fault=fault))

        assert not await storage.holds(KEY)

    async def test_deletes_once_and_again(self, storage: Storage) -> None:
        await storage.write(KEY, pieces(b"abc"))

        await storage.delete(KEY)
        await storage.delete(KEY)

        assert not await storage.holds(KEY)
        with pytest.raises(FileNotFoundError):
            await whole(storage, KEY)


class TestFolder:
    async def test_leaves_no_draft_behind(self, tmp_path: Path) -> None:
        storage = FolderStorage(tmp_path)
        with pytest.raises(RuntimeError):
            await storage.write(KEY, pieces(b"abc", fault=RuntimeError("broken off")))

        assert files_in(tmp_path) == []

    @pytest.mark.parametrize(
        "key", ["../outside", "files/../../outside", "/etc/passwd", "files//x", ".hidden", "a\\b", ""]
    )
    async def test_leads_nowhere_else(self, tmp_path: Path, key: str) -> None:
        storage = FolderStorage(tmp_path / "files")

        for act in (storage.holds, storage.delete):
            with pytest.raises(ValueError, match="not a storage key"):
                await act(key)
        with pytest.raises(ValueError, match="not a storage key"):
            await storage.write(key, pieces(b"x"))
