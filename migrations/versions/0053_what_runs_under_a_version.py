"""
What runs under each version, and in which states, is asked for whenever an account changes: it was read from all instances.

The index takes the place of two: nobody asks for a state of all versions, and the foreign key needs one that begins with its column.
"""

from alembic import op

revision = "0053"
down_revision = "0052"

TABLE = "workflow_instances"


def upgrade() -> None:
    # A migration that was killed between them finds the index there.
    op.create_index("idx_wf_inst_definition", TABLE, ["definition_id", "status", "current_state"], if_not_exists=True)
    op.drop_index("idx_wf_inst_state", TABLE, if_exists=True)
    if op.get_context().dialect.name != "sqlite":
        op.drop_index("fk_wf_inst_def", TABLE, if_exists=True)  # MariaDB keeps it in a database that was restored


def downgrade() -> None:
    op.create_index("idx_wf_inst_state", TABLE, ["current_state"], if_not_exists=True)
    if op.get_context().dialect.name != "sqlite":
        op.create_index("fk_wf_inst_def", TABLE, ["definition_id"], if_not_exists=True)
    op.drop_index("idx_wf_inst_definition", TABLE, if_exists=True)
