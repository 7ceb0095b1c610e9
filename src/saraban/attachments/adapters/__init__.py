"""Storages in a folder, and in memory for tests."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TypeVar

from saraban.kit.ids import new_id

T = TypeVar("T")

CHUNK = 256 * 1024
_PART = re.compile(r"[a-z0-9][a-z0-9._-]*")


class FolderStorage:
    """Write beside the final path, sync to disk, then rename."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        place = self._path(key)
        draft = place.with_name(f".{new_id().hex}.part")
        file = await asyncio.to_thread(_open_draft, draft)
        try:
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(_publish, file, draft, place)
        except BaseException:
            # Without await: a cancelled request must not leave its draft.
            with suppress(OSError):  # on a full disk it tries again to write its buffer
                file.close()
            draft.unlink(missing_ok=True)
            raise

    async def read(self, key: str, *, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        file = await asyncio.to_thread(_open_at, self._path(key), start)
        try:
            left = length
            while left is None or left > 0:
                chunk = await asyncio.to_thread(file.read, CHUNK if left is None else min(CHUNK, left))
                if not chunk:
                    return
                left = None if left is None else left - len(chunk)
                yield chunk
        finally:
            file.close()

    async def examine(self, key: str, look: Callable[[BinaryIO], T]) -> T:
        return await asyncio.to_thread(_look_at, self._path(key), look)

    async def holds(self, key: str) -> bool:
        return await asyncio.to_thread(self._path(key).is_file)

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self._path(key).unlink, missing_ok=True)

    def _path(self, key: str) -> Path:
        """Refuse keys that could leave the folder."""
        parts = key.split("/")
        if not all(_PART.fullmatch(part) for part in parts):
            raise ValueError(f"not a storage key: {key!r}")
        return self._root.joinpath(*parts)


def _look_at(place: Path, look: Callable[[BinaryIO], T]) -> T:
    with place.open("rb") as file:
        return look(file)


def _open_draft(draft: Path) -> BinaryIO:
    draft.parent.mkdir(parents=True, exist_ok=True)
    return draft.open("xb")


def _publish(file: BinaryIO, draft: Path, place: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()
    draft.replace(place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _open_at(place: Path, start: int) -> BinaryIO:
    file = place.open("rb")
    file.seek(start)
    return file


class MemoryStorage:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        self.files[key] = b"".join([chunk async for chunk in chunks])

    async def read(self, key: str, *, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        if key not in self.files:
            raise FileNotFoundError(key)
        yield self.files[key][start : None if length is None else start + length]

    async def examine(self, key: str, look: Callable[[BinaryIO], T]) -> T:
        if key not in self.files:
            raise FileNotFoundError(key)
        return look(BytesIO(self.files[key]))

    async def holds(self, key: str) -> bool:
        return key in self.files

    async def delete(self, key: str) -> None:
        self.files.pop(key, None)
