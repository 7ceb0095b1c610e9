"""What people state with their steps: nobody's word is replaced by a later one unless the definition says so, and all can be read."""

import copy
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.kit.errors import Invalid
from saraban.workflow import service as workflow
from saraban.workflow.runtime.models import WorkflowDefinition, WorkflowHistory
from saraban.workflow.runtime.service import definitions
from tests.conftest import SignIn, unwrapped
from tests.definitions import RFA
from tests.factories.contexts import context
from tests.factories.letterbox import Office, office_in
from tests.factories.review import answer, branches, reviewed, seat

AMOUNT = {"type": "number", "minimum": 1, "label": {"th": "จำนวนเงิน (บาท)", "en": "Amount in baht"}}
GRADE = {"enum": ["A", "B"], "title": "Grade"}
DAY = {"type": "string", "format": "date"}


def priced(**approve: Any) -> dict[str, Any]:
    """An RFA with an amount, a grade and a day; `approve` says more of the consultant's step."""
    raw = copy.deepcopy(RFA)
    payload = {"type": "object", "properties": {"amount": AMOUNT, "grade": GRADE, "from": DAY}}
    raw["context_schema"] = {"type": "object", "properties": {"payload": payload}}
    raw["states"][1]["on"]["approve"] |= approve
    return raw


async def submitted(office: Office, **payload: Any) -> UUID:
    instance = (await office.start(office.letter())).instance_public_id
    await office.act(instance, "submit", by="dc.contractor", payload=payload)
    return instance


async def known(office: Office, instance: UUID) -> dict[str, Any]:
    async with office.db.reading() as session:
        caller = await office.person("approver.owner")
        view = await workflow.find(context(caller=caller), session, subjects=office.subjects, public_id=instance)
    return {one.name: one.value for one in view.values}


class TestAStep:
    async def test_leaves_what_another_has_stated(self, office: Office) -> None:
        await office.define(priced())
        instance = await submitted(office, amount=99_000_000, grade="A")

        with pytest.raises(Invalid) as refused:
            await office.act(instance, "approve", by="reviewer.consultant", payload={"amount": 5})
        await office.act(instance, "approve", by="reviewer.consultant", payload={"from": "2026-12-01"})

        assert [(one.pointer, one.code) for one in refused.value.fields] == [("/payload/amount", "stated")]
        assert await known(office, instance) == {"amount": 99_000_000, "grade": "A", "from": "2026-12-01"}

    async def test_changes_what_its_fields_name_and_nothing_else(self, office: Office) -> None:
        await office.define(priced(fields=["amount"]))
        instance = await submitted(office, amount=99_000_000, grade="A")

        with pytest.raises(Invalid) as refused:
            await office.act(instance, "approve", by="reviewer.consultant", payload={"amount": 5, "grade": "B"})
        taken = await office.act(instance, "approve", by="reviewer.consultant", payload={"amount": 5})

        assert [(one.pointer, one.code) for one in refused.value.fields] == [("/payload/grade", "not_taken")]
        assert taken["currentState"] == "pending_approval"
        assert await known(office, instance) == {"amount": 5, "grade": "A"}

    async def test_runs_by_the_rule_under_which_its_version_was_published(self, office: Office) -> None:
        made = await office.define(priced())

        async def as_before(session: Any) -> None:
            row = await session.get(WorkflowDefinition, made.public_id)
            row.compiled = {key: value for key, value in row.compiled.items() if key != "payload"}

        await office.db.transact(as_before)
        definitions._cache.clear()
        instance = await submitted(office, amount=99_000_000, grade="A")
        await office.act(instance, "approve", by="reviewer.consultant", payload={"amount": 5})

        assert await known(office, instance) == {"amount": 5}

    async def test_is_audited_with_its_values_and_keeps_for_whom_it_was_taken(self, office: Office) -> None:
        await office.define(priced())
        await submitted(office, amount=7)
        contractor = await office.person("dc.contractor")

        async with office.db.reading() as session:
            details = await session.scalar(
                sa.select(AuditLog.details_json).where(AuditLog.action == "workflow.transition")
            )
            kept = await session.scalar(sa.select(WorkflowHistory.details))

        assert details is not None
        assert kept is not None
        assert details["values"] == {"amount": 7}
        assert kept["seats"] == sorted(contractor.organization_ids)


class TestTheHistory:
    async def test_says_what_each_step_brought_and_what_that_replaced(self, office: Office) -> None:
        await office.define(priced(fields=["amount", "from"]))
        instance = await submitted(office, amount=99_000_000, grade="A")
        await office.act(instance, "approve", by="reviewer.consultant", payload={"amount": 5, "from": "2026-12-01"})

        async with office.db.reading() as session:
            caller = await office.person("approver.owner")
            steps = await workflow.history(
                context(caller=caller), session, subjects=office.subjects, public_id=instance
            )

        first, second = ({one.name: one for one in step.values} for step in steps)
        assert (first["amount"].label.th, first["amount"].text.en) == ("จำนวนเงิน (บาท)", "99,000,000")
        assert (first["amount"].before_text, first["grade"].label.en) == (None, "Grade")
        assert second["amount"].before == 99_000_000
        assert second["amount"].before_text is not None
        assert second["amount"].before_text.th == "99,000,000"
        assert (second["from"].text.th, second["from"].text.en) == ("1 ธ.ค. 2569", "1 Dec 2026")

    async def test_tells_nothing_of_answers_in_hiding(self, office: Office) -> None:
        raw = reviewed(hidden=True)
        note = {"type": "object", "properties": {"note": {"type": "string"}}}
        raw["context_schema"] = {"type": "object", "properties": {"payload": note}}
        await seat(office)
        await office.define(raw)
        instance = (await office.start(office.letter(), code="REVIEWED")).instance_public_id
        await office.act(instance, "submit", by="dc.contractor", payload={"note": "read it"})
        asked = await branches(office, instance)
        await answer(office, instance, asked["structure"].public_id, by="reviewer.consultant")

        async with office.db.reading() as session:
            caller = await office.person("dc.contractor")
            steps = await workflow.history(
                context(caller=caller), session, subjects=office.subjects, public_id=instance
            )

        assert [[one.value for one in step.values] for step in steps] == [["read it"]]
        assert await known(office, instance) == {"note": "read it"}


class TestTheApi:
    async def test_shows_values_and_who_may_state_which(self, app: Any, signed_in: SignIn) -> None:
        office = await office_in(app.state.db)
        app.state.subjects.register(office.box)
        office.subjects = app.state.subjects
        await office.define(priced(fields=["amount"]))
        instance = await submitted(office, amount=420_000, grade="B")
        reviewer = await signed_in("reviewer.consultant")
        url = f"/api/v1/workflow/instances/{instance}"

        read = unwrapped(await reviewer.get(url))
        refused = await reviewer.post(
            f"{url}/transitions", json={"action": "reject", "comment": "too much", "payload": {"amount": 5}}
        )
        told = (await reviewer.get(f"{url}/history")).json()["items"]

        assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert [(one["pointer"], one["code"]) for one in refused.json()["errors"]] == [("/payload/amount", "stated")]
        assert read["values"][0] == {
            "name": "amount",
            "label": {"th": "จำนวนเงิน (บาท)", "en": "Amount in baht"},
            "kind": "number",
            "value": 420_000,
            "text": {"th": "420,000", "en": "420,000"},
        }
        assert {one["code"]: one["fields"] for one in read["workflow"]["actions"]} == {
            "approve": ["amount"],
            "reject": None,
            "request-revision": None,
        }
        assert [(one["name"], one["value"], one["before"]) for one in told[0]["values"]] == [
            ("amount", 420_000, None),
            ("grade", "B", None),
        ]
