"""Parallel review as it runs: who is asked, what an answer does, what is hidden, and when the instance moves."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.models import OutboxEvent
from saraban.events.service import Event, Handlers
from saraban.identity import service as identity
from saraban.identity.domain.context import Scope
from saraban.identity.models import User
from saraban.kit.errors import Invalid, NotFound
from saraban.kit.ids import new_id
from saraban.notifications import service as notifications
from saraban.notifications.models import Notification
from saraban.projects.models import ReviewTeamMember
from saraban.workflow.runtime.domain.review_response import BranchClosed
from saraban.workflow.runtime.models import (
    DelegationRow,
    WorkflowBranch,
    WorkflowHistory,
    WorkflowInstance,
    WorkflowWorkItem,
)
from saraban.workflow.runtime.service import assignment
from saraban.workflow.runtime.service.delegations import delegators_of
from saraban.workflow.service import ActionForbidden, StaleInstance, VersionConflict
from tests.definitions import EXAMPLES
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, envelopes_of
from tests.factories.review import BRANCHES, WORDS, answer, branches, reviewed, seat, under_review
from tests.reviews import CONTROL, change, history, inbox, rows, spread, waited_for


@pytest.fixture
async def asked(office: Office) -> Office:
    await seat(office)
    return office


class TestOpening:
    async def test_asks_the_people_behind_each_branch(self, asked: Office) -> None:
        instance = await under_review(asked)

        found = await branches(asked, instance, by="reviewer.consultant")
        assert {name: (one.status, one.version_no, one.may_answer) for name, one in found.items()} == {
            "structure": ("PENDING", 1, True),
            "electrical": ("PENDING", 1, False),
            "control": ("PENDING", 1, True),
        }
        assert [choice.code for choice in found["structure"].choices] == ["approve", "reject"]
        assert found["electrical"].choices == []
        assert await waited_for(asked) == {"reviewer.consultant", "dc.consultant", "approver.owner"}
        assert [item.envelope.instance_public_id for item in await inbox(asked, by="dc.consultant")] == [instance]
        assert await inbox(asked, by="dc.contractor") == []

    async def test_asks_the_holders_of_a_role_and_a_named_person(self, office: Office) -> None:
        person = await office.person("viewer")
        words = {"th": "คำ", "en": "Word"}
        instance = await under_review(
            office,
            branches=[
                {"name": "role", "label": words, "assignee": {"role": "Document Control"}},
                {"name": "one", "label": words, "assignee": {"user": str(person.public_id)}},
            ],
        )

        found = await branches(office, instance, by="viewer")
        assert {name: one.may_answer for name, one in found.items()} == {"role": False, "one": True}
        assert (await branches(office, instance, by="dc.consultant"))["role"].may_answer
        assert {"viewer", "dc.consultant", "dc.contractor"} <= await waited_for(office)

    @pytest.mark.parametrize("kind", ["team", "role", "user"])
    async def test_asks_and_tells_nobody_who_may_not_see_it(self, office: Office, kind: str) -> None:
        await seat(office)
        outsider = await office.person("reviewer.consultant")
        assignee = {"team": "DESIGN", "role": "Contract Admin", "user": str(outsider.public_id)}[kind]
        await office.define(reviewed(branches=[asks({kind: assignee})]))
        letter = office.letter()
        office.box.hidden[letter.entity_id] = {"dc.contractor", "dc.consultant", "approver.owner", "admin"}
        instance = (await office.start(letter, code="REVIEWED")).instance_public_id

        await office.act(instance, "submit", by="dc.contractor")

        assert "reviewer.consultant" not in await waited_for(office)
        told = (await rows(office, OutboxEvent))[-1].payload["waiting"]["users"]
        assert str(outsider.public_id) not in told


class TestWhoSubmitted:
    @pytest.mark.parametrize("asked", [{"role": "Document Control"}, {"team": "DESIGN"}, {"discipline": "MEC"}])
    async def test_is_not_asked_for_his_own_document(self, office: Office, asked: dict[str, str]) -> None:
        await seat(office, {"dc.contractor": "MEC", "dc.consultant": "MEC"})
        submitter = (await office.person("dc.contractor")).user_id
        instance = await under_review(office, {"submitter_user_id": submitter}, branches=[asks(asked)])

        found = (await branches(office, instance, by="dc.contractor"))["one"]
        assert (found.may_answer, found.choices) == (False, [])
        assert "dc.contractor" not in await waited_for(office)
        with pytest.raises(ActionForbidden):
            await answer(office, instance, found.public_id, by="dc.contractor")
        assert (await answer(office, instance, found.public_id, by="dc.consultant"))["currentState"] == "passed"

    async def test_is_asked_where_the_definition_names_him(self, office: Office) -> None:
        submitter = await office.person("dc.contractor")
        named = asks({"user": str(submitter.public_id)})
        instance = await under_review(office, {"submitter_user_id": submitter.user_id}, branches=[named])

        found = (await branches(office, instance, by="dc.contractor"))["one"]

        assert await waited_for(office) == {"dc.contractor"}
        assert (await answer(office, instance, found.public_id, by="dc.contractor"))["currentState"] == "passed"

    @pytest.mark.parametrize(("lender", "deputy"), [("dc.contractor", "viewer"), ("viewer", "dc.contractor")])
    async def test_neither_lends_nor_borrows_an_answer(self, office: Office, lender: str, deputy: str) -> None:
        await joins(office, "viewer", "ผรม.2")
        await seat(office, {lender: None})
        await lend(office, (await office.person(lender)).user_id, (await office.person(deputy)).user_id)
        submitter = (await office.person("dc.contractor")).user_id
        instance = await under_review(office, {"submitter_user_id": submitter}, branches=[asks({"team": "DESIGN"})])

        found = (await branches(office, instance, by=deputy, now=NOW))["one"]

        assert not found.may_answer
        with pytest.raises(ActionForbidden):
            await answer(office, instance, found.public_id, by=deputy)
        async with office.db.reading() as session:
            ctx = context(await office.person(deputy), now=NOW)
            lent = await delegators_of(ctx, session, workflow_code="REVIEWED", project_id=office.project)
        assert [seat.username for seat in lent] == [lender]  # it is the four eyes that refuse


def asks(assignee: dict[str, str]) -> dict[str, Any]:
    return {"name": "one", "label": {"th": "คำ", "en": "Word"}, "assignee": assignee}


class TestAnswering:
    async def test_waits_for_a_verdict_and_then_moves_in_the_same_commit(self, asked: Office) -> None:
        instance = await under_review(asked)
        found = await branches(asked, instance)

        first = await answer(asked, instance, found["structure"].public_id, by="reviewer.consultant", comment="p. 3")
        assert (first["currentState"], first["versionNo"], first["availableActions"]) == ("review", 2, [])
        assert await waited_for(asked) == {"reviewer.consultant", "dc.consultant", "approver.owner"}
        second = await answer(asked, instance, found["electrical"].public_id, by="dc.consultant")

        assert (second["currentState"], second["versionNo"], second["status"]) == ("passed", 3, "COMPLETED")
        assert [(one["name"], one["status"], one["answer"]) for one in second["branches"]] == [
            ("structure", "ANSWERED", "approve"),
            ("electrical", "ANSWERED", "approve"),
            ("control", "SKIPPED", None),
        ]
        assert await waited_for(asked) == set()
        assert [step.action for _, step in asked.box.steps] == ["submit", "review:for"]
        told = [(event.name, event.payload.get("branch")) for event in await rows(asked, OutboxEvent)]
        assert told == [
            ("workflow.transitioned", None),
            ("workflow.answered", "structure"),
            ("workflow.answered", "electrical"),
            ("workflow.transitioned", None),
        ]

    async def test_settles_the_notices_of_those_who_are_not_asked_any_more(self, asked: Office) -> None:
        """Two answer over the API; the third branch still asks its people, and one of them is one of the two."""
        handlers = Handlers()
        notifications.subscribe(handlers, subjects=asked.subjects)
        instance = await under_review(asked, completion="all")
        found = await branches(asked, instance)
        for branch, by in (("structure", "reviewer.consultant"), ("control", "approver.owner")):
            await answer(asked, instance, found[branch].public_id, by=by)
        for row in await rows(asked, OutboxEvent):
            event = Event(row.public_id, row.name, row.aggregate_type, row.aggregate_id, row.payload, row.created_at)
            for handler in handlers.of(row.name):
                await asked.db.transact(partial(handler, events=[event]))

        async with asked.db.reading() as session:
            told = await session.execute(
                sa.select(User.username, Notification.template).join(User, User.user_id == Notification.user_id)
            )
        assert {row[0]: row[1] for row in told} == {
            "reviewer.consultant": "settled",
            "dc.consultant": "waiting",
            "approver.owner": "settled",
        }

    async def test_is_told_by_the_history(self, asked: Office) -> None:
        instance = await under_review(asked)
        found = await branches(asked, instance)
        await answer(asked, instance, found["structure"].public_id, by="reviewer.consultant", comment="p. 3")
        await answer(asked, instance, found["electrical"].public_id, by="dc.consultant")

        steps = [
            (step.action, step.action_label.en, step.comment, step.to_state) for step in await history(asked, instance)
        ]

        assert steps[1:] == [
            ("review:answer", "Structure: Approve", "p. 3", "review"),
            ("review:answer", "Electrical: Approve", None, "review"),
            ("review:for", "Review passed", None, "passed"),
        ]

    async def test_a_rejection_comes_back_and_asks_everybody_again(self, asked: Office) -> None:
        instance = await under_review(asked, veto=True)
        found = await branches(asked, instance)

        back = await answer(
            asked, instance, found["structure"].public_id, "reject", by="reviewer.consultant", comment="wrong beam"
        )
        assert (back["currentState"], back["versionNo"]) == ("draft", 3)
        await asked.act(instance, "submit", by="dc.contractor")

        again = await branches(asked, instance)
        assert {one.status for one in again.values()} == {"PENDING"}
        assert again["structure"].public_id != found["structure"].public_id
        assert len(await rows(asked, WorkflowBranch)) == 6
        with pytest.raises(BranchClosed):
            await answer(asked, instance, found["control"].public_id, by="approver.owner")

    async def test_an_action_beside_it_closes_the_branches(self, asked: Office) -> None:
        instance = await under_review(asked)

        await asked.act(instance, "withdraw", by="dc.contractor")

        assert {row.status for row in await rows(asked, WorkflowBranch)} == {"SKIPPED"}

    async def test_a_branch_is_answered_once_by_who_is_asked(self, asked: Office) -> None:
        instance = await under_review(asked)
        found = await branches(asked, instance)
        structure = found["structure"].public_id

        with pytest.raises(ActionForbidden):
            await answer(asked, instance, structure, by="dc.consultant")
        with pytest.raises(ActionForbidden):
            await answer(asked, instance, structure, by="admin")
        with pytest.raises(NotFound):
            await answer(asked, instance, new_id(), by="reviewer.consultant")
        with pytest.raises(Invalid) as unknown:
            await answer(asked, instance, structure, "perhaps", by="reviewer.consultant")
        with pytest.raises(Invalid) as silent:
            await answer(asked, instance, structure, "reject", by="reviewer.consultant")
        await answer(asked, instance, structure, by="reviewer.consultant")
        with pytest.raises(BranchClosed):
            await answer(asked, instance, structure, "reject", by="reviewer.consultant", comment="no after all")

        assert [fault.pointer for fault in unknown.value.fields + silent.value.fields] == ["/answer", "/comment"]
        assert [row.action for row in await rows(asked, WorkflowHistory)] == ["submit", "review:answer"]

    async def test_knows_the_version_of_the_branch_and_not_of_the_instance(self, asked: Office) -> None:
        instance = await under_review(asked)
        found = await branches(asked, instance)
        await answer(asked, instance, found["structure"].public_id, by="reviewer.consultant", client_version_no=1)

        with pytest.raises(VersionConflict):
            await answer(asked, instance, found["structure"].public_id, by="reviewer.consultant", client_version_no=1)
        with pytest.raises(StaleInstance):
            await answer(asked, instance, found["electrical"].public_id, by="dc.consultant", if_match=frozenset({"2"}))
        done = await answer(
            asked, instance, found["electrical"].public_id, by="dc.consultant", if_match=frozenset({"1"})
        )

        assert done["currentState"] == "passed"

    async def test_a_repeated_request_gets_the_same_answer(self, asked: Office) -> None:
        instance = await under_review(asked)
        structure = (await branches(asked, instance))["structure"].public_id

        given = [await answer(asked, instance, structure, by="reviewer.consultant", key="k") for _ in range(2)]

        assert given[0] == given[1]
        assert len(await rows(asked, WorkflowHistory)) == 2


class TestHidden:
    async def test_shows_others_nothing_before_the_verdict(self, asked: Office) -> None:
        instance = await under_review(asked, hidden=True, completion="all")
        found = await branches(asked, instance)
        await answer(asked, instance, found["structure"].public_id, by="reviewer.consultant", comment="secret")

        other = (await branches(asked, instance, by="dc.consultant"))["structure"]
        own = (await branches(asked, instance, by="reviewer.consultant"))["structure"]

        assert (other.status, other.answer, other.comment, other.answered_by) == ("ANSWERED", None, None, None)
        assert (own.answer, own.comment) == ("approve", "secret")
        assert [step.action for step in await history(asked, instance)] == ["submit"]
        kept = [row for row in await rows(asked, WorkflowHistory) if row.action == "review:answer"]
        assert [(row.comment, row.details.get("answer")) for row in kept] == [(None, None)]
        told = [event.payload for event in await rows(asked, OutboxEvent) if event.name == "workflow.answered"]
        assert [(one["answer"], one["comment"], one["actor"]) for one in told] == [(None, None, None)]

    async def test_shows_everything_after_it(self, asked: Office) -> None:
        instance = await under_review(asked, hidden=True)
        found = await branches(asked, instance)
        await answer(asked, instance, found["structure"].public_id, by="reviewer.consultant", comment="secret")
        await answer(asked, instance, found["electrical"].public_id, by="dc.consultant")

        other = (await branches(asked, instance, by="dc.contractor"))["structure"]

        assert (other.answer, other.comment) == ("approve", "secret")
        assert other.answered_by is not None
        steps = [(step.action, step.comment) for step in await history(asked, instance)]
        assert steps[1] == ("review:answer", "secret")

    @pytest.mark.parametrize("again", [False, True])
    async def test_shows_nothing_when_it_ends_without_a_verdict(self, asked: Office, again: bool) -> None:
        instance = await under_review(asked, hidden=True, completion="all")
        found = await branches(asked, instance)
        await answer(
            asked, instance, found["structure"].public_id, "reject", by="reviewer.consultant", comment="secret"
        )

        await asked.act(instance, "withdraw", by="dc.contractor")
        seen = (await branches(asked, instance, by="dc.contractor"))["structure"]
        own = (await branches(asked, instance, by="reviewer.consultant"))["structure"]
        if again:  # the verdict of the next round is that of the next round alone
            await asked.act(instance, "submit", by="dc.contractor")
            after = await branches(asked, instance)
            for name, by in (("structure", "reviewer.consultant"), ("electrical", "dc.consultant")):
                await answer(asked, instance, after[name].public_id, by=by, comment="fine")
            await answer(asked, instance, after["control"].public_id, by="approver.owner", comment="fine")

        assert (seen.status, seen.answer, seen.comment, seen.answered_by) == ("ANSWERED", None, None, None)
        assert own.answer == "reject"
        told = [step.comment for step in await history(asked, instance) if step.action == "review:answer"]
        assert told == ["fine"] * 3 * again

    async def test_takes_no_files_that_would_tell(self, asked: Office) -> None:
        instance = await under_review(asked, hidden=True)
        structure = (await branches(asked, instance))["structure"].public_id

        with pytest.raises(Invalid) as refused:
            await answer(asked, instance, structure, by="reviewer.consultant", attachment_public_ids=(new_id(),))

        assert [fault.pointer for fault in refused.value.fields] == ["/attachmentPublicIds"]


class TestVerdict:
    async def test_brings_about_what_its_events_say(self, asked: Office) -> None:
        submitter = (await asked.person("dc.contractor")).user_id
        then = {
            "for": {"to": "passed", "events": [{"type": "webhook", "target": "design.accepted"}]},
            "against": {"to": "draft", "events": [{"type": "assign", "target": "submitter"}]},
        }
        instance = await under_review(asked, {"submitter_user_id": submitter}, then=then)
        await both(asked, instance, "reject", comment="p. 3")
        given_back = (await waited_for(asked), (await rows(asked, WorkflowInstance))[0].assigned_user_id)
        await asked.act(instance, "submit", by="dc.contractor")
        await both(asked, instance, "approve")

        assert given_back == ({"dc.contractor"}, submitter)
        told = [row.payload for row in await rows(asked, OutboxEvent) if row.name == "workflow.webhook"]
        assert [(one["topic"], one["action"], one["to"]) for one in told] == [
            ("design.accepted", "review:for", "passed")
        ]

    async def test_lets_the_engine_go_on_by_itself(self, asked: Office) -> None:
        again = {"to": "draft", "events": [{"type": "auto_action", "action": "submit"}]}
        instance = await under_review(asked, then={"for": {"to": "passed"}, "against": again})

        last = await both(asked, instance, "reject", comment="p. 3")

        assert (last["currentState"], last["versionNo"]) == ("review", 4)
        steps = [step.action for step in await history(asked, instance)]
        assert sorted(steps) == ["review:against", "review:answer", "review:answer", "submit", "submit"]
        assert {one.status for one in (await branches(asked, instance)).values()} == {"PENDING"}


async def both(office: Office, instance: UUID, code: str, **reply: Any) -> Any:
    """Let two of the three answer, which is the majority; gives the envelope after it."""
    found = await branches(office, instance)
    await answer(office, instance, found["structure"].public_id, code, by="reviewer.consultant", **reply)
    return await answer(office, instance, found["electrical"].public_id, code, by="dc.consultant", **reply)


class TestTeams:
    async def test_a_change_of_members_is_a_change_of_whom_it_waits_for(self, asked: Office) -> None:
        instance = await under_review(asked)
        viewer = await asked.person("viewer")
        reviewer = await asked.person("reviewer.consultant")

        async def swap(session: Any) -> None:
            gone = sa.delete(ReviewTeamMember).where(ReviewTeamMember.user_id == reviewer.user_id)
            await session.execute(gone)
            team = await session.scalar(sa.select(ReviewTeamMember.team_id).limit(1))
            session.add(
                ReviewTeamMember(
                    team_id=team, user_id=viewer.user_id, discipline_code="STR", member_role="LEAD", created_at=NOW
                )
            )

        await asked.db.transact(swap)
        async with asked.db.reading() as session:
            project = await session.scalar(sa.text("SELECT uuid FROM projects WHERE project_code = 'LCBP3-C2'"))
        handlers = Handlers()
        assignment.AssignmentRenewal(asked.subjects).subscribe(handlers)
        (told,) = handlers.of("review_team.changed")
        news = {"projectPublicId": str(UUID(str(project))), "team": "DESIGN"}
        event = Event(new_id(), "review_team.changed", "project", str(project), news, NOW)
        for _ in range(2):  # it may be delivered twice
            await asked.db.transact(lambda session: told(session, [event]))

        assert await waited_for(asked) == {"viewer", "dc.consultant", "approver.owner"}
        assert (await branches(asked, instance, by="viewer"))["structure"].may_answer
        assert not (await branches(asked, instance, by="reviewer.consultant"))["structure"].may_answer


class TestRoles:
    async def test_that_are_given_and_taken_back_change_whom_it_waits_for(self, office: Office) -> None:
        instance = await under_review(office, branches=[asks({"role": "Document Control"})])
        before = await waited_for(office)

        await change(office, identity.grant_role, "viewer", **CONTROL)
        given, found = await waited_for(office), await inbox(office, by="viewer")
        mine = (await branches(office, instance, by="viewer"))["one"].may_answer
        await change(office, identity.revoke_role, "viewer", **CONTROL)

        assert "viewer" not in before
        assert given == before | {"viewer"}
        assert ([item.envelope.instance_public_id for item in found], mine) == ([instance], True)
        assert await waited_for(office) == before
        assert await inbox(office, by="viewer") == []
        assert not (await branches(office, instance, by="viewer"))["one"].may_answer

    async def test_given_elsewhere_ask_nobody_here(self, office: Office) -> None:
        await under_review(office, branches=[asks({"role": "Document Control"})])
        before = await waited_for(office)

        await change(office, identity.grant_role, "viewer", grant=identity.RoleGrant("Document Control", "กทท."))

        assert await waited_for(office) == before

    async def test_let_nobody_be_asked_for_what_he_may_not_see(self, office: Office) -> None:
        await office.define(reviewed(branches=[asks({"role": "Document Control"})]))
        letter = office.letter()
        office.box.hidden[letter.entity_id] = {"dc.contractor", "dc.consultant", "admin", "system"}
        instance = (await office.start(letter, code="REVIEWED")).instance_public_id
        await office.act(instance, "submit", by="dc.contractor")

        await change(office, identity.grant_role, "viewer", **CONTROL)
        unseen = await waited_for(office)
        office.box.hidden[letter.entity_id].add("viewer")
        await spread(office)

        assert "viewer" not in unseen
        assert "viewer" in await waited_for(office)

    async def test_of_a_closed_account_count_for_nothing_until_it_is_open_again(self, asked: Office) -> None:
        names = [{"team": "DESIGN"}, {"discipline": "ELE"}, {"role": "Document Control"}]
        await under_review(asked, branches=[asks(one) | {"name": f"b{i}"} for i, one in enumerate(names)])
        before = await waited_for(asked)

        await change(asked, identity.set_active, "dc.consultant", active=False)
        closed = await waited_for(asked)
        await change(asked, identity.set_active, "dc.consultant", active=True)

        assert before - closed == {"dc.consultant"}
        assert await waited_for(asked) == before

    async def test_hold_up_those_reviews_alone_where_something_changes(self, office: Office) -> None:
        here = await under_review(office, branches=[asks({"role": "Document Control"})])
        await under_review(office, {"scope": Scope(frozenset(), None, None)}, branches=[asks({"role": "Viewer"})])
        locked: list[Any] = []

        def seen(_bind: Any, clause: Any, *_: Any) -> None:
            if isinstance(clause, sa.Select) and clause._for_update_arg is not None:
                locked.extend(value for value in clause.compile().params.values() if isinstance(value, list))

        sa.event.listen(office.db.engine.sync_engine, "before_execute", seen)
        await change(office, identity.grant_role, "viewer", **CONTROL)

        assert locked == [[here]]


class TestManyInstances:
    async def test_are_shown_in_a_fixed_number_of_queries(self, asked: Office) -> None:
        await asked.define(reviewed())

        async def counted(letters: int) -> int:
            for _ in range(letters):
                started = await asked.start(asked.letter(), code="REVIEWED")
                await asked.act(started.instance_public_id, "submit", by="dc.contractor")
            caller = await asked.person("reviewer.consultant")
            count = 0

            def seen(*_: Any) -> None:
                nonlocal count
                count += 1

            async with asked.db.reading() as session:
                bind = (await session.connection()).sync_connection
                sa.event.listen(bind, "before_cursor_execute", seen)
                found = await envelopes_of(context(caller=caller), session, asked.box.entity_type, asked.box.letters)
                sa.event.remove(bind, "before_cursor_execute", seen)
            assert all(len(envelope.branches) == 3 for envelope in found.values())
            return count

        assert await counted(1) == await counted(5)
        assert len(await rows(asked, WorkflowInstance)) == 6


class TestInPlaceOfSomebody:
    async def test_answers_for_who_is_away_under_both_names(self, asked: Office) -> None:
        lender, delegate = await asked.person("dc.consultant"), await asked.person("reviewer.consultant")
        await lend(asked, lender.user_id, delegate.user_id)
        instance = await under_review(asked, branches=[BRANCHES[1]])

        found = (await branches(asked, instance, by="reviewer.consultant", now=NOW))["electrical"]
        (waiting,) = await inbox(asked, by="reviewer.consultant", now=NOW)
        done = await answer(asked, instance, found.public_id, by="reviewer.consultant")

        assert found.may_answer
        assert not found.in_own_right
        assert [one.public_id for one in found.in_place_of] == [lender.public_id]
        assert [one.public_id for one in waiting.on_behalf_of] == [lender.public_id]
        (given,) = done["branches"]
        assert (given["answeredBy"]["publicId"], given["onBehalfOf"]["publicId"]) == (
            str(delegate.public_id),
            str(lender.public_id),
        )
        taken = [row for row in await rows(asked, WorkflowHistory) if row.action.startswith("review:")]
        assert [(row.action, row.action_by_user_id, row.on_behalf_of_user_id) for row in taken] == [
            ("review:answer", delegate.user_id, lender.user_id),
            ("review:for", delegate.user_id, lender.user_id),
        ]

    async def test_asks_for_whom_when_several_have_lent_it(self, office: Office) -> None:
        first, second = await office.person("dc.consultant"), await office.person("reviewer.consultant")
        await joins(office, "viewer", "คคง.")
        deputy = await office.person("viewer")
        await seat(office, {"dc.consultant": None, "reviewer.consultant": None})
        for lender in (first, second):
            await lend(office, lender.user_id, deputy.user_id)
        instance = await under_review(office, branches=[asks({"team": "DESIGN"})])
        found = (await branches(office, instance, by="viewer", now=NOW))["one"]

        with pytest.raises(Invalid) as unsaid:
            await answer(office, instance, found.public_id, by="viewer")
        with pytest.raises(Invalid) as stranger:
            await answer(office, instance, found.public_id, by="viewer", on_behalf_of=new_id())
        with pytest.raises(ActionForbidden):
            await answer(office, instance, found.public_id, by="viewer", on_behalf_of=deputy.public_id)
        done = await answer(office, instance, found.public_id, by="viewer", on_behalf_of=second.public_id)

        assert {one.public_id for one in found.in_place_of} == {first.public_id, second.public_id}
        assert {(fault.pointer, fault.code) for fault in unsaid.value.fields} == {("/onBehalfOf", "ambiguous")}
        assert len(unsaid.value.fields) == 2
        assert [fault.code for fault in stranger.value.fields] == ["not_delegated"]
        assert done["branches"][0]["onBehalfOf"]["publicId"] == str(second.public_id)


class TestGuide:
    async def test_its_example_is_played_by_three_people(self, office: Office) -> None:
        await seat(office, {"reviewer.consultant": "STR", "approver.owner": "ARC"})
        await office.define(EXAMPLES["DESIGN_REVIEW"])

        async def sent() -> tuple[UUID, dict[str, Any]]:
            instance = (await office.start(office.letter(), code="DESIGN_REVIEW")).instance_public_id
            await office.act(instance, "submit", by="dc.contractor")
            return instance, await branches(office, instance)

        instance, asked = await sent()
        await answer(office, instance, asked["structure"].public_id, "agree", by="reviewer.consultant")
        await answer(office, instance, asked["architecture"].public_id, "object", by="approver.owner", comment="page 2")
        unseen = (await branches(office, instance, by="dc.consultant"))["architecture"]
        decided = await answer(office, instance, asked["control"].public_id, "agree", by="dc.consultant")
        second, again = await sent()
        stopped = await answer(
            office, second, again["structure"].public_id, "veto", by="reviewer.consultant", comment="cracks"
        )

        assert (unseen.status, unseen.answer, unseen.comment) == ("ANSWERED", None, None)
        assert (decided["currentState"], decided["status"]) == ("accepted", "COMPLETED")
        assert {one["answer"] for one in decided["branches"]} == {"agree", "object"}
        assert stopped["currentState"] == "draft"


async def joins(office: Office, username: str, organization: str) -> None:
    """Make somebody a colleague of an organization's people: only those lend to one another."""
    place = {"primary_organization_id": office.organizations[organization]}
    moved = sa.update(User).where(User.username == username).values(place)
    await office.db.transact(lambda session: session.execute(moved))


async def lend(office: Office, delegator: int, delegate: int) -> None:
    row = DelegationRow(
        delegator_user_id=delegator,
        delegate_user_id=delegate,
        starts_on=NOW.date(),
        ends_on=NOW.date(),
        starts_at=NOW - timedelta(hours=1),
        ends_before=NOW + timedelta(hours=1),
        workflow_codes=[],
        reason="",
        version=1,
        created_at=NOW,
        updated_at=NOW,
    )

    async def add(session: AsyncSession) -> None:
        session.add(row)

    await office.db.transact(add)


class TestReviewOfADraft:
    async def test_leaves_no_work_items_when_a_step_ends_it(self, asked: Office) -> None:
        definition = reviewed()
        review = next(state for state in definition["states"] if state["name"] == "review")
        close = {"to": "passed", "label": WORDS, "optional": True, "require": {"party": ["originator"]}}
        verdicts = {**review["review"], "then": {"for": {"to": "passed"}, "against": {"to": "passed"}}}
        draft = review | {
            "name": "draft",
            "initial": True,
            "editable": True,
            "on": {"close": close},
            "review": verdicts,
        }
        passed = next(state for state in definition["states"] if state["name"] == "passed")
        await asked.define({**definition, "states": [draft, passed]})
        instance = (await asked.start(asked.letter(), code="REVIEWED")).instance_public_id
        structure = (await branches(asked, instance))["structure"].public_id
        await answer(asked, instance, structure, by="reviewer.consultant")

        await asked.act(instance, "close", by="dc.contractor")

        async with asked.db.reading() as session:
            items = await session.scalar(sa.select(sa.func.count()).select_from(WorkflowWorkItem))
        assert items == 0
