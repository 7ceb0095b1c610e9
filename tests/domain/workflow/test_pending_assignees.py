"""Whom a state asks, from plain values: who is told of it, who may act and see it, and what a definition cannot promise."""

from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

import pytest

from saraban.workflow.administration.domain.simulation import access_warnings
from saraban.workflow.engine import decisions, pending_assignees
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import PROJECT, person, subject

WORDS = {"th": "คำ", "en": "Word"}
ACTS = (pending_assignees.ACTS,)


def asking(*requires: dict[str, Any], name: str = "open", **more: Any) -> Any:
    on = {f"a{i}": {"to": "closed", "label": WORDS, "require": one, **more} for i, one in enumerate(requires)}
    states = [
        {"name": name, "label": WORDS, "initial": True, "on": on},
        {"name": "closed", "label": WORDS, "terminal": True},
    ]
    return definition_checks.verify({"workflow": "ASKED", "states": states})


def member(organization: int, *permissions: str, role: str = "Reviewer", **where: int) -> Any:
    place = where or {"organization": organization}
    return person(organization, user=70, grants=((role, list(permissions), place),))


class TestWaiting:
    @pytest.mark.parametrize(
        ("require", "organizations", "holders"),
        [
            ({"roles": ["R"]}, set(), True),
            ({"permissions": ["p"]}, set(), True),
            ({"roles": ["R"], "permissions": ["p"], "notSubmitter": True}, set(), True),
            ({"roles": ["R"], "party": ["recipient"]}, {2}, False),
            ({"permissions": ["p"], "organizationRoles": ["OWNER"]}, {1, 5}, False),
            ({"notSubmitter": True}, {2, 3}, False),
            ({}, {2, 3}, False),
        ],
    )
    def test_is_for_organizations_unless_people_are_asked_for_what_they_hold(
        self, require: dict[str, Any], organizations: set[int], holders: bool
    ) -> None:
        found = pending_assignees.assignees_of(asking(require), "open", subject())

        assert (found.organizations, bool(found.holders), found.named) == (organizations, holders, frozenset())
        assert pending_assignees.by_person(asking(require), "open") is holders

    def test_is_for_nobody_because_of_an_optional_action(self) -> None:
        definition = asking({"roles": ["R"]}, optional=True)

        assert pending_assignees.assignees_of(definition, "open", subject()) == pending_assignees.PendingAssignees()
        assert not pending_assignees.expects(definition.state("open"))


class TestAsks:
    RECIPIENT: ClassVar = {"party": ["recipient"]}

    @pytest.mark.parametrize(
        ("requires", "caller", "asked"),
        [
            ([RECIPIENT], member(2, *ACTS), True),
            ([RECIPIENT], member(2, "document.view"), False),
            ([RECIPIENT | {"permissions": ["document.view"]}], member(2, "document.view"), True),
            ([RECIPIENT | {"permissions": ["document.view"]}], member(2, *ACTS), False),
            ([RECIPIENT | {"roles": ["Reviewer"]}], member(2), True),
            ([RECIPIENT | {"roles": ["Other"]}], member(2, *ACTS), False),
            ([RECIPIENT | {"permissions": ["p"]}, RECIPIENT | {"permissions": ["q"]}], member(2, "q"), True),
            ([RECIPIENT | {"permissions": ["p"]}], member(3, "p"), False),
        ],
    )
    def test_members_by_what_the_step_requires(self, requires: list[dict[str, Any]], caller: Any, asked: bool) -> None:
        assert pending_assignees.asks(asking(*requires), "open", caller, subject()) is asked

    @pytest.mark.parametrize(
        ("requires", "names"),
        [
            ([RECIPIENT], {pending_assignees.ACTS}),
            ([RECIPIENT | {"permissions": ["p", "q"]}, RECIPIENT], {pending_assignees.ACTS, "p", "q"}),
            ([RECIPIENT | {"roles": ["R"]}], None),
            ([{"roles": ["R"]}], set()),
        ],
    )
    def test_only_those_who_have_one_of_some_permissions(
        self, requires: list[dict[str, Any]], names: set[str] | None
    ) -> None:
        assert pending_assignees.permissions_asked(asking(*requires), "open") == names


class TestMayAct:
    HIDDEN = subject(seen_by=lambda person, _state: bool(person.permissions & {"document.view"}))
    EVERYTHING = ("system.manage_all", "document.view", "p")

    @pytest.mark.parametrize(
        ("caller", "able"),
        [
            (member(2, "p", "document.view"), True),
            (member(2, "p"), False),
            (member(2, "document.view"), False),
            (member(6, "p", "document.view", project=PROJECT), True),
            (member(2, *EVERYTHING), False),
        ],
    )
    def test_is_for_those_who_see_it_and_hold_it_and_not_just_everything(self, caller: Any, able: bool) -> None:
        assert pending_assignees.may_act(asking({"permissions": ["p"]}), "open", caller, self.HIDDEN) is able

    def test_counts_the_role_for_everything_where_it_is_asked_for_by_name(self) -> None:
        admin = member(2, "system.manage_all", role="Superadmin", project=PROJECT)

        assert pending_assignees.may_act(asking({"roles": ["Superadmin"]}), "open", admin, subject())
        assert decisions.permitted(asking({"permissions": ["p"]}).state("open").required[0], facts_of(admin))


def facts_of(caller: Any) -> decisions.Facts:
    return decisions.Facts(caller, replace(subject(), title="x"))


class TestCautions:
    @pytest.mark.parametrize(
        ("requires", "name", "count"),
        [
            ([{"organizationRoles": ["OWNER"]}], "open", 1),
            ([{"organizationRoles": ["OWNER"], "party": ["recipient"]}], "open", 0),
            ([{"user": str(UUID(int=5))}, {"roles": ["R"]}], "open", 2),
            ([{"roles": ["R"]}, {"permissions": ["p"]}], "open", 1),
            ([{"roles": ["R"]}, {"party": ["recipient"]}], "open", 0),
            ([{"party": ["recipient"]}], "draft", 1),
            ([{"party": ["originator"]}], "draft", 0),
            ([{}], "open", 0),
        ],
    )
    def test_are_said_where_it_is_not_sure_that_somebody_sees_it(
        self, requires: list[dict[str, Any]], name: str, count: int
    ) -> None:
        found = access_warnings(asking(*requires, name=name), name)

        assert len(found) == count
        assert all(text.th and text.en for text in found)
        assert access_warnings(asking(*requires, name=name), "closed") == ()
