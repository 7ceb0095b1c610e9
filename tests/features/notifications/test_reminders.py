"""Reminders of due dates, from the timer to the reader; nothing moves because a date passed."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.config import Settings
from saraban.documents.circulation.models import Circulation
from saraban.documents.core.models import DocumentRevision
from saraban.notifications.models import ReminderSent
from saraban.worker.loop import Worker
from saraban.workflow.runtime.models import WorkflowInstance
from tests.conftest import SignIn, unwrapped
from tests.features.documents.conftest import Desk
from tests.notices import morning, reminded, titles
from tests.reach import rebuild

ISSUED = datetime(2025, 11, 3, 3, tzinfo=UTC)
DUE = date(2025, 11, 28)  # a Friday, long past: what is told then is read by people whose clock goes on


@pytest.fixture
async def rfa(app: FastAPI, desk: Desk, worker: Worker) -> dict[str, Any]:
    """An RFA that waits for the consultant, due on a Friday; what was told until now is read."""
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=[await desk.upload("dc.contractor")]))
    await desk.act("dc.contractor", rfa, "submit")
    async with app.state.db.writing() as session:
        due = morning(DUE, 23).astimezone(UTC)
        await session.execute(
            sa.update(DocumentRevision)
            .where(DocumentRevision.correspondence_number == rfa["documentNumber"])
            .values(due_date=due, issued_date=ISSUED)
        )
    await rebuild(app.state.db)
    await worker.drain()
    for account in ("reviewer.consultant", "dc.contractor"):
        await titles(desk, account)
    return rfa


class TestReminders:
    async def test_come_before_and_after_each_once_to_those_it_waits_for(
        self, app: FastAPI, desk: Desk, worker: Worker, rfa: dict[str, Any]
    ) -> None:
        number, told = rfa["documentNumber"], []
        for offset in range(30):
            for hour in (7, 9, 15):
                await reminded(app, worker, morning(date(2025, 11, 17) + timedelta(days=offset), hour))
            told += await titles(desk, "reviewer.consultant")

        assert told == [
            f"{number} is due, working days left: 3",
            f"{number} is due, working days left: 1",
            f"{number} is overdue, working days: 1",
            f"{number} is overdue, working days: 3",
            f"{number} is overdue, working days: 8",
        ]
        assert await titles(desk, "dc.contractor") == told[2:]

    async def test_move_nothing(self, app: FastAPI, desk: Desk, worker: Worker, rfa: dict[str, Any]) -> None:
        before = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))["workflow"]
        assert await reminded(app, worker, morning(date(2026, 3, 2))) == 1
        after = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))["workflow"]

        assert (after["currentState"], after["versionNo"]) == (before["currentState"], before["versionNo"])

    async def test_end_when_the_document_is_decided(
        self, app: FastAPI, desk: Desk, worker: Worker, rfa: dict[str, Any]
    ) -> None:
        await desk.act("reviewer.consultant", rfa, "approve")
        assert await reminded(app, worker, morning(date(2025, 11, 25))) == 1
        await desk.act("approver.owner", rfa, "approve")

        assert await reminded(app, worker, morning(date(2025, 12, 2))) == 0

    async def test_end_when_an_rfi_has_its_response_though_nobody_has_closed_it(
        self, app: FastAPI, desk: Desk, worker: Worker
    ) -> None:
        questions = [
            await desk.write("dc.contractor", "correspondences", desk.letter("คคง.", correspondenceTypeCode="RFI"))
            for _ in range(2)
        ]
        for one in questions:
            await desk.act("dc.contractor", one, "submit")
        await desk.act("dc.consultant", questions[0], "respond", comment="+2.50")
        async with app.state.db.writing() as session:
            due = {"due_date": morning(DUE, 23).astimezone(UTC), "issued_date": ISSUED}
            numbers = [one["documentNumber"] for one in questions]
            await session.execute(
                sa.update(DocumentRevision).where(DocumentRevision.correspondence_number.in_(numbers)).values(due)
            )
        await rebuild(app.state.db)
        await worker.drain()

        assert await reminded(app, worker, morning(date(2026, 3, 2))) == 1

    async def test_go_on_anew_when_the_due_date_is_moved(
        self, app: FastAPI, worker: Worker, rfa: dict[str, Any]
    ) -> None:
        assert await reminded(app, worker, morning(date(2025, 11, 25))) == 1
        async with app.state.db.writing() as session:
            moved = morning(DUE + timedelta(days=7), 23).astimezone(UTC)
            await session.execute(
                sa.update(DocumentRevision)
                .where(DocumentRevision.correspondence_number == rfa["documentNumber"])
                .values(due_date=moved)
            )
        await rebuild(app.state.db)

        assert await reminded(app, worker, morning(date(2025, 11, 26))) == 0
        assert await reminded(app, worker, morning(date(2025, 12, 2))) == 1
        async with app.state.db.reading() as session:
            assert len((await session.scalars(sa.select(ReminderSent))).all()) == 2

    async def test_keep_to_the_calendar_and_the_plan_of_the_project(
        self, app: FastAPI, desk: Desk, worker: Worker, rfa: dict[str, Any], signed_in: SignIn
    ) -> None:
        admin = await signed_in("padmin")
        address = f"/api/v1/projects/{desk.project}"
        off = {"nameTh": "ปิดไซต์", "nameEn": "Site closed"}
        assert (await admin.put(f"{address}/calendar/days/2025-11-27", json=off)).status_code == 200
        plan = {"before": [1], "after": [], "every": None, "hour": 14}
        assert (await admin.put(f"{address}/reminders", json=plan)).status_code == 204

        assert await reminded(app, worker, morning(date(2025, 11, 26))) == 0
        assert await reminded(app, worker, morning(date(2025, 11, 26), 14)) == 1
        assert await reminded(app, worker, morning(date(2025, 12, 30), 14)) == 0


class TestOfASheet:
    @pytest.fixture
    def settings(self, settings_with_documents: Settings) -> Settings:
        return settings_with_documents

    async def test_reach_whoever_has_not_answered(self, app: FastAPI, worker: Worker) -> None:
        async with app.state.db.reading() as session:
            routing = sa.select(Circulation).where(
                Circulation.submitted_at.is_not(None),
                Circulation.closed_at.is_(None),
                Circulation.cancelled_at.is_(None),
            )
            sheet = (await session.scalars(routing)).first()
            assert sheet is not None
        async with app.state.db.writing() as session:
            await session.execute(
                sa.update(Circulation).where(Circulation.id == sheet.id).values(deadline_date=DUE, submitted_at=ISSUED)
            )
        await rebuild(app.state.db)
        await reminded(app, worker, morning(date(2025, 11, 27)))

        async with app.state.db.reading() as session:
            sent = (await session.scalars(sa.select(ReminderSent.subject_uuid))).all()
        assert sheet.public_id in sent


class TestPlan:
    async def test_is_read_by_all_and_changed_by_who_manages(self, desk: Desk, signed_in: SignIn) -> None:
        address = f"/api/v1/projects/{desk.project}/reminders"
        contractor, admin = await signed_in("dc.contractor"), await signed_in("padmin")
        assert (await contractor.get(address)).json() == {"before": [3, 1], "after": [1, 3], "every": 5, "hour": 8}
        plan = {"before": [0, 5, 5], "after": [2], "every": None, "hour": 9}
        assert (await contractor.put(address, json=plan)).status_code == 403
        for _ in range(2):
            assert (await admin.put(address, json=plan)).status_code == 204

        assert (await contractor.get(address)).json() == plan | {"before": [5, 0]}

    @pytest.mark.parametrize(
        "change", [{"before": [21]}, {"after": [0]}, {"every": 0}, {"hour": 24}, {"before": ["1"]}]
    )
    async def test_refuses_days_that_are_none(self, desk: Desk, signed_in: SignIn, change: dict[str, Any]) -> None:
        admin = await signed_in("padmin")
        plan = {"before": [3], "after": [1], "every": 5, "hour": 8} | change

        assert (await admin.put(f"/api/v1/projects/{desk.project}/reminders", json=plan)).status_code == 422


STEP_DUE = date(2025, 11, 26)  # the Wednesday before


@pytest.fixture
async def step(app: FastAPI, rfa: dict[str, Any]) -> dict[str, Any]:
    """The same RFA, whose present step has a day of its own."""
    await _give_day(app, rfa, STEP_DUE)
    return rfa


async def _give_day(app: FastAPI, rfa: dict[str, Any], day: date) -> None:
    async with app.state.db.writing() as session:
        await session.execute(
            sa.update(WorkflowInstance)
            .where(WorkflowInstance.id == UUID(rfa["workflow"]["instancePublicId"]))
            .values(due_on=day, last_transition_at=ISSUED)
        )


class TestStepsWithTheirOwnDay:
    async def test_are_reminded_of_by_that_day_instead_of_the_documents(
        self, app: FastAPI, desk: Desk, worker: Worker, step: dict[str, Any]
    ) -> None:
        number, told = step["documentNumber"], []
        for offset in range(14):
            await reminded(app, worker, morning(date(2025, 11, 17) + timedelta(days=offset)))
            told += await titles(desk, "reviewer.consultant")

        assert told == [
            f"{number} is due, working days left: 3",
            f"{number} is due, working days left: 1",
            f"{number} is overdue, working days: 1",
        ]
        async with app.state.db.reading() as session:
            days = set((await session.scalars(sa.select(ReminderSent.due_day))).all())
        assert days == {STEP_DUE}

    async def test_give_way_to_a_document_that_is_due_before(
        self, app: FastAPI, worker: Worker, rfa: dict[str, Any]
    ) -> None:
        await _give_day(app, rfa, DUE + timedelta(days=3))

        await reminded(app, worker, morning(DUE))

        async with app.state.db.reading() as session:
            assert (await session.scalars(sa.select(ReminderSent.due_day))).all() == [DUE]

    async def test_speak_no_more_when_the_step_was_taken(
        self, app: FastAPI, desk: Desk, worker: Worker, step: dict[str, Any]
    ) -> None:
        after = await desk.act("reviewer.consultant", step, "approve")

        assert after["workflow"]["dueOn"] is None
        assert await reminded(app, worker, morning(STEP_DUE)) == 1
        async with app.state.db.reading() as session:
            assert (await session.scalars(sa.select(ReminderSent.due_day))).all() == [DUE]
