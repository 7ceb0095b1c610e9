"""Who may see a circulation sheet, in a table: its own people, as far as they hold the right there."""

import pytest

from saraban.documents.circulation.domain import VIEW, may_see, reach_of
from saraban.identity.domain.context import EVERYTHING, Grant

OURS, OTHERS, PROJECT, OTHER_PROJECT, CONTRACT = 1, 2, 10, 11, 20
MAY = frozenset({VIEW})


@pytest.mark.parametrize(
    ("grant", "member_of", "seen"),
    [
        (Grant("Editor", MAY, organization=OURS), {OURS}, True),
        (Grant("Org Admin", frozenset({"document.view"}), organization=OURS), {OURS}, False),
        (Grant("Editor", MAY, organization=OTHERS), {OURS, OTHERS}, False),
        (Grant("Project Manager", MAY, project=PROJECT), {OURS}, True),
        (Grant("Project Manager", MAY, project=OTHER_PROJECT), {OURS}, False),
        (Grant("Project Manager", MAY, project=PROJECT), {OTHERS}, False),
        (Grant("Contract Admin", MAY, contract=CONTRACT), {OURS}, False),
        (Grant("Auditor", MAY), {OURS}, True),
        (Grant("Auditor", MAY), {OTHERS}, False),
        (Grant("Superadmin", frozenset({EVERYTHING})), {OTHERS}, True),
        (Grant("Head", frozenset({EVERYTHING}), organization=OURS), {OURS}, True),
        (Grant("Head", frozenset({EVERYTHING}), organization=OTHERS), {OTHERS}, False),
    ],
)
def test_needs_the_organization_and_the_right(grant: Grant, member_of: set[int], seen: bool) -> None:
    reach = reach_of([grant], frozenset(member_of))

    assert may_see(reach, organization=OURS, project=PROJECT) is seen
