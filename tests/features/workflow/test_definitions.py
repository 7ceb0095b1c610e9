"""Publishing: versions that never change, one of them active, running instances on the version they began with."""

import copy
from typing import Any

import pytest
import sqlalchemy as sa

from saraban.kit.errors import Invalid, NotFound
from saraban.workflow import service as workflow
from saraban.workflow.language import dsl
from saraban.workflow.runtime.models import WorkflowDefinition
from saraban.workflow.service import ConditionNotMet, WorkflowNotDefined, WorkflowNotValid
from saraban.workflow.verification import definition_checks
from tests.definitions import RFA, shorter
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office


async def set_active(office: Office, version: int, *, is_active: bool) -> Any:
    admin = await office.person("admin")
    return await office.db.transact(
        lambda session: workflow.set_active(
            context(caller=admin, now=NOW, address=""),
            session,
            code="RFA_APPROVAL",
            version=version,
            is_active=is_active,
        )
    )


async def versions(office: Office) -> list[tuple[int, bool]]:
    async with office.db.reading() as session:
        statement = sa.select(WorkflowDefinition.version, WorkflowDefinition.is_active)
        found = await session.execute(
            statement.where(WorkflowDefinition.workflow_code == "RFA_APPROVAL").order_by(WorkflowDefinition.version)
        )
        return [tuple(row) for row in found]


class TestCreate:
    async def test_makes_the_next_version_and_activates_exactly_one(self, office: Office) -> None:
        await office.define(shorter(), activate=False)
        assert await versions(office) == [(1, True), (2, False)]

        await office.define(shorter(), activate=True)
        assert await versions(office) == [(1, False), (2, False), (3, True)]

        await set_active(office, 2, is_active=True)
        assert await versions(office) == [(1, False), (2, True), (3, False)]

    async def test_refuses_what_cannot_be_published_and_keeps_nothing(self, office: Office) -> None:
        raw = shorter()
        raw["states"][0]["on"]["submit"]["require"]["permissions"] = ["rfa.fly"]

        with pytest.raises(WorkflowNotValid) as refused:
            await office.define(raw)

        assert refused.value.fields[0].pointer == "/dsl/states/0/on/submit/require/permissions/0"
        assert await versions(office) == [(1, True)]

    async def test_refuses_a_version_that_is_not_the_next(self, office: Office) -> None:
        with pytest.raises(Invalid) as refused:
            await office.define(shorter() | {"version": 7})

        assert refused.value.fields[0].pointer == "/dsl/version"


class TestActivate:
    async def test_leaves_running_instances_on_their_version(self, office: Office) -> None:
        running = await office.pending()
        await office.define(shorter())
        fresh = await office.pending()

        assert (await office.act(running, "approve", by="reviewer.consultant"))["currentState"] == "pending_approval"
        assert (await office.act(fresh, "approve", by="reviewer.consultant"))["currentState"] == "approved"

    async def test_stops_new_instances_without_an_active_version(self, office: Office) -> None:
        running = await office.pending()
        await set_active(office, 1, is_active=False)

        with pytest.raises(WorkflowNotDefined):
            await office.start(office.letter())
        await office.act(running, "approve", by="reviewer.consultant")

    async def test_does_not_know_other_versions(self, office: Office) -> None:
        with pytest.raises(NotFound):
            await set_active(office, 9, is_active=True)


class TestSeed:
    async def test_changes_nothing_the_second_time(self, office: Office) -> None:
        await office.db.transact(lambda session: workflow.seed_definitions(session, now=NOW))

        assert await versions(office) == [(1, True)]

    async def test_leaves_an_administrators_version_in_force(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await office.define(shorter())
        newer = {**RFA, "description": "What a later release ships."}
        # A later release cannot be had today; its content is put where the shipped one comes from.
        monkeypatch.setattr("saraban.workflow.administration.service.versions.shipped", lambda: iter([newer]))

        await office.db.transact(lambda session: workflow.seed_definitions(session, now=NOW))

        assert await versions(office) == [(1, False), (2, True), (3, False)]

    async def test_puts_nothing_in_force_where_an_administrator_has_taken_all_out_of_force(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await set_active(office, 1, is_active=False)
        newer = {**RFA, "description": "What a later release ships."}
        monkeypatch.setattr("saraban.workflow.administration.service.versions.shipped", lambda: iter([newer]))

        await office.db.transact(lambda session: workflow.seed_definitions(session, now=NOW))

        assert await versions(office) == [(1, False), (2, False)]

    async def test_keeps_the_version_in_force_where_a_later_one_does_not_fit_what_starts_on_it(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        newer = copy.deepcopy(RFA)
        newer["states"][0]["on"]["submit"]["require"]["party"] = ["assignee"]
        monkeypatch.setattr("saraban.workflow.administration.service.versions.shipped", lambda: iter([newer]))

        await office.db.transact(lambda session: workflow.seed_definitions(session, now=NOW))

        assert await versions(office) == [(1, True), (2, False)]


class TestLoad:
    async def test_goes_on_with_a_stored_version_that_would_not_be_published_any_more(self, office: Office) -> None:
        raw = shorter()
        never = {"==": [{"var": "state"}, "draft"]}
        raw["states"][1]["on"]["reject"]["condition"] = {"type": "json-logic", "rule": never}
        refused = {fault.code for fault in definition_checks.problems(raw, known=dsl.Known())}
        stored = await office.define(shorter(), activate=True)
        async with office.db.writing() as session:
            await session.execute(
                sa.update(WorkflowDefinition).where(WorkflowDefinition.id == stored.public_id).values(dsl=raw)
            )

        instance = (await office.start(office.letter())).instance_public_id
        moved = await office.act(instance, "submit", by="dc.contractor")

        assert "never_holds" in refused
        assert moved["currentState"] == "pending_review"
        with pytest.raises(ConditionNotMet):
            await office.act(instance, "reject", by="reviewer.consultant", comment="no")
