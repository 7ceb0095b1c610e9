"""Labels, due dates, statuses and parts, as tables."""

import runpy
from datetime import date
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from saraban.documents.circulation.domain import rights_to_answer, status_code, still_to_answer
from saraban.documents.core.domain import (
    KindRules,
    counts_as_issued,
    earliest_due,
    is_overdue,
    sender_number_key,
)
from saraban.documents.core.service.warnings import due_date_warnings
from saraban.documents.correspondence import CORRESPONDENCE_RULES, GeneralType
from saraban.documents.rfa.domain import APPROVE_CODES, RFA_RULES, RfaVerdict, may_ask, verdict
from saraban.documents.transmittal.service import TRANSMITTAL_RULES
from saraban.kit.ids import new_id
from saraban.numbering.service import NumberRequest
from saraban.projects.domain.revision_scheme import revision_label
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.language.outcome import OUTCOMES, Outcome
from saraban.workflow.language.registers import REGISTERS
from saraban.workflow.language.subject import Meaning
from saraban.workflow.verification import definition_checks

TODAY = date(2026, 3, 10)
PARTIES = {"project_public_id": new_id(), "originator_organization_public_id": new_id()}


class TestLabel:
    @pytest.mark.parametrize(
        ("number", "expected"),
        [(0, "A"), (1, "B"), (25, "Z"), (26, "AA"), (27, "AB"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")],
    )
    def test_goes_from_a_to_z_and_on(self, number: int, expected: str) -> None:
        assert revision_label(number) == expected

    def test_never_gives_the_same_twice(self) -> None:
        assert len({revision_label(number) for number in range(2000)}) == 2000

    def test_refuses_a_revision_before_the_first(self) -> None:
        with pytest.raises(ValueError, match="counted from 0"):
            revision_label(-1)


@pytest.mark.parametrize("code", ["LETTER", "letter", "Ｌetter", " letter\u200b "])
def test_a_type_is_known_however_it_is_spelled(code: str) -> None:
    assert TypeAdapter(GeneralType).validate_python(code) == "LETTER"
    assert NumberRequest(correspondence_type_code="ｄrawing", **PARTIES).unique_in == "shop"


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
        assert earliest_due(written, today=TODAY, incoming=False, sent=date(2026, 1, 1)) == expected

    @pytest.mark.parametrize("sent", [None, date(2026, 1, 1)])
    def test_of_an_incoming_document_is_the_day_it_was_sent(self, sent: date | None) -> None:
        assert earliest_due(TODAY, today=TODAY, incoming=True, sent=sent) == sent


class TestDueDateWarnings:
    @pytest.mark.parametrize(
        ("today", "due", "expected"),
        [
            (TODAY, None, []),
            (TODAY, date(2031, 3, 10), []),
            (TODAY, date(2031, 3, 11), ["/dueDate"]),
            (date(2024, 2, 29), date(2029, 2, 28), []),
            (date(2024, 2, 29), date(2029, 3, 1), ["/dueDate"]),
        ],
    )
    def test_name_what_is_more_than_five_years_away(self, today: date, due: date | None, expected: list[str]) -> None:
        assert [one.pointer for one in due_date_warnings({"/dueDate": due}, today=today)] == expected


class TestSenderNumberKey:
    @pytest.mark.parametrize(
        "number",
        [
            "ที่ คค 0412/2569",
            "ที่ คค ๐๔๑๒/๒๕๖๙",
            "คค 0412/2569",
            "คค.0412 / 2569",
            "ที่  คค\u00a00412/２５６９",
            "ที่คค 0412/2569",
            "เลขที่ คค 0412/2569",
            "ที่คค.0412/2569",
        ],
    )
    def test_is_the_same_for_one_number(self, number: str) -> None:
        assert sender_number_key(number) == "คค0412/2569"

    @pytest.mark.parametrize(
        ("number", "key"),
        [
            (None, None),
            (" ", None),
            ("AB-1", "ab-1"),
            ("ab–1", "ab-1"),
            ("กค 1.2/69", "กค1.2/69"),
            ("ที่ดิน 5", "ที่ดิน5"),
            ("เเผน 1", "แผน1"),
            ("กี่\u200b 1", "กี่1"),
            ("ก\u0e48\u0e35 1", "กี่1"),
        ],
    )
    def test_keeps_what_tells_numbers_apart(self, number: str | None, key: str | None) -> None:
        assert sender_number_key(number) == key

    @pytest.mark.parametrize("number", ["ที่ คค ๐๔๑๒.๑/๒๕๖๙", " AB–1 ", "คค.0412 / 2569", " ", "ที่กท 0588", "เเผน 1"])
    def test_is_what_the_migration_gave_to_earlier_rows(self, monkeypatch: pytest.MonkeyPatch, number: str) -> None:
        folder = Path(__file__).parents[3] / "migrations"
        monkeypatch.syspath_prepend(str(folder))
        migration = runpy.run_path(str(folder / "versions" / "0082_sender_number_keys.py"))

        assert migration["_key"](number) == sender_number_key(number)


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
        assert CORRESPONDENCE_RULES.status_code(state, role) == expected
        assert expected in CORRESPONDENCE_RULES.status_codes(state)

    @pytest.mark.parametrize(("left", "expected"), [("pending_review", "REPCSC"), ("pending_approval", "REPOWN")])
    def test_of_an_rfa_sent_back_names_who_replied(self, left: str, expected: str) -> None:
        # The recipient's role does not matter: an RFA goes along its approval path.
        assert RFA_RULES.status_code("revision_requested", "CONSULTANT", left=left) == expected
        assert expected in RFA_RULES.status_codes("revision_requested")

    @pytest.mark.parametrize("kind", [CORRESPONDENCE_RULES, RFA_RULES, TRANSMITTAL_RULES], ids=lambda kind: kind.name)
    def test_counts_as_finished_where_the_workflow_ends(self, kind: KindRules) -> None:
        codes = {REGISTERS[kind.name].code, *dict(REGISTERS[kind.name].codes).values()}
        definitions = [definition_checks.verify(raw) for raw in shipped() if raw["workflow"] in codes]
        ends = {state.name for one in definitions for state in one.states.values() if state.terminal}

        assert kind.finished == ends | {"cancelled", "terminated"}

    @pytest.mark.parametrize("kind", [CORRESPONDENCE_RULES, RFA_RULES, TRANSMITTAL_RULES], ids=lambda kind: kind.name)
    def test_tells_the_states_of_a_kind_apart_but_for_those_that_show_alike(self, kind: KindRules) -> None:
        codes = {frozenset(kind.status_codes(state)) for state in kind.statuses}

        assert sum(map(len, codes)) == len(frozenset().union(*codes))

    @pytest.mark.parametrize(
        ("meaning", "left", "expected"),
        [
            (Meaning("approved", decided_by="OWNER"), None, "CLBOWN"),
            (Meaning("approved_with_comments", decided_by="CONSULTANT"), None, "CLBCSC"),
            (Meaning("approved"), "pending_approval", "CLBOWN"),  # the step names no role, the state left does
            (Meaning("approved"), "anywhere", "CLBCON"),  # else it is the recipient's
            (Meaning("revise_resubmit", decided_by="DESIGNER"), None, "REPDSN"),
            (Meaning("rejected", decided_by="OWNER"), None, "REJECTED"),
            (Meaning("withdrawn"), None, "CANCELLED"),
            (Meaning("closed", decided_by="OWNER"), None, "CLOSED"),
            (Meaning(), None, "CLOSED"),
        ],
    )
    def test_of_an_end_is_what_it_means_under_any_name(self, meaning: Meaning, left: str | None, expected: str) -> None:
        found = RFA_RULES.status_code("an_end", "CONTRACTOR", left=left, ended=True, meaning=meaning)

        assert found == expected
        assert found in RFA_RULES.finished_codes

    @pytest.mark.parametrize(
        ("kind", "asks", "expected"),
        [
            (RFA_RULES, "OWNER", "SUBOWN"),
            (RFA_RULES, "CONSULTANT", "SUBCSC"),
            (CORRESPONDENCE_RULES, "recipient", "SUBDSN"),
            (TRANSMITTAL_RULES, "OWNER", "SUBMITTED"),
            (RFA_RULES, None, "IN_REVIEW"),
        ],
    )
    def test_under_way_names_whom_it_waits_for_under_any_name(
        self, kind: KindRules, asks: str | None, expected: str
    ) -> None:
        found = kind.status_code("a_step", "DESIGNER", meaning=Meaning(asks=asks))

        assert found == expected
        assert found not in kind.finished_codes


class TestVerdict:
    @pytest.mark.parametrize(
        ("state", "status"),
        [
            ("draft", "DFT"),
            ("pending_review", "FRE"),
            ("pending_approval", "FAP"),
            ("cancelled", "CC"),
            ("terminated", "TRM"),
            ("anything", "FRE"),
        ],
    )
    def test_of_a_state_is_its_status_alone(self, state: str, status: str) -> None:
        assert verdict(state, ended=state in {"cancelled", "terminated"}) == RfaVerdict(status)

    @pytest.mark.parametrize(("asks", "status"), [("OWNER", "FAP"), ("CONSULTANT", "FRE"), ("recipient", "FRE")])
    def test_under_way_is_for_approval_where_the_owner_is_waited_for(self, asks: str, status: str) -> None:
        assert verdict("a_step", meaning=Meaning(asks=asks)) == RfaVerdict(status)

    @pytest.mark.parametrize(
        ("meaning", "expected"),
        [
            (Meaning("approved"), RfaVerdict("FCO", "1A", approved=True)),
            (Meaning("approved", decided_by="OWNER"), RfaVerdict("FCO", "1A", approved=True)),
            (Meaning("approved", decided_by="CONSULTANT"), RfaVerdict("FCO", "1C", approved=True)),
            (Meaning("approved_with_comments"), RfaVerdict("FCO", "1N", approved=True)),
            (Meaning("revise_resubmit"), RfaVerdict("FRE", "3R")),
            (Meaning("rejected"), RfaVerdict("FRE", "4X")),
            (Meaning("closed"), RfaVerdict("FRE", "5N")),
            (Meaning("withdrawn"), RfaVerdict("CC")),
        ],
    )
    def test_of_an_end_is_what_it_means_under_any_name(self, meaning: Meaning, expected: RfaVerdict) -> None:
        assert verdict("an_end", ended=True, meaning=meaning) == expected
        assert expected.approve_code in {None, *APPROVE_CODES}

    @pytest.mark.parametrize(
        ("code", "expected"),
        [
            ("1N", RfaVerdict("FCO", "1A", approved=True)),
            ("3C", RfaVerdict("FRE", "3R")),
            ("4X", RfaVerdict("FRE", "4X")),
            ("5N", RfaVerdict("FRE", "5N")),
            ("1B", RfaVerdict("FRE")),  # none of the approve codes, so its first digit means nothing
            (None, RfaVerdict("FRE")),
        ],
    )
    def test_of_an_end_that_says_nothing_is_that_of_the_code_answered(
        self, code: str | None, expected: RfaVerdict
    ) -> None:
        assert verdict("an_end", ended=True, response_code=code) == expected

    @pytest.mark.parametrize("outcome", OUTCOMES)
    def test_has_one_for_every_outcome(self, outcome: Outcome) -> None:
        assert verdict("an_end", ended=True, meaning=Meaning(outcome)) != verdict("an_end", ended=True)


class TestIssues:
    @pytest.mark.parametrize(
        ("state", "outcome", "expected"),
        [
            ("draft", None, False),
            ("a_step", None, True),
            ("an_end", "approved", True),
            ("dropped", "withdrawn", False),  # a draft that is given up stays its author's
            ("cancelled", "withdrawn", False),
            ("terminated", None, False),
        ],
    )
    def test_opens_a_document_to_its_recipients(self, state: str, outcome: Outcome | None, expected: bool) -> None:
        assert counts_as_issued(state, outcome) is expected


class TestSheetStatus:
    @pytest.mark.parametrize(
        ("state", "ended", "outcome", "expected"),
        [
            ("completed", True, "closed", "COMPLETED"),
            ("given_up", True, "withdrawn", "CANCELLED"),
            ("noted", True, "closed", "COMPLETED"),
            ("noted", True, None, "COMPLETED"),
            ("asking", False, None, "IN_REVIEW"),
        ],
    )
    def test_is_what_an_end_means(self, state: str, ended: bool, outcome: Outcome | None, expected: str) -> None:
        assert status_code(state, ended=ended, outcome=outcome) == expected


class TestParts:
    def test_waits_for_main_and_action_only(self) -> None:
        parts = [
            ("MAIN", "PENDING"),
            ("ACTION", "IN_PROGRESS"),
            ("ACTION", "REJECTED"),
            ("INFORMATION", "PENDING"),
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

    @pytest.mark.parametrize("kind", [CORRESPONDENCE_RULES, RFA_RULES], ids=lambda kind: kind.name)
    def test_show_that_the_document_is_under_way_or_closed(self, kind: KindRules) -> None:
        codes = [kind.status_code("with_consultant", "CONSULTANT", ended=ended) for ended in (False, True)]

        assert codes == ["IN_REVIEW", "CLOSED"]
        assert [code in kind.finished_codes for code in codes] == [False, True]

    def test_of_a_sheet_too(self) -> None:
        assert [status_code("waiting", ended=ended) for ended in (False, True)] == ["IN_REVIEW", "COMPLETED"]
