"""
An installation begins with one Super Admin and the organization that person works for. Until then nobody can sign in.
"""

from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain import catalogue
from saraban.identity.domain.account import acceptable_address, acceptable_username
from saraban.identity.domain.context import Caller
from saraban.identity.models import Organization
from saraban.identity.repository import accounts as repository
from saraban.identity.repository import role_scopes
from saraban.identity.service import passwords, rights_lock
from saraban.identity.service.accounts import NewAccount, RoleGrant, create_user, grant_role
from saraban.identity.service.callers import load_caller, system_context
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text
from saraban.kit.text import control_character, fold


class NotSetUp(DomainError):
    """Nobody has an account yet: whoever runs the server makes the first administrator with `saraban setup`."""

    kind, code = ErrorKind.BUSY, "NOT_SET_UP"
    says = Text("ระบบสารบรรณยังไม่ได้ตั้งค่าเริ่มต้น", "Saraban is not set up yet.")
    recovery = (
        Text("ผู้ดูแลเซิร์ฟเวอร์ต้องสั่ง `saraban setup` ก่อน", "Whoever runs the server has to run `saraban setup` first."),
    )


class AlreadySetUp(DomainError):
    """`saraban setup` is for an empty database, and this one has accounts."""

    kind, code = ErrorKind.CONFLICT, "ALREADY_SET_UP"
    says = Text("ระบบนี้ตั้งค่าเริ่มต้นแล้ว จึงไม่ได้เปลี่ยนสิ่งใด", "Saraban is set up already; nothing was changed.")
    recovery = (
        Text("เพิ่มผู้ใช้ด้วย `saraban user invite`", "Add people with `saraban user invite`."),
        Text("เพิ่มโครงการด้วย `saraban project apply`", "Add a project with `saraban project apply`."),
    )


@dataclass(frozen=True, slots=True)
class FirstAdministrator:
    """Who begins, and for which organization; without a name of its own that is called by its code."""

    username: str
    email: str
    password: str = field(repr=False)
    organization_code: str
    organization_name: str = ""

    def check(self) -> None:
        """
        :raises Invalid: with every fault at once
        """
        faults: list[FieldProblem] = [*_organization_faults(self)]
        for rule in (
            lambda: acceptable_username(self.username),
            lambda: acceptable_address(self.email),
            lambda: passwords.require_strong(self.password, self.username.strip()),
        ):
            try:
                rule()
            except Invalid as fault:
                faults += fault.fields
        if faults:
            raise Invalid(fields=faults)


class FirstRun:
    """Whether somebody has an account; asked of the database until the answer is yes, which is then remembered."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._over = False

    async def is_over(self) -> bool:
        self._over = self._over or await self._db.read_autocommit(repository.has_accounts)
        return self._over

    async def require_over(self) -> None:
        """
        :raises NotSetUp: while nobody has an account
        """
        if not self._over and not await self.is_over():
            raise NotSetUp


async def set_up(session: AsyncSession, first: FirstAdministrator, *, clock: Clock, address: str) -> Caller:
    """
    Make the first Super Admin and the organization, where the shipped roles are in place and nobody is.

    :raises Invalid: with every fault of what was given
    :raises AlreadySetUp: when somebody has an account
    """
    first.check()
    await rights_lock.hold_exclusive(session)  # of two that begin at once, the second finds the first one's account
    if await repository.has_accounts(session):
        raise AlreadySetUp
    ctx = await system_context(session, clock, address)
    code = fold(first.organization_code.strip())
    if await role_scopes.organization(session, code) is None:
        name = fold(first.organization_name.strip()) or code
        session.add(
            Organization(organization_code=code, organization_name=name, created_at=ctx.now, updated_at=ctx.now)
        )
        await session.flush()
    account = NewAccount(first.username, first.email, organization_code=code)
    person = await create_user(ctx, session, account, password=first.password)
    await grant_role(ctx, session, first.username, RoleGrant(catalogue.SUPERADMIN))
    return await load_caller(session, person)


def _organization_faults(first: FirstAdministrator) -> list[FieldProblem]:
    found = []
    code, name = fold(first.organization_code.strip()), fold(first.organization_name.strip())
    if not 1 <= len(code) <= 20 or any(map(str.isspace, code)) or control_character(code) is not None:
        text = Text(
            "รหัสองค์กรต้องมี 1 ถึง 20 ตัวอักษรและไม่มีช่องว่าง",
            "The code of an organization has 1 to 20 characters and no blanks.",
        )
        found.append(FieldProblem("/organization", "malformed", text))
    if len(name) > 255 or control_character(name) is not None:
        text = Text(
            "ชื่อองค์กรยาวได้ 255 ตัวอักษร และต้องไม่มีอักขระควบคุม",
            "The name of an organization has at most 255 characters, and no control characters.",
        )
        found.append(FieldProblem("/organization-name", "malformed", text))
    return found
