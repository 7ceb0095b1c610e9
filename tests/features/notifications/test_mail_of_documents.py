"""E-mail about real documents: its facts, and that it never asks for what somebody has done."""

from datetime import timedelta

import pytest
import pytest_asyncio
from fastapi import FastAPI

from saraban.events.service import Handlers
from saraban.kit.rate_limits import RateLimiter
from saraban.notifications import service as notifications
from saraban.notifications.service import MailJob, MailSettings
from saraban.worker.loop import Worker
from tests.features.documents.conftest import Desk
from tests.mail_delivery import BANGKOK, Mailbox


class Post:
    """A worker that queues e-mail, and a mailbox that gets it."""

    def __init__(self, app: FastAPI) -> None:
        state, self.mailbox, handlers = app.state, Mailbox(), Handlers()
        mail_settings = MailSettings(self.mailbox, BANGKOK, timedelta(0), 0, 3, lambda _kind, _id: "")
        notifications.subscribe(handlers, subjects=state.subjects, mail_settings=mail_settings)
        self.worker = Worker(db=state.db, clock=state.clock, handlers=handlers)
        self._job = MailJob(state.db, mail_settings, limiter=RateLimiter(), clock=state.clock, subjects=state.subjects)

    async def deliver(self) -> dict[str, str]:
        """Send what is due, and return the text of each mail by the account of its reader."""
        while await self._job.round():
            pass
        return {mail.to.partition("@")[0]: mail.text for mail in self.mailbox.taken}


@pytest_asyncio.fixture
async def post(app: FastAPI, desk: Desk, worker: Worker) -> Post:
    """The demo's own events are past."""
    for account in ("reviewer.consultant", "dc.consultant", "approver.owner", "dc.contractor"):
        client = await desk.as_(account)
        answer = await client.put("/api/v1/notifications/preferences", json={"email": True, "digest": False})
        assert answer.status_code == 204, answer.text
    return Post(app)


class TestMail:
    async def test_names_the_due_date_the_sender_and_the_project(self, desk: Desk, post: Post) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง.", dueDate="2099-12-31"))
        await desk.act("dc.contractor", letter, "submit")
        await post.worker.drain()

        text = (await post.deliver())["dc.consultant"]
        assert "31 ธ.ค. 2642 · จาก: ผรม.2 · โครงการ: LCBP3-C2" in text

    @pytest.mark.parametrize("is_handled", [True, False])
    async def test_does_not_ask_for_a_step_that_was_taken(self, desk: Desk, post: Post, is_handled: bool) -> None:
        """Whether or not the worker has handled the event of the step."""
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        await post.worker.drain()
        await desk.act("dc.consultant", rfa, "approve")
        if is_handled:
            await post.worker.drain()

        assert "reviewer.consultant" not in await post.deliver()

    async def test_does_not_ask_for_the_submission_of_a_draft_that_was_submitted(self, desk: Desk, post: Post) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await post.worker.drain()
        await desk.act("dc.contractor", rfa, "submit")
        await post.worker.drain()

        assert [text for text in (await post.deliver()).values() if "ร่างเอกสารใหม่" in text] == []
