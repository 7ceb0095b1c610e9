"""
Codes and numbers compare byte for byte, and numbers have room for 255 characters (REQ-IDN-05, REQ-FMT-05).

MariaDB compares by general_ci until here, where `a` is `A`. Going back fails where two codes differ by case alone, or a
number is longer than its old column: shorten those first. SQLite compares exactly and holds any length.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code, on_sqlite
from saraban_history.rebuild import changing

revision = "0005"
down_revision = "0004"

CODES = {
    "organization_roles": {"role_name": 20},
    "organizations": {"organization_code": 20},
    "users": {"username": 50, "email": 100},
    "roles": {"role_name": 100},
    "permissions": {"permission_name": 100},
    "projects": {"project_code": 50},
    "contracts": {"contract_code": 50},
    "disciplines": {"discipline_code": 10},
    "correspondence_types": {"type_code": 50},
    "correspondence_sub_types": {"sub_type_code": 20, "sub_type_number": 10},
    "correspondence_status": {"status_code": 50},
    "rfa_types": {"type_code": 20},
    "rfa_status_codes": {"status_code": 20},
    "rfa_approve_codes": {"approve_code": 20},
    "circulation_status_codes": {"code": 20},
    "circulations": {"circulation_status_code": 20},
    "workflow_definitions": {"workflow_code": 50},
    "workflow_instances": {"entity_type": 50, "entity_id": 50, "current_state": 50},
    "workflow_histories": {"from_state": 50, "to_state": 50, "action": 50},
    "correspondence_revisions": {"revision_label": 10},
    "contract_drawing_volumes": {"volume_code": 50},
    "contract_drawing_cats": {"cat_code": 50},
    "contract_drawing_sub_cats": {"sub_cat_code": 50},
    "contract_drawings": {"condwg_no": 255},
    "shop_drawing_main_categories": {"main_category_code": 50},
    "shop_drawing_sub_categories": {"sub_category_code": 50},
    "shop_drawing_revisions": {"revision_label": 10, "legacy_drawing_number": 100},
    "asbuilt_drawing_revisions": {"revision_label": 10, "legacy_drawing_number": 100},
}
NULLABLE = {
    ("correspondence_sub_types", "sub_type_number"),
    ("shop_drawing_revisions", "revision_label"),
    ("shop_drawing_revisions", "legacy_drawing_number"),
    ("asbuilt_drawing_revisions", "revision_label"),
    ("asbuilt_drawing_revisions", "legacy_drawing_number"),
}
NUMBERS = {
    "correspondences": "correspondence_number",
    "circulations": "circulation_no",
    "shop_drawings": "drawing_number",
    "asbuilt_drawings": "drawing_number",
}

REFERENCE = "fk_circulations_circulation_status_code"


def upgrade() -> None:
    _recode(exact=True)
    for table, column in NUMBERS.items():
        with changing(table) as batch:
            batch.alter_column(column, type_=code(255), existing_type=sa.String(100), existing_nullable=False)


def downgrade() -> None:
    for table, column in NUMBERS.items():
        with changing(table) as batch:
            batch.alter_column(column, type_=sa.String(100), existing_type=code(255), existing_nullable=False)
    _recode(exact=False)


def _recode(*, exact: bool) -> None:
    if on_sqlite():
        return
    # A status code and the column that refers to it change one after the other; in between they do not match.
    op.drop_constraint(REFERENCE, "circulations", type_="foreignkey")
    for table, columns in CODES.items():
        for column, length in columns.items():
            op.alter_column(
                table,
                column,
                type_=code(length) if exact else sa.String(length),
                existing_type=sa.String(length),
                existing_nullable=(table, column) in NULLABLE,
            )
    op.create_foreign_key(REFERENCE, "circulations", "circulation_status_codes", ["circulation_status_code"], ["code"])
