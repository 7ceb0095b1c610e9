"""Who writes documents that belong to a contract: its parties, and those who stand above it in the project."""

import pytest

from saraban.documents.core.domain import may_write_in

OWNER, CONSULTANT, CONTRACTOR, OTHER_CONTRACTOR, SUBCONTRACTOR, DESIGNER = range(1, 7)
OF_PROJECT = {
    "OWNER": frozenset({OWNER}),
    "CONSULTANT": frozenset({CONSULTANT}),
    "CONTRACTOR": frozenset({CONTRACTOR, OTHER_CONTRACTOR}),
    "DESIGNER": frozenset({DESIGNER}),
}
OF_CONTRACT = {"CONTRACTOR": frozenset({CONTRACTOR}), "OTHER": frozenset({SUBCONTRACTOR})}


class TestMayWriteIn:
    @pytest.mark.parametrize(
        ("organization", "expected"),
        [
            (CONTRACTOR, True),
            (SUBCONTRACTOR, True),
            (OWNER, True),
            (CONSULTANT, True),
            (OTHER_CONTRACTOR, False),
            (DESIGNER, False),
        ],
    )
    def test_is_its_parties_the_owner_and_the_consultant(self, organization: int, expected: bool) -> None:
        assert may_write_in(organization, of_contract=OF_CONTRACT, of_project=OF_PROJECT) is expected
