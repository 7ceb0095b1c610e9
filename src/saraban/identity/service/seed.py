"""
Fills in what the product ships with: permissions, roles, the system user; and the demo accounts.

Each function may run any number of times: it adds what is missing and changes nothing that is there.
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain import catalogue as shipped
from saraban.identity.domain.catalogue import DEMO_ACCOUNTS, DEMO_PASSWORD, DemoAccount
from saraban.identity.models import (
    OrganizationRole,
    Permission,
    Role,
    RolePermission,
    User,
    UserAssignment,
)
from saraban.identity.service import passwords, role_scopes

# Shipped rows carry the same moment everywhere, so that filling a database twice gives the same rows.
SHIPPED_AT = datetime(2026, 1, 1, tzinfo=UTC)


async def seed_catalogue(session: AsyncSession) -> None:
    """Fill in organization roles, permissions, the seven roles with their permissions, and `system`."""
    stamps = {"created_at": SHIPPED_AT, "updated_at": SHIPPED_AT}
    known = set(await session.scalars(sa.select(OrganizationRole.role_name)))
    session.add_all(
        OrganizationRole(role_name=name, **stamps) for name in shipped.ORGANIZATION_ROLES if name not in known
    )
    known = set(await session.scalars(sa.select(Permission.permission_name)))
    session.add_all(
        Permission(permission_name=offer.name, description=offer.says.th, module=offer.module, **stamps)
        for offer in shipped.PERMISSIONS
        if offer.name not in known
    )
    known = set(await session.scalars(sa.select(Role.role_name)))
    session.add_all(
        Role(role_name=offer.name, scope=offer.scope, description=offer.says.th, is_system=True, **stamps)
        for offer in shipped.ROLES
        if offer.name not in known
    )
    await session.flush()
    await _matrix(session)
    await _system_user(session)


async def _matrix(session: AsyncSession) -> None:
    roles = {row.role_name: row.role_id for row in await session.scalars(sa.select(Role))}
    permissions = {row.permission_name: row.permission_id for row in await session.scalars(sa.select(Permission))}
    wanted = {
        (roles[offer.name], permissions[name]) for offer in shipped.ROLES for name in shipped.permissions_of(offer.name)
    }
    there = {(row.role_id, row.permission_id) for row in await session.scalars(sa.select(RolePermission))}
    session.add_all(RolePermission(role_id=role, permission_id=one) for role, one in sorted(wanted - there))
    await session.flush()


async def _system_user(session: AsyncSession) -> None:
    if await session.scalar(sa.select(User.user_id).where(User.username == shipped.SYSTEM_USERNAME)):
        return
    session.add(
        User(
            username=shipped.SYSTEM_USERNAME,
            password_hash=passwords.NO_PASSWORD,
            first_name="Saraban",
            email="system@saraban.invalid",
            is_service=True,
            created_at=SHIPPED_AT,
            updated_at=SHIPPED_AT,
        )
    )
    await session.flush()


async def seed_demo_accounts(session: AsyncSession, *, password: str = DEMO_PASSWORD) -> None:
    """
    Open the demo accounts that are missing; one that exists keeps its password and its roles.

    The demo project must be there (`setup.service.demo`).
    """
    known = set(await session.scalars(sa.select(User.username)))
    roles = {row.role_name: row.role_id for row in await session.scalars(sa.select(Role))}
    for account in DEMO_ACCOUNTS:
        if account.username not in known:
            await _open_account(session, account, roles, password_hash=await passwords.hash_password(password))
    # A program draws more than a person may; a limit that somebody set stays.
    services = [account.username for account in DEMO_ACCOUNTS if account.is_service]
    unset = sa.and_(User.username.in_(services), User.draws_per_minute.is_(None))
    await session.execute(sa.update(User).where(unset).values(draws_per_minute=0))


async def _open_account(
    session: AsyncSession, account: DemoAccount, roles: dict[str, int], *, password_hash: str
) -> None:
    own = await role_scopes.find_scope(session, organization=account.organization)
    user = User(
        username=account.username,
        password_hash=password_hash,
        first_name=account.first_name,
        last_name=account.last_name,
        email=f"{account.username}@saraban.invalid",
        primary_organization_id=own.organization_id,
        is_service=account.is_service,
        created_at=SHIPPED_AT,
        updated_at=SHIPPED_AT,
    )
    session.add(user)
    await session.flush()
    for placing in account.placings:
        place = await role_scopes.find_scope(
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
