"""Whom a step waits for where no organization stands for them, who of them may see it, and what is said where nobody may."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.models import OutboxEvent
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.workflow import service as workflow
from saraban.workflow.administration.service import interventions, migration
from saraban.workflow.administration.service.migration import MigrationPlan
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import WorkflowWorkItem
from saraban.workflow.runtime.service import assignment, definitions, transition_metrics
from saraban.workflow.runtime.service.assignees import pending_with
from saraban.workflow.runtime.service.subjects import InstanceState
from saraban.workflow.service import Command
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, envelopes_of
from tests.factories.review import WORDS, reviewed, under_review
from tests.log_capture import lines_of
from tests.reviews import CONTROL, CONTROLS, asking, change, history, inbox, rows, waited_for

PM = {"roles": ["Project Manager"]}
NOTHING = {"organizations": [], "people": [], "peopleCount": 0, "nobody": False}


async def waiting(office: Office, require: dict[str, Any], *, hidden_from_all_but: set[str] | None = None) -> UUID:
    await office.define(asking(require))
    letter = office.letter()
    if hidden_from_all_but is not None:
        office.box.hidden[letter.entity_id] = hidden_from_all_but | {"dc.contractor", "system"}
    instance = (await office.start(letter, code="ASKING")).instance_public_id
    await office.act(instance, "submit", by="dc.contractor")
    return instance


async def organizations_waited_for(office: Office) -> set[int]:
    return {item.organization_id for item in await rows(office, WorkflowWorkItem) if item.organization_id}


async def found(office: Office, instance: UUID, *, by: str) -> Any:
    caller = await office.person(by)
    async with office.db.reading() as session:
        return await workflow.find(context(caller=caller), session, subjects=office.subjects, public_id=instance)


async def asking_of(office: Office, instance: UUID, *, by: str = "admin", action: str = "reassign") -> dict[str, Any]:
    command = Command(action, "The one who should act has left.")
    ctx = context(await office.person(by), now=NOW)
    return {"ctx": ctx, "transitions": office.transitions, "public_id": instance, "command": command}


@contextmanager
def statements(db: Database) -> Iterator[list[str]]:
    sent: list[str] = []

    def on_statement(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    sa.event.listen(db.engine.sync_engine, "before_cursor_execute", on_statement)
    yield sent
    sa.event.remove(db.engine.sync_engine, "before_cursor_execute", on_statement)


def stuck() -> float:
    labels = {"workflow_code": "ASKING", "state": "deciding"}
    return REGISTRY.get_sample_value("workflow_steps_to_nobody_total", labels) or 0


class TestHolders:
    @pytest.mark.parametrize(
        ("require", "asked"),
        [
            (PM, {"padmin"}),
            (CONTROLS, {"dc.contractor", "dc.consultant"}),
            (CONTROLS | {"notSubmitter": True}, {"dc.consultant"}),
            ({"permissions": ["numbering.manage_formats"]}, {"padmin"}),
            ({"roles": ["Project Manager"], "permissions": ["numbering.reset_counter"]}, set()),
        ],
    )
    async def test_of_what_a_step_asks_for_are_asked_and_told(
        self, office: Office, require: dict[str, Any], asked: set[str]
    ) -> None:
        await office.define(asking(require))
        contractor = await office.person("dc.contractor")
        letter = office.letter(submitter_user_id=contractor.user_id)
        instance = (await office.start(letter, code="ASKING")).instance_public_id
        assert await rows(office, WorkflowWorkItem) == []  # a first draft waits for nobody but its author

        await office.act(instance, "submit", by="dc.contractor")

        assert (await waited_for(office), await organizations_waited_for(office)) == (asked, set())
        told = (await rows(office, OutboxEvent))[-1].payload["waiting"]
        assert set(told["users"]) == {str((await office.person(one)).public_id) for one in asked}
        assert told["organizations"] == []
        for username in ("padmin", "dc.consultant", "dc.contractor", "reviewer.consultant", "viewer"):
            found = [item.envelope.instance_public_id for item in await inbox(office, by=username)]
            assert found == ([instance] if username in asked else []), username

    async def test_are_not_asked_where_an_organization_is(self, office: Office) -> None:
        await waiting(office, {"party": ["recipient"], **CONTROLS})

        assert (await waited_for(office), await organizations_waited_for(office)) == (
            set(),
            {office.organizations["คคง."]},
        )

    async def test_can_be_given_the_step_alone(self, office: Office) -> None:
        instance = await waiting(office, PM)
        admin = await office.person("admin")
        async with office.db.reading() as session:
            found = await interventions.people(
                context(caller=admin), session, subjects=office.subjects, public_id=instance
            )

        assert "padmin" in {person.username for person in found}

    async def test_are_those_of_today_in_every_step_but_a_first_draft(self, office: Office) -> None:
        await waiting(office, CONTROLS)
        await office.start(office.letter(), code="ASKING")  # asks for a permission, and is its author's
        before = await waited_for(office)

        await change(office, identity.grant_role, "viewer", **CONTROL)
        given, found = await waited_for(office), await inbox(office, by="viewer")
        await change(office, identity.revoke_role, "viewer", **CONTROL)
        taken = await waited_for(office)
        await change(office, identity.set_active, "dc.consultant", active=False)
        closed = await waited_for(office)
        await change(office, identity.set_active, "dc.consultant", active=True)

        assert given == before | {"viewer"}
        assert len(found) == 1
        assert taken == before
        assert closed == before - {"dc.consultant"}
        assert await waited_for(office) == before
        assert len(await rows(office, WorkflowWorkItem)) == 2

    async def test_are_asked_again_when_they_may_see_it_whether_by_name_or_not(self, office: Office) -> None:
        person = await office.person("dc.consultant")
        await waiting(office, {"user": str(person.public_id)}, hidden_from_all_but=set())
        unseen = await waited_for(office)
        (hidden,) = office.box.hidden.values()

        hidden.add("dc.consultant")
        await change(office, identity.grant_role, "dc.consultant", grant=identity.RoleGrant("Editor", "คคง."))

        assert (unseen, await waited_for(office)) == (set(), {"dc.consultant"})


class TestNobody:
    @pytest.mark.parametrize(
        ("require", "nobody"),
        [
            (PM, True),
            ({"user": "dc.consultant"}, True),
            ({"party": ["recipient"]}, True),
            ({"organizationRoles": ["OWNER"]}, True),
            ({"party": ["originator"]}, False),
            (CONTROLS, False),
        ],
    )
    async def test_who_may_see_it_is_told_of_and_kept(
        self, office: Office, require: dict[str, Any], nobody: bool
    ) -> None:
        if "user" in require:
            require = {"user": str((await office.person(require["user"])).public_id)}
        before = stuck()

        with lines_of(transition_metrics, "_log") as lines:
            instance = await waiting(office, require, hidden_from_all_but=set())

        (step,) = await history(office, instance, by="dc.contractor")
        assert step.nobody is nobody
        assert stuck() - before == nobody
        assert [line["log_level"] for line in lines if line["event"] == "workflow.nobody"] == ["warning"] * nobody

    async def test_is_asked_for_by_a_branch_unnoticed(self, office: Office) -> None:
        person = await office.person("reviewer.consultant")
        branches = [
            {"name": "a", "label": WORDS, "assignee": {"role": "Document Control"}},
            {"name": "b", "label": WORDS, "assignee": {"user": str(person.public_id)}},
        ]
        await office.define(reviewed(branches=branches))
        letter = office.letter()
        office.box.hidden[letter.entity_id] = {"dc.contractor", "dc.consultant", "admin"}
        instance = (await office.start(letter, code="REVIEWED")).instance_public_id
        await office.act(instance, "submit", by="dc.contractor")

        (step,) = await history(office, instance, by="dc.contractor")
        assert step.nobody

    async def test_is_missed_in_a_plain_step(self, office: Office) -> None:
        instance = await office.pending()

        (step,) = await history(office, instance)
        assert not step.nobody


class TestShown:
    async def test_by_code_and_name_to_whoever_may_see_it(self, office: Office) -> None:
        instance = await waiting(office, PM)
        draft = await office.start(office.letter(), code="ASKING")

        assert [one.code for one in draft.waiting_for.organizations] == ["ผรม.2"]
        asked = (await found(office, instance, by="dc.contractor")).waiting_for
        padmin = await office.person("padmin")
        assert [(one.public_id, one.display_name) for one in asked.people] == [(padmin.public_id, padmin.display_name)]
        assert (asked.organizations, asked.people_count, asked.nobody) == ([], 1, False)
        (item,) = await inbox(office, by="padmin")
        assert item.envelope.waiting_for == asked

    async def test_by_some_of_their_names_where_they_are_many(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instance = await waiting(office, CONTROLS)
        monkeypatch.setattr("saraban.workflow.runtime.service.assignees.MAX_NAMED_PEOPLE", 1)

        asked = (await found(office, instance, by="dc.contractor")).waiting_for

        assert ([one.display_name for one in asked.people], asked.people_count) == (["เดชา รับส่งดี"], 2)

    async def test_in_the_answer_of_the_step_itself(self, office: Office) -> None:
        instance = (await office.start(office.letter())).instance_public_id
        moved = await office.act(instance, "submit", by="dc.contractor")
        rest = await office.act(instance, "reject", by="reviewer.consultant", comment="no")

        consultant = {"code": "คคง."}
        assert [one | {"publicId": 0} for one in moved["waitingFor"]["organizations"]] == [consultant | {"publicId": 0}]
        assert moved["waitingFor"] | {"organizations": []} == NOTHING
        assert rest["waitingFor"] == NOTHING

    async def test_as_one_to_whom_it_was_given(self, office: Office) -> None:
        instance = await office.pending()
        person = await office.person("reviewer.consultant")
        asked = await asking_of(office, instance)
        given = await interventions.reassign(**asked, reassignment=interventions.Reassignment(person.public_id))

        told = (await office.shown(asked["ctx"], given))["workflow"]["waitingFor"]
        assert ([one["displayName"] for one in told["people"]], told["organizations"]) == ([person.display_name], [])

    async def test_as_nobody_where_nobody_can_go_on(self, office: Office) -> None:
        instances = [
            await waiting(office, {"organizationRoles": ["OWNER"]}, hidden_from_all_but=set()) for _ in range(3)
        ]
        caller = await office.person("dc.contractor")
        seen = dict(office.box.letters)

        async def listed(some: dict[str, Any]) -> tuple[dict[str, Any], int]:
            with statements(office.db) as sent:
                async with office.db.reading() as session:
                    known = await envelopes_of(context(caller=caller), session, "letterbox", some)
            return known, len(sent)

        all_, many = await listed(seen)
        _, few = await listed(dict(list(seen.items())[:1]))

        assert [one.waiting_for.nobody for one in all_.values()] == [True] * 3
        assert many == few
        assert (await found(office, instances[0], by="dc.contractor")).waiting_for.nobody
        for hidden in office.box.hidden.values():
            hidden.add("approver.owner")
        assert not (await found(office, instances[0], by="dc.contractor")).waiting_for.nobody

    async def test_without_a_query_where_organizations_are_sure_to_see_it(self, office: Office) -> None:
        letter = office.letter()
        instance = (await office.start(letter)).instance_public_id
        await office.act(instance, "submit", by="dc.contractor")
        async with office.db.reading() as session:
            row = await repository.instance(session, instance)
            definition = await definitions.load(session, row.definition_id)
        named = {key: (UUID(int=key), code) for code, key in office.organizations.items()}
        no_session: Any = None

        told = await pending_with(no_session, [InstanceState(row, definition, replace(letter, organizations=named))])

        assert [one.code for one in told[instance].organizations] == ["คคง."]

    @pytest.mark.parametrize(("hidden", "people"), [(False, {"เดชา รับส่งดี", "ดวงใจ เอกสารครบ"}), (True, set())])
    async def test_for_a_review_by_its_branches_and_its_people_unless_answers_are_hidden(
        self, office: Office, hidden: bool, people: set[str]
    ) -> None:
        person = await office.person("dc.consultant")
        assignees = [{"user": str(person.public_id)}, {"role": "Document Control"}, {"role": "Org Admin"}]
        branches = [{"name": f"b{i}", "label": WORDS, "assignee": one} for i, one in enumerate(assignees)]
        instance = await under_review(office, branches=branches, hidden=hidden)

        seen = await found(office, instance, by="dc.contractor")

        asked = [(one.assignee.kind, one.assignee.display_name, one.nobody) for one in seen.branches]
        assert asked == [
            ("user", person.display_name, False),
            ("role", "Document Control", False),
            ("role", "Org Admin", True),
        ]
        assert seen.branches[0].assignee.name == str(person.public_id)
        assert {one.display_name for one in seen.waiting_for.people} == people
        assert seen.waiting_for.nobody

    async def test_without_organizations_that_cannot_open_it(self, office: Office) -> None:
        await office.define(asking({"organizationRoles": ["OWNER", "CONSULTANT"]}))
        of = office.organizations
        named = {key: (UUID(int=key), code) for code, key in of.items()}

        async def asked(*open_to: str) -> tuple[list[str], list[str], bool]:
            places = {of[one] for one in open_to}
            letter = office.letter(
                organizations=named,
                open_to=lambda key, _state: key in places,
                seen_by=lambda person, _state: bool(places & person.organization_ids),
            )
            instance = (await office.start(letter, code="ASKING")).instance_public_id
            moved = (await office.act(instance, "submit", by="dc.contractor"))["waitingFor"]
            seen = (await found(office, instance, by="dc.contractor")).waiting_for
            assert moved["nobody"] is seen.nobody
            return (
                [one["code"] for one in moved["organizations"]],
                [one.code for one in seen.organizations],
                seen.nobody,
            )

        assert await asked("คคง.") == (["คคง."], ["คคง."], False)
        assert await asked("คคง.", "กทท.") == (["กทท.", "คคง."], ["กทท.", "คคง."], False)
        assert await asked() == ([], [], True)

    @pytest.mark.parametrize(
        ("require", "nobody"),
        [
            ({"permissions": ["workflow.manage_definitions"]}, True),
            ({"roles": ["Project Manager"]}, True),
            ({"roles": ["Document Control"]}, False),
            ({"permissions": ["workflow.action_review"]}, False),
            ({}, False),
        ],
    )
    async def test_as_nobody_where_an_organization_sees_it_and_none_of_its_people_may_act(
        self, office: Office, require: dict[str, Any], nobody: bool
    ) -> None:
        instance = await waiting(office, {"organizationRoles": ["CONSULTANT"], **require})

        asked = (await found(office, instance, by="dc.contractor")).waiting_for

        assert ([one.code for one in asked.organizations], asked.nobody) == (["คคง."], nobody)

    async def test_as_nobody_where_an_organization_has_no_people(self, office: Office) -> None:
        instance = await waiting(office, {"party": ["recipient"]})
        for username in ("dc.consultant", "reviewer.consultant"):
            await change(office, identity.set_active, username, active=False)

        assert (await found(office, instance, by="dc.contractor")).waiting_for.nobody

    async def test_of_a_first_draft_without_looking_for_who_may_go_on(self, office: Office) -> None:
        letter = office.letter()
        instance = (await office.start(letter)).instance_public_id
        await change(office, identity.set_active, "dc.contractor", active=False)

        assert not (await found(office, instance, by="admin")).waiting_for.nobody


class TestRefill:
    async def test_asks_after_an_upgrade_whom_the_state_asks_today(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await office.define(asking(PM))
        instances = []
        for _ in range(3):
            instances.append((await office.start(office.letter(), code="ASKING")).instance_public_id)
            await office.act(instances[-1], "submit", by="dc.contractor")
        await office.start(office.letter(), code="ASKING")
        plain = await office.pending()
        consultant = office.organizations["คคง."]
        before = [item for item in await rows(office, WorkflowWorkItem) if item.instance_id == plain]

        async def as_it_was(session: AsyncSession) -> None:
            theirs = WorkflowWorkItem.instance_id.in_(instances)
            values = {"user_id": None, "organization_id": consultant}
            await session.execute(sa.update(WorkflowWorkItem).where(theirs).values(values))

        await office.db.transact(as_it_was)
        assert await inbox(office, by="padmin") == []
        monkeypatch.setattr(assignment, "BATCH_SIZE", 2)

        for _ in range(2):
            await assignment.refill(office.db, subjects=office.subjects)

            items = await rows(office, WorkflowWorkItem)
            asked = {item.instance_id: item for item in items if item.instance_id != plain}
            assert (set(asked), len(items)) == (set(instances), 4)
            assert {(item.organization_id, item.state) for item in asked.values()} == {(None, "deciding")}
            assert await waited_for(office) == {"padmin"}
            assert [item.id for item in items if item.instance_id == plain] == [item.id for item in before]
        got = await inbox(office, by="padmin")
        assert {(item.envelope.instance_public_id, item.since) for item in got} == {(one, NOW) for one in instances}


class TestStuck:
    async def test_gives_nobody_a_right_to_force_it(self, office: Office) -> None:
        instance = await waiting(office, PM, hidden_from_all_but={"dc.consultant"})
        other = await office.person("dc.consultant")

        async with office.db.reading() as session:
            way = await interventions.find(context(caller=other), session, subjects=office.subjects, public_id=instance)
        assert not way.actions
        for by in ("dc.contractor", "dc.consultant"):
            asked = await asking_of(office, instance, by=by, action="close")
            with pytest.raises(interventions.InterventionForbidden):
                await interventions.force(**asked, action="close", to=None)


class TestMigration:
    @pytest.mark.parametrize(
        ("require", "seen_by", "outcome"),
        [
            (PM, None, "stays"),
            (PM, {"dc.consultant"}, "nobody"),
            ({"roles": ["Org Admin"]}, None, "nobody"),
            ({"organizationRoles": ["OWNER"]}, {"dc.consultant"}, "nobody"),
            ({"organizationRoles": ["OWNER"]}, {"approver.owner"}, "stays"),
        ],
    )
    async def test_finds_those_who_hold_it_and_see_it(
        self, office: Office, require: dict[str, Any], seen_by: set[str] | None, outcome: str
    ) -> None:
        await waiting(office, {"party": ["recipient"]}, hidden_from_all_but=seen_by)
        await office.define(asking(require))
        plan = MigrationPlan("ASKING", 2, {}, dry_run=False)
        ctx = context(await office.person("admin"), now=NOW)
        batches = migration.migrate(ctx, office.db, subjects=office.subjects, plan=plan)
        lines = [line async for batch in batches for line in batch.lines]

        assert [line.found.outcome.value for line in lines] == [outcome]
        if outcome == "stays" and require == PM:
            assert await waited_for(office) == {"padmin"}
