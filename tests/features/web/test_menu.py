"""The menu of administration offers no page that its reader is kept out of."""

import pytest

from saraban.identity.domain.catalogue import DOCUMENT_CONTROL, PROJECT_MANAGER, SUPERADMIN, permissions_of
from saraban.identity.domain.context import EVERYTHING, Caller, Grant
from saraban.kit.ids import new_id
from saraban.web.shell.administration import menu_for

COUNTERS = frozenset({"numbering.view_counters"})


@pytest.mark.parametrize(
    ("grant", "offered"),
    [
        (Grant(DOCUMENT_CONTROL, permissions_of(DOCUMENT_CONTROL), organization=1), False),
        (Grant("ผู้ดูแลเลขที่", COUNTERS | {"numbering.manage_formats"}, organization=1), False),
        (Grant(PROJECT_MANAGER, permissions_of(PROJECT_MANAGER), project=1), True),
        (Grant("ผู้ดูแลเลขที่", COUNTERS, project=1), True),
        (Grant("ผู้ดูแลระบบ", frozenset({"system.view_logs"})), True),
        (Grant(SUPERADMIN, frozenset({EVERYTHING})), True),
    ],
)
def test_the_number_audit_is_for_who_sees_the_numbers_of_a_whole_project(grant: Grant, *, offered: bool) -> None:
    caller = Caller(1, new_id(), "somchai", "สมชาย", 1, frozenset({1}), (grant,))

    assert ("/numbers/audit" in {page.url for group in menu_for(caller) for page in group.pages}) == offered
