"""The file of a new project: codes of its own, and what it leaves of where it comes from."""

import pytest

from saraban.setup.domain.new_project import NewProject, contract_code, project_data

SOURCE = {
    "organizations": [{"code": "MCT", "name": "Contractor"}],
    "project": {"code": "TOWER", "name": "Tower"},
    "members": [{"organization": "MCT", "role": "CONTRACTOR"}],
    "contracts": [{"code": "TOWER-MC", "name": "Main", "parties": [{"organization": "MCT", "role": "CONTRACTOR"}]}],
    "numberFormats": [{"template": "{PROJECT}-{SEQ:4}"}],
    "reviewTeams": [{"code": "MEP", "name": "MEP", "members": [{"person": "suda"}]}],
    "people": [
        {
            "username": "suda",
            "roles": [
                {"role": "Document Control", "level": "Organization", "place": "MCT"},
                {"role": "Project Manager", "level": "Project", "place": "TOWER"},
                {"role": "Contract Admin", "level": "Contract", "place": "TOWER-MC"},
            ],
        }
    ],
}
OWN = {"organization": "OWN", "role": "OWNER"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("TOWER-MC", "NEW-MC"),
        ("TOWER", "NEW"),
        ("TOWER/1", "NEW/1"),
        ("TOWERS-MC", "NEW-TOWERS-MC"),
        ("C1", "NEW-C1"),
    ],
)
def test_a_contract_has_the_code_of_its_project(code: str, expected: str) -> None:
    assert contract_code(code, "TOWER", "NEW") == expected


class TestProjectData:
    def test_of_a_template_has_no_organizations_and_no_people_but_the_one_that_begins(self) -> None:
        data = project_data(NewProject("NEW", "New", party=("OWN", "OWNER")), SOURCE)

        assert data["project"] == {"code": "NEW", "name": "New"}
        assert data["members"] == data["contracts"][0]["parties"] == [OWN]
        assert (data["people"], data["reviewTeams"][0]["members"]) == ([], [])
        assert data["numberFormats"] == SOURCE["numberFormats"]
        assert "organizations" not in data

    def test_of_a_copy_has_its_members_and_parties(self) -> None:
        data = project_data(NewProject("NEW", "New", party=("OWN", "OWNER"), takes_parties=True), SOURCE)

        assert data["members"] == [{"organization": "MCT", "role": "CONTRACTOR"}, OWN]
        assert data["contracts"][0]["parties"] == data["members"]
        assert data["people"] == []

    def test_of_a_copy_with_people_has_their_roles_in_the_new_places(self) -> None:
        data = project_data(NewProject("NEW", "New", takes_parties=True, takes_people=True), SOURCE)

        assert [(one["level"], one["place"]) for one in data["people"][0]["roles"]] == [
            ("Project", "NEW"),
            ("Contract", "NEW-MC"),
        ]
        assert data["reviewTeams"][0]["members"] == [{"person": "suda"}]

    def test_of_nothing_leaves_the_number_formats_to_those_that_ship(self) -> None:
        assert project_data(NewProject("NEW", "New", "New one"), None) == {
            "project": {"code": "NEW", "name": "New", "nameEn": "New one"},
            "members": [],
        }
