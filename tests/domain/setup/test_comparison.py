"""A file held against what is there: a table of what it states, what there is, and what differs."""

from typing import Any

import pytest

from saraban.setup.domain.comparison import differences, project_items

ORGANIZATION = {"code": "A", "name": "เอ"}
OTHER = {**ORGANIZATION, "name": "b"}
CONTRACT = {"code": "C1", "name": "สัญญา", "disciplines": [{"code": "STR", "nameTh": "ก", "nameEn": "a"}]}
PERSON = {"username": "somchai", "email": "s@x"}
ROLE = {"role": "Contract Admin", "level": "Contract", "place": "C1"}
OWN = {"role": "Editor", "level": "Organization", "place": "A"}
GIVEN = "/people/somchai/roles/Contract Admin Contract C1"


def compared(wanted: dict[str, Any], there: dict[str, Any], **how: Any) -> list[tuple[str, str]]:
    options = {"prune": False, "update_shared": False} | how
    return [
        (one.pointer, one.what.value) for one in differences(project_items(wanted), project_items(there), **options)
    ]


@pytest.mark.parametrize(
    ("wanted", "there", "expected"),
    [
        ({"project": {"code": "P"}}, {}, [("/project", "add")]),
        ({"project": {"code": "P"}}, {"project": {"code": "P"}}, []),
        ({"project": {"code": "P", "name": "b"}}, {"project": {"code": "P", "name": "a"}}, [("/project", "change")]),
        ({"project": {"code": "P"}}, {"project": {"code": "P", "nameEn": "kept"}}, []),
        ({"organizations": [ORGANIZATION]}, {}, [("/organizations/A", "add")]),
        ({"organizations": [ORGANIZATION]}, {"organizations": [OTHER]}, [("/organizations/A", "conflict")]),
        ({"contracts": [CONTRACT]}, {}, [("/contracts/C1", "add"), ("/contracts/C1/disciplines/STR", "add")]),
        ({"members": [{"organization": "A/B~C", "role": "OWNER"}]}, {}, [("/members/A~1B~0C", "add")]),
        ({"subTypes": [{"type": "RFA", "code": "MAT"}]}, {}, [("/subTypes/RFA MAT", "add")]),
        ({"numberFormats": [{"template": "a"}]}, {}, [("/numberFormats/default", "add")]),
        (
            {"numberFormats": [{"type": "RFA", "rfaType": "X"}, {"type": "RFA", "discipline": "X"}]},
            {},
            [("/numberFormats/RFA rfaType=X", "add"), ("/numberFormats/RFA discipline=X", "add")],
        ),
        ({"people": [{**PERSON, "email": "t@x"}]}, {"people": [PERSON]}, [("/people/somchai", "conflict")]),
        ({"people": [{**PERSON, "roles": [ROLE]}]}, {"people": [PERSON]}, [(GIVEN, "add")]),
        ({}, {"contracts": [CONTRACT]}, []),
    ],
)
def test_a_file_adds_and_changes(
    wanted: dict[str, Any], there: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert compared(wanted, there) == expected


@pytest.mark.parametrize(
    ("wanted", "there", "expected"),
    [
        ({}, {"contracts": [CONTRACT]}, []),
        ({"contracts": []}, {"contracts": [CONTRACT]}, [("/contracts/C1", "close")]),
        ({"contracts": [{"code": "C1", "name": "สัญญา"}]}, {"contracts": [CONTRACT]}, []),
        (
            {"contracts": [{**CONTRACT, "disciplines": []}]},
            {"contracts": [CONTRACT]},
            [("/contracts/C1/disciplines/STR", "close")],
        ),
        ({"organizations": []}, {"organizations": [ORGANIZATION]}, []),
        ({"people": []}, {"people": [{**PERSON, "roles": [ROLE, OWN]}]}, [(GIVEN, "close")]),
        ({"people": [PERSON]}, {"people": [{**PERSON, "roles": [ROLE]}]}, []),
        ({"people": [{**PERSON, "roles": [OWN]}]}, {"people": [{**PERSON, "roles": [ROLE, OWN]}]}, [(GIVEN, "close")]),
    ],
)
def test_pruning_closes_what_a_list_leaves_out(
    wanted: dict[str, Any], there: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert compared(wanted, there, prune=True) == expected


def test_what_is_shared_changes_when_that_is_asked_for() -> None:
    wanted, there = {"organizations": [ORGANIZATION]}, {"organizations": [OTHER]}

    assert compared(wanted, there, update_shared=True) == [("/organizations/A", "change")]


def test_a_contract_of_another_project_is_a_conflict_whatever_is_asked_for() -> None:
    found = compared({"contracts": [CONTRACT]}, {}, update_shared=True, elsewhere={("contracts", "C1")})

    assert found[0] == ("/contracts/C1", "conflict")


def test_a_difference_shows_what_differs_and_nothing_else() -> None:
    wanted, there = {"project": {"code": "P", "name": "b"}}, {"project": {"code": "P", "name": "a", "nameEn": "x"}}
    (one,) = differences(project_items(wanted), project_items(there), prune=False, update_shared=False)

    assert (one.before, one.after) == ({"name": "a"}, {"name": "b"})


def test_what_stands_twice_is_found_where_it_stands_again() -> None:
    assert project_items({"members": [{"organization": "A"}, {"organization": "A"}]}).duplicates == [("members", 1)]
