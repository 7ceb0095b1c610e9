"""`saraban organization`, `contract`, `project` and `master`: the lists of master data at the terminal."""

from pathlib import Path

from tests.features.cli.conftest import Command


class TestOrganizations:
    def test_are_added_changed_and_closed(self, command: Command) -> None:
        new = ("organizationCode=ผรม.9", "organizationName=ไฟฟ้า", "role=CONTRACTOR")

        assert command("organization", "add", *new, "--as", "admin")[0] == 0
        assert command("organization", "change", "ผรม.9", "organizationNameEn=Power", "--as", "admin")[0] == 0
        assert command("organization", "close", "ผรม.9", "--as", "admin")[0] == 0

        assert "Power" in command("organization", "show", "ผรม.9")[1]
        assert "ผรม.9" not in command("organization", "list")[1]
        assert "ผรม.9" in command("organization", "list", "--closed")[1]

    def test_are_not_added_by_who_may_not(self, command: Command) -> None:
        code, _, told = command("organization", "add", "organizationCode=X", "organizationName=x", "--as", "viewer")

        assert (code, "permission" in told) == (4, True)

    def test_name_the_field_that_is_missing(self, command: Command) -> None:
        code, _, told = command("organization", "add", "organizationCode=X", "--as", "admin")

        assert (code, "organizationName" in told) == (3, True)


class TestMembers:
    def test_come_with_a_role_and_go_again(self, command: Command) -> None:
        command("organization", "add", "organizationCode=ผรม.9", "organizationName=ไฟฟ้า", "--as", "admin")
        of_project = ("project", "member", "ผรม.9", "--project", "LCBP3-C2", "--as", "padmin")

        assert command(*of_project, "--role", "CONTRACTOR")[0] == 0
        assert command(*of_project, "--contract", "LCBP3-C2", "--role", "CONTRACTOR")[0] == 0
        assert command(*of_project)[0] == 2
        assert command(*of_project, "--remove", "--role", "CONTRACTOR")[0] == 2
        assert command(*of_project, "--remove")[0] == 6
        assert command(*of_project, "--remove", "--contract", "LCBP3-C2")[0] == 0
        assert command(*of_project, "--remove")[0] == 0


class TestHelp:
    def test_says_what_the_list_is_of(self, command: Command) -> None:
        assert "Close one contract:" in command("contract", "--help")[1]
        assert "List organizations in" in command("organization", "list", "--help")[1]


class TestLists:
    def test_go_into_a_workbook_and_come_back(self, command: Command, tmp_path: Path) -> None:
        file, place = str(tmp_path / "rows.xlsx"), ("--contract", "LCBP3-C2")

        assert command("master", "export", "disciplines", file, *place)[0] == 0
        _, told, _ = command("master", "import", "disciplines", file, "--dry-run", *place, "--as", "padmin")

        assert "0 would be added, 0 would be changed" in told

    def test_are_put_in_order(self, command: Command) -> None:
        place = ("--contract", "LCBP3-C2")
        assert command("master", "order", "disciplines", "TER", *place, "--as", "padmin")[0] == 0

        assert "TER" in command("master", "list", "disciplines", *place)[1].splitlines()[4]

    def test_are_named_where_one_is_not_known(self, command: Command) -> None:
        code, _, told = command("master", "list", "nonsense")

        assert (code, "rfa-approve-codes" in told) == (3, True)
