"""What an administrator does to a running instance: force, end, give to another person."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.kit.errors import Invalid, NotFound
from saraban.kit.problem import to_problem
from saraban.workflow import service as workflow
from saraban.workflow.administration.schemas import InterventionsOut
from saraban.workflow.administration.service import interventions
from saraban.workflow.administration.service.interventions import InterventionForbidden, Reassignment
from saraban.workflow.runtime.domain.interventions import FORCE, REASSIGN, TERMINATE
from saraban.workflow.runtime.domain.review_response import BranchClosed
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from saraban.workflow.service import Command, StaleInstance, TransitionNotPossible, VersionConflict
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office
from tests.factories.review import answer, branches, seat, under_review

WHY = "ผู้ตรวจลาออกแล้ว งานหน้างานรอไม่ได้"
# The owner's document control; the contractor's is the one who asks for the approval.
OWNER, CONSULTANT, CONTRACTOR = "approver.owner", "dc.consultant", "dc.contractor"


async def rows(office: Office, model: Any) -> list[Any]:
    async with office.db.reading() as session:
        return list((await session.scalars(sa.select(model))).all())


async def asking(
    office: Office, instance: UUID, by: str, action: str, reason: str = WHY, **more: Any
) -> dict[str, Any]:
    key = more.pop("key", None)
    command = Command(action, reason, **more)
    ctx = context(await office.person(by), now=NOW + timedelta(hours=1), address="127.0.0.1", key=key)
    return {"ctx": ctx, "transitions": office.transitions, "public_id": instance, "command": command}


async def force(
    office: Office, instance: UUID, action: str | None = None, *, by: str = OWNER, to: str | None = None, **more: Any
) -> Any:
    asked = await asking(office, instance, by, action or FORCE, **more)
    done = await interventions.force(**asked, action=action, to=to)
    return (await office.shown(asked["ctx"], done))["workflow"]


async def end(office: Office, instance: UUID, *, by: str = OWNER, **more: Any) -> Any:
    asked = await asking(office, instance, by, TERMINATE, **more)
    return (await office.shown(asked["ctx"], await interventions.terminate(**asked)))["workflow"]


class TestForce:
    async def test_takes_an_action_that_is_somebody_elses_and_marks_it(self, office: Office) -> None:
        instance = await office.pending()

        moved = await force(office, instance, "approve", client_version_no=2)

        assert (moved["currentState"], moved["versionNo"], moved["status"]) == ("pending_approval", 3, "ACTIVE")
        history = (await rows(office, WorkflowHistory))[-1]
        assert (history.action, history.comment, history.details["forced"]) == ("approve", WHY, True)
        assert history.action_by_user_uuid == str((await office.person(OWNER)).public_id)
        assert office.box.steps[-1][1].forced
        async with office.db.reading() as session:
            taken = await workflow.history(
                context(caller=await office.person(OWNER)), session, subjects=office.subjects, public_id=instance
            )
        assert [step.forced for step in taken] == [False, True]

    async def test_tells_everybody_who_takes_part_and_the_audit(self, office: Office) -> None:
        instance = await office.pending()

        await force(office, instance, "approve")

        event = (await rows(office, OutboxEvent))[-1]
        assert (event.name, event.payload["forced"]) == ("workflow.transitioned", True)
        assert event.payload["actionLabel"]["en"] == "Endorse (override)"
        assert {each["code"] for each in event.payload["notify"]["organizations"]} == {"ผรม.2", "คคง."}
        assert [each["code"] for each in event.payload["waiting"]["organizations"]] == ["กทท.", "สคฉ.3"]
        audited = (await rows(office, AuditLog))[-1]
        assert (audited.action, audited.severity, audited.details_json["reason"]) == (
            "workflow.force_proceed",
            "WARN",
            WHY,
        )

    async def test_goes_to_any_state_of_the_definition(self, office: Office) -> None:
        instance = await office.pending()

        moved = await force(office, instance, to="approved")

        assert (moved["currentState"], moved["status"], moved["terminal"]) == ("approved", "COMPLETED", True)
        assert await rows(office, WorkflowWorkItem) == []
        history = (await rows(office, WorkflowHistory))[-1]
        assert (history.from_state, history.to_state, history.action) == ("pending_review", "approved", "force")

    async def test_needs_a_place_to_go_to_and_a_reason(self, office: Office) -> None:
        instance = await office.pending()
        asked: list[tuple[dict[str, Any], str]] = [
            ({"to": "nowhere"}, "/to"),
            ({"to": "cancelled"}, "/to"),
            ({}, "/to"),
            ({"action": "approve", "reason": "too short"}, "/reason"),
        ]

        for ask, pointer in asked:
            with pytest.raises(Invalid) as refused:
                await force(office, instance, **ask)
            assert refused.value.fields[0].pointer == pointer

        assert (await rows(office, WorkflowInstance))[0].version_no == 2

    async def test_leads_out_of_no_end(self, office: Office) -> None:
        instance = await office.pending()
        await force(office, instance, to="rejected")

        for ask in ({"to": "pending_review"}, {"action": "approve"}):
            with pytest.raises(TransitionNotPossible) as refused:
                await force(office, instance, **ask)
            assert to_problem(refused.value, language="en", trace_id="")["status"] == 409
        with pytest.raises(TransitionNotPossible):
            await end(office, instance)

    async def test_takes_no_action_that_the_state_does_not_have(self, office: Office) -> None:
        instance = await office.pending()

        with pytest.raises(TransitionNotPossible):
            await force(office, instance, "submit")

    async def test_is_not_for_the_originator_nor_without_the_permission(self, office: Office) -> None:
        # The service account holds the permission for the consultant too, and belongs to the contractor.
        instance = await office.pending()

        for by in (CONTRACTOR, "reviewer.consultant", "viewer", "padmin", "svc.loadtest"):
            for deed in (
                force(office, instance, "approve", by=by),
                end(office, instance, by=by),
                give(office, instance, "reviewer.consultant", by=by),
            ):
                with pytest.raises(InterventionForbidden):
                    await deed

        assert len(await rows(office, WorkflowHistory)) == 1

    async def test_lets_those_who_are_waited_for_push_on_but_not_leap(self, office: Office) -> None:
        instance = await office.pending()

        for deed in (force(office, instance, to="approved", by=CONSULTANT), end(office, instance, by=CONSULTANT)):
            with pytest.raises(InterventionForbidden):
                await deed
        moved = await force(office, instance, "approve", by=CONSULTANT)
        assert moved["currentState"] == "pending_approval"
        with pytest.raises(InterventionForbidden):
            await force(office, instance, "approve", by=CONSULTANT)

    async def test_asks_for_no_condition(self, office: Office) -> None:
        instance = await self._closed_door(office)

        with pytest.raises(workflow.ConditionNotMet):
            await office.act(instance, "leave", by=CONTRACTOR)
        moved = await force(office, instance, "leave", by="admin")

        assert moved["currentState"] == "outside"

    async def _closed_door(self, office: Office) -> UUID:
        words = {"th": "คำ", "en": "Word"}
        urgent = {"type": "json-logic", "rule": {"==": [{"var": "document.priority"}, "URGENT"]}}
        states = [
            {
                "name": "inside",
                "label": words,
                "initial": True,
                "on": {
                    "leave": {"to": "outside", "label": words, "condition": urgent},
                    "stay": {"to": "outside", "label": words},
                },
            },
            {"name": "outside", "label": words, "terminal": True},
        ]
        await office.define({"workflow": "CLOSED_DOOR", "states": states})
        return (await office.start(office.letter(), code="CLOSED_DOOR")).instance_public_id

    async def test_keeps_what_may_not_be_seen_unknown(self, office: Office) -> None:
        instance = await office.pending()
        office.box.hidden[next(iter(office.box.letters))] = {CONTRACTOR}

        for deed in (force(office, instance, "approve"), end(office, instance)):
            with pytest.raises(NotFound):
                await deed


class TestRaces:
    async def test_are_decided_by_the_version_that_was_seen(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant")

        with pytest.raises(VersionConflict):
            await force(office, instance, "approve", client_version_no=2)
        with pytest.raises(StaleInstance):
            await end(office, instance, if_match=frozenset({"2"}))
        assert (await rows(office, WorkflowInstance))[0].current_state == "pending_approval"

    async def test_one_key_has_one_effect(self, office: Office) -> None:
        instance = await office.pending()

        first = await force(office, instance, "approve", key="k1")
        second = await force(office, instance, "approve", key="k1")

        assert first == second
        assert len(await rows(office, WorkflowHistory)) == 2


class TestTerminate:
    async def test_ends_it_without_an_outcome_and_leaves_nobody_waiting(self, office: Office) -> None:
        instance = await office.pending()

        ended = await end(office, instance, client_version_no=2)

        assert (ended["status"], ended["currentState"], ended["versionNo"]) == ("TERMINATED", "terminated", 3)
        assert ended["stateLabel"] == {"th": "ยุติแล้ว", "en": "Terminated"}
        assert (ended["terminal"], ended["availableActions"], ended["canEdit"]) == (True, [], False)
        assert await rows(office, WorkflowWorkItem) == []
        (row,) = await rows(office, WorkflowInstance)
        assert (row.status, row.current_state) == ("TERMINATED", "terminated")
        history = (await rows(office, WorkflowHistory))[-1]
        assert (history.action, history.to_state, history.comment) == ("terminate", "terminated", WHY)
        event = (await rows(office, OutboxEvent))[-1]
        assert (event.payload["to"], event.payload["terminal"]) == ("terminated", True)
        assert {each["code"] for each in event.payload["notify"]["organizations"]} == {"ผรม.2", "คคง."}
        assert (await rows(office, AuditLog))[-1].action == "workflow.terminate"
        assert office.box.steps[-1][1].next_state == "terminated"

    async def test_of_a_draft_is_told_to_its_originator_alone(self, office: Office) -> None:
        instance = (await office.start(office.letter())).instance_public_id

        await end(office, instance, by="admin")

        event = (await rows(office, OutboxEvent))[-1]
        assert [each["code"] for each in event.payload["notify"]["organizations"]] == ["ผรม.2"]

    async def test_is_followed_by_no_action(self, office: Office) -> None:
        instance = await office.pending()
        await end(office, instance)

        with pytest.raises(TransitionNotPossible):
            await office.act(instance, "approve", by="reviewer.consultant")

    async def test_is_another_thing_than_a_subject_that_was_withdrawn(self, office: Office) -> None:
        instance = await office.pending()
        caller = await office.person(CONTRACTOR)
        (key,) = office.box.letters

        await office.db.transact(
            lambda session: workflow.cancel(
                context(caller=caller, now=NOW),
                session,
                entity_type=office.box.entity_type,
                entity_id=key,
                reason="gone",
            )
        )

        (row,) = await rows(office, WorkflowInstance)
        assert (row.id, row.status, row.current_state) == (instance, "CANCELLED", "cancelled")


async def give(office: Office, instance: UUID, to: str, *, by: str = OWNER, **more: Any) -> Any:
    person = (await office.person(to)).public_id
    asked = await asking(office, instance, by, REASSIGN, **more)
    done = await interventions.reassign(**asked, reassignment=Reassignment(person))
    return (await office.shown(asked["ctx"], done))["workflow"]


async def open_to(office: Office, by: str) -> list[UUID]:
    async with office.db.reading() as session:
        page = await workflow.list_tasks(
            context(caller=await office.person(by)), session, subjects=office.subjects, cursor=None, limit=20
        )
    return [item.envelope.instance_public_id for item in page.items]


class TestReassign:
    async def test_gives_the_state_to_one_person_who_is_told(self, office: Office) -> None:
        instance = await office.pending()
        reviewer = await office.person("reviewer.consultant")

        given = await give(office, instance, "reviewer.consultant", client_version_no=2)

        assert (given["currentState"], given["versionNo"], given["status"]) == ("pending_review", 3, "ACTIVE")
        assert [(item.user_id, item.organization_id) for item in await rows(office, WorkflowWorkItem)] == [
            (reviewer.user_id, None)
        ]
        assert await open_to(office, "reviewer.consultant") == [instance]
        assert await open_to(office, CONSULTANT) == []
        event = (await rows(office, OutboxEvent))[-1]
        assert event.payload["waiting"] == {"organizations": [], "users": [str(reviewer.public_id)]}
        assert (await rows(office, AuditLog))[-1].action == "workflow.reassign"
        assert len(office.box.steps) == 1  # the letter itself is not concerned
        with pytest.raises(workflow.ActionForbidden):
            await office.act(instance, "approve", by=CONSULTANT, client_version_no=3)
        assert (await office.act(instance, "approve", by="reviewer.consultant"))["currentState"] == "pending_approval"

    async def test_names_both_in_the_history(self, office: Office) -> None:
        instance = await office.pending()
        await give(office, instance, "reviewer.consultant")
        await give(office, instance, CONSULTANT)

        async with office.db.reading() as session:
            taken = await workflow.history(
                context(caller=await office.person(OWNER)), session, subjects=office.subjects, public_id=instance
            )

        first, second = [step.reassigned for step in taken[-2:]]
        reviewer = str((await office.person("reviewer.consultant")).public_id)
        assert first == {"before": None, "after": {"publicId": reviewer, "displayName": "ระวี ตรวจละเอียด"}}
        assert second is not None
        assert second["before"] == first["after"]
        assert taken[-1].action_label.en == "Reassigned"

    async def test_is_to_somebody_who_may_act_there(self, office: Office) -> None:
        instance = await office.pending()

        for to in (CONTRACTOR, "viewer", "svc.loadtest", "approver.owner"):
            with pytest.raises(Invalid) as refused:
                await give(office, instance, to)
            assert refused.value.fields[0].pointer == "/userPublicId"

        assert (await rows(office, WorkflowInstance))[0].assigned_user_id is None

    async def test_is_to_somebody_who_sees_the_document(self, office: Office) -> None:
        instance = await office.pending()
        office.box.hidden[next(iter(office.box.letters))] = {OWNER, CONSULTANT, "admin"}

        with pytest.raises(Invalid) as refused:
            await give(office, instance, "reviewer.consultant")
        async with office.db.reading() as session:
            offered = await interventions.people(
                context(caller=await office.person(OWNER)), session, subjects=office.subjects, public_id=instance
            )

        fault = refused.value.fields[0]
        assert (fault.pointer, fault.code) == ("/userPublicId", "not_visible")
        assert [person.username for person in offered] == [CONSULTANT]

    async def test_is_to_somebody_else_and_who_is_there(self, office: Office) -> None:
        instance = await office.pending()
        await give(office, instance, CONSULTANT)

        with pytest.raises(Invalid) as same:
            await give(office, instance, CONSULTANT)
        asked = await asking(office, instance, OWNER, REASSIGN)
        with pytest.raises(Invalid) as nobody:
            await interventions.reassign(**asked, reassignment=Reassignment(instance))

        assert [error.value.fields[0].code for error in (same, nobody)] == ["same_person", "unknown"]

    async def test_puts_a_person_in_the_place_of_the_one_who_is_named(self, office: Office) -> None:
        reviewer = await office.person("reviewer.consultant")
        words = {"th": "คำ", "en": "Word"}
        own = {"to": "signed", "label": words, "require": {"user": str(reviewer.public_id)}}
        states = [
            {"name": "open", "label": words, "initial": True, "on": {"sign": own}},
            {"name": "signed", "label": words, "terminal": True},
        ]
        await office.define({"workflow": "ONE_HAND", "states": states})
        instance = (await office.start(office.letter(), code="ONE_HAND")).instance_public_id
        with pytest.raises(workflow.ActionForbidden):
            await office.act(instance, "sign", by=CONSULTANT)

        await give(office, instance, CONSULTANT)

        assert (await rows(office, WorkflowHistory))[-1].details["reassigned"]["before"]["publicId"] == str(
            reviewer.public_id
        )
        with pytest.raises(workflow.ActionForbidden):
            await office.act(instance, "sign", by="reviewer.consultant", client_version_no=2)
        assert (await office.act(instance, "sign", by=CONSULTANT))["currentState"] == "signed"

    async def test_offers_those_who_may_act(self, office: Office) -> None:
        instance = await office.pending()

        async def people(by: str) -> list[str]:
            async with office.db.reading() as session:
                found = await interventions.people(
                    context(caller=await office.person(by)), session, subjects=office.subjects, public_id=instance
                )
            return [person.username for person in found]

        assert sorted(await people(OWNER)) == ["dc.consultant", "reviewer.consultant"]
        assert await people(CONTRACTOR) == []


class TestBranch:
    async def test_asks_another_person_of_its_own_and_names_both(self, office: Office) -> None:
        await seat(office)
        instance = await under_review(office)
        found = await branches(office, instance)
        control = found["control"].public_id

        await give_branch(office, instance, control, "reviewer.consultant")

        after = await branches(office, instance, by="reviewer.consultant")
        assert {name: one.status for name, one in after.items()} == dict.fromkeys(found, "PENDING")
        assert after["control"].version_no == 2
        assert not (await branches(office, instance, by=OWNER))["control"].may_answer
        (row,) = await rows(office, WorkflowInstance)
        assert (row.current_state, row.version_no, row.assigned_user_id) == ("review", 3, None)
        told = (await rows(office, WorkflowHistory))[-1].details["reassigned"]
        assert (told["branch"], told["after"]["displayName"]) == ("control", "ระวี ตรวจละเอียด")
        with pytest.raises(workflow.ActionForbidden):
            await answer(office, instance, control, by=OWNER)
        await answer(office, instance, control, by="reviewer.consultant")

    async def test_is_given_to_who_sees_the_document(self, office: Office) -> None:
        await seat(office)
        instance = await under_review(office)
        control = (await branches(office, instance))["control"].public_id
        office.box.hidden[next(iter(office.box.letters))] = {OWNER, CONSULTANT, "admin"}

        with pytest.raises(Invalid) as refused:
            await give_branch(office, instance, control, "reviewer.consultant")

        assert refused.value.fields[0].code == "not_visible"

    async def test_is_given_to_who_could_answer_for_it_while_it_is_open(self, office: Office) -> None:
        await seat(office)
        instance = await under_review(office)
        found = await branches(office, instance)
        structure = found["structure"].public_id

        for to, branch in ((CONTRACTOR, structure), ("viewer", structure), ("reviewer.consultant", instance)):
            with pytest.raises(Invalid):
                await give_branch(office, instance, branch, to)
        with pytest.raises(Invalid):
            await give(office, instance, "reviewer.consultant", by="admin")
        await answer(office, instance, structure, by="reviewer.consultant")
        with pytest.raises(BranchClosed):
            await give_branch(office, instance, structure, CONSULTANT)

    async def test_tells_the_person_alone_and_leaves_the_others_their_places(self, office: Office) -> None:
        await seat(office)
        instance = await under_review(office)
        before = {row.user_id: (row.id, row.created_at) for row in await rows(office, WorkflowWorkItem)}
        found = await branches(office, instance)

        await give_branch(office, instance, found["control"].public_id, "reviewer.consultant")

        gone = (await office.person(OWNER)).user_id
        person = await office.person("reviewer.consultant")
        after = {row.user_id: (row.id, row.created_at) for row in await rows(office, WorkflowWorkItem)}
        assert after == {key: value for key, value in before.items() if key != gone}
        told = [event for event in await rows(office, OutboxEvent) if event.name == "workflow.transitioned"][-1].payload
        assert told["waiting"] == {"organizations": [], "users": [str(person.public_id)]}

    async def test_is_not_given_to_who_submitted_the_document(self, office: Office) -> None:
        await seat(office)
        submitter = (await office.person("reviewer.consultant")).user_id
        instance = await under_review(office, {"submitter_user_id": submitter})

        with pytest.raises(Invalid):
            await give_branch(
                office, instance, (await branches(office, instance))["control"].public_id, "reviewer.consultant"
            )

    async def test_is_closed_when_the_workflow_is_ended_or_forced_on(self, office: Office) -> None:
        await seat(office)
        ended, forced = await under_review(office), await under_review(office)

        await end(office, ended, by="admin")
        await force(office, forced, to="passed", by="admin")

        for instance in (ended, forced):
            assert {one.status for one in (await branches(office, instance)).values()} == {"SKIPPED"}
        assert await rows(office, WorkflowWorkItem) == []


async def give_branch(office: Office, instance: UUID, branch: UUID, to: str) -> Any:
    person = (await office.person(to)).public_id
    asked = await asking(office, instance, "admin", REASSIGN)
    return await interventions.reassign(**asked, reassignment=Reassignment(person, branch))


class TestWhatIsOpen:
    async def test_is_told_to_those_who_may(self, office: Office) -> None:
        instance = await office.pending()

        async def open_to(by: str) -> InterventionsOut:
            async with office.db.reading() as session:
                return await interventions.find(
                    context(caller=await office.person(by)), session, subjects=office.subjects, public_id=instance
                )

        owner, consultant, contractor = [await open_to(by) for by in (OWNER, CONSULTANT, CONTRACTOR)]
        assert [way.code for way in owner.actions] == ["approve", "reject", "request-revision"]
        assert (owner.terminate, next(state.name for state in owner.states)) == (True, "draft")
        assert (len(consultant.actions), consultant.states, consultant.terminate) == (3, [], False)
        assert contractor == interventions.NO_INTERVENTIONS
        await end(office, instance)
        assert await open_to(OWNER) == interventions.NO_INTERVENTIONS

    async def test_is_single_branches_in_a_review(self, office: Office) -> None:
        await seat(office)
        instance = await under_review(office)

        async with office.db.reading() as session:
            found = [
                await interventions.find(
                    context(caller=await office.person(by)), session, subjects=office.subjects, public_id=instance
                )
                for by in (OWNER, CONTRACTOR)
            ]

        assert [(one.reassign, one.reassign_branches) for one in found] == [(False, True), (False, False)]
