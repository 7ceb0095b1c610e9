"""The second phase, and the end of what nobody claimed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.adapters import MemoryStorage
from saraban.attachments.models import Attachment
from saraban.attachments.service import AttachmentRow, FileStore, InvalidAttachments, UploadRules
from saraban.bootstrap import System
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.errors import Invalid
from saraban.kit.ids import new_id
from saraban.projects.models import Project
from tests.factories.contexts import context

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)


async def person(db: Database, username: str) -> Caller:
    async with db.reading() as session:
        caller = await identity.find_caller(session, username=username)
    assert caller is not None
    return caller


class Desk:
    """One person's uploads, on a clock that stands still."""

    def __init__(self, db: Database, storage: MemoryStorage, caller: Caller) -> None:
        self.db, self.storage, self.caller = db, storage, caller
        self.clock = FixedClock(NOW, ZoneInfo("Asia/Bangkok"))

    async def upload(self, content: bytes = b"%PDF-1.7\n") -> AttachmentRow:
        async def chunks() -> AsyncIterator[bytes]:
            yield content

        return await attachments.upload(
            context(caller=self.caller, address="127.0.0.1"),
            FileStore(self.db, self.storage, UploadRules(), self.clock),
            name="a.pdf",
            chunks=chunks(),
        )

    async def claim(self, *public_ids: UUID, now: datetime = NOW, project_id: int | None = None) -> list[AttachmentRow]:
        ctx, pointer = context(caller=self.caller, now=now), "/attachmentPublicIds"
        return await self.db.transact(
            lambda session: attachments.claim(
                ctx, session, public_ids=public_ids, pointer=pointer, project_id=project_id
            )
        )

    async def attach(self, *public_ids: UUID) -> list[AttachmentRow]:
        return await self.db.transact(
            lambda session: attachments.attach_to_step(
                context(caller=self.caller, now=NOW), session, public_ids=public_ids, history_id=new_id()
            )
        )

    async def rows(self) -> list[Attachment]:
        async with self.db.reading() as session:
            return list(await session.scalars(sa.select(Attachment).order_by(Attachment.id)))


@pytest.fixture
async def desk(system: System) -> Desk:
    return Desk(system.db, MemoryStorage(), await person(system.db, "dc.contractor"))


class TestClaim:
    async def test_makes_files_permanent_in_the_order_given(self, desk: Desk) -> None:
        first, second = await desk.upload(), await desk.upload()

        claimed = await desk.claim(second.public_id, first.public_id)

        assert [row.public_id for row in claimed] == [second.public_id, first.public_id]
        assert [(row.is_temporary, row.expires_at) for row in await desk.rows()] == [(False, None)] * 2
        assert [row.storage_key for row in claimed] == [second.storage_key, first.storage_key]

    async def test_goes_down_with_the_document(self, desk: Desk) -> None:
        file = await desk.upload()

        async def fail(session: AsyncSession) -> None:
            await attachments.claim(
                context(caller=desk.caller, now=NOW), session, public_ids=[file.public_id], pointer="/files"
            )
            raise RuntimeError("the document was not created")

        with pytest.raises(RuntimeError):
            await desk.db.transact(fail)

        (row,) = await desk.rows()
        assert row.is_temporary
        assert await desk.claim(file.public_id)

    async def test_names_each_file_that_cannot_be_used(self, desk: Desk, system: System) -> None:
        good, used = await desk.upload(), await desk.upload()
        other = Desk(system.db, desk.storage, await person(system.db, "dc.consultant"))
        foreign = await other.upload()
        await desk.claim(used.public_id)

        with pytest.raises(Invalid) as caught:
            await desk.claim(good.public_id, foreign.public_id, used.public_id, new_id(), good.public_id)

        assert [(problem.pointer, problem.code) for problem in caught.value.fields] == [
            ("/attachmentPublicIds/1", "unknown"),
            ("/attachmentPublicIds/2", "unknown"),
            ("/attachmentPublicIds/3", "unknown"),
            ("/attachmentPublicIds/4", "duplicate"),
        ]
        assert (await desk.rows())[0].is_temporary

    async def test_refuses_a_kind_that_the_project_does_not_take(self, desk: Desk) -> None:
        file = await desk.upload()
        async with desk.db.writing() as session:
            session.add(Project(id=77, project_code="DRAWINGS", project_name="แบบ", file_kinds="dwg, png"))

        with pytest.raises(Invalid) as caught:
            await desk.claim(file.public_id, project_id=77)
        (problem,) = caught.value.fields
        said = problem.text.say("en", problem.values)

        assert (problem.pointer, problem.code) == ("/attachmentPublicIds/0", "type_not_allowed")
        assert said == "“a.pdf” is not a file of a kind that is taken: dwg, png."
        assert await desk.claim(file.public_id, project_id=1)

    async def test_refuses_what_has_expired(self, desk: Desk) -> None:
        file = await desk.upload()

        with pytest.raises(Invalid):
            await desk.claim(file.public_id, now=NOW + timedelta(hours=25))

    async def test_gives_a_file_to_one_of_two_documents(self, desk: Desk) -> None:
        file = await desk.upload()

        outcomes = await asyncio.gather(*(desk.claim(file.public_id) for _ in range(5)), return_exceptions=True)

        assert sum(isinstance(outcome, list) for outcome in outcomes) == 1

    async def test_takes_no_files_as_no_files(self, desk: Desk) -> None:
        assert await desk.claim() == []


class TestAttachToStep:
    async def test_refuses_in_the_words_of_the_specification(self, desk: Desk) -> None:
        with pytest.raises(InvalidAttachments) as caught:
            await desk.attach(new_id())

        assert caught.value.code == "INVALID_ATTACHMENTS"
        assert caught.value.says.th == "ไฟล์แนบบางไฟล์ไม่สามารถผูกกับขั้นตอนนี้ได้"

    async def test_takes_twenty_at_most(self, desk: Desk) -> None:
        with pytest.raises(InvalidAttachments) as caught:
            await desk.attach(*(new_id() for _ in range(21)))

        assert [problem.code for problem in caught.value.fields] == ["too_many"]

    async def test_of_no_steps_finds_no_files(self, desk: Desk) -> None:
        async with desk.db.reading() as session:
            assert await attachments.step_attachments(session, []) == {}


class TestCleanUp:
    async def test_removes_row_and_bytes_of_what_nobody_claimed(self, desk: Desk) -> None:
        kept, lost = await desk.upload(), await desk.upload()
        await desk.claim(kept.public_id)

        early = await attachments.clean_up(desk.db, desk.storage, now=NOW + timedelta(hours=24))
        late = await attachments.clean_up(desk.db, desk.storage, now=NOW + timedelta(hours=25))

        assert (early, late) == (0, 1)
        assert [row.public_id for row in await desk.rows()] == [kept.public_id]
        assert set(desk.storage.files) == {kept.storage_key}
        assert lost.storage_key not in desk.storage.files

    async def test_removes_what_a_killed_upload_left(self, desk: Desk) -> None:
        row = Attachment(
            original_filename="a.pdf",
            stored_filename="a",
            file_path="files/2026/11/broken",
            mime_type="application/pdf",
            file_size=0,
            is_temporary=True,
            uploaded_by_user_id=desk.caller.user_id,
            created_at=NOW,
            expires_at=NOW + timedelta(hours=1),
        )
        desk.storage.files[row.file_path] = b"%PDF"
        async with desk.db.writing() as session:
            session.add(row)

        await attachments.clean_up(desk.db, desk.storage, now=NOW + timedelta(hours=2))

        assert await desk.rows() == []
        assert desk.storage.files == {}

    async def test_never_lets_an_unfinished_upload_be_claimed(self, desk: Desk) -> None:
        async def peek() -> AsyncIterator[bytes]:
            yield b"%PDF-1.7"
            (row,) = await desk.rows()
            with pytest.raises(Invalid):
                await desk.claim(row.public_id)

        await attachments.upload(
            context(caller=desk.caller, address=""),
            FileStore(desk.db, desk.storage, UploadRules(), desk.clock),
            name="a.pdf",
            chunks=peek(),
        )
