"""Who may see what, as a table: organizations 1 (originator), 2 (recipient), 3 (party), 9 (nobody)."""

import pytest

from saraban.documents.core.domain import Placement, may_see, reach_of
from saraban.identity.domain.context import Grant

VIEW = frozenset({"document.view"})


def grant(*, organization: int | None = None, project: int | None = None, contract: int | None = None) -> Grant:
    return Grant("Somebody", VIEW, organization, project, contract)


@pytest.mark.parametrize(
    ("held", "member_of", "draft", "issued"),
    [
        ([], {1}, False, False),
        ([Grant("Superadmin", frozenset({"system.manage_all"}))], set(), True, True),
        ([grant()], set(), True, True),
        ([grant(project=7)], set(), True, True),
        ([grant(project=8)], set(), False, False),
        ([grant(organization=1)], {1}, True, True),
        ([grant(organization=2)], {2}, False, True),
        ([grant(organization=3)], {3}, False, True),
        ([grant(organization=9)], {9}, False, False),
        ([grant(contract=5)], {2}, False, True),
        ([grant(contract=5)], {1}, True, True),
        ([grant(contract=6)], {1}, False, False),
        ([Grant("Clerk", frozenset({"project.view"}), organization=1)], {1}, False, False),
    ],
)
def test_drafts_stay_at_home_and_issued_revisions_reach_whom_they_concern(
    held: list[Grant], member_of: set[int], draft: bool, issued: bool
) -> None:
    reach = reach_of(held, frozenset(member_of))
    place = {"project": 7, "contract": 5, "originator": 1, "recipients": frozenset({2}), "parties": frozenset({1, 3})}

    assert may_see(reach, Placement(**place, issued=False)) is draft
    assert may_see(reach, Placement(**place, issued=True)) is issued


def test_a_contract_that_is_not_there_opens_nothing() -> None:
    reach = reach_of([grant(contract=5)], frozenset({1}))

    assert not may_see(reach, Placement(7, None, 1, frozenset({2}), frozenset(), issued=True))
