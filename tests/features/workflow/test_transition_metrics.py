"""Each attempt is counted once and told in one line with eight fields, whatever becomes of it (REQ-WFL-15)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.errors import DomainError, NotFound
from saraban.workflow.runtime.service import transition_metrics
from saraban.workflow.service import Step, SubjectStep
from tests.factories.letterbox import NOW, Office
from tests.log_capture import lines_of

WORDS = {"th": "คำ", "en": "Word"}
FIELDS = {"instanceId", "action", "fromState", "toState", "userUuid", "durationMs", "outcome", "workflowCode"}


def counts() -> dict[tuple[str, str], float]:
    """(action, outcome) -> attempts of the RFA's workflow so far."""
    (family,) = REGISTRY.restricted_registry(["workflow_transitions_total"]).collect()
    return {
        (sample.labels["action"], sample.labels["outcome"]): sample.value
        for sample in family.samples
        if sample.name == "workflow_transitions_total" and sample.labels["workflow_code"] == "RFA_APPROVAL"
    }


def timed() -> float:
    return REGISTRY.get_sample_value("workflow_transition_duration_ms_count", {"workflow_code": "RFA_APPROVAL"}) or 0.0


@contextmanager
def attempt() -> Iterator[dict[str, Any]]:
    """Return the one line of the one attempt inside, with what it was counted as under `counted`."""
    found: dict[str, Any] = {}
    before, times = counts(), timed()
    with lines_of(transition_metrics, "_log") as lines:
        try:
            yield found
        except (DomainError, OperationalError) as error:
            found["error"] = error
    (line,) = [each for each in lines if each["event"] == "workflow.transition"]
    more = {key: value - before.get(key, 0) for key, value in counts().items() if value != before.get(key, 0)}
    ((counted, times_counted),) = more.items()
    assert (times_counted, timed() - times) == (1, 1)
    found |= {name: line[name] for name in FIELDS}
    assert line.keys() - {"event", "log_level"} == FIELDS
    found["counted"] = counted


class TestAttempt:
    async def test_that_succeeds_names_both_states(self, office: Office) -> None:
        instance = await office.pending()
        reviewer = await office.person("reviewer.consultant")

        with attempt() as line:
            await office.act(instance, "approve", by="reviewer.consultant")

        assert (line["fromState"], line["toState"]) == ("pending_review", "pending_approval")
        assert (line["instanceId"], line["userUuid"]) == (str(instance), str(reviewer.public_id))
        assert (line["action"], line["outcome"], line["workflowCode"]) == ("approve", "success", "RFA_APPROVAL")
        assert line["counted"] == ("approve", "success")
        assert isinstance(line["durationMs"], float) and line["durationMs"] > 0

    @pytest.mark.parametrize(
        ("action", "by", "command", "expected"),
        [
            ("approve", "reviewer.consultant", {"client_version_no": 1}, "conflict"),
            ("approve", "reviewer.consultant", {"if_match": frozenset({"1"})}, "conflict"),
            ("submit", "dc.contractor", {}, "conflict"),  # a second click
            ("approve", "dc.contractor", {}, "forbidden"),
            ("reject", "reviewer.consultant", {}, "validation_error"),
            ("approve", "reviewer.consultant", {"payload": {"roles": ["Superadmin"]}}, "validation_error"),
            ("submit", "dc.contractor", {"client_version_no": 2}, "conflict"),
        ],
        ids=["old version", "old If-Match", "second click", "trespass", "no comment", "reserved name", "done"],
    )
    async def test_that_is_refused_knows_its_workflow_all_the_same(
        self, office: Office, action: str, by: str, command: dict[str, Any], expected: str
    ) -> None:
        instance = await office.pending()

        with attempt() as line:
            await office.act(instance, action, by=by, **command)

        assert (line["outcome"], line["counted"]) == (expected, (action, expected))
        assert (line["workflowCode"], line["fromState"], line["toState"]) == ("RFA_APPROVAL", "pending_review", None)
        assert isinstance(line["error"], DomainError)

    async def test_at_an_action_that_is_not_known_is_counted_as_other(self, office: Office) -> None:
        instance = await office.pending()

        with attempt() as line:
            await office.act(instance, "Robert'); --", by="reviewer.consultant")

        assert line["counted"] == ("other", "validation_error")
        assert line["action"] == "Robert'); --"

    async def test_that_the_database_refuses_is_the_systems_fault(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instance = await office.pending()

        async def broken(session: AsyncSession, _step: SubjectStep) -> None:
            await session.execute(sa.text("SELECT * FROM nowhere"))

        monkeypatch.setattr(
            office.box, "apply", broken
        )  # the document's part of the step, which no test can break else
        with attempt() as line:
            await office.act(instance, "approve", by="reviewer.consultant")

        assert line["counted"] == ("approve", "system_error")
        assert isinstance(line["error"], OperationalError)

    async def test_that_is_run_again_after_a_collision_is_one(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instance = await office.pending()
        taken: list[Step] = []

        async def collides(_session: AsyncSession, step: SubjectStep) -> bool:
            taken.append(step.step)
            if len(taken) == 1:
                raise OperationalError("UPDATE", {}, Exception("database is locked"))
            return False

        monkeypatch.setattr(office.box, "apply", collides)  # a collision at the moment that it is wanted
        with attempt() as line:
            await office.act(instance, "approve", by="reviewer.consultant")

        assert (len(taken), line["counted"]) == (2, ("approve", "success"))

    async def test_after_which_the_engine_goes_on_by_itself_has_a_line_for_each_step(self, office: Office) -> None:
        def step(to: str, *then: str) -> dict[str, Any]:
            return {"to": to, "label": WORDS, "events": [{"type": "auto_action", "action": name} for name in then]}

        states: list[dict[str, Any]] = [
            {"name": "open", "label": WORDS, "initial": True, "on": {"submit": step("checked", "file")}},
            {"name": "checked", "label": WORDS, "on": {"file": step("filed")}},
            {"name": "filed", "label": WORDS, "terminal": True},
        ]
        await office.define({"workflow": "BY_ITSELF", "states": states})
        instance = (await office.start(office.letter(), code="BY_ITSELF")).instance_public_id

        with lines_of(transition_metrics, "_log") as lines:
            await office.act(instance, "submit", by="dc.contractor")

        told = [line for line in lines if line["event"] == "workflow.transition"]
        assert [(line["action"], line["fromState"], line["toState"]) for line in told] == [
            ("submit", "open", "checked"),
            ("file", "checked", "filed"),
        ]
        assert all(line.keys() - {"event", "log_level"} == FIELDS for line in told)
        contractor = await office.person("dc.contractor")
        assert [line["userUuid"] == str(contractor.public_id) for line in told] == [True, False]
        for action in ("submit", "file"):
            labels = {"workflow_code": "BY_ITSELF", "action": action, "outcome": "success"}
            assert REGISTRY.get_sample_value("workflow_transitions_total", labels) == 1

    async def test_that_was_answered_before_is_none(self, office: Office) -> None:
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant", key="k")
        before = counts()

        with lines_of(transition_metrics, "_log") as lines:
            await office.act(instance, "approve", by="reviewer.consultant", key="k")

        assert (counts(), [each for each in lines if each["event"] == "workflow.transition"]) == (before, [])

    async def test_at_what_the_caller_may_not_know_of_is_none(self, office: Office) -> None:
        instance = await office.pending()
        (key,) = office.box.letters
        office.box.hidden[key] = {"dc.contractor"}
        before = counts()

        with pytest.raises(NotFound):
            await office.act(instance, "approve", by="reviewer.consultant", now=NOW)

        assert counts() == before
