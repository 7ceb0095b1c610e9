"""Seed shipped rows and create the first Superadmin; seeding may be repeated."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.domain import catalogue
from saraban.identity.domain.account import (
    NO_PASSWORD,
    FieldChecks,
    acceptable_address,
    acceptable_name,
    acceptable_username,
)
from saraban.identity.domain.context import Caller
from saraban.identity.models import (
    Organization,
    OrganizationRole,
    Permission,
    Role,
    RolePermission,
    SetupToken,
    User,
    UserAssignment,
)
from saraban.identity.repository import held_roles
from saraban.identity.service import passwords
from saraban.identity.service.accounts import NewAccount, create_user
from saraban.identity.service.assignments import RoleGrant, find_scope, grant_role
from saraban.identity.service.callers import load_caller, lock_rights, system_context
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text
from saraban.kit.keys import NO_KEY
from saraban.kit.schema import CODE_LIKE_FORMULA
from saraban.kit.text import DANGEROUS, control_character, fold, normal_form

# Shipped rows have the same moment everywhere, so that seeding is reproducible.
SHIPPED_AT = datetime(2026, 1, 1, tzinfo=UTC)


async def seed_catalogue(session: AsyncSession) -> None:
    stamps = {"created_at": SHIPPED_AT, "updated_at": SHIPPED_AT}
    await add_missing(
        session,
        OrganizationRole.role_name,
        (OrganizationRole(role_name=name, **stamps) for name in catalogue.ORGANIZATION_ROLES),
    )
    await add_missing(
        session,
        Permission.permission_name,
        (
            Permission(permission_name=offer.name, description=offer.says.th, module=offer.module, **stamps)
            for offer in catalogue.PERMISSIONS
        ),
    )
    await add_missing(
        session,
        Role.role_name,
        (
            Role(role_name=offer.name, scope=offer.scope, description=offer.says.th, is_system=True, **stamps)
            for offer in catalogue.ROLES
        ),
    )
    await _add_role_permissions(session)
    await _add_system_user(session)


async def add_missing(session: AsyncSession, code: Any, rows: Iterable[Any]) -> None:
    """Add rows with a new `code`; one that looks like another gets no key."""
    codes = await repository.values_of(session, code)
    normal_codes = set(map(normal_form, codes))
    for row in rows:
        if (value := getattr(row, code.key)) not in codes:
            if normal_form(value) in normal_codes and hasattr(row, f"{code.key}_key"):
                setattr(row, f"{code.key}_key", NO_KEY)
            session.add(row)
    await session.flush()


async def _add_role_permissions(session: AsyncSession) -> None:
    roles = await repository.keys_of(session, Role.role_name, Role.role_id)
    permissions = await repository.keys_of(session, Permission.permission_name, Permission.permission_id)
    expected = {
        (roles[offer.name], permissions[name])
        for offer in catalogue.ROLES
        for name in catalogue.permissions_of(offer.name)
    }
    existing = await repository.role_permissions(session)
    session.add_all(
        RolePermission(role_id=role, permission_id=permission) for role, permission in sorted(expected - existing)
    )
    await session.flush()


async def _add_system_user(session: AsyncSession) -> None:
    if await repository.user_named(session, username=catalogue.SYSTEM_USERNAME):
        return
    session.add(
        User(
            username=catalogue.SYSTEM_USERNAME,
            password_hash=NO_PASSWORD,
            first_name="Saraban",
            email="system@saraban.invalid",
            is_service=True,
            created_at=SHIPPED_AT,
            updated_at=SHIPPED_AT,
        )
    )
    await session.flush()


async def seed_demo_accounts(session: AsyncSession, *, password: str = catalogue.DEMO_PASSWORD) -> None:
    """Open missing demo accounts; the demo project must exist."""
    usernames = await repository.values_of(session, User.username)
    roles = await repository.keys_of(session, Role.role_name, Role.role_id)
    for account in catalogue.DEMO_ACCOUNTS:
        if account.username not in usernames:
            await _open_account(session, account, roles, password_hash=await passwords.hash_password(password))
    services = [account.username for account in catalogue.DEMO_ACCOUNTS if account.is_service]
    await repository.lift_limits(session, services)


async def _open_account(
    session: AsyncSession, account: catalogue.DemoAccount, roles: dict[str, int], *, password_hash: str
) -> None:
    home = await find_scope(session, organization=account.organization)
    user = User(
        username=account.username,
        password_hash=password_hash,
        first_name=account.first_name,
        last_name=account.last_name,
        email=f"{account.username}@saraban.invalid",
        primary_organization_id=home.organization_id,
        is_service=account.is_service,
        created_at=SHIPPED_AT,
        updated_at=SHIPPED_AT,
    )
    session.add(user)
    await session.flush()
    for placing in account.placings:
        place = await find_scope(
            session, organization=placing.organization, project=placing.project, contract=placing.contract
        )
        session.add(
            UserAssignment(
                user_id=user.user_id,
                role_id=roles[placing.role],
                organization_id=place.organization_id,
                project_id=None if place.contract_id else place.project_id,
                contract_id=place.contract_id,
                assigned_at=SHIPPED_AT,
            )
        )
    await session.flush()


class NotSetUp(DomainError):
    """
    No account exists yet: the operator of the server opens the set-up link that it printed, or creates the first
    administrator with `saraban setup`.
    """

    kind, code = ErrorKind.BUSY, "NOT_SET_UP"
    says = Text("ระบบสารบรรณยังไม่ได้ตั้งค่าเริ่มต้น", "Saraban is not set up yet.")
    recovery = (
        Text(
            "ผู้ดูแลเซิร์ฟเวอร์ต้องเปิดลิงก์ตั้งค่าเริ่มต้นที่เซิร์ฟเวอร์พิมพ์ไว้ หรือสั่ง `saraban setup` ก่อน",
            "Whoever runs the server has to open the set-up link that it printed, or to run `saraban setup` first.",
        ),
    )


class AlreadySetUp(DomainError):
    """The set-up page and `saraban setup` need an empty database, and this one has accounts."""

    kind, code = ErrorKind.CONFLICT, "ALREADY_SET_UP"
    says = Text("ระบบนี้ตั้งค่าเริ่มต้นแล้ว จึงไม่ได้เปลี่ยนสิ่งใด", "Saraban is set up already; nothing was changed.")
    recovery = (
        Text("เข้าสู่ระบบด้วยบัญชีที่มีอยู่", "Sign in with an account that is there."),
        Text("เพิ่มผู้ใช้งานด้วย `saraban user invite`", "Add people with `saraban user invite`."),
        Text("เพิ่มโครงการด้วย `saraban project apply`", "Add a project with `saraban project apply`."),
    )


@dataclass(frozen=True, slots=True)
class FirstAdministrator:
    username: str
    email: str
    password: str = field(repr=False)
    organization_code: str
    organization_name: str = ""
    organization_name_en: str = ""
    first_name: str = ""
    last_name: str = ""

    def check(self) -> None:
        """:raises Invalid: with every fault"""
        checks = FieldChecks(_organization_faults(self))
        names = [self.username.strip(), self.email.partition("@")[0], self.first_name, self.last_name]
        names += [self.organization_code, self.organization_name, self.organization_name_en]
        checks.run(acceptable_username, self.username)
        checks.run(acceptable_address, self.email)
        checks.run(acceptable_name, "/firstName", self.first_name)
        checks.run(acceptable_name, "/lastName", self.last_name)
        checks.run(passwords.require_strong, self.password, names)
        checks.require_none()


class FirstRun:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._over = False

    async def is_over(self) -> bool:
        if not self._over:
            async with self._db.reading() as session:
                self._over = await repository.has_accounts(session)
        return self._over

    async def require_over(self) -> None:
        """:raises NotSetUp:"""
        if not self._over and not await self.is_over():
            raise NotSetUp


async def set_up(session: AsyncSession, first: FirstAdministrator, *, clock: Clock, address: str) -> Caller:
    """:raises Invalid, AlreadySetUp:"""
    first.check()
    await lock_rights(session)  # of two concurrent calls, the second finds the first one's account
    if await repository.has_accounts(session):
        raise AlreadySetUp
    ctx = await system_context(session, clock, address)
    code = fold(first.organization_code.strip())
    if await held_roles.place_keys(session, catalogue.ORGANIZATION, code) is None:
        name = fold(first.organization_name.strip()) or code
        english = fold(first.organization_name_en.strip()) or None
        stamps = {"created_at": ctx.now, "updated_at": ctx.now}
        session.add(
            Organization(organization_code=code, organization_name=name, organization_name_en=english, **stamps)
        )
        await session.flush()
    account = NewAccount(first.username, first.email, first.first_name, first.last_name, code)
    person = await create_user(ctx, session, account, password=first.password)
    await grant_role(ctx, session, first.username, RoleGrant(catalogue.SUPERADMIN))
    if (token := await session.get(SetupToken, 1)) is not None:
        await session.delete(token)
    return await load_caller(session, person)


def _organization_faults(first: FirstAdministrator) -> list[FieldProblem]:
    faults = []
    code = fold(first.organization_code.strip())
    if not 1 <= len(code) <= 20 or any(map(str.isspace, code)) or control_character(code) is not None:
        text = Text(
            "รหัสองค์กรต้องมี 1 ถึง 20 ตัวอักษรและไม่มีช่องว่าง",
            "The code of an organization has 1 to 20 characters and no blanks.",
        )
        faults.append(FieldProblem("/organization", "malformed", text))
    elif code.startswith(DANGEROUS):
        faults.append(FieldProblem("/organization", "formula", CODE_LIKE_FORMULA))
    names = {"/organization-name": first.organization_name, "/organization-name-en": first.organization_name_en}
    for pointer, raw_name in names.items():
        name = fold(raw_name.strip())
        if len(name) > 255 or control_character(name) is not None:
            text = Text(
                "ชื่อองค์กรต้องไม่เกิน 255 ตัวอักษร และไม่มีอักขระควบคุม",
                "The name of an organization has at most 255 characters, and no control characters.",
            )
            faults.append(FieldProblem(pointer, "malformed", text))
    return faults
