"""
Invites the people of a spreadsheet and gives them their roles: all of them or nobody.

Who has an account already stays as that is; what the sheet says else is reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.domain import catalogue
from saraban.identity.domain.account import canonical_username
from saraban.identity.domain.context import RequestContext
from saraban.identity.domain.people_workbook import (
    COLUMNS,
    ImportedPerson,
    RequestedRole,
    read_people,
)
from saraban.identity.domain.period import RolePeriod
from saraban.identity.models import User, UserAssignment
from saraban.identity.repository import held_roles
from saraban.identity.service.accounts import CREATE, NewAccount
from saraban.identity.service.assignments import (
    Person,
    RequestedAssignment,
    RoleGrant,
    grant_roles,
    period_of,
    requested_assignment,
)
from saraban.identity.service.invitations import Invitation, invite_users
from saraban.kit.errors import FieldProblem, Invalid
from saraban.kit.sheet_columns import RowFaults, SheetRow, at_column
from saraban.kit.spreadsheets import read_table

_MOST_ROWS = 10_000
_OF_PERSON = {"organizationCode": "organization"}
_OF_ROLE = dict.fromkeys(("organizationCode", "projectCode", "contractCode"), "place")


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """
    A person of the sheet who has an account.

    :param differs: keys of the columns in which the sheet says something else
    """

    line: int
    username: str
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeopleImport:
    """:param invitations: of a dry run nobody's link works"""

    invitations: Sequence[Invitation]
    known: Sequence[KnownPerson]


async def import_people(
    ctx: RequestContext, session: AsyncSession, *, rows: Iterable[SheetRow], dry_run: bool = False
) -> PeopleImport:
    """
    Invite everybody in a sheet, with a bounded number of statements.

    :param dry_run: do the same and take it back
    :raises Forbidden: for who opens no accounts anywhere
    :raises Invalid: with every fault, at `/row/column`; nobody is invited then
    """
    ctx.caller.require_somewhere(CREATE)
    people, faults = read_people(row for row in rows if not row.is_left_out)
    async with session.begin_nested() as attempt:
        names = [canonical_username(person.cells["username"]) for person in people]
        there = await repository.people_named(session, names)
        new = [person for person, name in zip(people, names, strict=True) if name not in there]
        wanted = await _assignments(ctx, session, people, faults)
        accounts = [_account(person.cells) for person in new]
        invitations = await invite_users(
            ctx, session, accounts, at=lambda index: faults.at(new[index].line, _OF_PERSON)
        )
        faults.require_none()
        grants = [(person.cells["username"], _grant(one)) for person in new for one in person.roles]
        await grant_roles(ctx, session, grants)  # at the end: it keeps others from what rests on roles
        known = await _compare(session, [one for one in people if one not in new], there, wanted)
        if dry_run:
            await attempt.rollback()
    return PeopleImport(invitations, known)


def _account(cells: Mapping[str, str]) -> NewAccount:
    names = cells.get("firstName", ""), cells.get("lastName", "")
    return NewAccount(cells["username"], cells["email"], *names, cells["organization"])


def _grant(wish: RequestedRole) -> RoleGrant:
    place = None if wish.level == catalogue.GLOBAL else wish.place
    organization, project, contract = (
        place if wish.level == level else None
        for level in (catalogue.ORGANIZATION, catalogue.PROJECT, catalogue.CONTRACT)
    )
    return RoleGrant(wish.role, organization, project, contract, first=wish.first, last=wish.last)


async def _assignments(
    ctx: RequestContext, session: AsyncSession, people: Sequence[ImportedPerson], faults: RowFaults
) -> dict[RoleGrant, RequestedAssignment]:
    found: dict[RoleGrant, RequestedAssignment | Sequence[FieldProblem]] = {}
    for wish in (one for person in people for one in person.roles):
        grant = _grant(wish)
        if grant not in found:
            try:
                found[grant] = await requested_assignment(ctx, session, grant)
            except Invalid as fault:
                found[grant] = fault.fields
        wrong = found[grant]
        if not isinstance(wrong, RequestedAssignment):
            faults.add(wish.line, *(at_column(one, _OF_ROLE) for one in wrong))
    return {grant: one for grant, one in found.items() if isinstance(one, RequestedAssignment)}


async def _compare(
    session: AsyncSession,
    people: Sequence[ImportedPerson],
    there: Mapping[Person, User],
    wanted: Mapping[RoleGrant, RequestedAssignment],
) -> list[KnownPerson]:
    homes = await repository.organization_keys(session, [person.cells["organization"] for person in people])
    users = [(person, there[canonical_username(person.cells["username"])]) for person in people]
    held = await held_roles.of_users(session, {user.user_id for _, user in users})
    found = []
    for person, user in users:
        differs = _differences(user, person.cells, homes.get(person.cells["organization"]))
        roles = [wanted[_grant(one)] for one in person.roles]
        if not all(any(_is(row, one) for row in held.get(user.user_id, ())) for one in roles):
            differs.append("role")
        found.append(KnownPerson(person.line, user.username, tuple(differs)))
    return found


def _is(row: UserAssignment, wanted: RequestedAssignment) -> bool:
    """A role of which the sheet says no days may have some."""
    period = wanted.period in {RolePeriod(), period_of(row)}
    return period and all(getattr(row, name) == value for name, value in wanted.where.items())


def _differences(user: User, cells: Mapping[str, str], organization: int | None) -> list[str]:
    there = {"email": user.email, "firstName": user.first_name or "", "lastName": user.last_name or ""}
    said = {key: cells.get(key, "") for key in there} | {"email": cells["email"].casefold()}
    found = [key for key, value in said.items() if value and value != there[key]]
    return found if organization == user.primary_organization_id else [*found, "organization"]


def read_people_sheet(path: Path, sheet: str | None = None) -> list[SheetRow]:
    """
    Read a sheet of people; it takes its time, so call it in a thread.

    :raises Invalid: at `/file`, for a file that `read_table` refuses
    """
    return list(read_table(path, COLUMNS, most_rows=_MOST_ROWS, sheet=sheet))
