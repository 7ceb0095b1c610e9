"""The role of an organization in each of its projects, filled from its one role; English names beside the Thai ones."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code
from saraban_history.rebuild import changing

revision = "0040"
down_revision = "0039"

NAMES = (
    ("organizations", "organization_name_en"),
    ("projects", "project_name_en"),
    ("contracts", "contract_name_en"),
    ("correspondence_sub_types", "sub_type_name_en"),
)

FILL = """
UPDATE project_organizations SET role_in_project = COALESCE((
    SELECT organization_roles.role_name FROM organizations
    JOIN organization_roles ON organization_roles.id = organizations.role_id
    WHERE organizations.id = project_organizations.organization_id
    AND organization_roles.role_name IN ('OWNER', 'DESIGNER', 'CONSULTANT', 'CONTRACTOR')
), 'OTHER')
"""


def upgrade() -> None:
    for table, column in NAMES:
        op.add_column(table, sa.Column(column, sa.String(255), nullable=True))
    op.add_column(
        "project_organizations", sa.Column("role_in_project", code(20), nullable=False, server_default="OTHER")
    )
    op.execute(FILL)


def downgrade() -> None:
    with changing("project_organizations") as batch:
        batch.drop_column("role_in_project")
    for table, column in reversed(NAMES):
        with changing(table) as batch:
            batch.drop_column(column)
