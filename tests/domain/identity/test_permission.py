"""May somebody do something somewhere: every kind of grant against every kind of place."""

import pytest

from saraban.identity.domain.context import EVERYTHING, Grant, Scope, allows, allows_somewhere

VIEW = frozenset({"rfa.view"})
ALL = frozenset({EVERYTHING})

EVERYWHERE = Grant("Viewer", VIEW)
IN_ORGANIZATION = Grant("Viewer", VIEW, organization=1)
IN_PROJECT = Grant("Viewer", VIEW, project=1)
IN_CONTRACT = Grant("Viewer", VIEW, contract=1)

CASES = [
    ("global covers nothing in particular", [EVERYWHERE], Scope(), True),
    ("global covers an organization", [EVERYWHERE], Scope(frozenset({9})), True),
    ("global covers a project", [EVERYWHERE], Scope(project=9, contract=9), True),
    ("organization covers itself", [IN_ORGANIZATION], Scope(frozenset({1})), True),
    ("organization covers what concerns several", [IN_ORGANIZATION], Scope(frozenset({2, 1}), 9, 9), True),
    ("organization does not cover another", [IN_ORGANIZATION], Scope(frozenset({2})), False),
    (
        "organization does not cover a project of the same number",
        [IN_ORGANIZATION],
        Scope(project=1, contract=1),
        False,
    ),
    ("organization does not cover everything", [IN_ORGANIZATION], Scope(), False),
    ("project covers itself", [IN_PROJECT], Scope(project=1), True),
    ("project covers its contracts", [IN_PROJECT], Scope(frozenset({7}), project=1, contract=5), True),
    ("project does not cover another", [IN_PROJECT], Scope(project=2), False),
    ("project does not cover a contract of the same number", [IN_PROJECT], Scope(project=2, contract=1), False),
    ("project does not cover an organization of the same number", [IN_PROJECT], Scope(frozenset({1})), False),
    ("contract covers itself", [IN_CONTRACT], Scope(project=3, contract=1), True),
    ("contract does not cover its project", [IN_CONTRACT], Scope(project=3), False),
    ("contract does not cover another", [IN_CONTRACT], Scope(project=3, contract=2), False),
    ("contract does not cover what has none", [IN_CONTRACT], Scope(), False),
    ("one of several is enough", [IN_PROJECT, IN_CONTRACT], Scope(project=3, contract=1), True),
    ("nobody has nothing", [], Scope(), False),
]


class TestAllows:
    @pytest.mark.parametrize(("grants", "scope", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
    def test_asks_whether_a_grant_covers_the_place(self, grants: list[Grant], scope: Scope, *, expected: bool) -> None:
        assert allows(grants, "rfa.view", scope) is expected

    def test_refuses_what_the_role_does_not_give(self) -> None:
        assert not allows([EVERYWHERE], "rfa.create", Scope())

    def test_lets_whoever_may_do_everything_do_what_no_role_has(self) -> None:
        assert allows([Grant("Superadmin", ALL)], "no.such_permission", Scope(project=4))

    def test_keeps_even_everything_inside_its_place(self) -> None:
        grant = Grant("Odd", ALL, organization=1)

        assert allows([grant], "rfa.view", Scope(frozenset({1})))
        assert not allows([grant], "rfa.view", Scope(frozenset({2})))

    def test_does_not_mix_the_place_of_one_role_with_the_permission_of_another(self) -> None:
        grants = [Grant("Viewer", VIEW, organization=1), Grant("Editor", frozenset({"rfa.create"}), organization=2)]

        assert not allows(grants, "rfa.create", Scope(frozenset({1})))


class TestAllowsSomewhere:
    def test_is_content_with_any_place(self) -> None:
        assert allows_somewhere([IN_CONTRACT], "rfa.view")
        assert not allows_somewhere([IN_CONTRACT], "rfa.create")
        assert not allows_somewhere([], "rfa.view")
