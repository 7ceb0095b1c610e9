"""Tables of accounts, organizations, roles and refresh tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Bundle, Mapped, mapped_column
from sqlalchemy.schema import conv
from sqlalchemy.sql.functions import FunctionElement

from saraban.kit.db import Base, Code, HasPublicId, UtcDateTime, public_id_index, table_of
from saraban.kit.json import JsonObject
from saraban.kit.keys import keyed


class OrganizationRole(Base):
    __tablename__ = "organization_roles"

    id: Mapped[int] = mapped_column(primary_key=True)
    role_name: Mapped[str] = mapped_column(Code(20), unique=True)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


@keyed("organization_code")
class Organization(HasPublicId, Base):
    __tablename__ = "organizations"

    id: Mapped[int] = mapped_column(primary_key=True)
    organization_code: Mapped[str] = mapped_column(Code(20), unique=True)
    organization_name: Mapped[str] = mapped_column(sa.String(255))
    organization_name_en: Mapped[str | None] = mapped_column(sa.String(255))
    role_id: Mapped[int | None] = mapped_column(sa.ForeignKey("organization_roles.id", ondelete="SET NULL"), index=True)
    is_active: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


@keyed("username")
class User(HasPublicId, Base):
    __tablename__ = "users"

    user_id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(Code(50), unique=True)
    # Loaded only by statements that undefer it.
    password_hash: Mapped[str] = mapped_column(sa.String(255), deferred=True, deferred_raiseload=True)
    first_name: Mapped[str | None] = mapped_column(sa.String(50))
    last_name: Mapped[str | None] = mapped_column(sa.String(50))
    email: Mapped[str] = mapped_column(Code(100), unique=True)
    line_id: Mapped[str | None] = mapped_column(sa.String(100))
    primary_organization_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("organizations.id", ondelete="SET NULL"), index=True
    )
    is_active: Mapped[bool] = mapped_column(default=True)
    is_service: Mapped[bool] = mapped_column(default=False)
    # Numbers that a service account may issue per minute: null is the general limit, 0 is no limit (REQ-OPS-02).
    draws_per_minute: Mapped[int | None]
    must_change_password: Mapped[bool] = mapped_column(default=False)
    failed_attempts: Mapped[int] = mapped_column(default=0)
    # The throttle ignores failed log-ins before this moment (last unlocked, or password replaced).
    locked_until: Mapped[datetime | None]
    last_login_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class UserName(NamedTuple):
    public_id: UUID
    first_name: str | None
    last_name: str | None
    username: str


def name_columns(person: type[User]) -> Sequence[sa.ColumnElement[Any]]:
    return [getattr(person, name) for name in UserName._fields]


def named(name: str, person: type[User]) -> Bundle[Any]:
    return Bundle(name, *name_columns(person))


class UserInvitation(Base):
    """The open one-time link of an account, at most one; deleted when used."""

    __tablename__ = "user_invitations"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", ondelete="CASCADE"), unique=True)
    token_hash: Mapped[str] = mapped_column(Code(64), unique=True)
    expires_at: Mapped[datetime]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class SetupToken(Base):
    __tablename__ = "setup_tokens"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token_hash: Mapped[str] = mapped_column(Code(64))
    expires_at: Mapped[datetime]


class UserPreference(Base):
    __tablename__ = "user_preferences"

    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", ondelete="CASCADE"), primary_key=True)
    notify_email: Mapped[bool] = mapped_column(default=True)
    notify_line: Mapped[bool] = mapped_column(default=True)
    digest_mode: Mapped[bool] = mapped_column(default=False)
    digest_hour: Mapped[int] = mapped_column(default=8)
    # Hours of the deployment's zone; both or neither.
    quiet_from: Mapped[int | None]
    quiet_until: Mapped[int | None]
    # The channels that the user chose for a kind of notice; `notifications` defines the kinds.
    channels: Mapped[dict[str, JsonObject] | None] = mapped_column(sa.JSON(none_as_null=True))
    ui_theme: Mapped[str] = mapped_column(sa.String(20), default="light")
    language: Mapped[str] = mapped_column(sa.String(5), default="th")
    # The project that the user chose last; readers must check that the user may see it.
    project_uuid: Mapped[UUID | None] = mapped_column(sa.Uuid())
    updated_at: Mapped[datetime]


class Role(HasPublicId, Base):
    """`scope` is the level of assignment; a closed role (`deleted_at`) gives no permissions."""

    __tablename__ = "roles"

    role_id: Mapped[int] = mapped_column(primary_key=True)
    role_name: Mapped[str] = mapped_column(Code(100), unique=True)
    role_name_en: Mapped[str | None] = mapped_column(sa.String(100))
    scope: Mapped[str] = mapped_column(sa.String(20))
    project_id: Mapped[int | None] = mapped_column(sa.ForeignKey("projects.id", name="fk_roles_project"))
    description: Mapped[str | None] = mapped_column(sa.Text())
    is_system: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class Permission(Base):
    __tablename__ = "permissions"

    permission_id: Mapped[int] = mapped_column(primary_key=True)
    permission_name: Mapped[str] = mapped_column(Code(100), unique=True)
    description: Mapped[str | None] = mapped_column(sa.Text())
    module: Mapped[str | None] = mapped_column(sa.String(50))
    scope_level: Mapped[str | None] = mapped_column(sa.String(20))
    is_active: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class RolePermission(Base):
    __tablename__ = "role_permissions"

    role_id: Mapped[int] = mapped_column(sa.ForeignKey("roles.role_id", ondelete="CASCADE"), primary_key=True)
    permission_id: Mapped[int] = mapped_column(
        sa.ForeignKey("permissions.permission_id", ondelete="CASCADE"), primary_key=True, index=True
    )


class UserAssignment(HasPublicId, Base):
    __tablename__ = "user_assignments"
    __table_args__ = public_id_index(
        "user_assignments",
        sa.CheckConstraint(
            "(CASE WHEN organization_id IS NULL THEN 0 ELSE 1 END)"
            " + (CASE WHEN project_id IS NULL THEN 0 ELSE 1 END)"
            " + (CASE WHEN contract_id IS NULL THEN 0 ELSE 1 END) <= 1",
            name=conv("chk_scope"),
        ),
        sa.Index("idx_user_assignments_changes_at", "changes_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", ondelete="CASCADE"), index=True)
    role_id: Mapped[int] = mapped_column(sa.ForeignKey("roles.role_id", ondelete="CASCADE"), index=True)
    organization_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("organizations.id", ondelete="CASCADE"), index=True
    )
    project_id: Mapped[int | None] = mapped_column(sa.ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    contract_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contracts.id", ondelete="CASCADE"), index=True)
    assigned_by_user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"), index=True)
    assigned_at: Mapped[datetime]
    # Begin (inclusive) and end (exclusive); null is without a limit.
    valid_from: Mapped[datetime | None]
    valid_until: Mapped[datetime | None]
    # The next begin or end that has not been announced; null if there is none.
    changes_at: Mapped[datetime | None]


class DatabaseNow(FunctionElement[datetime]):
    """The database's clock: the clocks of servers differ."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(DatabaseNow)
def _now_on_mariadb(_element: DatabaseNow, _compiler: object, **_how: object) -> str:
    return "UTC_TIMESTAMP(6)"


@compiles(DatabaseNow, "sqlite")
def _now_on_sqlite(_element: DatabaseNow, _compiler: object, **_how: object) -> str:
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


def in_force(given: Any = table_of(UserAssignment).c) -> sa.ColumnElement[bool]:
    """Return whether a period includes now; each query of permissions needs this condition."""
    now = DatabaseNow()
    return sa.and_(
        sa.or_(given.valid_from.is_(None), given.valid_from <= now),
        sa.or_(given.valid_until.is_(None), given.valid_until > now),
    )


def carries(*permissions: str) -> sa.ColumnElement[bool]:
    """Return whether the statement's role has one of the permissions."""
    role, role_permission, permission = table_of(Role).c, table_of(RolePermission).c, table_of(Permission).c
    return (
        sa.exists()
        .where(role_permission.role_id == role.role_id, permission.permission_id == role_permission.permission_id)
        .where(permission.permission_name.in_(permissions), permission.is_active)
    )


class RefreshToken(HasPublicId, Base):
    """A token of the session `family`, which is open while it has a row that is not revoked."""

    __tablename__ = "refresh_tokens"
    __table_args__ = public_id_index("refresh_tokens", sa.Index("idx_refresh_tokens_open", "family", "is_revoked"))

    token_id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", ondelete="CASCADE"), index=True)
    family: Mapped[UUID]
    token_hash: Mapped[str] = mapped_column(Code(64), unique=True)
    # A rotated token is kept until the session's absolute limit, so that a second use is detected.
    expires_at: Mapped[datetime]
    session_started_at: Mapped[datetime]
    is_revoked: Mapped[bool] = mapped_column(default=False)
    revoked_at: Mapped[datetime | None]
    replaced_by_token: Mapped[str | None] = mapped_column(Code(64))
    device_name: Mapped[str | None] = mapped_column(sa.String(100))
    ip_address: Mapped[str | None] = mapped_column(sa.String(45))
    user_agent: Mapped[str | None] = mapped_column(sa.String(255))
    last_active_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
