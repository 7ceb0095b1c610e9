"""
Rows of people, the organizations they work for, what their roles allow, and their refresh tokens.

Rules live in `domain`; which organization takes part in which project is `projects`' business.
"""

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
    """The business role of an organization: OWNER, DESIGNER, CONSULTANT, CONTRACTOR, …"""

    __tablename__ = "organization_roles"

    id: Mapped[int] = mapped_column(primary_key=True)
    role_name: Mapped[str] = mapped_column(Code(20), unique=True)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


@keyed("organization_code")
class Organization(HasPublicId, Base):
    """`organization_code` is printed inside document numbers, so it compares byte for byte."""

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
    """An account. A service account (`is_service`) acts for a program; one without a usable hash cannot log in."""

    __tablename__ = "users"

    user_id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(Code(50), unique=True)
    # Whoever compares it or replaces it asks for it: nobody else reads it along.
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
    # Numbers a service account may draw in a minute: null is everybody's limit, 0 is no limit (REQ-OPS-02).
    draws_per_minute: Mapped[int | None]
    must_change_password: Mapped[bool] = mapped_column(default=False)
    failed_attempts: Mapped[int] = mapped_column(default=0)
    # When failures were last forgiven (unlocked, another password): the throttle counts only those since.
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
    """Return a person among the columns of a row, with what they are called by."""
    return Bundle(name, *name_columns(person))


class UserInvitation(Base):
    """
    The open one-time link of an account, at most one; the row goes when it is used or replaced.

    Only the SHA-256 of the token is kept.
    """

    __tablename__ = "user_invitations"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", ondelete="CASCADE"), unique=True)
    token_hash: Mapped[str] = mapped_column(Code(64), unique=True)
    expires_at: Mapped[datetime]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class SetupToken(Base):
    """What opens the set-up page of an empty installation: one row at most, with the SHA-256 of the token."""

    __tablename__ = "setup_tokens"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token_hash: Mapped[str] = mapped_column(Code(64))
    expires_at: Mapped[datetime]


class UserPreference(Base):
    """How one user wants to be told things, and in which language."""

    __tablename__ = "user_preferences"

    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", ondelete="CASCADE"), primary_key=True)
    notify_email: Mapped[bool] = mapped_column(default=True)
    notify_line: Mapped[bool] = mapped_column(default=True)
    digest_mode: Mapped[bool] = mapped_column(default=False)
    digest_hour: Mapped[int] = mapped_column(default=8)
    # Hours of the deployment's zone; both or neither.
    quiet_from: Mapped[int | None]
    quiet_until: Mapped[int | None]
    # Which channels a kind of notice goes by, where the user chose; the kinds are the business of `notifications`.
    channels: Mapped[dict[str, JsonObject] | None] = mapped_column(sa.JSON(none_as_null=True))
    ui_theme: Mapped[str] = mapped_column(sa.String(20), default="light")
    language: Mapped[str] = mapped_column(sa.String(5), default="th")
    # The public id of the project that was chosen last; whether its chooser may see it is asked where it counts.
    project_uuid: Mapped[UUID | None] = mapped_column(sa.Uuid())
    updated_at: Mapped[datetime]


class Role(HasPublicId, Base):
    """
    A named set of permissions; `scope` is the level at which it can be assigned.

    One that shipped (`is_system`) stays as it is. One of a project is given in that project and its contracts alone. One
    that is closed has a `deleted_at` and gives nothing until it is reopened.
    """

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
    """A user has a role in one organization, one project or one contract, or everywhere when none is set."""

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
    # It counts from the first moment until before the second; null is without an end.
    valid_from: Mapped[datetime | None]
    valid_until: Mapped[datetime | None]
    # When it begins or ends next, until those who keep lists of who is asked have been told; null is never.
    changes_at: Mapped[datetime | None]


class DatabaseNow(FunctionElement[datetime]):
    """The database's clock, in whatever statement it stands: the clocks of servers differ."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(DatabaseNow)
def _now_on_mariadb(_element: DatabaseNow, _compiler: object, **_how: object) -> str:
    return "UTC_TIMESTAMP(6)"


@compiles(DatabaseNow, "sqlite")
def _now_on_sqlite(_element: DatabaseNow, _compiler: object, **_how: object) -> str:
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


def in_force(given: Any = table_of(UserAssignment).c) -> sa.ColumnElement[bool]:
    """
    Whether an assignment counts at the moment it is read: every statement that asks what somebody may do asks this.

    :param given: columns of the table, or an alias of the class
    """
    now = DatabaseNow()
    return sa.and_(
        sa.or_(given.valid_from.is_(None), given.valid_from <= now),
        sa.or_(given.valid_until.is_(None), given.valid_until > now),
    )


def carries(*permissions: str) -> sa.ColumnElement[bool]:
    """Whether the role at hand has one of the permissions."""
    role, given, permission = table_of(Role).c, table_of(RolePermission).c, table_of(Permission).c
    return (
        sa.exists()
        .where(given.role_id == role.role_id, permission.permission_id == given.permission_id)
        .where(permission.permission_name.in_(permissions), permission.is_active)
    )


class RefreshToken(HasPublicId, Base):
    """
    A rotating refresh token of a session (`family`, its public id); only the SHA-256 of the token is kept.

    A session lives while it has a row that is not revoked, at most one. An exchanged row has a `replaced_by_token`.
    """

    __tablename__ = "refresh_tokens"
    __table_args__ = public_id_index("refresh_tokens", sa.Index("idx_refresh_tokens_open", "family", "is_revoked"))

    token_id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", ondelete="CASCADE"), index=True)
    family: Mapped[UUID]
    token_hash: Mapped[str] = mapped_column(Code(64), unique=True)
    # An exchanged token is kept until the session's absolute limit, so that a second use is noticed.
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
