"""Finished histories played through another version: what the record still knows is asked again, and nothing else."""

from typing import Any
from uuid import UUID

import pytest

from saraban.workflow.administration.domain.history_replay import RecordedActor, RecordedStep, replay
from saraban.workflow.language import dsl
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import SUBMITTER, person, subject
from tests.step_data_workflow import written

SYSTEM = person(user=1)
CONTRACTOR = RecordedActor(SUBMITTER, UUID(int=SUBMITTER), frozenset({3}))
OWNER = RecordedActor(60, UUID(int=60), frozenset({1, 5}))
STANDING_IN = RecordedActor(61, UUID(int=61), frozenset({1}), deputy_id=SUBMITTER)
NOT_RECORDED = RecordedActor(60, UUID(int=60))


def sent(amount: Any = 400, who: RecordedActor | None = CONTRACTOR, **more: Any) -> RecordedStep:
    return RecordedStep("send", "open", None, {"amount": amount}, who=who, **more)


def closed(who: RecordedActor | None = OWNER, **more: Any) -> RecordedStep:
    return RecordedStep("close", "closed", None, {}, who=who, **more)


def parted(raw: dict[str, Any], *past: RecordedStep) -> tuple[str, int] | None:
    found = replay(dsl.read(raw), past or (sent(), closed()), subject(), SYSTEM)
    return found and (found.reason.code, found.step)


def closing(**close: Any) -> dict[str, Any]:
    raw = written()
    raw["states"][1]["on"]["close"] |= close
    return raw


class TestValues:
    def test_that_the_schema_would_refuse_are_named(self) -> None:
        properties = {"amount": {"type": "number", "maximum": 100}}

        found = replay(definition_checks.verify(written(properties=properties)), (sent(), closed()), subject(), SYSTEM)

        assert found is not None
        assert (found.reason.code, found.step, found.reason.to) == ("context", 1, "open")
        assert [(fault.pointer, fault.code) for fault in found.reason.faults] == [("/payload/amount", "maximum")]

    def test_that_are_needed_now_and_did_not_come_are_named(self) -> None:
        assert parted(written(required=("amount", "note"))) == ("context", 1)

    def test_that_an_action_would_not_take_are_named(self) -> None:
        again = RecordedStep("correct", "open", None, {"amount": 5}, who=OWNER)

        assert parted(written(), sent(), again, closed()) == ("values", 2)
        assert parted(written({"fields": ["amount"]}), sent(), again, closed()) is None

    def test_are_not_asked_of_what_was_forced(self) -> None:
        forced = RecordedStep("send", "open", None, {}, imposed=True)

        assert parted(written(required=("amount",), fields=["amount"]), forced, closed()) is None


class TestWhoActed:
    @pytest.mark.parametrize(
        ("who", "parting"),
        [(OWNER, None), (CONTRACTOR, ("not_submitter", 2)), (STANDING_IN, ("not_submitter", 2)), (None, None)],
    )
    def test_may_not_be_who_wrote_it(self, who: RecordedActor | None, parting: Any) -> None:
        assert parted(closing(require={"notSubmitter": True}), sent(), closed(who)) == parting

    @pytest.mark.parametrize(
        ("require", "parting"),
        [
            ({"organizationRoles": ["OWNER"]}, None),
            ({"organizationRoles": ["CONSULTANT"]}, ("party", 2)),
            ({"party": ["recipient"]}, ("party", 2)),
            ({"party": ["recipient", "assignee"]}, None),
            ({"roles": ["Editor"], "permissions": ["workflow.action_review"]}, None),
        ],
    )
    def test_must_be_of_a_side_that_may(self, require: dict[str, Any], parting: Any) -> None:
        assert parted(closing(require=require)) == parting

    def test_is_not_asked_for_what_was_not_recorded(self) -> None:
        raw = closing(require={"organizationRoles": ["CONSULTANT"]})

        assert parted(raw, sent(), closed(NOT_RECORDED)) is None
        assert parted(raw, sent(), closed(None)) is None
        assert parted(raw, sent(), closed(None, automatic=True)) is None

    def test_must_be_the_person_whom_a_step_names(self) -> None:
        raw = closing(require={"user": str(UUID(int=60))})

        assert parted(raw) is None
        assert parted(raw, sent(), closed(CONTRACTOR)) == ("user", 2)

    def test_may_be_the_one_to_whom_the_step_was_given(self) -> None:
        raw = closing(require={"user": str(UUID(int=99))})
        given = RecordedStep("reassign", "open", "Somebody has left", {}, imposed=True, given_to=OWNER.public_id)

        assert parted(raw, sent(), given, closed()) is None
        assert parted(raw, sent(), closed()) == ("user", 2)

    @pytest.mark.parametrize(
        ("path", "expected", "parting"),
        [
            ("actor.isSubmitter", True, ("condition", 2)),
            ("actor.publicId", str(UUID(int=60)), None),
            ("actor.publicId", str(UUID(int=99)), ("condition", 2)),
            ("actor.roles", "Editor", None),
            ("actor.isAssignee", True, None),
        ],
    )
    def test_is_read_by_conditions_as_far_as_it_is_known(self, path: str, expected: Any, parting: Any) -> None:
        rule = {"==": [{"var": path}, expected]}

        assert parted(closing(condition={"type": "json-logic", "rule": rule})) == parting


class TestResponseCode:
    def test_that_counts_where_none_was_given_is_read_by_the_condition(self) -> None:
        rule = {"==": [{"var": "responseCode"}, "1A"]}
        raw = closing(condition={"type": "json-logic", "rule": rule}, responses={"1A": {"default": True}, "4X": {}})

        assert dsl.read(raw).states["open"].on["close"].usual == "1A"
        found = replay(dsl.read(raw), (sent(), closed()), subject(), SYSTEM)
        assert found is None
