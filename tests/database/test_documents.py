"""Documents on both databases: many at once, races between changes, Thai text in searches."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.bootstrap import System, closing, wire
from saraban.documents.circulation import repository
from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.schemas import AssigneeResponse, CirculationChanges, NewCirculation
from saraban.documents.circulation.service import assignees
from saraban.documents.core import service as core
from saraban.documents.core.repository import documents as document_rows
from saraban.documents.core.schemas import DocumentChanges, NewRevision
from saraban.documents.correspondence import CORRESPONDENCE, NewCorrespondence
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import SHOP
from saraban.documents.drawing.models import RfaItemClaim
from saraban.documents.drawing.schemas import NewDrawing
from saraban.documents.rfa import service as rfas
from saraban.documents.rfa.models import RfaItem
from saraban.documents.rfa.schemas import NewRfa
from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.identity.models import Organization
from saraban.kit.clock import local_date
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.numbering.series.models import LedgerEntry
from saraban.projects.models import Project, RfaApproveCode
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import ItemResult
from saraban.workflow.runtime import repository as instances
from saraban.workflow.runtime.models import WorkflowDefinition, WorkflowInstance
from saraban.workflow.runtime.schemas import WorkflowEnvelope
from saraban.workflow.service import TRANSITIONED, Command
from tests.conftest import settings_in
from tests.factories.contexts import context
from tests.factories.letterbox import step_in

pytestmark = pytest.mark.sampled("mariadb", "every_letter")

LETTERS = CORRESPONDENCE


class Office:
    """The demo project on one database, with its people as callers."""

    def __init__(self, system: System, project: UUID, organizations: dict[str, UUID]) -> None:
        self.system, self.project, self.organizations = system, project, organizations

    async def caller(self, username: str) -> Caller:
        async with self.system.db.reading() as session:
            found = await identity.find_caller(session, username=username)
        assert found is not None
        return found

    async def context(self, username: str, key: str | None = None) -> RequestContext:
        clock = self.system.clock
        caller = await self.caller(username)
        return context(caller=caller, now=clock.now(), zone=clock.zone, address="127.0.0.1", key=key)

    async def shown(
        self, ctx: RequestContext, kind: core.AnyKind, deed: Coroutine[Any, Any, Receipt]
    ) -> WorkflowEnvelope[Any]:
        """Do it, and show the document as the person sees it then."""
        receipt = await deed
        async with self.system.db.reading() as session:
            return await core.show(ctx, session, kind, receipt)

    async def letter(self, subject: str = "ขอเชิญประชุม", key: str | None = None) -> WorkflowEnvelope[Any]:
        new = NewCorrespondence(
            project_public_id=self.project,
            correspondence_type_code="LETTER",
            recipients=[{"organizationPublicId": self.organizations["สคฉ.3"], "recipientType": "TO"}],
            subject=subject,
        )
        ctx = await self.context("dc.consultant", key)
        return await self.shown(ctx, LETTERS, core.create(ctx, self.system.documents, LETTERS, new))

    async def act(self, username: str, letter: WorkflowEnvelope[Any], action: str, *, repeated: bool = True) -> None:
        caller, db = await self.caller(username), self.system.db
        await (db.transact if repeated else db.transact_once)(self._step, caller, letter, action)

    async def _step(self, caller: Caller, session: AsyncSession, letter: WorkflowEnvelope[Any], action: str) -> None:
        await step_in(
            context(caller=caller, now=self.system.clock.now(), address="127.0.0.1"),
            session,
            subjects=self.system.subjects,
            public_id=letter.workflow.instance_public_id,
            command=Command(action),
        )

    async def during(
        self, username: str, letter: WorkflowEnvelope[Any], action: str, deed: Coroutine[Any, Any, object]
    ) -> object:
        """Begin a deed while a step is taken that is not committed yet, and return what it comes to."""
        caller = await self.caller(username)
        async with self.system.db.writing() as session:
            await self._step(caller, session, letter, action)
            begun = asyncio.create_task(deed)
            await asyncio.sleep(0.3)
        return await begun

    async def hold(self, session: AsyncSession, sheet: WorkflowEnvelope[Any]) -> None:
        """Lock the instance of a sheet, as the record of an answer does."""
        entity_ids = [str(sheet.data.public_id)]
        await instances.instances_of(session, "circulation", entity_ids, lock=True)

    async def edit(self, letter: WorkflowEnvelope[Any]) -> object:
        ctx = await self.context("dc.consultant")
        changes = DocumentChanges(subject="แก้ทีหลัง")
        return await core.edit(ctx, self.system.documents, LETTERS, letter.data.public_id, changes)

    async def drawing(self, number: str) -> UUID:
        """Register a shop drawing; return the public id of its revision."""
        ctx = await self.context("admin")
        new = NewDrawing(project_public_id=self.project, drawing_number=number, title="แปลนฐานราก")
        receipt = await self.system.db.transact(lambda session: drawings.register(ctx, session, SHOP, new))
        async with self.system.db.reading() as session:
            answer, _ = await drawings.read(ctx, session, SHOP, receipt.resource_id)
        return answer.data.revision.public_id

    async def rfa(self, *carried: UUID) -> WorkflowEnvelope[Any]:
        new = NewRfa(
            project_public_id=self.project,
            recipients=[{"organizationPublicId": self.organizations["คคง."], "recipientType": "TO"}],
            subject="รายงานผลการทดสอบเสาเข็ม",
            rfa_type_code="RPT",
            discipline_code="TER",
            items=[{"drawingRevisionPublicId": one} for one in carried],
        )
        ctx = await self.context("dc.contractor")
        return await self.shown(ctx, rfas.RFA, core.create(ctx, self.system.documents, rfas.RFA, new))

    async def cancel(self, rfa: WorkflowEnvelope[Any]) -> Receipt:
        ctx = await self.context("dc.contractor")
        return await core.cancel(ctx, self.system.documents, rfas.RFA, rfa.data.public_id, "ทำใหม่")

    async def sheet(self, assignee: Caller, *drawn: UUID) -> WorkflowEnvelope[Any]:
        clock = self.system.clock
        new = NewCirculation(
            project_public_id=self.project,
            subject="เวียนเพื่อดำเนินการ",
            deadline_date=local_date(clock.now(), clock.zone),
            assignees=[{"userPublicId": assignee.public_id, "kind": "MAIN"}],
            drawing_revision_public_ids=drawn,
        )
        ctx, kind = await self.context("dc.consultant"), circulations.CIRCULATION
        return await self.shown(ctx, kind, core.create(ctx, self.system.documents, kind, new))

    async def respond(self, sheet: WorkflowEnvelope[Any]) -> Receipt:
        ctx, response = await self.context("dc.consultant"), AssigneeResponse(status="COMPLETED")
        return await circulations.respond(ctx, self.system.documents, sheet.data.public_id, response)

    async def revise(self, letter: WorkflowEnvelope[Any]) -> WorkflowEnvelope[Any]:
        ctx = await self.context("dc.consultant")
        revising = core.revise(ctx, self.system.documents, LETTERS, letter.data.public_id, NewRevision())
        return await self.shown(ctx, LETTERS, revising)

    async def withdraw(self, letter: WorkflowEnvelope[Any]) -> WorkflowEnvelope[Any]:
        ctx = await self.context("dc.consultant")
        withdrawing = core.withdraw_revision(ctx, self.system.documents, LETTERS, letter.data.public_id, "ขอทำใหม่")
        return await self.shown(ctx, LETTERS, withdrawing)


@pytest_asyncio.fixture
async def office(any_demo_url: str, tmp_path: Path) -> AsyncIterator[Office]:
    async with closing(wire(settings_in(tmp_path / "data", database_url=any_demo_url))) as system:
        async with system.db.reading() as session:
            project = await session.scalar(sa.select(Project.public_id))
            rows = await session.execute(sa.select(Organization.organization_code, Organization.public_id))
            organizations = {row.organization_code: row.public_id for row in rows}
        assert project is not None
        yield Office(system, project, organizations)


async def activate(session: AsyncSession, old: UUID, new: UUID) -> None:
    """Put another version of a workflow in force."""
    row = (await session.scalars(sa.select(WorkflowDefinition).where(WorkflowDefinition.id == old))).one()
    row.is_active = False
    copied = {name: getattr(row, name) for name in ("workflow_code", "dsl", "compiled", "created_at", "updated_at")}
    session.add(WorkflowDefinition(id=new, version=row.version + 1, is_active=True, **copied))


class TestAtOnce:
    async def test_gives_every_letter_a_number_of_its_own(self, office: Office) -> None:
        letters = await asyncio.gather(*(office.letter() for _ in range(12)))

        sequences = sorted(letter.data.document_number.split("-")[2] for letter in letters)
        assert sequences == [f"{number:04}" for number in range(1, 13)]
        async with office.system.db.reading() as session:
            held = set(await session.scalars(sa.select(LedgerEntry.holder_public_id)))
        assert held == {letter.data.public_id for letter in letters}

    async def test_starts_a_letter_on_the_version_that_was_activated_since_it_was_checked(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await office.letter()
        newer = new_id()
        checks = 0
        check = type(LETTERS).check

        async def checked(*args: Any, **more: Any) -> core.DocumentDraft:
            nonlocal checks
            draft = await check(*args, **more)
            checks += 1
            if checks == 1:
                await office.system.db.transact(lambda session: activate(session, draft.starting.definition_id, newer))
            return draft

        monkeypatch.setattr(type(LETTERS), "check", checked)
        await office.letter()

        async with office.system.db.reading() as session:
            runs = (await session.scalars(sa.select(WorkflowInstance).order_by(WorkflowInstance.id))).all()
            numbers = list(await session.scalars(sa.select(LedgerEntry.sequence_number)))
        assert checks == 2
        assert [one.definition_id == newer for one in runs] == [False, True]
        assert sorted(numbers) == [1, 2]

    @pytest.mark.sampled("mariadb")
    async def test_issues_one_revision_for_two_requests(self, office: Office) -> None:
        letter = await office.letter()
        await office.act("dc.consultant", letter, "submit")
        await office.act("approver.owner", letter, "approve")

        answers = await asyncio.gather(office.revise(letter), office.revise(letter), return_exceptions=True)

        assert sorted(type(answer) for answer in answers if not isinstance(answer, WorkflowEnvelope)) == [
            core.RevisionPending
        ]

    async def test_withdraws_a_draft_revision_once_and_leaves_its_label_free(self, office: Office) -> None:
        letter = await office.letter()
        await office.act("dc.consultant", letter, "submit")
        await office.act("approver.owner", letter, "approve")
        await office.revise(letter)

        answers = await asyncio.gather(office.withdraw(letter), office.withdraw(letter), return_exceptions=True)
        revised = await office.revise(letter)

        assert sorted(type(answer) for answer in answers if not isinstance(answer, WorkflowEnvelope)) == [
            core.NoDraftRevision
        ]
        assert revised.data.revision.revision_label == "B"
        assert revised.data.document_number == letter.data.document_number

    async def test_lets_one_of_two_editors_of_the_same_version_win(self, office: Office) -> None:
        letter = await office.letter()
        ctx = await office.context("dc.consultant")

        async def edit(subject: str) -> object:
            changes = DocumentChanges(subject=subject)
            return await core.edit(
                ctx, office.system.documents, LETTERS, letter.data.public_id, changes, core.etag(letter)
            )

        answers = await asyncio.gather(edit("หนึ่ง"), edit("สอง"), return_exceptions=True)

        assert [type(answer) for answer in answers if isinstance(answer, Exception)] == [core.DocumentChanged]

    async def test_makes_one_sheet_about_a_letter(self, office: Office) -> None:
        letter, caller = await office.letter(), await office.caller("dc.consultant")
        order = NewCirculation(
            project_public_id=office.project,
            correspondence_public_id=letter.data.public_id,
            subject="เวียนเพื่อทราบ",
            assignees=[{"userPublicId": caller.public_id, "kind": "INFORMATION"}],
        )

        ctx = await office.context("dc.consultant")

        async def create() -> Receipt:
            return await core.create(ctx, office.system.documents, circulations.CIRCULATION, order)

        answers = await asyncio.gather(*(create() for _ in range(3)), return_exceptions=True)

        refused = [type(answer) for answer in answers if isinstance(answer, BaseException)]
        assert refused == [circulations.CirculationExists] * 2
        async with office.system.db.reading() as session:
            numbers = set(await session.scalars(sa.select(LedgerEntry.document_number)))
        assert len(numbers) == 2


class TestDrawingsOfRfas:
    async def test_one_of_several_who_ask_at_once_has_the_drawings(self, office: Office) -> None:
        """Each names them in another order, and none waits for another for ever."""
        first, second = await office.drawing("S-1"), await office.drawing("S-2")
        asked = [office.rfa(*(pair if place % 2 else pair[::-1])) for place, pair in enumerate([(first, second)] * 4)]

        found = await asyncio.gather(*asked, return_exceptions=True)

        refused = [one for one in found if isinstance(one, BaseException)]
        assert [type(one) for one in refused] == [rfas.DrawingRevisionInRfa] * 3
        async with office.system.db.reading() as session:
            assert await session.scalar(sa.select(sa.func.count()).select_from(RfaItemClaim)) == 2

    async def test_are_answered_in_one_step_or_not_at_all(self, office: Office) -> None:
        """The connection is lost before the commit; the same answers are given again."""
        carried = [await office.drawing(f"S-{place}") for place in range(20)]
        rfa = await office.rfa(*carried)
        await office.act("dc.contractor", rfa, "submit")
        results = tuple(ItemResult(one, "3R" if place % 2 else "1A", None) for place, one in enumerate(carried))
        caller = await office.caller("reviewer.consultant")
        command = Command("approve", item_results=results)

        async def answer(session: AsyncSession, *, lost: bool = False) -> None:
            ctx = context(caller=caller, now=office.system.clock.now(), address="127.0.0.1")
            subjects, instance = office.system.subjects, rfa.workflow.instance_public_id
            await step_in(ctx, session, subjects=subjects, public_id=instance, command=command)
            if lost:
                raise ConnectionResetError

        async def answered() -> list[tuple[str | None, int]]:
            codes = (
                sa.select(RfaApproveCode.approve_code, sa.func.count(RfaItem.id))
                .select_from(RfaItem)
                .outerjoin(RfaApproveCode, RfaApproveCode.id == RfaItem.rfa_approve_code_id)
                .group_by(RfaApproveCode.approve_code)
                .order_by(RfaApproveCode.approve_code)
            )
            async with office.system.db.reading() as session:
                return [(code, many) for code, many in await session.execute(codes)]

        with pytest.raises(ConnectionResetError):
            await office.system.db.transact(lambda session: answer(session, lost=True))
        before = await answered()
        await office.system.db.transact(answer)

        assert before == [(None, 20)]
        assert await answered() == [("1A", 10), ("3R", 10)]


class TestDrawingsOfSheets:
    async def test_stand_in_their_order_and_are_changed(self, office: Office) -> None:
        first, second = await office.drawing("S-1"), await office.drawing("S-2")
        sheet = await office.sheet(await office.caller("dc.consultant"), second, first)
        ctx, kind = await office.context("dc.consultant"), circulations.CIRCULATION
        changes = CirculationChanges(drawing_revision_public_ids=[first])

        await core.edit(ctx, office.system.documents, kind, sheet.data.public_id, changes, core.etag(sheet))
        async with office.system.db.reading() as session:
            changed = await core.read(ctx, session, kind, sheet.data.public_id)

        assert [one.drawing_number for one in sheet.data.drawings] == ["S-2", "S-1"]
        assert [one.revision_public_id for one in changed.data.drawings] == [first]


class TestStepsMeanwhile:
    """What depends on where a document stands waits for a step that is being taken, and finds it taken."""

    async def test_a_submitted_letter_is_not_edited(self, office: Office) -> None:
        letter = await office.letter()

        with pytest.raises(core.NotADraft):
            await office.during("dc.consultant", letter, "submit", office.edit(letter))

    async def test_a_submitted_rfa_is_not_cancelled(self, office: Office) -> None:
        rfa = await office.rfa()

        with pytest.raises(core.CancelOnlyDraft):
            await office.during("dc.contractor", rfa, "submit", office.cancel(rfa))

    async def test_an_edit_is_in_what_is_submitted_after_it(self, office: Office) -> None:
        letter, caller = await office.letter(), await office.caller("dc.consultant")

        async with office.system.db.writing() as session:
            public_id, zone = letter.data.public_id, office.system.clock.zone
            row, _ = await core.hold_current(context(caller=caller, zone=zone), session, LETTERS, public_id=public_id)
            submitting = asyncio.create_task(office.act("dc.consultant", letter, "submit"))
            await asyncio.sleep(0.3)
            assert not submitting.done()
            await document_rows.change_revision(session, revision_id=row.revision.id, values={"subject": "แก้แล้ว"})
        await submitting

        async with office.system.db.reading() as session:
            told = (await session.scalars(sa.select(OutboxEvent).where(OutboxEvent.name == TRANSITIONED))).one()
        assert told.payload["title"] == "แก้แล้ว"

    async def test_an_answer_and_the_end_of_its_sheet_do_not_block_each_other(self, office: Office) -> None:
        caller, clock, db = await office.caller("dc.consultant"), office.system.clock, office.system.db
        sheet = await office.sheet(caller)
        await office.act("dc.consultant", sheet, "start")

        async with db.writing() as session:
            public_id = sheet.data.public_id
            row, _ = await core.hold_current(
                context(caller=caller, zone=clock.zone), session, circulations.CIRCULATION, public_id=public_id
            )
            answered = asyncio.create_task(office.act("dc.consultant", sheet, "respond", repeated=False))
            await asyncio.sleep(0.3)
            await assignees.take_answer(
                session, row.assignees[0], status="REJECTED", comment="ไม่ใช่งานของผม", now=clock.now()
            )
            await office.hold(session, sheet)

        with pytest.raises((circulations.AlreadyAnswered, workflow.ActionForbidden, workflow.TransitionNotPossible)):
            await answered

    async def test_a_closed_sheet_takes_no_answer_and_a_part_only_one(self, office: Office) -> None:
        caller, clock, db = await office.caller("dc.consultant"), office.system.clock, office.system.db
        sheet = await office.sheet(caller)
        await office.act("dc.consultant", sheet, "start")
        async with db.reading() as session:
            found = await repository.visible(session, reach=None, public_ids=[sheet.data.public_id])
            (stale,) = found[0].assignees

        await office.act("dc.consultant", sheet, "respond")
        with pytest.raises(circulations.AlreadyAnswered):
            await db.transact(
                lambda session: assignees.take_answer(
                    session, stale, status="REJECTED", comment="ช้าไป", now=clock.now()
                )
            )
        with pytest.raises(circulations.NotRouting):
            await office.during("dc.consultant", sheet, "complete", office.respond(sheet))


class TestSearch:
    @pytest.mark.parametrize("text", ["เสาเข็ม", "100%", "ok_x", "OK_X"])
    @pytest.mark.sampled("mariadb-ok_x")
    async def test_takes_the_text_as_it_is(self, office: Office, text: str) -> None:
        wanted = await office.letter("แบบเสาเข็ม 100% OK_x")
        await office.letter("แบบเสาเขม 100 OKax")
        caller, clock = await office.caller("dc.consultant"), office.system.clock

        async with office.system.db.reading() as session:
            page = await core.listing(
                context(caller=caller, now=clock.now(), zone=clock.zone),
                session,
                LETTERS,
                search=core.RegisterQuery(text=text),
            )

        assert [str(item.data.public_id) for item in page.items] == [str(wanted.data.public_id)]
