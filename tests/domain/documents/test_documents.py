"""Labels, due dates, statuses and parts, as tables."""

from datetime import date

import pytest

from saraban.documents.circulation.domain import Part, rights_to_answer, status_code, still_to_answer
from saraban.documents.core.domain.due import earliest_due, is_overdue
from saraban.documents.core.domain.kind import Kind
from saraban.documents.core.domain.revision import label
from saraban.documents.correspondence.domain import CORRESPONDENCE
from saraban.documents.rfa.domain import RFA, VERDICTS, may_ask
from saraban.documents.transmittal.domain import TRANSMITTAL
from saraban.workflow.domain import dsl
from saraban.workflow.service.definitions import shipped

TODAY = date(2026, 3, 10)


class TestLabel:
    @pytest.mark.parametrize(
        ("number", "expected"),
        [(0, "A"), (1, "B"), (25, "Z"), (26, "AA"), (27, "AB"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")],
    )
    def test_goes_from_a_to_z_and_on(self, number: int, expected: str) -> None:
        assert label(number) == expected

    def test_never_gives_the_same_twice(self) -> None:
        assert len({label(number) for number in range(2000)}) == 2000

    def test_refuses_a_revision_before_the_first(self) -> None:
        with pytest.raises(ValueError, match="counted from 0"):
            label(-1)


class TestOverdue:
    @pytest.mark.parametrize(
        ("due", "closed", "expected"),
        [
            (None, False, False),
            (date(2026, 3, 9), False, True),
            (date(2026, 3, 10), False, False),
            (date(2026, 3, 11), False, False),
            (date(2026, 3, 9), True, False),
        ],
    )
    def test_begins_the_day_after(self, due: date | None, closed: bool, expected: bool) -> None:
        assert is_overdue(due, today=TODAY, closed=closed) is expected


class TestEarliestDue:
    @pytest.mark.parametrize(
        ("written", "expected"),
        [(None, TODAY), (date(2026, 1, 1), TODAY), (date(2026, 4, 1), date(2026, 4, 1))],
    )
    def test_is_today_or_the_documents_own_day(self, written: date | None, expected: date) -> None:
        assert earliest_due(written, today=TODAY) == expected


class TestStatusCode:
    @pytest.mark.parametrize(
        ("state", "role", "expected"),
        [
            ("draft", "OWNER", "DRAFT"),
            ("in_review", "OWNER", "SUBOWN"),
            ("in_review", "DESIGNER", "SUBDSN"),
            ("in_review", "CONSULTANT", "SUBCSC"),
            ("in_review", "CONTRACTOR", "SUBCON"),
            ("in_review", None, "SUBOTH"),
            ("approved", "OWNER", "CLBOWN"),
            ("rejected", "OWNER", "REJECTED"),
            ("cancelled", None, "CANCELLED"),
        ],
    )
    def test_of_a_letter_names_the_recipients_role(self, state: str, role: str | None, expected: str) -> None:
        assert CORRESPONDENCE.status_code(state, role) == expected
        assert expected in CORRESPONDENCE.status_codes(state)

    @pytest.mark.parametrize(("left", "expected"), [("pending_review", "REPCSC"), ("pending_approval", "REPOWN")])
    def test_of_an_rfa_sent_back_names_who_replied(self, left: str, expected: str) -> None:
        # The recipient's role does not matter: an RFA goes along its approval path.
        assert RFA.status_code("revision_requested", "CONSULTANT", left=left) == expected
        assert expected in RFA.status_codes("revision_requested")

    @pytest.mark.parametrize("kind", [CORRESPONDENCE, RFA, TRANSMITTAL], ids=lambda kind: kind.name)
    def test_counts_as_finished_where_the_workflow_ends(self, kind: Kind) -> None:
        definition = next(dsl.read(raw) for raw in shipped() if raw["workflow"] == kind.workflow_code)
        ends = {state.name for state in definition.states.values() if state.terminal}

        assert kind.finished == ends | {"cancelled", "terminated"}

    @pytest.mark.parametrize("kind", [CORRESPONDENCE, RFA, TRANSMITTAL], ids=lambda kind: kind.name)
    def test_tells_the_states_of_a_kind_apart(self, kind: Kind) -> None:
        codes = [kind.status_codes(state) for state in kind.statuses]

        assert sum(map(len, codes)) == len(frozenset().union(*codes))

    @pytest.mark.parametrize(
        ("state", "status", "approve_code"),
        [
            ("draft", "DFT", None),
            ("pending_review", "FRE", None),
            ("pending_approval", "FAP", None),
            ("approved", "FCO", "1A"),
            ("rejected", "FRE", "4X"),
            ("revision_requested", "FRE", "3R"),
            ("cancelled", "CC", None),
        ],
    )
    def test_of_an_rfa_comes_with_its_verdict(self, state: str, status: str, approve_code: str | None) -> None:
        assert (VERDICTS[state].status, VERDICTS[state].approve_code) == (status, approve_code)
        assert state in RFA.statuses


class TestParts:
    def test_waits_for_main_and_action_only(self) -> None:
        parts = [
            Part("MAIN", "PENDING"),
            Part("ACTION", "IN_PROGRESS"),
            Part("ACTION", "REJECTED"),
            Part("INFORMATION", "PENDING"),
        ]
        assert still_to_answer(parts) == 2

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("MAIN", ("circulation.respond",)),
            ("INFORMATION", ("circulation.acknowledge", "circulation.respond")),
        ],
    )
    def test_lets_the_informed_acknowledge(self, kind: str, expected: tuple[str, ...]) -> None:
        assert rights_to_answer(kind) == expected


class TestMayAsk:
    @pytest.mark.parametrize(
        ("organization", "expected"),
        [(1, False), (2, False), (3, True), (4, False)],
        ids=["owner", "consultant", "contractor", "no party"],
    )
    def test_is_the_contractors_of_the_contract(self, organization: int, expected: bool) -> None:
        parties = {"OWNER": frozenset({1}), "CONSULTANT": frozenset({2}), "CONTRACTOR": frozenset({3})}

        assert may_ask(organization, parties) is expected

    def test_is_nobody_where_there_is_no_contractor(self) -> None:
        assert not may_ask(3, {"OWNER": frozenset({1})})


class TestStatesOfOnesOwn:
    """An administrator's definition may have states that no register knows."""

    @pytest.mark.parametrize("kind", [CORRESPONDENCE, RFA], ids=lambda kind: kind.name)
    def test_show_that_the_document_is_under_way_or_closed(self, kind: Kind) -> None:
        codes = [kind.status_code("with_consultant", "CONSULTANT", ended=ended) for ended in (False, True)]

        assert codes == ["IN_REVIEW", "CLOSED"]
        assert [code in kind.finished_codes for code in codes] == [False, True]

    def test_of_a_sheet_too(self) -> None:
        assert [status_code("waiting", ended=ended) for ended in (False, True)] == ["IN_REVIEW", "COMPLETED"]
