"""
Roles of one's own have an English name and may belong to a project; a permission that nobody asks for is gone.

What a workflow definition in the database asks for stays: there somebody asks.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0054"
down_revision = "0053"

UNASKED = (
    *("system.impersonate", "system.maintenance_mode", "system.manage_cache", "organization.manage_members"),
    *("master_data.view", "master_data.manage", "master_data.number_format.manage"),
    *("document.create", "document.delete", "document.submit", "document.manage_references"),
    *("correspondence.view", "correspondence.delete", "rfa.view", "rfa.delete", "rfa.manage_items"),
    *("drawing.view", "drawing.delete", "drawing.link_contract"),
    *("transmittal.view", "transmittal.delete", "transmittal.print", "workflow.revert"),
    *("search.basic", "search.advanced", "search.export", "report.view", "report.generate", "report.schedule"),
    *("notification.view", "notification.manage_all", "dashboard.view_own", "dashboard.view_all"),
    *("dashboard.view_analytics", "json_schema.view", "json_schema.manage", "json_schema.migrate_data"),
    *("project.view", "contract.view"),
    *("monitoring.view_health", "monitoring.view_metrics", "monitoring.manage_maintenance"),
)


def upgrade() -> None:
    with changing("roles") as batch:
        batch.add_column(sa.Column("role_name_en", sa.String(100), nullable=True))
        batch.add_column(sa.Column("project_id", sa.Integer(), nullable=True))
        batch.create_foreign_key("fk_roles_project", "projects", ["project_id"], ["id"])
    _remove_unasked()


def _remove_unasked() -> None:
    connection = op.get_bind()
    definition = sa.table("workflow_definitions", sa.column("dsl", sa.Text()))
    asked = "\n".join(map(str, connection.scalars(sa.select(definition.c.dsl))))
    gone = [name for name in UNASKED if f'"{name}"' not in asked]
    permission = sa.table("permissions", sa.column("permission_id"), sa.column("permission_name"))
    given = sa.table("role_permissions", sa.column("permission_id"))
    keys = list(
        connection.scalars(sa.select(permission.c.permission_id).where(permission.c.permission_name.in_(gone)))
    )
    for table in (given, permission):
        op.execute(sa.delete(table).where(table.c.permission_id.in_(keys)))


def downgrade() -> None:
    """The version before adds the permissions of its own catalogue, and what its roles had of them, when it starts."""
    with changing("roles") as batch:
        batch.drop_constraint("fk_roles_project", type_="foreignkey")
        batch.drop_column("project_id")
        batch.drop_column("role_name_en")
