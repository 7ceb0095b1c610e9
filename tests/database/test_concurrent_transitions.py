"""Steps at the same moment, each in its own transaction, on SQLite and on MariaDB."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.kit import db
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import begin_trace, trace_id
from saraban.kit.reconnection import CommitLost
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance
from saraban.workflow.runtime.service import transitions
from saraban.workflow.service import Command, Transitioned, Transitions
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, new_office

pytestmark = pytest.mark.sampled("mariadb")

REVIEWER = "reviewer.consultant"


@pytest.fixture
def office(any_office: Office) -> Office:
    return any_office


async def asked(office: Office, instance: UUID, action: str = "approve", *, by: str = REVIEWER, **more: Any) -> Any:
    """Return the call of one step, which asks for it as soon as it runs."""
    caller, key = await office.person(by), more.pop("key", None)

    async def call() -> Transitioned:
        begin_trace()
        return await office.transitions.take(
            context(caller=caller, now=NOW, address="127.0.0.1", key=key),
            public_id=instance,
            command=Command(action, **more),
        )

    return call()


async def at_once(*calls: Awaitable[Transitioned]) -> list[Any]:
    """Return the state that each came to, or the code of its refusal."""
    found = await asyncio.gather(*calls, return_exceptions=True)
    return [
        each.taken[-1].step.next_state
        if isinstance(each, Transitioned)
        else each.code
        if isinstance(each, DomainError)
        else each
        for each in found
    ]


async def rows(office: Office, model: Any) -> list[Any]:
    async with office.db.reading() as session:
        return list((await session.scalars(sa.select(model))).all())


class TestAtOnce:
    async def test_show_the_files_that_came_with_the_step_before(self, office: Office) -> None:
        instances = [await office.pending() for _ in range(3)]
        file = await office.upload(REVIEWER)
        await office.act(instances[1], "approve", by=REVIEWER, attachment_public_ids=(file,))
        await at_once(*[await asked(office, instances[at]) for at in (0, 2)])
        calls = [await asked(office, each, by="approver.owner") for each in instances]

        ctx = context(await office.person("approver.owner"), now=NOW)
        answers = [await office.shown(ctx, done) for done in await asyncio.gather(*calls)]

        shown = [[one["publicId"] for one in answer["stepAttachments"]] for answer in answers]
        assert shown == [[], [str(file)], []]

    async def test_the_trail_names_the_request_of_each(self, office: Office) -> None:
        instances = [await office.pending() for _ in range(4)]
        calls = [await asked(office, each) for each in instances]
        mine = trace_id()

        await at_once(*calls)

        trail = [row for row in await rows(office, AuditLog) if row.details_json.get("action") == "approve"]
        assert len({row.request_id for row in trail} - {mine, None, ""}) == 4

    async def test_a_refusal_is_no_matter_of_the_others(self, office: Office) -> None:
        good = [await office.pending() for _ in range(3)]
        bad = [await office.pending() for _ in range(5)]
        hidden = office.letter()
        office.box.hidden[hidden.entity_id] = {"dc.contractor"}
        unseen = (await office.start(hidden)).instance_public_id
        calls = [
            await asked(office, good[0]),
            await asked(office, bad[0], by="dc.contractor"),
            await asked(office, bad[1], client_version_no=1),
            await asked(office, bad[2], if_match=frozenset({"1"})),
            await asked(office, good[1]),
            await asked(office, bad[3], "reject"),
            await asked(office, bad[4], payload={"actor": "me"}),
            await asked(office, unseen),
            await asked(office, good[2], "reject", comment="No."),
        ]

        assert await at_once(*calls) == [
            "pending_approval",
            "WORKFLOW_ACTION_FORBIDDEN",
            "WORKFLOW_VERSION_CONFLICT",
            "WORKFLOW_PRECONDITION_FAILED",
            "pending_approval",
            "VALIDATION_ERROR",
            "VALIDATION_ERROR",
            "NOT_FOUND",
            "rejected",
        ]

    async def test_what_one_of_them_breaks_is_done_for_the_others_all_the_same(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instances = [await office.pending() for _ in range(4)]
        async with office.db.reading() as session:
            broken = await session.scalar(
                sa.select(WorkflowInstance.entity_id).where(WorkflowInstance.id == instances[1])
            )
        apply = office.box.apply

        async def breaks(session: Any, step: Any) -> Any:
            if step.entity_id == broken:
                raise NotFound("It is gone.")
            return await apply(session, step)

        monkeypatch.setattr(
            office.box, "apply", breaks
        )  # the document's part of the step, which no test can break else
        calls = [await asked(office, each) for each in instances]

        assert await at_once(*calls) == ["pending_approval", "NOT_FOUND", "pending_approval", "pending_approval"]

    async def test_a_second_request_for_an_instance_loses(self, office: Office) -> None:
        # The admin may act in both steps: only what stood there when he asked keeps him from deciding for the owner.
        instances = [await office.pending() for _ in range(3)]
        calls = [await asked(office, each, by="admin") for each in instances for _ in range(2)]

        states = await at_once(*calls)

        pairs = [sorted(states[place : place + 2]) for place in (0, 2, 4)]
        assert pairs == [["WF_INVALID_TRANSITION", "pending_approval"]] * 3
        assert {row.version_no for row in await rows(office, WorkflowInstance)} == {3}

    async def test_of_more_than_there_are_connections_one_is_served(self, office: Office) -> None:
        # The last of them read the instance after the step, and arrived before it.
        instance = await office.pending()
        calls = [await asked(office, instance, by="admin") for _ in range(50)]

        assert Counter(await at_once(*calls)) == {"pending_approval": 1, "WF_INVALID_TRANSITION": 49}

    async def test_a_second_request_is_served_when_the_first_is_refused(self, office: Office) -> None:
        instance = await office.pending()
        calls = [await asked(office, instance, by="dc.contractor"), await asked(office, instance)]

        assert await at_once(*calls) == ["WORKFLOW_ACTION_FORBIDDEN", "pending_approval"]

    async def test_keys_are_kept_with_their_steps(self, office: Office) -> None:
        instances = [await office.pending() for _ in range(4)]
        first = [await asked(office, each, key=f"key-{place}") for place, each in enumerate(instances)]
        await asyncio.gather(*first)
        again = [await asked(office, each, key=f"key-{place}") for place, each in enumerate(instances)]

        answers = await asyncio.gather(*again)

        assert [answer.receipt.repeated for answer in answers] == [True] * 4
        assert {row.version_no for row in await rows(office, WorkflowInstance)} == {3}


class TestCancelledRequest:
    async def test_takes_no_step_and_leaves_the_instance_free(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instance = await office.pending()
        reached = asyncio.Event()

        async def stop(*_: Any) -> None:
            reached.set()
            await asyncio.Event().wait()

        with monkeypatch.context() as patch:
            patch.setattr(transitions, "persist_transition", stop)  # holds the row lock at a moment that the test sees
            leaving = asyncio.ensure_future(await asked(office, instance))
            await reached.wait()
            leaving.cancel()
            await asyncio.wait([leaving])

        assert (await office.act(instance, "approve", by=REVIEWER))["currentState"] == "pending_approval"
        assert {row.version_no for row in await rows(office, WorkflowInstance)} == {3}


class TestLostCommit:
    """The connection is lost at the first COMMIT, before it reaches the database or after."""

    @pytest.fixture(params=["before", "after"])
    def lost(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
        """The moment is what matters, which no server can be told."""
        commit, left = db._commit, [1]

        async def lose(session: AsyncSession) -> None:
            if not left:
                return await commit(session)
            left.pop()
            if request.param == "after":
                await commit(session)
            raise CommitLost

        def arm() -> None:
            monkeypatch.setattr(db, "_commit", lose)

        request.node.arm = arm
        return str(request.param)

    async def test_without_a_key_is_told_and_nothing_is_tried_again(
        self, office: Office, lost: str, request: pytest.FixtureRequest
    ) -> None:
        """Whether the commit went through nobody knows then (REQ-NUM-09)."""
        call = await asked(office, await office.pending())
        request.node.arm()

        (outcome,) = await at_once(call)

        assert type(outcome) is CommitLost
        assert {row.version_no for row in await rows(office, WorkflowInstance)} == {2 if lost == "before" else 3}

    async def test_of_keyed_steps_is_answered_with_what_was_done_once(
        self, office: Office, lost: str, request: pytest.FixtureRequest
    ) -> None:
        instances = [await office.pending() for _ in range(2)]
        calls = [await asked(office, each, key=f"k{each}") for each in instances]
        repetitions = [await asked(office, each, key=f"k{each}") for each in instances]
        request.node.arm()

        done = await asyncio.gather(*calls)
        repeated = await asyncio.gather(*repetitions)

        assert [one.receipt.outcome for one in done] == [one.receipt.outcome for one in repeated]
        assert not any(one.receipt.repeated for one in done)
        assert {row.version_no for row in await rows(office, WorkflowInstance)} == {3}
        assert len(await rows(office, WorkflowHistory)) == 4  # with those that submitted them


class TestLostConnection:
    async def test_before_the_commit_is_tried_again(self, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        instances = [await office.pending() for _ in range(2)]
        persist, tried = transitions.persist_transition, []

        async def lose_once(session: Any, decision: Any) -> Any:
            tried.append(decision)
            if len(tried) == 1:
                raise OperationalError("INSERT", {}, Exception(2013, "Lost connection"))
            return await persist(session, decision)

        monkeypatch.setattr(transitions, "persist_transition", lose_once)
        calls = [await asked(office, each) for each in instances]

        assert await at_once(*calls) == ["pending_approval"] * 2
        assert len(tried) == 3


class TestHeldRow:
    async def test_keeps_nobody_waiting_but_who_asks_for_it(self, mariadb: Database) -> None:
        office = await new_office(mariadb)
        held, free = await office.pending(), await office.pending()
        async with mariadb.writing() as session:
            await session.execute(sa.select(WorkflowInstance.id).where(WorkflowInstance.id == held).with_for_update())
            waits = asyncio.ensure_future(await asked(office, held))
            served = await asyncio.wait_for(await asked(office, free), timeout=5)
            assert not waits.done()

        assert len(served.taken) == 1
        assert len((await waits).taken) == 1


class TestCrowd:
    async def test_of_steps_on_few_instances_leaves_histories_without_gaps(self, office: Office) -> None:
        """Two processes of their own, people who hit the same instances: each version has one step, each step its event."""
        instances = [await office.pending() for _ in range(5)]
        other = Office(
            **{**office.__dict__, "transitions": Transitions(office.db, office.subjects, Idempotency(office.db))}
        )
        people = ("admin", REVIEWER, "approver.owner")
        actions = ("approve", "return", "reject")
        calls = [
            await asked(server, instances[turn % 5], actions[turn % 3], by=people[turn // 3 % 3], comment="Seen.")
            for turn in range(60)
            for server in (office, other)
        ]

        outcomes = Counter(await at_once(*calls))

        taken = sum(count for outcome, count in outcomes.items() if outcome.islower())
        histories = await rows(office, WorkflowHistory)
        steps: dict[UUID, list[int]] = {}
        for row in histories:
            steps.setdefault(row.instance_id, []).append(row.details["versionNo"])
        for row in await rows(office, WorkflowInstance):
            assert sorted(steps[row.id]) == list(range(2, row.version_no + 1))
        assert len(histories) == taken + 5  # who submitted them
        assert len(await rows(office, OutboxEvent)) == len(histories)
        assert taken >= 5


class TestIdleConnections:
    async def test_that_the_server_has_closed_cost_nobody_a_step(self, mariadb: Database, mariadb_url: str) -> None:
        office = await new_office(mariadb)
        instances = [await office.pending() for _ in range(3)]
        calls = [await asked(office, each) for each in instances]
        other = Database(mariadb_url)
        async with other.engine.connect() as connection:
            known = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
            for (key,) in (await connection.execute(sa.text(known))).all():
                await connection.exec_driver_sql(f"KILL {key}")
        await other.close()

        assert await at_once(*calls) == ["pending_approval"] * 3
