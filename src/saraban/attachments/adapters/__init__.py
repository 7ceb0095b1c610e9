"""The storages that ship: a folder, and memory for tests."""

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
    """
    Files in a folder: written beside their place, forced to the disk, then renamed into it.

    :param root: folder that nothing else uses; it is made when the first file comes
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        place = self._place(key)
        draft = place.with_name(f".{new_id().hex}.part")
        file = await asyncio.to_thread(_begin, draft)
        try:
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(_settle, file, draft, place)
        except BaseException:
            # Not awaited in steps: a cancelled request must not leave its draft behind.
            with suppress(OSError):  # on a full disk it tries once more to write what it holds
                file.close()
            draft.unlink(missing_ok=True)
            raise

    async def read(self, key: str, *, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        file = await asyncio.to_thread(_open_at, self._place(key), start)
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
        return await asyncio.to_thread(_look_at, self._place(key), look)

    async def holds(self, key: str) -> bool:
        return await asyncio.to_thread(self._place(key).is_file)

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self._place(key).unlink, missing_ok=True)

    def _place(self, key: str) -> Path:
        """Return the path of a key, and refuse one that could lead out of the folder."""
        parts = key.split("/")
        if not all(_PART.fullmatch(part) for part in parts):
            raise ValueError(f"not a storage key: {key!r}")
        return self._root.joinpath(*parts)


def _look_at(place: Path, look: Callable[[BinaryIO], T]) -> T:
    with place.open("rb") as file:
        return look(file)


def _begin(draft: Path) -> BinaryIO:
    draft.parent.mkdir(parents=True, exist_ok=True)
    return draft.open("xb")


def _settle(file: BinaryIO, draft: Path, place: Path) -> None:
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
    """Files in memory, for tests: `files` holds what was written."""

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
