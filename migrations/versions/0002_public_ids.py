"""Public ids for the specification's fourteen tables (REQ-IDN-03); every row that is already there gets one."""

from saraban_history import public_ids

revision = "0002"
down_revision = "0001"

TABLES = {
    "users": "user_id",
    "organizations": "id",
    "projects": "id",
    "contracts": "id",
    "correspondences": "id",
    "correspondence_revisions": "id",
    "circulations": "id",
    "shop_drawings": "id",
    "shop_drawing_revisions": "id",
    "contract_drawings": "id",
    "asbuilt_drawings": "id",
    "asbuilt_drawing_revisions": "id",
    "attachments": "id",
    "notifications": "id",
}


def upgrade() -> None:
    for table, key in TABLES.items():
        # A unique index of a partitioned table would have to contain the partition's column.
        public_ids.add(table, key=key, unique=table != "notifications")


def downgrade() -> None:
    for table in reversed(TABLES):
        public_ids.remove(table)
