"""
Each step keeps the organization for which somebody took it; schemes of drawings that counted all letters go on to count I and O.

`A` counted all letters and leaves I and O out from now on: what a project has chosen becomes `A-Z`, which counts as before.
Each statement may run again: a scheme that was written anew has no letter alone.
A downgrade writes the schemes that the former version reads: letters from the first one on, and labels without the part after the point.
"""

import re

import sqlalchemy as sa
from alembic import op

revision = "0083"
down_revision = "0082"

SETTINGS = sa.table("drawing_settings", *map(sa.column, ("project_id", "kind", "revision_scheme")))


UP = (r"^([A-Z])$", r"\1-Z")
DOWN = (r"^([A-Z])-.*|^(\w+)\.\d+$", r"\1\2")


def upgrade() -> None:
    _rewrite(*UP)
    op.add_column("workflow_histories", sa.Column("acting_organization_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("workflow_histories", "acting_organization_id")
    _rewrite(*DOWN)


def rewritten(scheme: str, stage: str, other: str) -> str:
    return ", ".join(re.sub(stage, other, part.strip()) for part in scheme.split(","))


def _rewrite(stage: str, other: str) -> None:
    bind = op.get_bind()
    for project, kind, scheme in bind.execute(sa.select(SETTINGS)).all():
        row = (SETTINGS.c.project_id == project, SETTINGS.c.kind == kind)
        bind.execute(sa.update(SETTINGS).where(*row).values(revision_scheme=rewritten(scheme, stage, other)))
