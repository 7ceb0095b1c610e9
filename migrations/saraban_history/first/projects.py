"""Projects, contracts, their parties, master data, and who is assigned where."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import MOMENT, NOW, TABLE

TABLES = [
    "projects",
    "project_organizations",
    "contracts",
    "contract_organizations",
    "disciplines",
    "correspondence_types",
    "correspondence_sub_types",
    "correspondence_status",
    "rfa_types",
    "rfa_status_codes",
    "rfa_approve_codes",
    "circulation_status_codes",
    "user_assignments",
]


def create() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_code", sa.String(50), nullable=False),
        sa.Column("project_name", sa.String(255), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("is_sandbox", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_code", name="uq_projects_project_code"),
        **TABLE,
    )

    op.create_table(
        "project_organizations",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("organization_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "organization_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_project_organizations_project_id"),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name="fk_project_organizations_organization_id"
        ),
        **TABLE,
    )

    op.create_table(
        "contracts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("contract_code", sa.String(50), nullable=False),
        sa.Column("contract_name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("start_date", sa.Date(), nullable=True),
        sa.Column("end_date", sa.Date(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_contracts_project_id"),
        sa.UniqueConstraint("contract_code", name="uq_contracts_contract_code"),
        **TABLE,
    )
    op.create_index("idx_contracts_project", "contracts", ["project_id"])

    op.create_table(
        "contract_organizations",
        sa.Column("contract_id", sa.Integer(), nullable=False),
        sa.Column("organization_id", sa.Integer(), nullable=False),
        sa.Column("role_in_contract", sa.String(100), nullable=True),
        sa.PrimaryKeyConstraint("contract_id", "organization_id"),
        sa.ForeignKeyConstraint(["contract_id"], ["contracts.id"], name="fk_contract_organizations_contract_id"),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name="fk_contract_organizations_organization_id"
        ),
        **TABLE,
    )

    op.create_table(
        "disciplines",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("contract_id", sa.Integer(), nullable=False),
        sa.Column("discipline_code", sa.String(10), nullable=False),
        sa.Column("code_name_th", sa.String(255), nullable=True),
        sa.Column("code_name_en", sa.String(255), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["contract_id"], ["contracts.id"], name="fk_disciplines_contract_id"),
        sa.UniqueConstraint("contract_id", "discipline_code", name="uk_discipline_contract"),
        **TABLE,
    )

    op.create_table(
        "correspondence_types",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("type_code", sa.String(50), nullable=False),
        sa.Column("type_name", sa.String(255), nullable=False),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("type_code", name="uq_correspondence_types_type_code"),
        **TABLE,
    )

    op.create_table(
        "correspondence_sub_types",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("contract_id", sa.Integer(), nullable=False),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=False),
        sa.Column("sub_type_code", sa.String(20), nullable=False),
        sa.Column("sub_type_name", sa.String(255), nullable=True),
        sa.Column("sub_type_number", sa.String(10), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["contract_id"], ["contracts.id"], name="fk_correspondence_sub_types_contract_id"),
        sa.ForeignKeyConstraint(
            ["correspondence_type_id"],
            ["correspondence_types.id"],
            name="fk_correspondence_sub_types_correspondence_type_id",
        ),
        sa.UniqueConstraint(
            "contract_id", "correspondence_type_id", "sub_type_code", name="uk_sub_types_contract_type_code"
        ),
        **TABLE,
    )

    op.create_table(
        "correspondence_status",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("status_code", sa.String(50), nullable=False),
        sa.Column("status_name", sa.String(255), nullable=False),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("status_code", name="uq_correspondence_status_status_code"),
        **TABLE,
    )

    op.create_table(
        "rfa_types",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("contract_id", sa.Integer(), nullable=False),
        sa.Column("type_code", sa.String(20), nullable=False),
        sa.Column("type_name_th", sa.String(100), nullable=False),
        sa.Column("type_name_en", sa.String(100), nullable=False),
        sa.Column("remark", sa.Text(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["contract_id"], ["contracts.id"], name="fk_rfa_types_contract_id"),
        sa.UniqueConstraint("contract_id", "type_code", name="uk_rfa_types_contract_code"),
        **TABLE,
    )

    op.create_table(
        "rfa_status_codes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("status_code", sa.String(20), nullable=False),
        sa.Column("status_name", sa.String(100), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("status_code", name="uq_rfa_status_codes_status_code"),
        **TABLE,
    )

    op.create_table(
        "rfa_approve_codes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("approve_code", sa.String(20), nullable=False),
        sa.Column("approve_name", sa.String(100), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("approve_code", name="uq_rfa_approve_codes_approve_code"),
        **TABLE,
    )

    op.create_table(
        "circulation_status_codes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(20), nullable=False),
        sa.Column("description", sa.String(50), nullable=False),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("code", name="uq_circulation_status_codes_code"),
        **TABLE,
    )

    op.create_table(
        "user_assignments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("role_id", sa.Integer(), nullable=False),
        sa.Column("organization_id", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("contract_id", sa.Integer(), nullable=True),
        sa.Column("assigned_by_user_id", sa.Integer(), nullable=True),
        sa.Column("assigned_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_user_assignments_user_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["role_id"], ["roles.role_id"], name="fk_user_assignments_role_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name="fk_user_assignments_organization_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_user_assignments_project_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["contract_id"], ["contracts.id"], name="fk_user_assignments_contract_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["assigned_by_user_id"], ["users.user_id"], name="fk_user_assignments_assigned_by_user_id"
        ),
        sa.CheckConstraint(
            "(CASE WHEN organization_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN project_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN contract_id IS NULL THEN 0 ELSE 1 END) <= 1",
            name="chk_scope",
        ),
        **TABLE,
    )
    op.create_index("ix_user_assignments_assigned_by_user_id", "user_assignments", ["assigned_by_user_id"])
    op.create_index("ix_user_assignments_contract_id", "user_assignments", ["contract_id"])
    op.create_index("ix_user_assignments_organization_id", "user_assignments", ["organization_id"])
    op.create_index("ix_user_assignments_project_id", "user_assignments", ["project_id"])
    op.create_index("ix_user_assignments_role_id", "user_assignments", ["role_id"])
    op.create_index("ix_user_assignments_user_id", "user_assignments", ["user_id"])
