"""What a step can say, through the service and over HTTP: codes, files, days, one person in charge, steps by itself."""

import copy
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa

from saraban.events.models import OutboxEvent
from saraban.identity.models import User
from saraban.kit.errors import Invalid
from saraban.kit.ids import new_id
from saraban.workflow import service as workflow
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from saraban.workflow.service import ActionForbidden, WorkflowNotValid
from tests.conftest import SignIn
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, office_in
from tests.site_memo import HELP, site_memo, with_filing

API = "/api/v1"


async def rows(office: Office, model: Any) -> list[Any]:
    async with office.db.reading() as session:
        return list((await session.scalars(sa.select(model).order_by(model.created_at))).all())


async def sent(office: Office, raw: dict[str, Any] | None = None, **letter: Any) -> UUID:
    await office.define(raw or site_memo())
    instance = (await office.start(office.letter(**letter), code="SITE_MEMO")).instance_public_id
    await office.act(instance, "send", by="dc.contractor")
    return instance


async def taken(office: Office, instance: UUID) -> Any:
    caller = await office.person("admin")
    async with office.db.reading() as session:
        return await workflow.history(context(caller=caller), session, subjects=office.subjects, public_id=instance)


class TestResponseCode:
    async def test_is_kept_with_the_step_and_told(self, office: Office) -> None:
        instance = await sent(office)

        answer = await office.act(instance, "answer", by="reviewer.consultant", response_code="1A")

        assert (answer["currentState"], answer["status"]) == ("done", "COMPLETED")
        assert (await rows(office, WorkflowHistory))[-1].details["responseCode"] == "1A"
        assert (await rows(office, OutboxEvent))[-1].payload["responseCode"] == "1A"
        assert [step.response_code for step in await taken(office, instance)] == [None, "1A"]

    async def test_is_part_of_what_an_idempotency_key_repeats(self, office: Office) -> None:
        instance = await sent(office)
        ask: dict[str, Any] = {"by": "reviewer.consultant", "key": "one", "comment": "หน้า 2"}

        first = await office.act(instance, "answer", response_code="3R", **ask)
        again = await office.act(instance, "answer", response_code="3R", **ask)

        assert first == again
        with pytest.raises(workflow.Refusal):
            await office.act(instance, "answer", response_code="1A", **ask)


class TestFiles:
    async def test_must_come_where_they_are_required(self, office: Office) -> None:
        instance = await sent(office)

        with pytest.raises(Invalid) as refused:
            await office.act(instance, "close", by="approver.owner")

        assert [(fault.pointer, fault.code) for fault in refused.value.fields] == [("/attachmentPublicIds", "required")]


class TestDue:
    async def test_counts_working_days_from_the_day_the_state_was_entered(self, office: Office) -> None:
        instance = await sent(office)  # a Friday

        (row,) = await rows(office, WorkflowInstance)
        assert row.due_on == date(2026, 11, 27)
        assert (await rows(office, OutboxEvent))[-1].payload["dueOn"] == "2026-11-27"
        sent_back = await office.act(
            instance,
            "answer",
            by="reviewer.consultant",
            response_code="3R",
            comment="หน้า 2",
            now=NOW + timedelta(days=9),
        )
        assert sent_back["dueOn"] is None
        again = await office.act(instance, "send", by="dc.contractor", now=NOW + timedelta(days=10))
        assert again["dueOn"] == "2026-12-08"  # Monday the 7th stands in for a holiday on Saturday the 5th

    async def test_goes_when_the_document_is_withdrawn(self, office: Office) -> None:
        await sent(office)
        (row,) = await rows(office, WorkflowInstance)
        admin = await office.person("admin")

        await office.db.transact(
            lambda session: workflow.cancel(
                context(caller=admin, now=NOW), session, entity_type="letterbox", entity_id=row.entity_id, reason="x"
            )
        )

        (row,) = await rows(office, WorkflowInstance)
        assert (row.status, row.due_on, row.assigned_user_id) == ("CANCELLED", None, None)


class TestAssign:
    async def assigned(self, office: Office, username: str) -> tuple[UUID, Any]:
        person = await office.person(username)
        event = {"type": "assign", "target": str(person.public_id)}
        return await sent(office, site_memo(event)), person

    async def test_gives_the_step_to_one_person(self, office: Office) -> None:
        instance, person = await self.assigned(office, "reviewer.consultant")

        (item,) = await rows(office, WorkflowWorkItem)
        assert (item.user_id, item.organization_id) == (person.user_id, None)
        (row,) = await rows(office, WorkflowInstance)
        assert row.assigned_user_id == person.user_id
        with pytest.raises(ActionForbidden):
            await office.act(instance, "close", by="approver.owner", client_version_no=2)
        await office.act(instance, "answer", by="reviewer.consultant", response_code="1A")
        (row,) = await rows(office, WorkflowInstance)
        assert row.assigned_user_id is None

    async def test_reaches_the_inbox_of_that_person_alone(self, office: Office) -> None:
        await self.assigned(office, "reviewer.consultant")

        found = {}
        for name in ("reviewer.consultant", "dc.consultant", "approver.owner"):
            caller = await office.person(name)
            async with office.db.reading() as session:
                page = await workflow.list_tasks(
                    context(caller=caller), session, subjects=office.subjects, cursor=None, limit=5
                )
            found[name] = [item.envelope.current_state for item in page.items]

        assert found == {"reviewer.consultant": ["review"], "dc.consultant": [], "approver.owner": []}

    async def test_of_somebody_who_may_not_act_is_dropped_and_said(self, office: Office) -> None:
        instance, person = await self.assigned(office, "dc.contractor")

        (row,) = await rows(office, WorkflowInstance)
        assert row.assigned_user_id is None
        assert {item.organization_id for item in await rows(office, WorkflowWorkItem)} == {office.organizations["คคง."]}
        (step,) = await taken(office, instance)
        assert step.assignment == {"userPublicId": str(person.public_id), "dropped": "not_permitted"}

    async def test_of_somebody_who_has_left_is_dropped_and_said(self, office: Office) -> None:
        person = await office.person("reviewer.consultant")
        await office.define(site_memo({"type": "assign", "target": str(person.public_id)}))
        leaves = sa.update(User).where(User.user_id == person.user_id).values(is_active=False)
        await office.db.transact(lambda session: session.execute(leaves))
        instance = (await office.start(office.letter(), code="SITE_MEMO")).instance_public_id

        await office.act(instance, "send", by="dc.contractor")

        (step,) = await taken(office, instance)
        assert step.assignment == {"userPublicId": str(person.public_id), "dropped": "inactive"}

    async def test_of_somebody_who_may_not_see_it_is_dropped_and_said(self, office: Office) -> None:
        person = await office.person("reviewer.consultant")
        await office.define(site_memo({"type": "assign", "target": str(person.public_id)}))
        letter = office.letter()
        office.box.hidden[letter.entity_id] = {"dc.contractor", "admin"}
        instance = (await office.start(letter, code="SITE_MEMO")).instance_public_id

        await office.act(instance, "send", by="dc.contractor")

        (row,) = await rows(office, WorkflowInstance)
        assert row.assigned_user_id is None
        (step,) = await taken(office, instance)
        assert step.assignment == {"userPublicId": str(person.public_id), "dropped": "not_visible"}

    async def test_can_name_the_submitter(self, office: Office) -> None:
        author = await office.person("reviewer.consultant")

        await sent(office, site_memo({"type": "assign", "target": "submitter"}), submitter_user_id=author.user_id)

        (row,) = await rows(office, WorkflowInstance)
        assert row.assigned_user_id == author.user_id

    async def test_to_nobody_who_is_known_is_refused_when_publishing(self, office: Office) -> None:
        with pytest.raises(WorkflowNotValid) as refused:
            await office.define(site_memo({"type": "assign", "target": str(new_id())}))

        assert [(fault.pointer, fault.code) for fault in refused.value.fields] == [
            ("/dsl/states/0/on/send/events/0/target", "unknown")
        ]


class TestAutomaticAction:
    async def test_is_a_step_of_its_own_by_the_system(self, office: Office) -> None:
        instance = await sent(office, with_filing({"==": [{"var": "document.priority"}, "LOW"]}), priority="LOW")

        answer = await office.act(instance, "answer", by="reviewer.consultant", comment="ดี")

        assert (answer["currentState"], answer["versionNo"], answer["status"]) == ("done", 4, "COMPLETED")
        *_, before, last = await taken(office, instance)
        assert [(step.action, step.to_state, step.automatic) for step in (before, last)] == [
            ("answer", "approved", False),
            ("file", "done", True),
        ]
        system = await office.person("system")
        assert (last.actor.public_id, last.comment) == (system.public_id, None)
        assert [step.next_state for _, step in office.box.steps] == ["review", "approved", "done"]
        assert await rows(office, WorkflowWorkItem) == []

    async def test_tells_its_own_event_and_its_webhook_in_order(self, office: Office) -> None:
        instance = await sent(office, with_filing(True))

        await office.act(instance, "answer", by="reviewer.consultant")

        told = [event for event in await rows(office, OutboxEvent) if event.aggregate_id == str(instance)][1:]
        told.sort(key=lambda event: event.id)
        assert [(event.name, event.payload["action"], event.payload["automatic"]) for event in told] == [
            ("workflow.transitioned", "answer", False),
            ("workflow.transitioned", "file", True),
            ("workflow.webhook", "file", True),
        ]
        *_, plain, hook = (event.payload for event in told)
        assert hook == {**plain, "topic": "memo.filed"}

    async def test_whose_condition_does_not_hold_leaves_the_instance_where_it_is(self, office: Office) -> None:
        instance = await sent(office, with_filing({"==": [{"var": "document.priority"}, "LOW"]}), priority="HIGH")

        answer = await office.act(instance, "answer", by="reviewer.consultant")

        assert (answer["currentState"], answer["versionNo"]) == ("approved", 3)
        assert {item.organization_id for item in await rows(office, WorkflowWorkItem)} == {
            office.organizations["กทท."],
            office.organizations["สคฉ.3"],
        }


@pytest.fixture
async def admin(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("admin")


class TestOverHttp:
    async def test_a_step_is_described_taken_and_kept(
        self, app: Any, admin: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        office = await office_in(app.state.db)
        app.state.subjects.register(office.box)
        office.subjects = app.state.subjects
        published = await admin.post(f"{API}/workflow/definitions", json={"dsl": site_memo(), "activate": True})
        assert published.status_code == 201, published.text
        instance = (await office.start(office.letter(), code="SITE_MEMO")).instance_public_id
        url = f"{API}/workflow/instances/{instance}"
        await (await signed_in("dc.contractor")).post(f"{url}/transitions", json={"action": "send"})
        reviewer = await signed_in("reviewer.consultant")

        seen = (await reviewer.get(url)).json()["workflow"]
        refused = await reviewer.post(f"{url}/transitions", json={"action": "answer", "responseCode": "2"})
        done = await reviewer.post(f"{url}/transitions", json={"action": "answer", "responseCode": "1A"})

        assert seen["stateHelp"] == HELP
        assert seen["dueOn"] is not None
        (choice,) = seen["actions"]
        assert choice["responses"] == [
            {"code": "1A", "label": {"th": "อนุมัติ", "en": "Approved"}, "commentRequired": False, "usual": False},
            {"code": "3R", "label": None, "commentRequired": True, "usual": False},
        ]
        assert (choice["code"], choice["help"], choice["attachmentsRequired"]) == ("answer", HELP, False)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/responseCode")
        assert "1A, 3R" in refused.json()["errors"][0]["detail"]
        assert done.status_code == 200, done.text
        history = (await reviewer.get(f"{url}/history")).json()["items"]
        assert [step["responseCode"] for step in history] == [None, "1A"]

    async def test_a_rehearsal_states_codes_and_shows_what_the_engine_would_do(self, admin: httpx.AsyncClient) -> None:
        raw = copy.deepcopy(with_filing(True))
        await admin.post(f"{API}/workflow/definitions", json={"dsl": raw})
        await admin.post(f"{API}/workflow/definitions", json={"dsl": site_memo()})
        consultant = {"permissions": ["workflow.action_review"], "organizationRoles": ["CONSULTANT"]}
        url = f"{API}/workflow/definitions/SITE_MEMO/versions"
        send: dict[str, Any] = {"actor": {}, "action": "send"}
        answer = {"actor": consultant, "action": "answer"}

        filed = await admin.post(f"{url}/1/rehearse", json={"steps": [send, answer]})
        coded = await admin.post(f"{url}/2/rehearse", json={"steps": [send, {**answer, "responseCode": "1A"}]})

        assert [(one["nextState"], one["automatic"]) for one in filed.json()["steps"]] == [
            ("review", []),
            ("done", ["file"]),
        ]
        assert coded.json()["steps"][-1]["nextState"] == "done"
