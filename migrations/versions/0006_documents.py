"""
What documents carry beyond the specification: contract, sub type, priority, their own rendering, and cancelling.

A document's contract is the one of its discipline or RFA type. A revision's number is the head's, the only one known.
A circulation belongs to the project of its document; one without a document, to the first project of its organization.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import MOMENT, code
from saraban_history.rebuild import changing

revision = "0006"
down_revision = "0005"

PRIORITY = sa.Enum("URGENT", "HIGH", "MEDIUM", "LOW", name="priority", native_enum=False, length=10)
KIND = sa.Enum("MAIN", "ACTION", "INFORMATION", name="routing_kind", native_enum=False, length=20)


def upgrade() -> None:
    _heads()
    _revisions()
    op.add_column("correspondence_recipients", sa.Column("position", sa.Integer(), nullable=False, server_default="0"))
    op.execute(
        "UPDATE correspondence_recipients SET position = (SELECT n FROM ("
        "SELECT correspondence_id c, recipient_organization_id o, recipient_type t, "
        "ROW_NUMBER() OVER (PARTITION BY correspondence_id ORDER BY recipient_type DESC, recipient_organization_id) - 1 n "
        "FROM correspondence_recipients) AS counted WHERE c = correspondence_id "
        "AND o = recipient_organization_id AND t = recipient_type)"
    )
    _sheets()
    public_ids.add("circulation_routings")
    op.add_column("circulation_routings", sa.Column("kind", KIND, nullable=False, server_default="ACTION"))
    op.add_column("circulation_routings", sa.Column("due_date", sa.Date(), nullable=True))


def _heads() -> None:
    with changing("correspondences") as batch:
        batch.add_column(sa.Column("number_uuid", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("contract_id", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("sub_type_id", sa.Integer(), nullable=True))
        _cancelling(batch)
        batch.create_foreign_key("fk_correspondences_contract_id", "contracts", ["contract_id"], ["id"])
        batch.create_foreign_key("fk_correspondences_sub_type_id", "correspondence_sub_types", ["sub_type_id"], ["id"])
        batch.create_foreign_key("fk_correspondences_cancelled_by", "users", ["cancelled_by"], ["user_id"])
    page = ["project_id", "correspondence_type_id", "created_at", "uuid"]
    op.create_index("idx_correspondences_page", "correspondences", page)
    op.execute(
        "UPDATE correspondences SET contract_id = COALESCE("
        "(SELECT contract_id FROM disciplines WHERE disciplines.id = correspondences.discipline_id), "
        "(SELECT contract_id FROM rfas JOIN rfa_types ON rfa_types.id = rfas.rfa_type_id "
        "WHERE rfas.id = correspondences.id))"
    )


def _revisions() -> None:
    op.add_column("correspondence_revisions", sa.Column("correspondence_number", code(255), nullable=True))
    op.execute(
        "UPDATE correspondence_revisions SET correspondence_number = (SELECT correspondence_number "
        "FROM correspondences WHERE correspondences.id = correspondence_revisions.correspondence_id)"
    )
    with changing("correspondence_revisions") as batch:
        batch.alter_column("correspondence_number", existing_type=code(255), nullable=False)
        batch.add_column(sa.Column("priority", PRIORITY, nullable=False, server_default="MEDIUM"))
    op.create_index("idx_corr_revisions_number", "correspondence_revisions", ["correspondence_number"])


def _sheets() -> None:
    op.add_column("circulations", sa.Column("project_id", sa.Integer(), nullable=True))
    op.execute(
        "UPDATE circulations SET project_id = COALESCE("
        "(SELECT project_id FROM correspondences WHERE correspondences.id = circulations.correspondence_id), "
        "(SELECT MIN(project_id) FROM project_organizations "
        "WHERE project_organizations.organization_id = circulations.organization_id), "
        "(SELECT MIN(id) FROM projects))"
    )
    with changing("circulations") as batch:
        batch.alter_column("project_id", existing_type=sa.Integer(), nullable=False)
        batch.add_column(sa.Column("number_uuid", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("priority", PRIORITY, nullable=False, server_default="MEDIUM"))
        batch.add_column(sa.Column("remarks", sa.Text(), nullable=True))
        _cancelling(batch)
        batch.create_foreign_key("fk_circulations_project_id", "projects", ["project_id"], ["id"])
        batch.create_foreign_key("fk_circulations_cancelled_by", "users", ["cancelled_by"], ["user_id"])
        batch.create_unique_constraint("uq_circulation_no_per_project", ["project_id", "circulation_no"])
        batch.create_unique_constraint("uq_circulation_per_organization", ["correspondence_id", "organization_id"])
        batch.drop_constraint("uq_circulations_correspondence_id", type_="unique")
    op.create_index("idx_circulations_page", "circulations", ["project_id", "created_at", "uuid"])


def _cancelling(batch) -> None:
    batch.add_column(sa.Column("cancelled_at", MOMENT, nullable=True))
    batch.add_column(sa.Column("cancelled_by", sa.Integer(), nullable=True))
    batch.add_column(sa.Column("cancel_reason", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("circulation_routings", "due_date")
    op.drop_column("circulation_routings", "kind")
    public_ids.remove("circulation_routings")
    _undo_sheets()
    op.drop_column("correspondence_recipients", "position")
    op.drop_index("idx_corr_revisions_number", "correspondence_revisions")
    with changing("correspondence_revisions") as batch:
        batch.drop_column("priority")
        batch.drop_column("correspondence_number")
    op.drop_index("idx_correspondences_page", "correspondences")
    with changing("correspondences") as batch:
        for column in ("contract_id", "sub_type_id", "cancelled_by"):
            batch.drop_constraint(f"fk_correspondences_{column}", type_="foreignkey")
        for column in ("number_uuid", "contract_id", "sub_type_id", "cancelled_at", "cancelled_by", "cancel_reason"):
            batch.drop_column(column)


def _undo_sheets() -> None:
    # The older schema allows one sheet for a document; the sheets of other organizations stay, without their document.
    op.execute(
        "UPDATE circulations SET correspondence_id = NULL WHERE id NOT IN (SELECT first_id FROM "
        "(SELECT MIN(id) AS first_id FROM circulations GROUP BY correspondence_id) AS firsts)"
    )
    op.drop_index("idx_circulations_page", "circulations")
    with changing("circulations") as batch:
        batch.create_unique_constraint("uq_circulations_correspondence_id", ["correspondence_id"])
        batch.drop_constraint("fk_circulations_project_id", type_="foreignkey")
        batch.drop_constraint("fk_circulations_cancelled_by", type_="foreignkey")
        batch.drop_constraint("uq_circulation_per_organization", type_="unique")
        batch.drop_constraint("uq_circulation_no_per_project", type_="unique")
        for column in ("project_id", "number_uuid", "priority", "remarks"):
            batch.drop_column(column)
        for column in ("cancelled_at", "cancelled_by", "cancel_reason"):
            batch.drop_column(column)
