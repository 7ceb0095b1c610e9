"""Branches are answered at the same moment, on SQLite and on MariaDB: each once, and there is one verdict."""

import asyncio
from collections import Counter
from functools import partial
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Scope
from saraban.kit.errors import DomainError
from saraban.kit.idempotency import KeyReused
from saraban.kit.problem import to_problem
from saraban.projects import service as projects
from saraban.projects.models import Project
from saraban.workflow.administration.service import migration
from saraban.workflow.administration.service.migration import MigrationPlan
from saraban.workflow.runtime.models import WorkflowBranch, WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from saraban.workflow.runtime.service import assignment
from saraban.workflow.service import Command
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, step_in
from tests.factories.review import answer, branches, reviewed, seat, under_review

pytestmark = pytest.mark.sampled("mariadb")

CROWD = 20
WORDS = {"th": "คำ", "en": "Word"}


@pytest_asyncio.fixture
async def office(any_office: Office) -> Office:
    await seat(any_office, {"reviewer.consultant": None})
    return any_office


def many(count: int) -> list[dict[str, Any]]:
    return [{"name": f"b{place}", "label": WORDS, "assignee": {"team": "DESIGN"}} for place in range(count)]


async def outcomes(office: Office, instance: UUID, asked: list[UUID], codes: list[str]) -> Counter[str]:
    """Return all these answers at once and count what came of them."""

    async def one(branch: UUID, code: str) -> str:
        try:
            await answer(office, instance, branch, code, by="reviewer.consultant", comment="read")
        except DomainError as error:
            return str(to_problem(error, language="th", trace_id="")["code"])
        return "200"

    pairs = zip(asked, codes, strict=True)
    return Counter(await asyncio.gather(*(one(branch, code) for branch, code in pairs)))


async def stored(office: Office) -> tuple[WorkflowInstance, Counter[str], Counter[str], int]:
    async with office.db.reading() as session:
        (row,) = (await session.scalars(sa.select(WorkflowInstance))).all()
        history = (await session.scalars(sa.select(WorkflowHistory.action))).all()
        statuses = (await session.scalars(sa.select(WorkflowBranch.status))).all()
        waiting = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowWorkItem))
    return row, Counter(history), Counter(statuses), int(waiting or 0)


async def project_of(office: Office) -> UUID:
    async with office.db.reading() as session:
        project: UUID | None = await session.scalar(sa.select(Project.public_id).where(Project.id == office.project))
    assert project is not None
    return project


class TestRepeatedAnswer:
    async def test_has_one_effect_and_is_known_by_its_branch(self, office: Office) -> None:
        instance = await under_review(office, branches=many(2), completion="all")
        first, second = [branch.public_id for branch in (await branches(office, instance)).values()]

        given = [await answer(office, instance, first, by="reviewer.consultant", key="k") for _ in range(2)]
        with pytest.raises(KeyReused):
            await answer(office, instance, second, by="reviewer.consultant", key="k")

        _, history, statuses, _ = await stored(office)
        assert given[0] == given[1]
        assert history == {"submit": 1, "review:answer": 1}
        assert statuses == {"ANSWERED": 1, "PENDING": 1}


class TestTeams:
    async def test_that_change_lock_the_reviews_of_their_own_project_alone(self, office: Office) -> None:
        here = await under_review(office, branches=many(1), completion="all")
        await under_review(office, {"scope": Scope(frozenset(), None, None)}, branches=many(1))
        project = await project_of(office)
        locked = []

        async def ask(session: AsyncSession) -> None:
            bind = (await session.connection()).sync_connection
            sa.event.listen(bind, "before_execute", seen)
            await assignment.renew_for_teams(session, subjects=office.subjects, project_public_id=project, now=NOW)
            sa.event.remove(bind, "before_execute", seen)

        def seen(_bind: Any, clause: Any, *_: Any) -> None:
            held = isinstance(clause, sa.Select) and clause._for_update_arg is not None
            if held and WorkflowInstance.__table__ in clause.get_final_froms():
                locked.append(clause.compile().params)

        await office.db.transact(ask)

        (named,) = locked
        assert [value for value in named.values() if isinstance(value, list)][-1] == [here]


class TestAccounts:
    async def test_that_close_and_open_are_asked_no_more_and_again(self, office: Office) -> None:
        person = (await office.person("reviewer.consultant")).public_id
        assignees = [{"role": "Editor"}, {"team": "DESIGN"}, {"discipline": "STR"}, {"user": str(person)}]
        asked = [{"name": f"b{i}", "label": WORDS, "assignee": one} for i, one in enumerate(assignees)]
        await under_review(office, branches=asked, completion="all")
        system, waiting = await office.person("system"), []

        for active in (True, False, True):

            async def switch(session: AsyncSession, active: bool = active) -> None:
                ctx = context(system, now=NOW)
                await identity.set_active(ctx, session, username="reviewer.consultant", active=active)
                await assignment.renew_for_person(session, subjects=office.subjects, public_id=person, now=NOW)

            await office.db.transact(switch)
            waiting.append((await stored(office))[3])

        assert waiting == [1, 0, 1]


class TestRights:
    @pytest.mark.parametrize(
        ("change", "assignee", "waits"),
        [
            ("grant", {"role": "Editor"}, 1),
            ("revoke", {"role": "Editor"}, 0),
            ("unseat", {"team": "DESIGN"}, 0),
            ("grant", None, 1),
            ("revoke", None, 0),
        ],
    )
    async def test_that_change_while_a_step_is_taken_are_those_that_it_asks_by(
        self, office: Office, change: str, assignee: dict[str, str] | None, waits: int
    ) -> None:
        raw = reviewed(branches=[{"name": "one", "label": WORDS, "assignee": assignee}])
        if assignee is None:  # a step that asks for the role, without a review
            close = {"to": "passed", "label": WORDS, "require": {"roles": ["Editor"]}}
            raw["states"][1] = {"name": "review", "label": WORDS, "on": {"close": close}}
        await office.define(raw)
        instance = (await office.start(office.letter(), code="REVIEWED")).instance_public_id
        sender = await office.person("dc.contractor")
        if change == "grant":
            await CHANGES["revoke"](office)
        asked, told = asyncio.Event(), asyncio.Event()

        async def enter(session: AsyncSession) -> None:
            ctx = context(sender, now=NOW)
            await step_in(ctx, session, subjects=office.subjects, public_id=instance, command=Command("submit"))
            asked.set()
            await told.wait()

        entering = asyncio.create_task(office.db.transact(enter))
        await asked.wait()
        changing = asyncio.create_task(CHANGES[change](office))
        await asyncio.wait({changing}, timeout=0.4)  # as far as it comes beside the step
        told.set()
        await asyncio.gather(entering, changing)

        assert (await stored(office))[3] == waits


async def change_role(office: Office, *, change: Any) -> None:
    """As the terminal does it, and then as the worker hears of it."""
    system, person = await office.person("system"), await office.person("reviewer.consultant")
    role: Any = {"username": person.username, "grant": identity.RoleGrant("Editor", "คคง.")}
    await office.db.transact(lambda session: change(context(system, now=NOW), session, **role))
    told: Any = {"subjects": office.subjects, "public_id": person.public_id, "now": NOW}
    await office.db.transact(lambda session: assignment.renew_for_person(session, **told))


async def unseat(office: Office) -> None:
    admin, person = await office.person("admin"), await office.person("reviewer.consultant")
    project = await project_of(office)
    seat_: Any = {"project_public_id": project, "code": "DESIGN", "user_public_id": person.public_id}
    await office.db.transact(lambda session: projects.remove_member(context(admin, now=NOW), session, **seat_))
    told: Any = {"subjects": office.subjects, "project_public_id": project, "now": NOW}
    await office.db.transact(lambda session: assignment.renew_for_teams(session, **told))


CHANGES: dict[str, Any] = {
    "grant": partial(change_role, change=identity.grant_role),
    "revoke": partial(change_role, change=identity.revoke_role),
    "unseat": unseat,
}


class TestMigration:
    async def test_beside_an_answer_comes_before_it_or_leaves_the_review_alone(self, office: Office) -> None:
        instance = await under_review(office, branches=many(2), completion="all")
        first = (await branches(office, instance))["b0"].public_id
        made = await office.define(reviewed(branches=many(2), completion="any"))
        admin = await office.person("admin")

        async def move() -> list[str]:
            plan = MigrationPlan("REVIEWED", 2, dry_run=False)
            batches = migration.migrate(
                context(caller=admin, now=NOW, address=""), office.db, subjects=office.subjects, plan=plan
            )
            return [line.found.outcome.value async for batch in batches for line in batch.lines]

        _, found = await asyncio.gather(answer(office, instance, first, by="reviewer.consultant"), move())

        row, history, _, waiting = await stored(office)
        # By the new rule the answer is the verdict; it is never found lying there by a migration.
        stands = {"stays": ("passed", True, 0), "verdict_due": ("review", False, 1)}[found[0]]
        assert (row.current_state, row.definition_id == made.public_id, waiting) == stands
        assert history["review:answer"] == 1


class TestTwentyAtOnce:
    async def test_each_answers_its_branch_and_the_last_one_moves_the_instance(self, office: Office) -> None:
        instance = await under_review(office, branches=many(CROWD), completion="all")
        asked = [branch.public_id for branch in (await branches(office, instance)).values()]

        came = await outcomes(office, instance, asked, ["approve"] * CROWD)

        row, history, statuses, waiting = await stored(office)
        assert came == {"200": CROWD}
        assert (row.current_state, row.version_no, waiting) == ("passed", 3, 0)
        assert history == {"submit": 1, "review:answer": CROWD, "review:for": 1}
        assert statuses == {"ANSWERED": CROWD}

    async def test_what_comes_after_the_verdict_is_too_late(self, office: Office) -> None:
        instance = await under_review(office, branches=many(CROWD))
        asked = [branch.public_id for branch in (await branches(office, instance)).values()]

        came = await outcomes(office, instance, asked, ["approve"] * CROWD)

        row, history, statuses, _ = await stored(office)
        assert came == {"200": 11, "WORKFLOW_BRANCH_CLOSED": CROWD - 11}
        assert (row.current_state, row.version_no) == ("passed", 3)
        assert history == {"submit": 1, "review:answer": 11, "review:for": 1}
        assert statuses == {"ANSWERED": 11, "SKIPPED": CROWD - 11}

    async def test_one_branch_takes_one_answer(self, office: Office) -> None:
        instance = await under_review(office, branches=many(2), completion="all")
        branch = (await branches(office, instance))["b0"].public_id

        came = await outcomes(office, instance, [branch] * CROWD, ["approve", "reject"] * (CROWD // 2))

        row, history, statuses, _ = await stored(office)
        assert came == {"200": 1, "WORKFLOW_BRANCH_CLOSED": CROWD - 1}
        assert (row.current_state, row.version_no) == ("review", 2)
        assert history == {"submit": 1, "review:answer": 1}
        assert statuses == {"ANSWERED": 1, "PENDING": 1}
