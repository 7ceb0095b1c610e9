"""Documents on both databases: many at once, races between changes, Thai text in searches."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.bootstrap import System, closing, seed, wire
from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.schemas import NewCirculation
from saraban.documents.core import service as core
from saraban.documents.core.schemas import DocumentChanges, NewRevision
from saraban.documents.correspondence import service as correspondences
from saraban.documents.correspondence.schemas import NewCorrespondence
from saraban.identity import service as identity
from saraban.identity.domain.caller import Caller
from saraban.identity.models import Organization
from saraban.kit.idempotency import Answer
from saraban.numbering.models import LedgerEntry
from saraban.projects.models import Project
from saraban.workflow import service as workflow
from saraban.workflow.service import Command
from tests.conftest import settings_in

LETTERS = correspondences.REGISTER


class Office:
    """The demo project on one database, with its people as callers."""

    def __init__(self, system: System, project: UUID, organizations: dict[str, UUID]) -> None:
        self.system, self.project, self.organizations = system, project, organizations

    async def caller(self, username: str) -> Caller:
        async with self.system.db.reading() as session:
            found = await identity.find_caller(session, username=username)
        assert found is not None
        return found

    async def letter(self, subject: str = "ขอเชิญประชุม", key: str | None = None) -> Answer:
        order = NewCorrespondence(
            project_public_id=self.project,
            correspondence_type_code="LETTER",
            recipients=[{"organizationPublicId": self.organizations["สคฉ.3"], "recipientType": "TO"}],
            subject=subject,
        )
        clock = self.system.clock
        return await correspondences.create(
            self.system.db,
            self.system.allocator,
            caller=await self.caller("dc.consultant"),
            order=order,
            now=clock.now(),
            zone=clock.zone,
            address="127.0.0.1",
            key=key,
        )

    async def act(self, username: str, letter: Answer, action: str) -> None:
        caller = await self.caller(username)
        await self.system.db.transact(
            lambda session: workflow.transition(
                session,
                caller=caller,
                subjects=self.system.subjects,
                public_id=UUID(letter.body["workflow"]["instancePublicId"]),
                command=Command(action),
                now=self.system.clock.now(),
                address="127.0.0.1",
            )
        )

    async def revise(self, letter: Answer) -> Answer:
        return await core.revise(
            self.system.db,
            LETTERS,
            caller=await self.caller("dc.consultant"),
            public_id=UUID(letter.body["publicId"]),
            order=NewRevision(),
            now=self.system.clock.now(),
            zone=self.system.clock.zone,
            address="127.0.0.1",
            key=None,
        )

    async def withdraw(self, letter: Answer) -> Answer:
        return await core.withdraw_revision(
            self.system.db,
            LETTERS,
            caller=await self.caller("dc.consultant"),
            public_id=UUID(letter.body["publicId"]),
            reason="ขอทำใหม่",
            now=self.system.clock.now(),
            zone=self.system.clock.zone,
            address="127.0.0.1",
            key=None,
        )


@pytest_asyncio.fixture
async def office(any_url: str, tmp_path: Path) -> AsyncIterator[Office]:
    async with closing(wire(settings_in(tmp_path / "data", database_url=any_url))) as system:
        await seed(system, demo=True)
        async with system.db.reading() as session:
            project = await session.scalar(sa.select(Project.public_id))
            rows = await session.execute(sa.select(Organization.organization_code, Organization.public_id))
            organizations = {row.organization_code: row.public_id for row in rows}
        assert project is not None
        yield Office(system, project, organizations)


class TestAtOnce:
    async def test_gives_every_letter_a_number_of_its_own(self, office: Office) -> None:
        letters = await asyncio.gather(*(office.letter() for _ in range(12)))

        sequences = sorted(letter.body["documentNumber"].split("-")[2] for letter in letters)
        assert sequences == [f"{number:04}" for number in range(1, 13)]
        async with office.system.db.reading() as session:
            held = set(await session.scalars(sa.select(LedgerEntry.holder_public_id)))
        assert held == {UUID(letter.body["publicId"]) for letter in letters}

    async def test_issues_one_revision_for_two_requests(self, office: Office) -> None:
        letter = await office.letter()
        await office.act("dc.consultant", letter, "submit")
        await office.act("approver.owner", letter, "approve")

        answers = await asyncio.gather(office.revise(letter), office.revise(letter), return_exceptions=True)

        assert sorted(type(answer) for answer in answers if not isinstance(answer, Answer)) == [core.RevisionPending]

    async def test_withdraws_a_draft_revision_once_and_leaves_its_label_free(self, office: Office) -> None:
        letter = await office.letter()
        await office.act("dc.consultant", letter, "submit")
        await office.act("approver.owner", letter, "approve")
        await office.revise(letter)

        answers = await asyncio.gather(office.withdraw(letter), office.withdraw(letter), return_exceptions=True)
        revised = await office.revise(letter)

        assert sorted(type(answer) for answer in answers if not isinstance(answer, Answer)) == [core.NoDraftRevision]
        assert revised.body["revision"]["revisionLabel"] == "B"
        assert revised.body["documentNumber"] == letter.body["documentNumber"]

    async def test_lets_one_of_two_editors_of_the_same_version_win(self, office: Office) -> None:
        letter, caller = await office.letter(), await office.caller("dc.consultant")

        async def edit(subject: str) -> object:
            return await office.system.db.transact(
                lambda session: core.edit(
                    session,
                    LETTERS,
                    caller=caller,
                    public_id=UUID(letter.body["publicId"]),
                    changes=DocumentChanges(subject=subject),
                    if_match=letter.headers["ETag"],
                    now=office.system.clock.now(),
                    zone=office.system.clock.zone,
                    address="127.0.0.1",
                )
            )

        answers = await asyncio.gather(edit("หนึ่ง"), edit("สอง"), return_exceptions=True)

        assert [type(answer) for answer in answers if isinstance(answer, Exception)] == [core.DocumentChanged]

    async def test_makes_one_sheet_about_a_letter(self, office: Office) -> None:
        letter, caller = await office.letter(), await office.caller("dc.consultant")
        order = NewCirculation(
            project_public_id=office.project,
            correspondence_public_id=UUID(letter.body["publicId"]),
            subject="เวียนเพื่อทราบ",
            assignees=[{"userPublicId": caller.public_id, "kind": "INFORMATION"}],
        )

        async def create() -> Answer:
            return await circulations.create(
                office.system.db,
                office.system.allocator,
                caller=caller,
                order=order,
                now=office.system.clock.now(),
                zone=office.system.clock.zone,
                address="127.0.0.1",
            )

        answers = await asyncio.gather(*(create() for _ in range(3)), return_exceptions=True)

        refused = [type(answer) for answer in answers if isinstance(answer, BaseException)]
        assert refused == [circulations.SheetExists] * 2
        async with office.system.db.reading() as session:
            numbers = set(await session.scalars(sa.select(LedgerEntry.document_number)))
        assert len(numbers) == 2


class TestSearch:
    @pytest.mark.parametrize("text", ["เสาเข็ม", "100%", "ok_x", "OK_X"])
    async def test_takes_the_text_as_it_is(self, office: Office, text: str) -> None:
        wanted = await office.letter("แบบเสาเข็ม 100% OK_x")
        await office.letter("แบบเสาเขม 100 OKax")
        caller, clock = await office.caller("dc.consultant"), office.system.clock

        async with office.system.db.reading() as session:
            page = await core.listing(
                session,
                LETTERS,
                caller=caller,
                search=core.Search(text=text),
                cursor=None,
                limit=20,
                now=clock.now(),
                zone=clock.zone,
            )

        assert [str(item.public_id) for item in page.items] == [wanted.body["publicId"]]
