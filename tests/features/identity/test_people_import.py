"""A spreadsheet of people: all are invited with their roles, or nobody is and each fault has its row and column."""

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from saraban.identity import service as identity
from saraban.identity.models import User, UserAssignment
from saraban.identity.service import PeopleImport
from saraban.kit.dates import local_date
from saraban.kit.errors import Invalid
from tests.accounts import Office, office
from tests.people_rows import people_rows

__all__ = ["office"]

BANGKOK = ZoneInfo("Asia/Bangkok")
SOMCHAI = ["Somchai", "somchai@example.org", "สมชาย", "ใจดี", "คคง."]
MALEE = ["malee", "malee@example.org", "มาลี", "", "กทท.", "", "", ""]


async def imported(office: Office, *rows: list[str], **how: Any) -> PeopleImport:
    found: PeopleImport = await office.do(identity.import_people, rows=people_rows(*rows), **how)
    return found


async def refused(office: Office, *rows: list[str]) -> list[tuple[str, str]]:
    before = await counts(office)
    with pytest.raises(Invalid) as refusal:
        await imported(office, *rows)
    assert await counts(office) == before
    return [(one.pointer, one.code) for one in refusal.value.fields]


async def counts(office: Office) -> list[int]:
    async with office.db.reading() as session:
        return [
            await session.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in (User, UserAssignment)
        ]


class TestImportPeople:
    async def test_invites_everybody_with_all_their_roles(self, office: Office) -> None:
        found = await imported(
            office,
            [*SOMCHAI, "Document Control", "Organization", "คคง."],
            MALEE,
            ["somchai", "", "", "", "", "contract admin", "", "LCBP3-C2"],
        )

        assert [one.username for one in found.invitations] == ["somchai", "malee"]
        caller = await office.who("somchai")
        assert caller.display_name == "สมชาย ใจดี"
        assert {grant.role for grant in caller.grants} == {"Document Control", "Contract Admin"}
        async with office.db.reading() as session:
            invited = [one.username for one in await identity.list_users(session) if one.state == "invited"]
        assert invited == ["malee", "somchai"]

    async def test_leaves_who_is_there_and_says_what_differs(self, office: Office) -> None:
        viewer = ["viewer", "new@example.org", "", "", "กทท.", "Superadmin", "", ""]
        same = ["padmin", "padmin@saraban.invalid", "ปกรณ์", "", "กทท.", "Project Manager", "Project", "LCBP3-C2"]
        found = await imported(office, viewer, same, MALEE)

        assert [(one.line, one.username, one.differs) for one in found.known] == [
            (2, "viewer", ("email", "role")),
            (3, "padmin", ()),
        ]
        assert [one.username for one in found.invitations] == ["malee"]
        async with office.db.reading() as session:
            email = await session.scalar(sa.select(User.email).where(User.username == "viewer"))
        assert email == "viewer@saraban.invalid"

    async def test_names_row_and_column_of_every_fault_and_invites_nobody(self, office: Office) -> None:
        faults = await refused(
            office,
            MALEE,
            ["x", "nowhere", "", "", "คคง.", "", "", ""],
            ["two", "malee@example.org", "", "", "คคง.", "", "", ""],
            ["three", "three@example.org", "", "", "nobody", "", "", ""],
            ["four", "", "", "", "", "", "", ""],
            ["five", "five@example.org", "", "", "คคง.", "Boss", "", ""],
            ["six", "six@example.org", "", "", "คคง.", "Document Control", "Project", "LCBP3-C2"],
            ["seven", "seven@example.org", "", "", "คคง.", "Document Control", "", "nowhere"],
            ["eight", "eight@example.org", "", "", "คคง.", "Document Control", "", ""],
            ["malee", "other@example.org", "", "", "", "", "", ""],
            ["", "nobody@example.org", "", "", "คคง.", "", "", ""],
            ["nine", "nine@example.org", "ก" * 51, "", "คคง.", "", "Organization", ""],
        )

        assert faults == [
            ("/3/username", "malformed"),
            ("/3/email", "malformed"),
            ("/4/email", "taken"),
            ("/5/organization", "unknown"),
            ("/6/email", "required"),
            ("/6/organization", "required"),
            ("/7/role", "unknown"),
            ("/8/level", "mismatch"),
            ("/9/place", "unknown"),
            ("/10/place", "mismatch"),
            ("/11/email", "differs"),
            ("/12/username", "required"),
            ("/13/level", "without_role"),
            ("/13/firstName", "malformed"),
        ]

    async def test_names_every_fault_of_a_row_and_a_formula_once(self, office: Office) -> None:
        faults = await refused(
            office,
            ["two", "nowhere", "", "", "nobody", "", "", ""],
            ["#N/A", "#REF!", "=1+1", "", "คคง.", "", "", ""],
            ["four", "", "", "", "nobody", "#N/A", "Organization", "คคง."],
        )

        assert faults == [
            ("/2/email", "malformed"),
            ("/2/organization", "unknown"),
            ("/3/username", "error"),
            ("/3/email", "error"),
            ("/3/firstName", "formula"),
            ("/4/email", "required"),
            ("/4/role", "error"),
            ("/4/organization", "unknown"),
        ]

    async def test_takes_from_and_until_of_a_role_and_names_days_that_are_none(self, office: Office) -> None:
        role = ["Document Control", "", "คคง."]
        await imported(
            office,
            [*SOMCHAI, *role, "1 ม.ค. 2570", "31/12/2570"],
            ["somchai", "", "", "", "", *role, "2028-01-01", ""],
        )

        async with office.db.reading() as session:
            rows = await session.execute(sa.select(UserAssignment).where(UserAssignment.valid_from.is_not(None)))
            days = [(one.valid_from, one.valid_until) for one in rows.scalars()]
        assert [
            (first and local_date(first, BANGKOK), last and local_date(last, BANGKOK)) for first, last in sorted(days)
        ] == [(date(2027, 1, 1), date(2028, 1, 1)), (date(2028, 1, 1), None)]
        assert await refused(
            office,
            ["two", "two@example.org", "", "", "คคง.", *role, "2027-02-01", "2027-01-31"],
            ["three", "three@example.org", "", "", "คคง.", *role, "soon", ""],
            ["four", "four@example.org", "", "", "คคง.", "", "", "", "", "2027-01-31"],
            ["five", "five@example.org", "", "", "คคง.", *role, "", "2020-12-31"],
        ) == [("/2/until", "before_from"), ("/3/from", "malformed"), ("/4/until", "without_role"), ("/5/until", "past")]

    async def test_names_the_row_in_which_a_role_comes_a_second_time(self, office: Office) -> None:
        role = ["Document Control", "", "คคง."]
        assert await refused(
            office,
            [*SOMCHAI, *role, "", "2027-01-31"],
            ["somchai", "", "", "", "", *role, "2027-02-01", ""],
            ["SOMCHAI", "", "", "", "", "document control", "Organization", "คคง.", "2027-01-31", "2027-01-31"],
        ) == [("/4/role", "twice")]

    async def test_a_dry_run_finds_the_same_and_changes_nothing(self, office: Office) -> None:
        before = await counts(office)
        found = await imported(office, [*SOMCHAI, "Document Control", "", "คคง."], MALEE, dry_run=True)

        assert len(found.invitations) == 2
        assert await counts(office) == before

    async def test_takes_many_people_without_hashing_a_password(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("saraban.identity.service.passwords.hash_password", None)
        rows = [
            [f"person{number}", f"person{number}@example.org", "", "", "คคง.", "Viewer", "", "คคง."]
            for number in range(30)
        ]

        assert len((await imported(office, *rows)).invitations) == 30
