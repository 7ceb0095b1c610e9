"""Compare stored files with their rows."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from saraban.attachments import repository
from saraban.attachments.domain import AttachmentRow, Storage
from saraban.kit.db import Database

PAGE = 500


async def verify_files(db: Database, storage: Storage) -> AsyncIterator[tuple[str | None, AttachmentRow]]:
    """Yield files with `missing`, `altered`, `unreadable` or None."""
    after = 0
    while True:
        async with db.reading() as session:
            page = await repository.permanent_files(session, after=after, limit=PAGE)
        if not page:
            return
        for file in page:
            after = file.id
            try:
                digest = await storage.examine(file.storage_key, lambda read: hashlib.file_digest(read, "sha256"))  # type: ignore[arg-type]
            except OSError as error:
                yield ("missing" if isinstance(error, FileNotFoundError) else "unreadable"), file
            else:
                yield (None if digest.hexdigest() == file.checksum else "altered"), file


async def unnamed_files(db: Database, root: Path) -> AsyncIterator[str]:
    """Yield keys without a row, such as those newer than a restored database."""
    for folder, _, names in os.walk(root / "files"):
        for name in names:
            key, row = (Path(folder) / name).relative_to(root).as_posix(), None
            with suppress(ValueError):
                async with db.reading() as session:
                    row = await repository.by_public_id(session, UUID(name))
            if row is None or row.file_path != key:
                yield key
