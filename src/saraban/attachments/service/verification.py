"""Compares the stored files with their rows: what is missing, what was altered, and which files no row names."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import BinaryIO, NamedTuple
from uuid import UUID

from saraban.attachments import repository
from saraban.attachments.domain import FILES, Storage
from saraban.attachments.repository import StoredFile
from saraban.kit.db import Database

PAGE = 500
Progress = Callable[[int, int], None]  # files done, files in all


class FileFault(StrEnum):
    MISSING = "missing"
    ALTERED = "altered"
    UNREADABLE = "unreadable"


class FileFinding(NamedTuple):
    file: StoredFile
    fault: FileFault


async def verify_files(
    db: Database, storage: Storage, *, progress: Progress = lambda _done, _total: None
) -> AsyncIterator[FileFinding]:
    """Return the files whose bytes are not what was uploaded. Files may come and go meanwhile."""
    async with db.reading() as session:
        total = await repository.count_stored(session)
    done = after = 0
    while True:
        async with db.reading() as session:
            page = await repository.stored_files(session, after=after, limit=PAGE)
        if not page:
            return
        for file in page:
            fault = await _fault_of(storage, file)
            # The clean-up removes the bytes of an upload before its row.
            if fault is not None and await _is_stored(db, file.public_id):
                yield FileFinding(file, fault)
            done += 1
            progress(done, max(total, done))
        after = page[-1].id


async def unnamed_files(db: Database, storage: Storage) -> AsyncIterator[str]:
    """Return the keys of stored files that no row names: a broken upload, or bytes younger than a restored database."""
    async for keys in storage.list_keys(FILES, most=PAGE):
        async with db.reading() as session:
            known = await repository.known_keys(session, _public_ids(keys))
        for key in keys:
            if key not in known:
                yield key


async def _is_stored(db: Database, public_id: UUID) -> bool:
    async with db.reading() as session:
        return await repository.by_public_id(session, public_id) is not None


async def _fault_of(storage: Storage, file: StoredFile) -> FileFault | None:
    try:
        checksum = await storage.examine(file.key, _checksum)
    except FileNotFoundError:
        return FileFault.MISSING
    except OSError:
        return FileFault.UNREADABLE
    return None if checksum == file.checksum else FileFault.ALTERED


def _checksum(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    for chunk in iter(partial(file.read, 256 * 1024), b""):
        digest.update(chunk)
    return digest.hexdigest()


def _public_ids(keys: list[str]) -> list[UUID]:
    found = []
    for key in keys:
        with suppress(ValueError):
            found.append(UUID(key.rpartition("/")[2]))
    return found
