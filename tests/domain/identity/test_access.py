"""The explanation and the guard say the same, whoever asks for whatever, wherever; and the roles it names are those that decide."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from saraban.identity.domain.access import CarryingRole, GivenRole, Standing, can_give, decide, fitting, places_in
from saraban.identity.domain.context import EVERYTHING, Caller, Grant, Scope
from saraban.kit.errors import Text
from saraban.kit.ids import new_id

NAMES = ("document.view", "workflow.action_review", "user.manage_assignments", EVERYTHING)
NOW = datetime(2026, 11, 20, tzinfo=UTC)
KEYS = st.integers(1, 3)
PLACES = st.one_of(
    st.just({}),
    st.builds(lambda key: {"organization": key}, KEYS),
    st.builds(lambda key: {"project": key}, KEYS),
    st.builds(lambda key: {"contract": key}, KEYS),
)
GRANTS = st.builds(
    lambda permissions, place: Grant("Role", frozenset(permissions), **place), st.sets(st.sampled_from(NAMES)), PLACES
)
SCOPES = st.builds(Scope, st.frozensets(KEYS, max_size=2), st.one_of(st.none(), KEYS), st.one_of(st.none(), KEYS))
WORDS = Text("บทบาท", "Role")


def held(grant: Grant, standing: Standing) -> GivenRole:
    return GivenRole(new_id(), grant, standing, WORDS, "Project", None, None, None, None, NOW)


ROLES = st.lists(st.builds(held, GRANTS, st.sampled_from(Standing)), max_size=5)


def person(roles: list[GivenRole]) -> Caller:
    grants = tuple(one.grant for one in roles if one.standing is Standing.IN_FORCE)
    return Caller(1, new_id(), "somebody", "Somebody", None, frozenset(), grants)


class TestDecide:
    @given(ROLES, st.sampled_from(NAMES), SCOPES)
    def test_says_what_the_guard_says(self, roles: list[GivenRole], permission: str, scope: Scope) -> None:
        who = person(roles)

        found = decide(who, roles, lambda one: one.may(permission, scope), [permission])

        assert found.allowed == who.may(permission, scope)
        if found.allowed:
            # One of several is enough for a permission, and it counts now.
            (deciding,) = found.deciding
            assert deciding.standing is Standing.IN_FORCE
            assert deciding.grant.gives(permission)
            assert deciding.grant.covers(scope)
        elif found.not_now is not None:
            assert found.not_now.standing is not Standing.IN_FORCE
            assert replace(who, grants=(found.not_now.grant,)).may(permission, scope)
        for one in found.elsewhere:
            assert one.grant.gives(permission)
            assert not one.grant.covers(scope)

    @given(ROLES, SCOPES)
    def test_names_all_the_roles_that_it_takes_together(self, roles: list[GivenRole], scope: Scope) -> None:
        def both(one: Caller) -> bool:
            return one.may(NAMES[0], scope) and one.may(NAMES[1], scope)

        who = person(roles)
        found = decide(who, roles, both, NAMES[:2])

        if found.allowed:
            grants = tuple(one.grant for one in found.deciding)
            assert both(replace(who, grants=grants))
            assert not any(both(replace(who, grants=grants[:at] + grants[at + 1 :])) for at in range(len(grants)))

    def test_leaves_out_the_role_for_everything_where_a_narrow_one_is_enough(self) -> None:
        everywhere = held(Grant("Superadmin", frozenset({EVERYTHING})), Standing.IN_FORCE)
        here = held(Grant("Viewer", frozenset({NAMES[0]}), organization=1), Standing.IN_FORCE)
        roles = [everywhere, here]

        found = decide(person(roles), roles, lambda one: one.may(NAMES[0], Scope(frozenset({1}))))

        assert found.deciding == (here,)

    def test_names_nothing_where_it_takes_no_role(self) -> None:
        assert decide(person([]), [], lambda _one: True).deciding == ()


CARRYING = st.builds(
    lambda level, names: CarryingRole("Role", WORDS, level, frozenset(names)),
    st.sampled_from(["Global", "Organization", "Project", "Contract"]),
    st.sets(st.sampled_from(NAMES[:2]), min_size=1),
)


class TestFitting:
    @given(st.lists(CARRYING, max_size=4), SCOPES)
    def test_is_given_in_a_place_of_the_scope_or_everywhere(self, roles: list[CarryingRole], scope: Scope) -> None:
        levels = {"Global", *places_in(scope)}

        found = fitting(roles, NAMES[:2], scope)

        assert {one.level for one in found} <= levels
        assert bool(found) == any(one.level in levels for one in roles)
        assert all(one.level != "Global" for one in found) or {one.level for one in found} == {"Global"}


class TestCanGive:
    @given(ROLES, CARRYING, SCOPES)
    def test_takes_the_right_to_give_and_all_of_the_role_in_one_place(
        self, roles: list[GivenRole], role: CarryingRole, scope: Scope
    ) -> None:
        who = person(roles)
        places = [Scope()] if role.level == "Global" else places_in(scope).get(role.level, ())
        able = [
            one for one in places if who.may(NAMES[2], one) and all(who.may(name, one) for name in role.permissions)
        ]

        assert can_give(who, [role], scope) == bool(able)
