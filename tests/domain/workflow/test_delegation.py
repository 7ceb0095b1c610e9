"""Delegation, by tables and by properties: never a chain of two, never a right that was not lent, never outside its days."""

from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.identity.domain.context import EVERYTHING, Caller, Grant, Scope
from saraban.kit.errors import DomainError, Invalid, Text
from saraban.workflow.engine import decisions
from saraban.workflow.language.definition import Definition, Require, State, Transition
from saraban.workflow.runtime.domain import delegation
from saraban.workflow.runtime.domain.delegation import (
    DelegateAway,
    Delegation,
    DelegationChained,
    DelegationOverlaps,
    check_against,
    check_days,
    check_people,
    lent,
    moments,
    standing,
)
from tests.domain.workflow.actors import CONTRACT, PROJECT, SUBMITTER, person, subject

BANGKOK = ZoneInfo("Asia/Bangkok")
TODAY = date(2026, 11, 21)
NOON = datetime(2026, 11, 21, 5, tzinfo=UTC)
REVIEW = "workflow.action_review"
A, B, C = 101, 102, 103


def lends(delegator: int, delegate: int, first: int = 0, last: int = 6, **more: object) -> Delegation:
    """Days are counted from today."""
    starts_at, ends_before = moments(TODAY + timedelta(days=first), TODAY + timedelta(days=last), BANGKOK)
    return Delegation(delegator, delegate, starts_at, ends_before, **more)  # type: ignore[arg-type]


class TestDays:
    @pytest.mark.parametrize(
        ("first", "last", "pointer", "code"),
        [
            (-1, 3, "/startsOn", "past"),
            (2, 1, "/endsOn", "before_start"),
            (0, 366, "/endsOn", "too_long"),
        ],
    )
    def test_are_refused_by_field(self, first: int, last: int, pointer: str, code: str) -> None:
        with pytest.raises(Invalid) as refused:
            check_days(TODAY + timedelta(days=first), TODAY + timedelta(days=last), today=TODAY)

        assert [(one.pointer, one.code) for one in refused.value.fields] == [(pointer, code)]

    @pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 365), (40, 405)])
    def test_may_be_one_and_as_many_as_a_leap_year_has(self, first: int, last: int) -> None:
        check_days(TODAY + timedelta(days=first), TODAY + timedelta(days=last), today=TODAY)

    def test_are_whole_days_of_the_zone_the_last_included(self) -> None:
        one = lends(A, B, 0, 0)

        assert one.starts_at == datetime(2026, 11, 20, 17, tzinfo=UTC)
        assert [one.counts_at(one.starts_at + timedelta(seconds=s)) for s in (-1, 0, 86_399, 86_400)] == [
            False,
            True,
            True,
            False,
        ]

    def test_do_not_count_once_taken_back(self) -> None:
        assert not lends(A, B, revoked=True).counts_at(NOON)


class TestPeople:
    def test_nobody_stands_in_for_himself(self) -> None:
        with pytest.raises(Invalid):
            check_people(UUID(int=A), UUID(int=A))

    @pytest.mark.parametrize(
        ("known", "refusal"),
        [
            (lends(B, C, 6, 9), DelegateAway),
            (lends(B, A, 6, 9), DelegateAway),
            (lends(C, A, 6, 9), DelegationChained),
            (lends(A, C, 6, 9), DelegationOverlaps),
            (lends(A, C, 6, 9, workflows=frozenset({"X", "Y"})), DelegationOverlaps),
            (lends(B, C, 7, 9), None),
            (lends(C, A, 7, 9), None),
            (lends(B, C, 6, 9, revoked=True), None),
            (lends(A, C, 6, 9, workflows=frozenset({"Y"})), None),
            (lends(A, C, 6, 9, project=8), None),
            (lends(C, B, 0, 9), None),
        ],
    )
    def test_are_held_against_what_they_lent_and_were_lent(
        self, known: Delegation, refusal: type[DomainError] | None
    ) -> None:
        wanted = lends(A, B, 0, 6, workflows=frozenset({"X"}), project=7)
        if refusal is None:
            check_against(wanted, [known])
            return
        with pytest.raises(refusal):
            check_against(wanted, [known])


days = st.integers(0, 12)
spans = st.tuples(days, days).map(lambda pair: (min(pair), max(pair)))
wishes = st.lists(
    st.tuples(
        st.sampled_from([A, B, C]),
        st.sampled_from([A, B, C]),
        spans,
        st.sampled_from([frozenset(), frozenset({"X"}), frozenset({"Y"})]),
        st.booleans(),
    ),
    max_size=12,
)


class TestChains:
    @given(wishes)
    def test_never_have_two_links(self, asked: list[tuple[int, int, tuple[int, int], frozenset[str], bool]]) -> None:
        kept: list[Delegation] = []
        for delegator, delegate, (first, last), workflows, revoked in asked:
            one = lends(delegator, delegate, first, last, workflows=workflows, revoked=revoked)
            try:
                check_people(UUID(int=delegator), UUID(int=delegate))
                check_against(one, kept)
            except DomainError:
                continue
            kept.append(one)

        for day in range(13):
            noon = NOON + timedelta(days=day)
            lenders = {one.delegator for one in kept if one.counts_at(noon)}
            takers = {one.delegate for one in kept if one.counts_at(noon)}
            assert not lenders & takers


NAMES = [REVIEW, "document.edit", "rfa.submit", EVERYTHING]
grants = st.lists(
    st.builds(
        Grant,
        role=st.sampled_from(["Editor", "Contract Admin", "Superadmin"]),
        permissions=st.frozensets(st.sampled_from(NAMES), min_size=1),
        organization=st.one_of(st.none(), st.integers(1, 4)),
    ),
    max_size=4,
)


def somebody(user: int, own: frozenset[int], held: list[Grant]) -> Caller:
    at = frozenset(one.organization for one in held if one.organization is not None)
    return Caller(user, UUID(int=user), f"user{user}", f"User {user}", None, own | at, tuple(held))


def people(user: int) -> st.SearchStrategy[Caller]:
    return st.builds(somebody, st.just(user), st.frozensets(st.integers(1, 4), max_size=3), grants)


class TestLent:
    @given(people(A), people(B), st.integers(1, 4), st.sampled_from(NAMES))
    def test_is_never_more_than_the_delegator_has_nor_reaches_beyond_what_both_work_for(
        self, delegator: Caller, delegate: Caller, organization: int, name: str
    ) -> None:
        seat = lent(delegator, delegate)
        if seat is None:
            assert not delegator.organization_ids & delegate.organization_ids
            return

        scope = Scope(frozenset({organization}), PROJECT, CONTRACT)
        assert not seat.may(EVERYTHING, scope)
        assert seat.organization_ids == delegator.organization_ids & delegate.organization_ids
        if seat.may(name, scope):
            assert delegator.may(name, scope)
        assert all(one.organization is None or one.organization in delegate.organization_ids for one in seat.grants)

    def test_leaves_out_all_that_came_with_the_right_to_everything(self) -> None:
        admin = person(2, user=A, grants=(("Superadmin", [EVERYTHING, REVIEW, "document.edit"], {}),))

        seat = lent(admin, person(2, user=B))

        assert seat is not None
        assert seat.grants == ()


class TestStanding:
    @given(
        st.lists(
            st.builds(
                lends,
                st.sampled_from([A, B, C]),
                st.sampled_from([A, B, C]),
                st.integers(-9, 3),
                st.integers(-3, 9),
                revoked=st.booleans(),
                workflows=st.sampled_from([frozenset(), frozenset({"X"})]),
            ),
            max_size=6,
        )
    )
    def test_gives_only_what_counts_now_and_is_lent_by_its_owner(self, known: list[Delegation]) -> None:
        everybody = {key: person(2, user=key, grants=(("Editor", [REVIEW], {"organization": 2}),)) for key in (A, B)}

        found = standing(everybody[B], known, everybody, moment=NOON)

        for one, seat in found:
            assert one in known
            assert (one.delegate, one.delegator) == (B, seat.user_id)
            assert one.counts_at(NOON)
            assert seat.user_id == A  # C's account is closed, and nobody stands in for himself
        expected = [one for one in known if (one.delegator, one.delegate) == (A, B) and one.counts_at(NOON)]
        assert [one for one, _ in found] == expected

    @pytest.mark.parametrize(
        ("workflow", "project", "reached"), [("X", 7, True), ("Y", 7, False), ("X", 8, False), ("X", None, False)]
    )
    def test_reaches_its_matter_alone(self, workflow: str, project: int | None, reached: bool) -> None:
        assert lends(A, B, workflows=frozenset({"X"}), project=7).reaches(workflow, project) is reached


LABEL = Text("คำ", "Word")


def workflow(**require: object) -> Definition:
    step = Transition("approve", "done", LABEL, Require(**require))  # type: ignore[arg-type]
    states = {
        "open": State(
            "open", LABEL, initial=True, terminal=False, editable=False, on=MappingProxyType({"approve": step})
        ),
        "done": State("done", LABEL, initial=False, terminal=True, editable=False, on=MappingProxyType({})),
    }
    return Definition("W", None, "open", states)


def reviewer(user: int, organization: int = 2) -> Caller:
    return person(organization, user=user, grants=(("Reviewer", [REVIEW], {"organization": organization}),))


class TestActing:
    REVIEWED = workflow(party=frozenset({"recipient"}), permissions=frozenset({REVIEW}))
    OTHERS = workflow(party=frozenset({"recipient"}), permissions=frozenset({REVIEW}), not_submitter=True)

    def test_names_whom_it_is_for(self) -> None:
        own = decisions.Facts(person(2, user=B), subject())

        (choice,) = delegation.choices(self.REVIEWED, "open", own, [reviewer(A)])
        taken = delegation.chosen(self.REVIEWED, "open", "approve", own, [reviewer(A)], named=None)

        assert (choice.code, choice.in_own_right) == ("approve", False)
        assert [one.public_id for one in choice.on_behalf_of] == [UUID(int=A)]
        assert (taken.caller.user_id, taken.deputy) == (A, own.caller)
        assert decisions.advance(self.REVIEWED, "open", "approve", taken).next_state == "done"

    def test_says_own_right_and_others_apart(self) -> None:
        (choice,) = delegation.choices(self.REVIEWED, "open", decisions.Facts(reviewer(B), subject()), [reviewer(A)])

        assert choice.in_own_right
        assert len(choice.on_behalf_of) == 1

    @pytest.mark.parametrize("submitter", [A, B])
    def test_makes_neither_of_both_his_own_judge(self, submitter: int) -> None:
        own = decisions.Facts(person(2, user=B), subject(submitter_user_id=submitter))

        assert delegation.choices(self.OTHERS, "open", own, [reviewer(A)]) == ()
        with pytest.raises(decisions.ActionForbidden):
            delegation.chosen(self.OTHERS, "open", "approve", own, [reviewer(A)], named=None)
        asked = delegation.chosen(self.OTHERS, "open", "approve", own, [reviewer(A)], named=UUID(int=A))
        with pytest.raises(decisions.ActionForbidden):
            decisions.advance(self.OTHERS, "open", "approve", asked)

    def test_asks_for_whom_where_several_could(self) -> None:
        own = decisions.Facts(person(2, user=B), subject())

        with pytest.raises(Invalid) as refused:
            delegation.chosen(self.REVIEWED, "open", "approve", own, [reviewer(A), reviewer(C)], named=None)

        assert [(one.pointer, one.code, one.values["publicId"]) for one in refused.value.fields] == [
            ("/onBehalfOf", "ambiguous", str(UUID(int=key))) for key in (A, C)
        ]
        named = delegation.chosen(self.REVIEWED, "open", "approve", own, [reviewer(A), reviewer(C)], named=UUID(int=C))
        assert named.caller.user_id == C

    def test_refuses_somebody_who_has_lent_nothing(self) -> None:
        own = decisions.Facts(reviewer(B), subject())

        with pytest.raises(Invalid) as refused:
            delegation.chosen(self.REVIEWED, "open", "approve", own, [reviewer(A)], named=UUID(int=C))

        assert refused.value.fields[0].code == "not_delegated"

    @given(st.lists(people(A), max_size=2), people(B), st.sampled_from([1, 2, 3]), st.sampled_from([A, B, SUBMITTER]))
    def test_never_gives_what_nobody_of_both_may(
        self, delegators: list[Caller], delegate: Caller, recipient: int, submitter: int
    ) -> None:
        about = subject(
            recipient_organization_ids=frozenset({recipient}),
            scope=Scope(frozenset({recipient, 3}), PROJECT, CONTRACT),
            submitter_user_id=submitter,
        )
        seats = [seat for one in delegators if (seat := lent(one, delegate)) is not None]
        own = decisions.Facts(delegate, about)

        found = delegation.choices(self.OTHERS, "open", own, seats)

        rightful = [
            decisions.available(self.OTHERS, "open", decisions.Facts(one, about)) for one in [delegate, *delegators]
        ]
        assert not found or any(rightful)
        if found and not found[0].in_own_right:
            assert submitter not in {A, B}
            assert recipient in delegate.organization_ids
        can_edit = decisions.can_edit(self.OTHERS.states["open"], delegate, about)
        assert not can_edit  # what a person may edit is asked of him alone
