"""Files in memory, for tests."""

from collections.abc import AsyncIterator, Callable
from io import BytesIO
from typing import BinaryIO, TypeVar

T = TypeVar("T")


class MemoryStorage:
    """Holds what was written in `files`."""

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
