"""Nobody is sent a word of a document that he could not open; who is told of a step is whom the step asks."""

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.core.models import DocumentRevision
from saraban.notifications.domain.notices import notices
from saraban.notifications.repository import DocumentParties
from saraban.notifications.service.event_handlers import AudienceDirectory
from saraban.worker.loop import Worker
from saraban.workflow.runtime.service.assignees import ACTS, NotificationAudience, SubjectState
from saraban.workflow.verification import definition_checks
from tests.circulations import lose_the_right, order
from tests.domain.workflow.actors import person, subject
from tests.features.documents.conftest import Desk
from tests.notices import SENDER, letters_go_by, morning, reminded, state, titles
from tests.outcome_workflow import own
from tests.reach import rebuild


async def told(desk: Desk, *accounts: str) -> dict[str, int]:
    return {account: len(await titles(desk, account)) for account in accounts}


async def status(desk: Desk, account: str, letter: dict[str, Any]) -> int:
    return (await desk.read(account, "correspondences", letter["publicId"])).status_code


class TestSight:
    async def test_of_a_draft_is_asked_before_its_recipient_is_told(self, desk: Desk, worker: Worker) -> None:
        said = [{"type": "notify", "target": side} for side in ("recipient", "submitter")]
        review = {"to": "draft", "require": SENDER, "events": said}
        await letters_go_by(
            desk,
            state("draft", review=review, submit={"to": "sent", "require": SENDER, "events": said}),
            state("sent", close={"to": "done", "require": {"party": ["recipient"]}}),
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง.", subject="SECRET"))

        await desk.act("dc.contractor", letter, "review", comment="internal remark")
        await worker.drain()
        unissued = await told(desk, "dc.consultant", "reviewer.consultant")
        unseen = await status(desk, "dc.consultant", letter)
        await desk.act("dc.contractor", letter, "submit")
        await worker.drain()

        assert (unissued, unseen) == ({"dc.consultant": 0, "reviewer.consultant": 0}, 404)
        assert await told(desk, "dc.consultant", "reviewer.consultant") == {
            "dc.consultant": 1,
            "reviewer.consultant": 1,
        }

    async def test_of_a_step_that_asks_who_may_not_see_it_is_nobodys_and_said(self, desk: Desk, worker: Worker) -> None:
        owner = {"organizationRoles": ["OWNER"], "permissions": ["workflow.action_review"]}
        person = (await (await desk.as_("approver.owner")).get("/api/v1/auth/me")).json()["publicId"]
        await letters_go_by(
            desk,
            state("draft", submit={"to": "sent", "require": SENDER}),
            state("sent", pass_on={"to": "with_owner", "require": {"party": ["recipient"]}}),
            state("with_owner", assign={"to": "named", "require": owner}),
            state("named", close={"to": "done", "require": {"user": person}}),
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await desk.act("dc.contractor", letter, "submit")
        await desk.act("dc.consultant", letter, "pass_on")
        await worker.drain()

        assert await told(desk, "approver.owner", "viewer") == {"approver.owner": 0, "viewer": 0}
        assert await status(desk, "approver.owner", letter) == 404
        address = f"/api/v1/workflow/instances/{letter['workflow']['instancePublicId']}/history"
        steps = (await (await desk.as_("dc.consultant")).get(address)).json()["items"]
        assert [(step["action"], step["nobody"]) for step in steps] == [("submit", False), ("pass_on", True)]

        await desk.act("admin", letter, "assign")
        steps = (await (await desk.as_("dc.consultant")).get(address)).json()["items"]
        assert steps[-1]["nobody"] is True


class TestAddressing:
    def test_of_what_a_document_itself_tells_asks_where_it_stands_now(self) -> None:
        document, revision, sees, blind = (UUID(int=number) for number in range(1, 5))
        people = {
            one: person(3, user=one.int, grants=(("Editor", [ACTS], {"organization": 3}),)) for one in (sees, blind)
        }
        facts = subject(seen_by=lambda caller, state: caller.public_id == sees and state == "draft")
        known = AudienceDirectory(
            organizations={},
            members={3: {one: one.int for one in people}},
            users={},
            authors={},
            parties={document: DocumentParties(frozenset({3}), revision=revision)},
            hearing=NotificationAudience({str(revision): facts}, {str(revision): "draft"}),
            callers=people,
        )
        (notice,) = notices("document.created", {"documentPublicId": str(document), "subject": "x"})

        assert known.readers(notice) == [sees.int]
        assert [known.may_know(one, notice) for one in people.values()] == [True, False]

    def test_of_a_draft_given_up_is_for_those_who_saw_the_draft_whatever_its_end_is_called(self) -> None:
        version = definition_checks.verify(own())
        facts = subject(seen_by=lambda _caller, state: state not in {"draft", "cancelled"})
        known = NotificationAudience({"rfa": facts}, versions={UUID(int=7): version})

        stands = [SubjectState("rfa", "letterbox", state, UUID(int=7)) for state in ("draft", "dropped", "checking")]

        assert [known.sees(person(3), one) for one in stands] == [False, False, True]

    @pytest.mark.parametrize(
        ("stand", "told"), [(SubjectState("gone", "rfa", "sent"), False), (SubjectState("sheet"), True)]
    )
    def test_of_what_cannot_be_read_any_more_is_nobodys_where_a_workflow_moved_it(
        self, stand: SubjectState, told: bool
    ) -> None:
        assert NotificationAudience().sees(person(3), stand) is told


class TestAsked:
    async def test_are_told_by_what_the_step_requires_and_reminded_by_the_same(
        self, app: FastAPI, desk: Desk, worker: Worker
    ) -> None:
        recipient = {"party": ["recipient"], "permissions": ["document.view"]}
        await letters_go_by(
            desk,
            state("draft", submit={"to": "sent", "require": SENDER}),
            state("sent", close={"to": "done", "require": recipient}, back={"to": "held", "require": SENDER}),
            state("held", close={"to": "done", "require": {"roles": ["Project Manager"]}}),
        )
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("กทท."))
        await desk.act("dc.contractor", letter, "submit")
        await worker.drain()
        people = ("viewer", "approver.owner", "padmin", "dc.contractor", "dc.consultant")

        # The viewer may do nothing in workflows but this; it waits for the originator too, because of `back`.
        everybody = dict.fromkeys(people, 1) | {"dc.contractor": 0, "dc.consultant": 0}
        assert await told(desk, *people) == everybody
        due = datetime(2025, 11, 28, 10, tzinfo=UTC)
        async with app.state.db.writing() as session:
            changed = {"due_date": due, "issued_date": datetime(2025, 11, 3, 3, tzinfo=UTC)}
            await session.execute(sa.update(DocumentRevision).values(changed))
        await rebuild(app.state.db)
        assert await reminded(app, worker, morning(date(2025, 11, 25))) == 1
        assert await told(desk, *people) == everybody | {"dc.contractor": 1}

        await desk.act("dc.contractor", letter, "back")
        await worker.drain()
        assert await told(desk, *people) == dict.fromkeys(people, 0) | {"padmin": 1}
        inbox = (await (await desk.as_("padmin")).get("/api/v1/inbox")).json()["items"]
        assert [item["data"]["subject"]["number"] for item in inbox] == [letter["documentNumber"]]


class TestCirculation:
    @pytest.mark.parametrize(("loses", "told"), [(False, 1), (True, 0)])
    async def test_is_told_to_those_alone_who_may_see_it(
        self, desk: Desk, app: FastAPI, worker: Worker, loses: bool, told: int
    ) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))
        await desk.act("dc.consultant", sheet, "start")
        if loses:
            await lose_the_right(app, "reviewer.consultant")
        client = await desk.as_("dc.consultant")
        await client.post(f"/api/v1/circulations/{sheet['publicId']}/cancel", json={"reason": "ไม่ต้องเวียนแล้ว"})
        await worker.drain()

        assert sum("was cancelled" in title for title in await titles(desk, "reviewer.consultant")) == told
