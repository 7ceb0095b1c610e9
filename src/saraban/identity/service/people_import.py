"""
Invites the people of a spreadsheet and gives them their roles: all of them or nobody.

Who has an account already stays as that is; what the sheet says else is reported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.domain.account import canonical_username
from saraban.identity.domain.context import RequestContext
from saraban.identity.domain.people_workbook import ImportedPerson, RequestedRole, at_workbook_row, read_people
from saraban.identity.models import User
from saraban.identity.repository import AssignmentColumns
from saraban.identity.service.accounts import NewAccount, RoleGrant, UsernameTaken, grant_role, requested_assignment
from saraban.identity.service.invitations import Invitation, invite_user
from saraban.kit.errors import FieldProblem, Invalid


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
    ctx: RequestContext, session: AsyncSession, *, rows: Iterable[Sequence[object]], dry_run: bool = False
) -> PeopleImport:
    """
    Invite everybody in a sheet, whose first row has the headings.

    :param dry_run: do the same and take it back
    :raises Invalid: with every fault, at `/row/column`; nobody is invited then
    """
    people, faults = read_people(rows)
    async with session.begin_nested() as attempt:
        work = _Work(ctx, session, faults)
        for person in people:
            await work.take(person)
        if work.faults:
            raise Invalid("The sheet has faults.", fields=sorted(work.faults, key=_line))
        for name, wish in work.grants:  # at the end: it keeps others from what rests on roles
            await grant_role(ctx, session, name, RoleGrant(wish.role, **wish.codes))
        if dry_run:
            await attempt.rollback()
    return PeopleImport(work.invitations, work.known)


class _Work:
    """What has come of the people so far."""

    def __init__(self, ctx: RequestContext, session: AsyncSession, faults: list[FieldProblem]) -> None:
        self._ctx, self._session = ctx, session
        self.faults = faults
        self.invitations: list[Invitation] = []
        self.known: list[KnownPerson] = []
        self.grants: list[tuple[str, RequestedRole]] = []
        self._roles: dict[tuple[str, str], AssignmentColumns | tuple[FieldProblem, ...]] = {}

    async def take(self, person: ImportedPerson) -> None:
        name = canonical_username(person.cells["username"])
        roles = [(wish, await self._role(wish)) for wish in person.roles]
        user = await repository.user_named(self._session, username=name)
        if user is not None:
            differs = [*await self._differences(user, person), *await self._missing(user, roles)]
            self.known.append(KnownPerson(person.line, name, tuple(dict.fromkeys(differs))))
            return
        self.grants += [(name, wish) for wish, _ in roles]
        await self._invite(person)

    async def _invite(self, person: ImportedPerson) -> None:
        cells = person.cells
        if any(fault.pointer.startswith(f"/{person.line}/") for fault in self.faults):
            return
        try:
            names = cells.get("firstName", ""), cells.get("lastName", "")
            account = NewAccount(cells["username"], cells["email"], *names, cells["organization"])
            invitation = await invite_user(self._ctx, self._session, account)
        except UsernameTaken as taken:
            self.faults.append(FieldProblem(f"/{person.line}/email", "taken", taken.words, {"value": cells["email"]}))
        except Invalid as fault:
            self.faults += [at_workbook_row(person.line, one) for one in fault.fields]
        else:
            self.invitations.append(invitation)

    async def _role(self, wish: RequestedRole) -> AssignmentColumns | None:
        """The columns of the assignment; looked up once for all who have the role there."""
        key = (wish.role, wish.place)
        if key not in self._roles:
            try:
                grant = RoleGrant(wish.role, **wish.codes)
                self._roles[key] = (await requested_assignment(self._session, self._ctx.caller, grant)).where
            except Invalid as fault:
                self._roles[key] = fault.fields
        found = self._roles[key]
        if not isinstance(found, tuple):
            return found
        self.faults += [at_workbook_row(wish.line, one, of_role=True) for one in found]
        return None

    async def _differences(self, user: User, person: ImportedPerson) -> list[str]:
        cells = person.cells
        there = {"email": user.email, "firstName": user.first_name or "", "lastName": user.last_name or ""}
        said = {key: cells.get(key, "") for key in there} | {"email": cells["email"].casefold()}
        found = [key for key, value in said.items() if value and value != there[key]]
        organization = await repository.organization_key(self._session, code=cells["organization"])
        return found if organization == user.primary_organization_id else [*found, "organization"]

    async def _missing(self, user: User, roles: Sequence[tuple[RequestedRole, AssignmentColumns | None]]) -> list[str]:
        missing = [
            where for _, where in roles if where and not await repository.assignment(self._session, user.user_id, where)
        ]
        return ["role"] if missing else []


def _line(fault: FieldProblem) -> int:
    return int(fault.pointer.split("/")[1])
