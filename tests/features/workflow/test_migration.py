"""Running instances moved to another version of their workflow: looked at, moved, left alone, and moved again."""

from datetime import date
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.kit.errors import Forbidden, Invalid, NotFound
from saraban.workflow import service as workflow
from saraban.workflow.administration.service import migration
from saraban.workflow.administration.service.migration import MigratedInstance, MigrationPlan
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office

WORDS = {"th": "คำ", "en": "Word"}
CODE = "MOVED"
BOTH = {"party": ["recipient"], "permissions": ["workflow.action_review"]}


def raw(*, review: str = "reading", require: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    states = [
        {
            "name": "draft",
            "label": WORDS,
            "initial": True,
            "editable": True,
            "on": {"submit": {"to": review, "label": WORDS, "require": {"party": ["originator"]}}},
        },
        {
            "name": review,
            "label": WORDS,
            "on": {"accept": {"to": "closed", "label": WORDS, "require": require or BOTH}},
        },
        {"name": "closed", "label": WORDS, "terminal": True},
    ]
    return {"workflow": CODE, "states": states, **more}


async def running(office: Office, count: int = 1) -> list[UUID]:
    found = [(await office.start(office.letter(), code=CODE)).instance_public_id for _ in range(count)]
    for instance in found:
        await office.act(instance, "submit", by="dc.contractor")
    return found


async def rows(office: Office, model: Any) -> list[Any]:
    async with office.db.reading() as session:
        return list((await session.scalars(sa.select(model))).all())


async def go(
    office: Office, version: int = 2, *, by: str = "admin", dry_run: bool = False, **more: Any
) -> list[MigratedInstance]:
    mapping, size = more.pop("mapping", {}), more.pop("size", migration.BATCH)
    batches = migration.migrate(
        context(await office.person(by), now=NOW, address="127.0.0.1"),
        office.db,
        subjects=office.subjects,
        plan=MigrationPlan(CODE, version, mapping, dry_run),
        size=size,
        **more,
    )
    return [line async for batch in batches for line in batch.lines]


def outcomes(lines: list[MigratedInstance]) -> list[str]:
    return [line.found.outcome.value for line in lines]


class TestDryRun:
    async def test_says_what_would_become_of_each_and_moves_nothing(self, office: Office) -> None:
        await office.define(raw())
        instances = await running(office, 2)
        draft = (await office.start(office.letter(), code=CODE)).instance_public_id
        await office.define(raw(review="checking"))

        lines = await go(office, dry_run=True)

        found = {line.instance_public_id: line.found.outcome.value for line in lines}
        assert found == {**dict.fromkeys(instances, "state_gone"), draft: "stays"}
        assert outcomes(await go(office, dry_run=True, mapping={"reading": "checking"})) == ["moves", "moves", "stays"]
        assert {row.version_no for row in await rows(office, WorkflowInstance)} == {1, 2}
        assert {step.action for step in await rows(office, WorkflowHistory)} == {"submit"}

    async def test_names_what_the_new_schema_does_not_take(self, office: Office) -> None:
        await office.define(raw())
        instance = (await office.start(office.letter(), code=CODE)).instance_public_id
        await office.act(instance, "submit", by="dc.contractor", payload={"note": "seen"})
        payload = {"type": "object", "properties": {"round": {"type": "integer"}}, "required": ["round"]}
        await office.define(raw(context_schema={"properties": {"payload": payload}}))

        (line,) = await go(office)

        assert (line.instance_public_id, line.found.outcome.value) == (instance, "context_unfit")
        assert [fault.code for fault in line.found.faults] == ["required"]
        assert line.number is not None

    async def test_finds_where_nobody_could_act(self, office: Office) -> None:
        await office.define(raw())
        await running(office)
        # The consultant has nobody with that role, and a Super Admin is no proof that a step is anybody's.
        await office.define(raw(require={"party": ["recipient"], "roles": ["Org Admin"]}))

        assert outcomes(await go(office)) == ["nobody"]
        assert (await rows(office, WorkflowInstance))[0].version_no == 2

    async def test_leaves_what_cannot_be_read(self, office: Office) -> None:
        await office.define(raw())
        await running(office)
        await office.define(raw())
        office.box.letters.clear()

        assert outcomes(await go(office)) == ["subject_gone"]


class TestMigrate:
    async def test_goes_on_in_the_same_state_by_the_new_rules(self, office: Office) -> None:
        await office.define(raw())
        (instance,) = await running(office)
        since = [item.created_at for item in await rows(office, WorkflowWorkItem)]
        made = await office.define(raw(require={"party": ["originator"]}))

        assert outcomes(await go(office)) == ["stays"]

        (row,) = await rows(office, WorkflowInstance)
        assert (row.definition_id, row.current_state, row.version_no) == (made.public_id, "reading", 3)
        step = (await rows(office, WorkflowHistory))[-1]
        assert (step.action, step.details["migrated"]) == ("migrate", {"before": 1, "after": 2})
        (item,) = await rows(office, WorkflowWorkItem)
        assert (item.organization_id, [item.created_at]) == (office.organizations["ผรม.2"], since)
        note = (await rows(office, AuditLog))[-1]
        assert (note.action, note.details_json["instances"]) == ("workflow.migrate", 1)
        assert (await office.act(instance, "accept", by="dc.contractor"))["currentState"] == "closed"

    async def test_counts_the_days_of_the_new_version_from_when_the_state_was_entered(self, office: Office) -> None:
        await office.define(raw())
        await running(office)
        entered = (await rows(office, WorkflowInstance))[0]
        days = raw()
        days["states"][1]["due"] = {"workingDays": 3}
        await office.define(days)
        await go(office)
        (counted,) = await rows(office, WorkflowInstance)
        await office.define(raw(require={"party": ["originator"]}))
        await go(office, 3)
        (none,) = await rows(office, WorkflowInstance)

        # From Friday 20 November: Monday, Tuesday and Wednesday.
        assert [row.due_on for row in (entered, counted, none)] == [None, date(2026, 11, 25), None]

    async def test_takes_what_is_mapped_to_its_new_state_and_tells_of_it(self, office: Office) -> None:
        await office.define(raw())
        (instance,) = await running(office)
        await office.define(raw(review="checking"))

        assert outcomes(await go(office, mapping={"reading": "checking"})) == ["moves"]

        (row,) = await rows(office, WorkflowInstance)
        assert (row.current_state, row.version_no) == ("checking", 3)
        assert office.box.steps[-1][1].next_state == "checking"
        event = (await rows(office, OutboxEvent))[-1]
        assert (event.aggregate_id, event.payload["from"], event.payload["to"]) == (
            str(instance),
            "reading",
            "checking",
        )
        caller = await office.person("dc.contractor")
        async with office.db.reading() as session:
            taken = await workflow.history(
                context(caller=caller), session, subjects=office.subjects, public_id=instance
            )
        assert (taken[-1].migrated, taken[-1].action_label.en) == (
            {"before": 1, "after": 2},
            "Migrated to another workflow version",
        )

    async def test_leaves_a_first_draft_in_no_inbox(self, office: Office) -> None:
        await office.define(raw())
        await office.start(office.letter(), code=CODE)
        await office.define(raw())

        assert outcomes(await go(office)) == ["stays"]

        assert await rows(office, WorkflowWorkItem) == []

    async def test_leaves_what_has_ended(self, office: Office) -> None:
        await office.define(raw())
        (instance,) = await running(office)
        await office.act(instance, "accept", by="dc.consultant")
        await office.define(raw())

        assert await go(office) == []

    async def test_keeps_the_person_in_charge_who_may_still_act(self, office: Office) -> None:
        await office.define(raw())
        await running(office)
        person = await office.person("dc.consultant")
        await office.db.transact(
            lambda session: session.execute(sa.update(WorkflowInstance).values(assigned_user_id=person.user_id))
        )
        await office.define(raw())
        await go(office)

        (item,) = await rows(office, WorkflowWorkItem)
        assert (item.user_id, item.organization_id) == (person.user_id, None)
        await office.define(raw(require={"party": ["originator"]}))
        await go(office, 3)

        assert (await rows(office, WorkflowInstance))[0].assigned_user_id is None

    async def test_does_nothing_when_it_is_run_again(self, office: Office) -> None:
        await office.define(raw())
        await running(office, 3)
        await office.define(raw())

        assert outcomes(await go(office)) == ["stays"] * 3
        assert await go(office) == []
        assert {row.version_no for row in await rows(office, WorkflowInstance)} == {3}

    async def test_has_moved_whole_batches_when_it_is_broken_off(self, office: Office) -> None:
        await office.define(raw())
        await running(office, 5)
        made = await office.define(raw())
        batches = migration.migrate(
            context(caller=await office.person("admin"), now=NOW, address=""),
            office.db,
            subjects=office.subjects,
            plan=MigrationPlan(CODE, 2, {}, dry_run=False),
            size=2,
        )
        async for _batch in batches:
            break

        moved = [row for row in await rows(office, WorkflowInstance) if row.definition_id == made.public_id]
        assert len(moved) == 2
        assert len([step for step in await rows(office, WorkflowHistory) if step.action == "migrate"]) == 2
        assert len(await go(office, size=2)) == 3

    async def test_looks_at_no_more_than_it_is_told_to(self, office: Office) -> None:
        await office.define(raw())
        first, *others = sorted(await running(office, 3))
        await office.define(raw())

        assert [line.instance_public_id for line in await go(office, most=1, dry_run=True)] == [first]
        assert [line.instance_public_id for line in await go(office, after=first, dry_run=True)] == others

    async def test_is_refused_as_a_whole(self, office: Office) -> None:
        await office.define(raw())
        await running(office)
        await office.define(raw())
        asked: list[tuple[dict[str, Any], type[Exception]]] = [
            ({"by": "approver.owner"}, Forbidden),
            ({"version": 9}, NotFound),
            ({"mapping": {"reading": "nowhere"}}, Invalid),
            ({"mapping": {"reading": "closed"}}, Invalid),
            ({"mapping": {"bogus_state": "reading"}}, Invalid),
        ]

        for more, error in asked:
            with pytest.raises(error):
                await go(office, **more)


async def test_standings_say_what_runs_where(office: Office) -> None:
    await office.define(raw())
    await running(office, 2)
    await office.define(raw())
    await office.start(office.letter(), code=CODE)

    async with office.db.reading() as session:
        found = await migration.running_instances(session, code=CODE)

    assert [(one.version, one.is_active, dict(one.states)) for one in found] == [
        (2, True, {"draft": 1}),
        (1, False, {"reading": 2}),
    ]
