"""Transitions in their order (REQ-WFL-02), with everything that one commit must hold."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.models import Attachment
from saraban.attachments.service import InvalidAttachments
from saraban.audit.models import AuditLog
from saraban.events.models import OutboxEvent
from saraban.kit.errors import Invalid, NotFound
from saraban.kit.idempotency import KeyReused
from saraban.kit.ids import new_id
from saraban.kit.problem import to_problem
from saraban.workflow import service as workflow
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Facts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem
from saraban.workflow.runtime.service.persist_transition import persist_transition
from saraban.workflow.runtime.service.transition_metrics import TRANSITIONS
from saraban.workflow.runtime.service.transition_request import Decision
from saraban.workflow.runtime.service.transitions import hold
from saraban.workflow.service import (
    ActionForbidden,
    Command,
    StaleInstance,
    TransitionNotPossible,
    VersionConflict,
    WorkflowNotDefined,
)
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, step_in


async def rows(office: Office, model: Any) -> list[Any]:
    async with office.db.reading() as session:
        return list((await session.scalars(sa.select(model))).all())


def counted(outcome: str, action: str = "approve", code: str = "RFA_APPROVAL") -> float:
    return float(TRANSITIONS.labels(code, action, outcome)._value.get())


class TestStart:
    async def test_stands_in_the_initial_state_for_its_author(self, office: Office) -> None:
        envelope = await office.start(office.letter())

        assert (envelope.current_state, envelope.version_no, envelope.status) == ("draft", 1, "ACTIVE")
        assert envelope.available_actions == ["submit"]
        assert envelope.can_edit
        assert envelope.last_transition_at == NOW

    async def test_needs_an_active_version(self, office: Office) -> None:
        with pytest.raises(WorkflowNotDefined):
            await office.start(office.letter(), code="NOWHERE")


WORDS = {"th": "คำ", "en": "Word"}
WITH_SCHEMA: dict[str, Any] = {
    "workflow": "WITH_SCHEMA",
    "context_schema": {
        "type": "object",
        "properties": {
            "round": {"type": "integer"},
            "payload": {"type": "object", "properties": {"code": {"enum": ["1A", "2"]}}, "required": ["code"]},
        },
        "additionalProperties": False,
    },
    "states": [
        {"name": "open", "label": WORDS, "initial": True, "on": {"close": {"to": "closed", "label": WORDS}}},
        {"name": "closed", "label": WORDS, "terminal": True},
    ],
}


class TestContextSchema:
    async def test_refuses_a_payload_that_does_not_fit_and_changes_nothing(self, office: Office) -> None:
        await office.define(WITH_SCHEMA)
        instance = (await office.start(office.letter(), code="WITH_SCHEMA")).instance_public_id

        with pytest.raises(Invalid) as refused:
            await office.act(instance, "close", by="dc.contractor", payload={"code": "9"})

        assert [(fault.pointer, fault.code) for fault in refused.value.fields] == [("/payload/code", "enum")]
        assert to_problem(refused.value, language="th", trace_id="")["status"] == 422
        (row,) = await rows(office, WorkflowInstance)
        assert (row.current_state, row.version_no, row.context) == ("open", 1, {})
        assert await rows(office, WorkflowHistory) == []
        closed = await office.act(instance, "close", by="dc.contractor", payload={"code": "1A"})
        assert closed["currentState"] == "closed"

    async def test_refuses_to_start_on_a_context_that_does_not_fit(self, office: Office) -> None:
        await office.define(WITH_SCHEMA)
        caller = await office.person("dc.contractor")
        facts = office.letter()

        with pytest.raises(Invalid) as refused:
            await office.db.transact(
                lambda session: workflow.start(
                    context(caller=caller, now=NOW),
                    session,
                    code="WITH_SCHEMA",
                    entity_type="letter",
                    facts=facts,
                    context={"round": "one"},
                )
            )

        assert [(fault.pointer, fault.code) for fault in refused.value.fields] == [("/context/round", "type")]
        assert await rows(office, WorkflowInstance) == []


class TestTransition:
    async def test_carries_an_rfa_from_the_contractor_to_the_owner(self, office: Office) -> None:
        facts = office.letter()
        instance = (await office.start(facts)).instance_public_id

        states = [
            (await office.act(instance, "submit", by="dc.contractor", client_version_no=1))["currentState"],
            (await office.act(instance, "approve", by="reviewer.consultant", client_version_no=2))["currentState"],
            (await office.act(instance, "approve", by="approver.owner", client_version_no=3))["currentState"],
        ]

        assert states == ["pending_review", "pending_approval", "approved"]
        (row,) = await rows(office, WorkflowInstance)
        assert (row.current_state, row.status, row.version_no) == ("approved", "COMPLETED", 4)
        assert [step.next_state for _, step in office.box.steps] == states
        assert await rows(office, WorkflowWorkItem) == []

    async def test_writes_history_event_and_audit_in_one_commit(self, office: Office) -> None:
        instance = await office.pending()
        reviewer = await office.person("reviewer.consultant")

        await office.act(instance, "approve", by="reviewer.consultant", comment="ดี")

        history = (await rows(office, WorkflowHistory))[-1]
        assert (history.from_state, history.to_state, history.action) == (
            "pending_review",
            "pending_approval",
            "approve",
        )
        assert (history.action_by_user_id, history.action_by_user_uuid) == (reviewer.user_id, str(reviewer.public_id))
        event = (await rows(office, OutboxEvent))[-1]
        assert (event.name, event.aggregate_id) == ("workflow.transitioned", str(instance))
        assert [each["code"] for each in event.payload["waiting"]["organizations"]] == ["กทท.", "สคฉ.3"]
        assert event.payload["actor"]["publicId"] == str(reviewer.public_id)
        assert event.payload["comment"] == "ดี"
        assert (await rows(office, AuditLog))[-1].action == "workflow.transition"

    async def test_writes_nothing_when_it_is_refused(self, office: Office) -> None:
        instance = await office.pending()
        before = len(await rows(office, WorkflowHistory)), len(await rows(office, OutboxEvent))

        with pytest.raises(ActionForbidden) as refused:
            await office.act(instance, "approve", by="dc.contractor")

        assert refused.value.says.th == "คุณไม่มีสิทธิ์ดำเนินการในขั้นตอนนี้"
        assert (len(await rows(office, WorkflowHistory)), len(await rows(office, OutboxEvent))) == before

    async def test_says_in_thai_what_the_state_does_not_allow(self, office: Office) -> None:
        instance = await office.pending()

        with pytest.raises(TransitionNotPossible) as refused:
            await office.act(instance, "submit", by="dc.contractor", client_version_no=2)

        problem = to_problem(refused.value, language="th", trace_id="")
        assert (problem["status"], problem["code"]) == (409, "WF_INVALID_TRANSITION")
        assert problem["userMessage"] == "ไม่สามารถดำเนินการนี้ได้ในสถานะปัจจุบัน"
        assert problem["recovery"][0] == "กรุณาตรวจสอบขั้นตอนการอนุมัติ"

    async def test_needs_a_comment_to_reject(self, office: Office) -> None:
        instance = await office.pending()

        with pytest.raises(Invalid) as refused:
            await office.act(instance, "reject", by="reviewer.consultant")

        assert refused.value.fields[0].pointer == "/comment"

    async def test_keeps_what_may_not_be_seen_unknown(self, office: Office) -> None:
        instance = await office.pending()
        (key,) = office.box.letters
        office.box.hidden[key] = {"dc.contractor"}

        with pytest.raises(NotFound):
            await office.act(instance, "approve", by="reviewer.consultant", client_version_no=99)
        with pytest.raises(NotFound):
            await office.act(new_id(), "approve", by="reviewer.consultant")

    async def test_keeps_the_payload_apart_from_the_actor(self, office: Office) -> None:
        instance = await office.pending()
        sent = {"code": "1A", "reviewer": "somebody else"}

        await office.act(instance, "approve", by="reviewer.consultant", payload=sent)

        (row,) = await rows(office, WorkflowInstance)
        assert row.context == {"payload": sent}
        history = (await rows(office, WorkflowHistory))[-1]
        assert history.details["payload"] == sent
        assert history.action_by_user_uuid == str((await office.person("reviewer.consultant")).public_id)

    @pytest.mark.parametrize(
        "name", ["roles", "permissions", "actor", "actorPublicId", "userId", "userPublicId", "Roles", "ACTOR"]
    )
    async def test_refuses_a_payload_that_says_who_acts(self, office: Office, name: str) -> None:
        instance = await office.pending()

        with pytest.raises(Invalid) as refused:
            await office.act(instance, "approve", by="reviewer.consultant", payload={"code": "1A", name: "x"})

        assert [(fault.pointer, fault.code) for fault in refused.value.fields] == [(f"/payload/{name}", "reserved")]
        assert len(await rows(office, WorkflowHistory)) == 1

    async def test_refuses_files_that_are_not_the_callers(self, office: Office) -> None:
        instance = await office.pending()

        with pytest.raises(InvalidAttachments):
            await office.act(instance, "approve", by="reviewer.consultant", attachment_public_ids=(new_id(),))

        assert (await rows(office, WorkflowInstance))[0].version_no == 2


class TestVersion:
    async def test_conflicts_with_a_thai_message_and_what_to_do(self, office: Office) -> None:
        instance = await office.pending()

        with pytest.raises(VersionConflict) as lost:
            await office.act(instance, "approve", by="reviewer.consultant", client_version_no=1)

        problem = to_problem(lost.value, language="th", trace_id="")
        assert (problem["status"], problem["code"]) == (409, "WORKFLOW_VERSION_CONFLICT")
        assert problem["userMessage"] == "เอกสารถูกอนุมัติโดยผู้อื่นแล้ว กรุณารีเฟรช"
        assert problem["recovery"] == ["รีเฟรชหน้าแล้วลองใหม่"]

    async def test_that_is_lost_to_another_step_has_words_of_its_own(self, office: Office) -> None:
        instance = await office.pending()
        caller = await office.person("reviewer.consultant")

        async def overtaken(session: AsyncSession) -> None:
            ctx = context(caller, now=NOW)
            held = await hold(ctx, session, await repository.lock_instance(session, instance), subjects=office.subjects)
            await session.execute(sa.update(WorkflowInstance).values(version_no=WorkflowInstance.version_no + 1))
            step = decisions.advance(held.definition, held.row.current_state, "approve", Facts(caller, held.facts))
            await persist_transition(session, Decision(held, step, Command("approve")))

        with pytest.raises(VersionConflict) as lost:
            await office.db.transact(overtaken)

        problem = to_problem(lost.value, language="th", trace_id="")
        assert (problem["status"], problem["code"]) == (409, "WORKFLOW_VERSION_CONFLICT")
        assert problem["userMessage"] == "เกิด Conflict กรุณารีเฟรชและลองใหม่"
        assert problem["recovery"] == ["รีเฟรชหน้า", "ลองดำเนินการอีกครั้ง"]

    async def test_is_stale_by_if_match(self, office: Office) -> None:
        instance = await office.pending()

        with pytest.raises(StaleInstance) as stale:
            await office.act(instance, "approve", by="reviewer.consultant", if_match=frozenset({"1"}))

        assert to_problem(stale.value, language="en", trace_id="")["status"] == 412
        await office.act(instance, "approve", by="reviewer.consultant", if_match=frozenset({"2"}))

    async def test_is_asked_again_under_the_lock(self, office: Office) -> None:
        # The admin may act in both steps: without the second look the stale click would approve the next one.
        instance = await office.pending()
        admin = await office.person("admin")
        await office.act(instance, "approve", by="reviewer.consultant")

        def late(command: Command) -> Any:
            return office.db.transact(
                lambda session: step_in(
                    context(caller=admin, now=NOW, address=""),
                    session,
                    subjects=office.subjects,
                    public_id=instance,
                    command=command,
                    seen_version=2,
                )
            )

        with pytest.raises(VersionConflict):
            await late(Command("approve", client_version_no=2))
        with pytest.raises(TransitionNotPossible):
            await late(Command("approve"))
        assert (await rows(office, WorkflowInstance))[0].current_state == "pending_approval"

    async def test_tells_a_second_click_from_a_trespass(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant")

        with pytest.raises(TransitionNotPossible):
            await office.act(instance, "approve", by="reviewer.consultant")
        with pytest.raises(ActionForbidden):
            await office.act(instance, "approve", by="reviewer.consultant", client_version_no=3)


class TestIdempotencyKey:
    async def test_gives_the_stored_answer_for_the_same_request(self, office: Office) -> None:
        instance = await office.pending()
        ask: dict[str, Any] = {"by": "reviewer.consultant", "key": "k1", "client_version_no": 2}

        first = await office.act(instance, "approve", **ask)
        second = await office.act(instance, "approve", **ask, now=NOW + timedelta(hours=1))

        assert first == second
        assert len(await rows(office, WorkflowHistory)) == 2

    async def test_refuses_another_payload(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant", key="k1")

        with pytest.raises(KeyReused):
            await office.act(instance, "approve", by="reviewer.consultant", key="k1", comment="more")

    async def test_answers_for_24_hours(self, office: Office) -> None:
        instance = await office.pending()
        ask: dict[str, Any] = {"by": "reviewer.consultant", "key": "k1", "client_version_no": 2}
        first = await office.act(instance, "approve", **ask)

        assert await office.act(instance, "approve", **ask, now=NOW + timedelta(hours=24, seconds=-1)) == first
        with pytest.raises(VersionConflict):
            await office.act(instance, "approve", **ask, now=NOW + timedelta(hours=24, seconds=1))
        assert len(await rows(office, WorkflowHistory)) == 2

    async def test_is_its_users_own(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant", key="k1")

        answer = await office.act(instance, "approve", by="approver.owner", key="k1")

        assert answer["currentState"] == "approved"

    async def test_is_for_one_instance(self, office: Office) -> None:
        one, two = await office.pending(), await office.pending()
        await office.act(one, "approve", by="reviewer.consultant", key="k1")

        with pytest.raises(KeyReused) as refused:
            await office.act(two, "approve", by="reviewer.consultant", key="k1")

        assert to_problem(refused.value, language="th", trace_id="")["status"] == 422

    async def test_is_free_again_after_a_refusal(self, office: Office) -> None:
        instance = await office.pending()
        with pytest.raises(VersionConflict):
            await office.act(instance, "approve", by="reviewer.consultant", key="k1", client_version_no=1)

        answer = await office.act(instance, "approve", by="reviewer.consultant", key="k1", client_version_no=2)

        assert answer["versionNo"] == 3


class TestMetrics:
    async def test_counts_by_outcome(self, office: Office) -> None:
        instance = await office.pending()
        before = {outcome: counted(outcome) for outcome in ("success", "conflict", "forbidden")}

        with pytest.raises(VersionConflict):
            await office.act(instance, "approve", by="reviewer.consultant", client_version_no=1)
        with pytest.raises(ActionForbidden):
            await office.act(instance, "approve", by="viewer")
        await office.act(instance, "approve", by="reviewer.consultant")

        assert {outcome: counted(outcome) - value for outcome, value in before.items()} == {
            "success": 1,
            "conflict": 1,
            "forbidden": 1,
        }

    async def test_does_not_let_clients_make_labels(self, office: Office) -> None:
        instance = await office.pending()
        before = counted("validation_error", "other")

        with pytest.raises(TransitionNotPossible):
            await office.act(instance, "x" * 50, by="reviewer.consultant")

        assert counted("validation_error", "other") == before + 1


class TestTerminate:
    async def test_ends_an_instance_wherever_it_stands(self, office: Office) -> None:
        instance = await office.pending()
        (key,) = office.box.letters
        caller = await office.person("admin")

        for _ in range(2):
            await office.db.transact(
                lambda session: workflow.cancel(
                    context(caller=caller, now=NOW), session, entity_type="letterbox", entity_id=key, reason="withdrawn"
                )
            )

        (row,) = await rows(office, WorkflowInstance)
        assert (row.status, row.current_state, row.version_no) == ("CANCELLED", "cancelled", 3)
        last = (await rows(office, WorkflowHistory))[-1]
        assert (last.from_state, last.action, last.to_state) == ("pending_review", "cancel", "cancelled")
        assert (last.comment, last.action_by_user_uuid) == ("withdrawn", str(caller.public_id))
        assert await rows(office, WorkflowWorkItem) == []
        with pytest.raises(TransitionNotPossible):
            await office.act(instance, "approve", by="reviewer.consultant")

    async def test_shows_an_end_that_the_definition_does_not_name(self, office: Office) -> None:
        instance = await office.pending()
        (key,) = office.box.letters
        caller = await office.person("admin")
        await office.db.transact(
            lambda session: workflow.cancel(
                context(caller=caller, now=NOW), session, entity_type="letterbox", entity_id=key, reason="withdrawn"
            )
        )

        async with office.db.reading() as session:
            view = await workflow.find(context(caller=caller), session, subjects=office.subjects, public_id=instance)
            steps = await workflow.history(
                context(caller=caller), session, subjects=office.subjects, public_id=instance
            )

        shown = view
        assert (shown.current_state, shown.state_label.th, shown.state_label.en) == (
            "cancelled",
            "ยกเลิกแล้ว",
            "Cancelled",
        )
        assert (shown.terminal, shown.can_edit, shown.actions) == (True, False, ())
        assert (steps[-1].action_label.th, steps[-1].to_label.en) == ("ยกเลิกแล้ว", "Cancelled")


class TestStepFiles:
    async def test_come_with_the_step_and_stay_one_step_longer(self, office: Office) -> None:
        instance = await office.pending()
        file = await office.upload("reviewer.consultant")

        await office.act(instance, "approve", by="reviewer.consultant", attachment_public_ids=(file,))
        await office.act(instance, "approve", by="approver.owner")

        viewer = await office.person("viewer")
        async with office.db.reading() as session:
            view = await workflow.find(context(caller=viewer), session, subjects=office.subjects, public_id=instance)
            steps = await workflow.history(
                context(caller=viewer), session, subjects=office.subjects, public_id=instance
            )
        (shown,) = view.step_attachments
        assert (shown.public_id, shown.file_name, shown.step_code) == (file, "ผลตรวจ.pdf", "pending_review")
        assert shown.download_url.endswith(f"/attachments/{file}/content")
        assert [[each.public_id for each in step.attachments] for step in steps] == [[], [file], []]

    async def test_are_read_by_those_who_see_the_subject(self, office: Office) -> None:
        instance = await office.pending()
        file = await office.upload("reviewer.consultant")
        await office.act(instance, "approve", by="reviewer.consultant", attachment_public_ids=(file,))
        viewer = await office.person("viewer")

        async def may_read() -> bool:
            async with office.db.reading() as session:
                key = await session.scalar(sa.select(Attachment.id).where(Attachment.public_id == file))
                return await workflow.may_read_step_file(
                    context(caller=viewer), session, int(key or 0), subjects=office.subjects
                )

        assert await may_read()
        office.box.hidden[next(iter(office.box.letters))] = {"dc.contractor"}
        assert not await may_read()

    async def test_of_somebody_else_are_refused_and_stay_theirs(self, office: Office) -> None:
        instance = await office.pending()
        file = await office.upload("dc.contractor")

        with pytest.raises(InvalidAttachments):
            await office.act(instance, "approve", by="reviewer.consultant", attachment_public_ids=(file,))

        (row,) = await rows(office, Attachment)
        assert (row.is_temporary, row.workflow_history_id) == (True, None)
        assert len(await rows(office, WorkflowHistory)) == 1
