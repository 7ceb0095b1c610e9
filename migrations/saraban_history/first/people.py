"""People, their organizations and what roles allow."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import MOMENT, NOW, TABLE

TABLES = [
    "organization_roles",
    "organizations",
    "users",
    "user_preferences",
    "refresh_tokens",
    "roles",
    "permissions",
    "role_permissions",
]


def create() -> None:
    op.create_table(
        "organization_roles",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("role_name", sa.String(20), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("role_name", name="uq_organization_roles_role_name"),
        **TABLE,
    )

    op.create_table(
        "organizations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("organization_code", sa.String(20), nullable=False),
        sa.Column("organization_name", sa.String(255), nullable=False),
        sa.Column("role_id", sa.Integer(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["role_id"], ["organization_roles.id"], name="fk_organizations_role_id", ondelete="SET NULL"
        ),
        sa.UniqueConstraint("organization_code", name="uq_organizations_organization_code"),
        **TABLE,
    )
    op.create_index("ix_organizations_role_id", "organizations", ["role_id"])

    op.create_table(
        "users",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("username", sa.String(50), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("first_name", sa.String(50), nullable=True),
        sa.Column("last_name", sa.String(50), nullable=True),
        sa.Column("email", sa.String(100), nullable=False),
        sa.Column("line_id", sa.String(100), nullable=True),
        sa.Column("primary_organization_id", sa.Integer(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("must_change_password", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("failed_attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("locked_until", MOMENT, nullable=True),
        sa.Column("last_login_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("user_id"),
        sa.ForeignKeyConstraint(
            ["primary_organization_id"],
            ["organizations.id"],
            name="fk_users_primary_organization_id",
            ondelete="SET NULL",
        ),
        sa.UniqueConstraint("email", name="uq_users_email"),
        sa.UniqueConstraint("username", name="uq_users_username"),
        **TABLE,
    )
    op.create_index("ix_users_primary_organization_id", "users", ["primary_organization_id"])

    op.create_table(
        "user_preferences",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("notify_email", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("notify_line", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("digest_mode", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("ui_theme", sa.String(20), nullable=False, server_default="light"),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("user_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_user_preferences_user_id", ondelete="CASCADE"),
        **TABLE,
    )

    op.create_table(
        "refresh_tokens",
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(255), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("is_revoked", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("replaced_by_token", sa.String(255), nullable=True),
        sa.PrimaryKeyConstraint("token_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_refresh_tokens_user_id", ondelete="CASCADE"),
        sa.UniqueConstraint("token_hash", name="uq_refresh_tokens_token_hash"),
        **TABLE,
    )
    op.create_index("ix_refresh_tokens_user_id", "refresh_tokens", ["user_id"])

    op.create_table(
        "roles",
        sa.Column("role_id", sa.Integer(), nullable=False),
        sa.Column("role_name", sa.String(100), nullable=False),
        sa.Column("scope", sa.String(20), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("is_system", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("role_id"),
        sa.UniqueConstraint("role_name", name="uq_roles_role_name"),
        **TABLE,
    )

    op.create_table(
        "permissions",
        sa.Column("permission_id", sa.Integer(), nullable=False),
        sa.Column("permission_name", sa.String(100), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("module", sa.String(50), nullable=True),
        sa.Column("scope_level", sa.String(20), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("permission_id"),
        sa.UniqueConstraint("permission_name", name="uq_permissions_permission_name"),
        **TABLE,
    )

    op.create_table(
        "role_permissions",
        sa.Column("role_id", sa.Integer(), nullable=False),
        sa.Column("permission_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("role_id", "permission_id"),
        sa.ForeignKeyConstraint(["role_id"], ["roles.role_id"], name="fk_role_permissions_role_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["permission_id"],
            ["permissions.permission_id"],
            name="fk_role_permissions_permission_id",
            ondelete="CASCADE",
        ),
        **TABLE,
    )
    op.create_index("ix_role_permissions_permission_id", "role_permissions", ["permission_id"])
