"""
Overriding numbers takes a permission of its own, which each role that changes number formats keeps.

Each statement may run again: what is there already stays.
"""

import sqlalchemy as sa
from alembic import op

revision = "0079"
down_revision = "0077"

FORMER, NEW = "numbering.manage_formats", "numbering.override"


def upgrade() -> None:
    bind = op.get_bind()
    bind.execute(
        sa.text(
            "INSERT INTO permissions (permission_name, description, module, scope_level, is_active, created_at, updated_at) "
            "SELECT :new, :description, module, scope_level, is_active, created_at, updated_at FROM permissions "
            "WHERE permission_name = :former AND NOT EXISTS (SELECT 1 FROM permissions WHERE permission_name = :new)"
        ),
        {"new": NEW, "former": FORMER, "description": "ทำเลขที่เป็นโมฆะ ระบุหรือนำเข้าเลขที่เอง และใช้ปีอื่น"},
    )
    bind.execute(
        sa.text(
            "INSERT INTO role_permissions (role_id, permission_id) "
            "SELECT held.role_id, added.permission_id FROM role_permissions held "
            "JOIN permissions former ON former.permission_id = held.permission_id AND former.permission_name = :former "
            "JOIN permissions added ON added.permission_name = :new "
            "WHERE NOT EXISTS (SELECT 1 FROM role_permissions there "
            "WHERE there.role_id = held.role_id AND there.permission_id = added.permission_id)"
        ),
        {"new": NEW, "former": FORMER},
    )


def downgrade() -> None:
    bind = op.get_bind()
    named = "(SELECT permission_id FROM permissions WHERE permission_name = :new)"
    bind.execute(sa.text(f"DELETE FROM role_permissions WHERE permission_id IN {named}"), {"new": NEW})  # noqa: S608
    bind.execute(sa.text("DELETE FROM permissions WHERE permission_name = :new"), {"new": NEW})
