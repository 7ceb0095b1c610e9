"""Invite all people of a sheet or none; existing accounts are only compared."""

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
    line: int
    username: str
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeopleImport:
    """:param invitations: their links do not work after a dry run"""

    invitations: Sequence[Invitation]
    known: Sequence[KnownPerson]


async def import_people(
    ctx: RequestContext, session: AsyncSession, *, rows: Iterable[SheetRow], dry_run: bool = False
) -> PeopleImport:
    """
    :raises Forbidden:
    :raises Invalid: with every fault, at `/row/column`
    """
    ctx.caller.require_somewhere(CREATE)
    people, faults = read_people(row for row in rows if not row.is_left_out)
    async with session.begin_nested() as attempt:
        names = [canonical_username(person.cells["username"]) for person in people]
        existing = await repository.people_named(session, names)
        new = [person for person, name in zip(people, names, strict=True) if name not in existing]
        assignments = await _check_roles(ctx, session, people, faults)
        accounts = [_account(person.cells) for person in new]
        invitations = await invite_users(
            ctx, session, accounts, at=lambda index: faults.at(new[index].line, _OF_PERSON)
        )
        faults.require_none()
        grants = [(person.cells["username"], _grant(role)) for person in new for role in person.roles]
        await grant_roles(ctx, session, grants)  # last, because it locks the rights
        known = await _compare(session, [person for person in people if person not in new], existing, assignments)
        if dry_run:
            await attempt.rollback()
    return PeopleImport(invitations, known)


def _account(cells: Mapping[str, str]) -> NewAccount:
    names = cells.get("firstName", ""), cells.get("lastName", "")
    return NewAccount(cells["username"], cells["email"], *names, cells["organization"])


def _grant(role: RequestedRole) -> RoleGrant:
    place = None if role.level == catalogue.GLOBAL else role.place
    organization, project, contract = (
        place if role.level == level else None
        for level in (catalogue.ORGANIZATION, catalogue.PROJECT, catalogue.CONTRACT)
    )
    return RoleGrant(role.role, organization, project, contract, first=role.first, last=role.last)


async def _check_roles(
    ctx: RequestContext, session: AsyncSession, people: Sequence[ImportedPerson], faults: RowFaults
) -> dict[RoleGrant, RequestedAssignment]:
    results: dict[RoleGrant, RequestedAssignment | Sequence[FieldProblem]] = {}
    for role in (fault_or_role for person in people for fault_or_role in person.roles):
        grant = _grant(role)
        if grant not in results:
            try:
                results[grant] = await requested_assignment(ctx, session, grant)
            except Invalid as fault:
                results[grant] = fault.fields
        result = results[grant]
        if not isinstance(result, RequestedAssignment):
            faults.add(role.line, *(at_column(fault_or_role, _OF_ROLE) for fault_or_role in result))
    return {
        grant: fault_or_role
        for grant, fault_or_role in results.items()
        if isinstance(fault_or_role, RequestedAssignment)
    }


async def _compare(
    session: AsyncSession,
    people: Sequence[ImportedPerson],
    existing: Mapping[Person, User],
    wanted: Mapping[RoleGrant, RequestedAssignment],
) -> list[KnownPerson]:
    homes = await repository.organization_keys(session, [person.cells["organization"] for person in people])
    users = [(person, existing[canonical_username(person.cells["username"])]) for person in people]
    held = await held_roles.assignments_of_users(session, {user.user_id for _, user in users})
    people_with_accounts = []
    for person, user in users:
        differs = _differences(user, person.cells, homes.get(person.cells["organization"]))
        roles = [wanted[_grant(role)] for role in person.roles]
        if not all(any(_matches(row, role) for row in held.get(user.user_id, ())) for role in roles):
            differs.append("role")
        people_with_accounts.append(KnownPerson(person.line, user.username, tuple(differs)))
    return people_with_accounts


def _matches(row: UserAssignment, assignment: RequestedAssignment) -> bool:
    """Compare the place, and the period unless the sheet names no days."""
    period = assignment.period in {RolePeriod(), period_of(row)}
    return period and all(getattr(row, name) == value for name, value in assignment.where.items())


def _differences(user: User, cells: Mapping[str, str], organization: int | None) -> list[str]:
    stored = {"email": user.email, "firstName": user.first_name or "", "lastName": user.last_name or ""}
    sheet_values = {key: cells.get(key, "") for key in stored} | {"email": cells["email"].casefold()}
    keys = [key for key, value in sheet_values.items() if value and value != stored[key]]
    return keys if organization == user.primary_organization_id else [*keys, "organization"]


def read_people_sheet(path: Path, sheet: str | None = None) -> list[SheetRow]:
    """
    Read a sheet of people; it is slow, so call it in a thread.

    :raises Invalid:
    """
    return list(read_table(path, COLUMNS, most_rows=_MOST_ROWS, sheet=sheet))
