"""What a project lacks until its first number."""

from dataclasses import replace
from typing import Any

import pytest

from saraban.setup.domain.checklist import ProjectFacts, checklist

CREATES, REVIEWS = frozenset({"rfa.create"}), frozenset({"workflow.action_review"})
WHOLE = ProjectFacts(
    members=2,
    contract_parties=[2],
    disciplines=1,
    rfa_types=1,
    formats=1,
    rights={1: CREATES, 2: REVIEWS},
    workflows=frozenset({"RFA_APPROVAL"}),
    in_force=frozenset({"RFA_APPROVAL", "OTHER"}),
)


def missing(**changes: Any) -> list[str]:
    return [one.kind.value for one in checklist(replace(WHOLE, **changes)) if not one.done]


def test_nothing_is_missing_of_a_whole_project() -> None:
    assert missing() == []


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"members": 1}, "organizations"),
        ({"contract_parties": []}, "contracts"),
        ({"contract_parties": [1, 1]}, "contracts"),
        ({"disciplines": 0}, "disciplines"),
        ({"rfa_types": 0}, "types"),
        ({"formats": 0}, "formats"),
        ({"rights": {}}, "people"),
        ({"rights": {1: CREATES}}, "people"),
        ({"rights": {2: REVIEWS}}, "people"),
        ({"rights": {1: CREATES | REVIEWS}}, "people"),
        ({"in_force": frozenset()}, "workflows"),
    ],
)
def test_names_what_is_missing(change: dict[str, Any], kind: str) -> None:
    assert missing(**change) == [kind]


@pytest.mark.parametrize(
    ("asked", "there"),
    [([{"CONSULTANT"}], True), ([{"CONSULTANT"}, {"OWNER"}], False), ([{"CONSULTANT"}, {"OWNER", "CONSULTANT"}], True)],
)
def test_somebody_decides_at_each_step_of_an_rfa(asked: list[set[str]], there: bool) -> None:
    roles = {1: frozenset({"CONTRACTOR"}), 2: frozenset({"CONSULTANT"})}

    found = missing(roles=roles, asked=[frozenset(one) for one in asked])

    assert found == ([] if there else ["people"])


def test_each_of_two_organizations_may_create_and_review() -> None:
    assert missing(rights={1: CREATES | REVIEWS, 2: CREATES | REVIEWS}) == []
