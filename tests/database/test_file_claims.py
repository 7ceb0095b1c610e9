"""Two documents that want one file, on each database."""

import asyncio
from collections.abc import AsyncIterator
from zoneinfo import ZoneInfo

import pytest

import saraban.workflow.runtime.models  # noqa: F401  where the foreign key of step files leads
from saraban.attachments import service as attachments
from saraban.attachments.adapters import MemoryStorage
from saraban.attachments.service import AttachmentRow, FileStore, UploadRules
from saraban.identity.domain.context import Caller
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.errors import Invalid
from tests.factories.contexts import context
from tests.factories.uploaders import NOW, uploader

pytestmark = pytest.mark.sampled("mariadb")


async def upload(db: Database, caller: Caller) -> AttachmentRow:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"%PDF-1.7\n"

    clock = FixedClock(NOW, ZoneInfo("Asia/Bangkok"))
    return await attachments.upload(
        context(caller=caller, address=""),
        FileStore(db, MemoryStorage(), UploadRules(), clock),
        name="แบบ.pdf",
        chunks=chunks(),
    )


class TestClaim:
    async def test_gives_each_file_to_one_of_many(self, any_db: Database) -> None:
        caller = await uploader(any_db)
        files = [(await upload(any_db, caller)).public_id for _ in range(3)]

        async def take(*wanted: int) -> list[AttachmentRow]:
            ids = [files[number] for number in wanted]
            return await any_db.transact(
                lambda session: attachments.claim(
                    context(caller=caller, now=NOW), session, public_ids=ids, pointer="/files"
                )
            )

        wishes = [(0, 1), (1, 0), (2, 1), (0, 2), (1, 2), (2, 0)]
        outcomes = await asyncio.gather(*(take(*wanted) for wanted in wishes), return_exceptions=True)

        taken = [row.public_id for outcome in outcomes if isinstance(outcome, list) for row in outcome]
        assert len(taken) == len(set(taken)) == 2
        assert all(isinstance(outcome, list | Invalid) for outcome in outcomes)
