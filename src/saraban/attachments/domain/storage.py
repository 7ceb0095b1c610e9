"""Where the bytes of files lie. Two ship: a folder, and memory for tests; a bucket fits the same words."""

from collections.abc import AsyncIterator, Callable
from datetime import date
from typing import BinaryIO, Protocol, TypeVar
from uuid import UUID

T = TypeVar("T")


class Storage(Protocol):
    """Keys are text with `/` between the parts; none ever comes from a user."""

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        """Store all chunks under `key`, or nothing when the iterator raises."""
        ...

    def read(self, key: str, *, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """
        Return the bytes from `start` on, in chunks.

        :raises FileNotFoundError: when nothing lies under `key`, at the first chunk
        """
        ...

    async def examine(self, key: str, look: Callable[[BinaryIO], T]) -> T:
        """Run `look` on the stored bytes, off the event loop."""
        ...

    async def holds(self, key: str) -> bool: ...

    async def delete(self, key: str) -> None:
        """Remove what lies under `key`, if anything does."""
        ...


def storage_key(public_id: UUID, *, day: date) -> str:
    """Return the place of a file for all its life: being claimed moves no bytes."""
    return f"files/{day:%Y/%m}/{public_id}"
