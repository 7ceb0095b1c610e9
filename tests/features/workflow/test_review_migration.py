"""Documents under parallel review moved to another version: nothing that was answered is lost, and nothing moves by itself."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.identity.models import User
from saraban.workflow.administration.domain.migration import MigrationOutcome
from saraban.workflow.administration.schemas import MigratedOut
from saraban.workflow.administration.service import migration
from saraban.workflow.administration.service.migration import MigratedInstance, MigrationPlan
from saraban.workflow.runtime.models import WorkflowBranch, WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from saraban.workflow.service import VersionConflict
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office
from tests.factories.review import BRANCHES, answer, branches, reviewed, seat, under_review

LATER = NOW + timedelta(hours=3)
STRUCTURE, ELECTRICAL, CONTROL = BRANCHES
PLAIN = {"name": "review", "label": {"th": "คำ", "en": "Word"}, "on": {}}


@pytest.fixture
async def asked(office: Office) -> Office:
    await seat(office)
    return office


async def rows(office: Office, model: Any) -> list[Any]:
    async with office.db.reading() as session:
        return list((await session.scalars(sa.select(model))).all())


async def waited_for(office: Office) -> dict[str, Any]:
    """Since when, by name."""
    async with office.db.reading() as session:
        statement = sa.select(User.username, WorkflowWorkItem.created_at).join(
            WorkflowWorkItem, WorkflowWorkItem.user_id == User.user_id
        )
        return {row.username: row.created_at for row in await session.execute(statement)}


async def go(office: Office, version: int = 2, *, dry_run: bool = False, mapping: Any = None) -> MigratedInstance:
    batches = migration.migrate(
        context(caller=await office.person("admin"), now=LATER, address="127.0.0.1"),
        office.db,
        subjects=office.subjects,
        plan=MigrationPlan("REVIEWED", version, mapping or {}, dry_run),
    )
    (line,) = [line async for batch in batches for line in batch.lines]
    return line


def unreviewed() -> dict[str, Any]:
    """The same state without a review: the consultant passes what comes to it."""
    raw = reviewed()
    del raw["states"][1]["review"]
    require = {"party": ["recipient"], "permissions": ["workflow.action_review"]}
    raw["states"][1]["on"]["pass"] = {"to": "passed", "label": {"th": "ผ่าน", "en": "Pass"}, "require": require}
    return raw


class TestReviewUnderWay:
    async def test_keeps_its_answers_and_asks_what_is_new(self, asked: Office) -> None:
        instance = await under_review(asked, branches=[STRUCTURE, ELECTRICAL], completion="all")
        before = await branches(asked, instance)
        await answer(asked, instance, before["structure"].public_id, by="reviewer.consultant", comment="p. 3")
        days = reviewed(branches=[CONTROL, STRUCTURE, ELECTRICAL], completion="all")
        days["states"][1]["due"] = {"workingDays": 3}
        made = await asked.define(days)

        assert (await go(asked, dry_run=True)).found == (await go(asked)).found

        (row,) = await rows(asked, WorkflowInstance)
        assert (row.definition_id, row.current_state, row.version_no) == (made.public_id, "review", 3)
        assert row.due_on == date(2026, 11, 25)
        after = await branches(asked, instance)
        assert [(name, one.status, one.answer) for name, one in after.items()] == [
            ("control", "PENDING", None),
            ("structure", "ANSWERED", "approve"),
            ("electrical", "PENDING", None),
        ]
        assert {name: after[name].public_id for name in before} == {name: one.public_id for name, one in before.items()}
        since = await waited_for(asked)
        assert (since["dc.consultant"], since["approver.owner"]) == (NOW, LATER)
        step = (await rows(asked, WorkflowHistory))[-1]
        assert step.details == {
            "migrated": {"before": 1, "after": 2}, "versionNo": 3, "branches": {"opened": ["control"]},
        }  # fmt: skip
        await answer(asked, instance, after["control"].public_id, by="approver.owner")
        end = await answer(asked, instance, after["electrical"].public_id, by="dc.consultant")
        assert (end["currentState"], end["status"]) == ("passed", "COMPLETED")

    async def test_asks_anew_where_a_branch_is_somebody_elses_and_closes_what_is_gone(self, asked: Office) -> None:
        instance = await under_review(asked, branches=[STRUCTURE, ELECTRICAL], completion="all")
        electrical = (await branches(asked, instance))["electrical"]
        viewer = {"user": str((await asked.person("approver.owner")).public_id)}
        await asked.define(reviewed(branches=[{**ELECTRICAL, "assignee": viewer}], completion="all"))

        assert (await go(asked)).found.outcome.value == "stays"

        assert {(row.name, row.status) for row in await rows(asked, WorkflowBranch)} == {
            ("structure", "SKIPPED"),
            ("electrical", "PENDING"),
        }
        assert await waited_for(asked) == {"approver.owner": LATER}
        with pytest.raises(VersionConflict):  # his page shows the question of the version before
            await answer(asked, instance, electrical.public_id, by="approver.owner", client_version_no=1)
        end = await answer(asked, instance, electrical.public_id, by="approver.owner", client_version_no=2)
        assert end["currentState"] == "passed"

    async def test_opens_a_branch_again_that_a_version_in_between_did_not_ask(self, asked: Office) -> None:
        instance = await under_review(asked, branches=[STRUCTURE, ELECTRICAL], completion="all")
        await asked.define(reviewed(branches=[STRUCTURE], completion="all"))
        await asked.define(reviewed(branches=[STRUCTURE, ELECTRICAL], completion="all"))
        await go(asked)
        await go(asked, 3)

        found = await branches(asked, instance)
        assert {name: one.status for name, one in found.items()} == {"structure": "PENDING", "electrical": "PENDING"}
        assert await waited_for(asked) == {"reviewer.consultant": NOW, "dc.consultant": LATER}

    @pytest.mark.parametrize(
        ("changes", "outcome"),
        [
            ({"branches": [ELECTRICAL, CONTROL]}, "answer_lost"),
            ({"branches": [{**STRUCTURE, "assignee": {"team": "DESIGN"}}, ELECTRICAL]}, "answer_changed"),
            ({"veto": True}, "answer_changed"),
            ({"completion": "any"}, "verdict_due"),
            ({"branches": [*BRANCHES, {**CONTROL, "name": "empty", "assignee": {"team": "NOBODY"}}]}, "nobody"),
        ],
    )
    async def test_is_left_alone_where_an_answer_would_not_stay_what_it_was(
        self, asked: Office, changes: dict[str, Any], outcome: str
    ) -> None:
        instance = await under_review(asked, completion="all")
        structure = (await branches(asked, instance))["structure"].public_id
        await answer(asked, instance, structure, by="reviewer.consultant")
        before = await branches(asked, instance)
        await asked.define(reviewed(**({"completion": "all"} | changes)))

        assert (await go(asked, dry_run=True)).found.outcome.value == outcome
        assert (await go(asked)).found.outcome.value == outcome

        assert await branches(asked, instance) == before
        assert [row.action for row in await rows(asked, WorkflowHistory)] == ["submit", "review:answer"]

    @pytest.mark.parametrize("code", ["approve", "reject"])
    async def test_shows_nobody_what_was_answered_in_hiding(self, asked: Office, code: str) -> None:
        instance = await under_review(asked, completion="all", hidden=True)
        structure = (await branches(asked, instance))["structure"].public_id
        await answer(asked, instance, structure, code, by="reviewer.consultant", comment="p. 3")
        usual: dict[str, Any] = {
            "approve": {"label": {"th": "เห็นชอบ", "en": "Approve"}, "counts": "for"},
            "reject": {"label": {"th": "ไม่เห็นชอบ", "en": "Reject"}, "counts": "against"},
        }
        renamed = usual | {"reject": usual["reject"] | {"label": {"th": "คัดค้าน", "en": "Object"}}}
        for changes in (
            {"completion": "any"},
            {"answers": renamed},
            {"hidden": False},
            {"hidden": False, "completion": "any"},
        ):
            await asked.define(reviewed(**({"completion": "all", "hidden": True} | changes)))

        found = [
            (await go(asked, version, dry_run=dry_run)).found.outcome.value
            for version in (2, 3, 4, 5)
            for dry_run in (True, False)
        ]

        assert found == [*["hidden_answers"] * 4, *["stays"] * 2, *["hidden_answers"] * 2]
        assert (await branches(asked, instance, by="dc.consultant"))["structure"].answer is None


class TestReviewThatBeginsOrEnds:
    async def test_begins_in_the_middle_where_the_version_has_one(self, asked: Office) -> None:
        await asked.define(unreviewed())
        await under_review(asked)
        instance = (await rows(asked, WorkflowInstance))[0].id
        await asked.define(unreviewed())
        assert (await go(asked, 3)).found.outcome.value == "stays"
        assert await rows(asked, WorkflowWorkItem) != []
        assert {row.status for row in await rows(asked, WorkflowBranch)} == {"SKIPPED"}
        await asked.define(reviewed(hidden=True))

        assert (await go(asked, 4)).found.outcome.value == "stays"

        found = await branches(asked, instance)
        assert {one.status for one in found.values()} == {"PENDING"}
        assert set((await waited_for(asked)).values()) == {LATER}
        await answer(asked, instance, found["structure"].public_id, by="reviewer.consultant")
        await answer(asked, instance, found["electrical"].public_id, by="dc.consultant")
        told = await branches(asked, instance, by="dc.contractor")
        assert [told[name].answer for name in ("structure", "electrical")] == ["approve", "approve"]
        assert (await rows(asked, WorkflowInstance))[0].current_state == "passed"

    async def test_goes_with_the_document_into_another_state_only_unanswered(self, asked: Office) -> None:
        instances: list[UUID] = [await under_review(asked)]
        raw = unreviewed()
        raw["states"][1]["name"] = raw["states"][0]["on"]["submit"]["to"] = "checking"
        structure = (await branches(asked, instances[0]))["structure"].public_id
        await asked.define(raw)
        looked = await go(asked, mapping={"review": "checking"}, dry_run=True)
        await answer(asked, instances[0], structure, by="reviewer.consultant")

        assert looked.found.outcome.value == "moves"
        assert (await go(asked, mapping={"review": "checking"})).found.outcome.value == "answer_lost"

        await asked.act(instances[0], "withdraw", by="dc.contractor")
        await asked.act(instances[0], "submit", by="dc.contractor")
        assert (await go(asked, mapping={"review": "checking"})).found.outcome.value == "moves"
        assert "PENDING" not in {row.status for row in await rows(asked, WorkflowBranch)}
        assert await waited_for(asked) == {}


def test_every_outcome_can_be_told_by_the_api() -> None:
    assert set(MigratedOut.model_json_schema()["properties"]["outcome"]["enum"]) == set(MigrationOutcome)
