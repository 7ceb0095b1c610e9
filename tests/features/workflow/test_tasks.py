"""The inbox, the envelopes of many subjects, the history: each in a number of queries that does not grow."""

import copy
from datetime import timedelta
from typing import Any

from saraban.workflow import service as workflow
from saraban.workflow.administration.service.versions import shipped
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, envelopes_of
from tests.statement_count import counting


async def inbox(office: Office, username: str, *, cursor: str | None = None, limit: int = 20) -> Any:
    caller = await office.person(username)
    async with office.db.reading() as session:
        return await workflow.list_tasks(
            context(caller=caller), session, subjects=office.subjects, cursor=cursor, limit=limit
        )


class TestInbox:
    async def test_holds_what_waits_for_me_alone(self, office: Office) -> None:
        instance = await office.pending()

        assert [item.envelope.instance_public_id for item in (await inbox(office, "reviewer.consultant")).items] == [
            instance
        ]
        assert (await inbox(office, "dc.contractor")).items == []
        assert (await inbox(office, "approver.owner")).items == []

    async def test_follows_the_document(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant")

        assert (await inbox(office, "reviewer.consultant")).items == []
        (item,) = (await inbox(office, "approver.owner")).items
        assert item.envelope.available_actions == ["approve", "reject", "request-revision"]
        assert item.since == NOW

    async def test_leaves_out_those_who_may_not_act(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant")

        assert (await inbox(office, "viewer")).items == []

    async def test_does_not_hold_a_first_draft_and_holds_one_that_came_back(self, office: Office) -> None:
        raw = copy.deepcopy(next(raw for raw in shipped() if raw["workflow"] == "CORRESPONDENCE_FLOW_V1"))
        raw["states"][1]["on"]["request-revision"]["to"] = "draft"
        raw["states"].pop()
        await office.define(raw)
        letter = office.letter()
        instance = (await office.start(letter, code="CORRESPONDENCE_FLOW_V1")).instance_public_id
        assert (await inbox(office, "dc.contractor")).items == []

        await office.act(instance, "submit", by="dc.contractor")
        await office.act(instance, "request-revision", by="reviewer.consultant", comment="page 2")

        assert len((await inbox(office, "dc.contractor")).items) == 1

    async def test_names_an_assignee_in_person(self, office: Office) -> None:
        reviewer = await office.person("reviewer.consultant")
        sheet = office.letter(
            originator="คคง.",
            recipient="คคง.",
            assignee_user_ids=frozenset({reviewer.user_id}),
            context={"openRoutings": 1},
        )
        instance = (await office.start(sheet, code="CIRCULATION_FLOW_V1", by="dc.consultant")).instance_public_id
        await office.act(instance, "start", by="dc.consultant")

        assert [item.envelope.available_actions for item in (await inbox(office, "reviewer.consultant")).items] == [
            ["respond"]
        ]
        assert (await inbox(office, "dc.consultant")).items == []

    async def test_pages_without_gaps_or_repeats(self, office: Office) -> None:
        wanted = []
        for minute in range(7):
            instance = (await office.start(office.letter())).instance_public_id
            await office.act(instance, "submit", by="dc.contractor", now=NOW + timedelta(minutes=minute // 3))
            wanted.append(instance)

        seen, cursor = [], None
        while True:
            page = await inbox(office, "reviewer.consultant", cursor=cursor, limit=2)
            seen += [item.envelope.instance_public_id for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break

        assert len(seen) == len(set(seen))
        assert sorted(seen) == sorted(wanted)
        assert seen == sorted(seen, reverse=True)

    async def test_passes_over_what_is_hidden_to_fill_the_page(self, office: Office) -> None:
        for number in range(6):
            await office.pending()
            if number >= 2:
                office.box.hidden[list(office.box.letters)[-1]] = {"dc.contractor"}

        page = await inbox(office, "reviewer.consultant", limit=2)

        assert len(page.items) == 2
        assert page.next_cursor is None

    async def test_asks_as_much_for_many_as_for_few(self, office: Office) -> None:
        await office.pending()
        with counting(office.db) as few:
            await inbox(office, "reviewer.consultant")
        for _ in range(9):
            await office.pending()
        with counting(office.db) as many:
            await inbox(office, "reviewer.consultant")

        assert len(many) == len(few)


class TestEnvelopes:
    async def test_are_given_for_many_without_a_query_for_each(self, office: Office) -> None:
        for _ in range(6):
            await office.pending()
        caller = await office.person("reviewer.consultant")

        async def ask(count: int) -> tuple[int, dict[str, workflow.Envelope]]:
            facts = dict(list(office.box.letters.items())[:count])
            async with office.db.reading() as session:
                with counting(office.db) as statements:
                    found = await envelopes_of(context(caller=caller), session, "letterbox", facts)
            return len(statements), found

        few, _ = await ask(1)
        many, found = await ask(6)

        assert few == many
        assert all(each.available_actions == ["approve", "reject", "request-revision"] for each in found.values())


class TestHistory:
    async def test_tells_who_did_what_in_both_languages(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(
            instance, "reject", by="reviewer.consultant", comment="แบบไม่ครบ", now=NOW + timedelta(minutes=1)
        )
        viewer = await office.person("viewer")

        async with office.db.reading() as session:
            steps = await workflow.history(
                context(caller=viewer), session, subjects=office.subjects, public_id=instance
            )

        assert [step.action for step in steps] == ["submit", "reject"]
        last = steps[-1]
        assert (last.from_state, last.to_state, last.comment) == ("pending_review", "rejected", "แบบไม่ครบ")
        assert (last.to_label.th, last.to_label.en) == ("ไม่อนุมัติ", "Rejected")
        assert last.actor is not None
        assert last.actor.organization_code == "คคง."
