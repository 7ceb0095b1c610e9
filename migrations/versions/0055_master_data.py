"""
Master data that an administrator changes: an order, an end and a name in both languages for each row, codes unique per project.

The names of shipped codes were English in their rows and Thai in the program; the rows have both from here on. Going back drops the
tags, and fails where two projects have the same code of a shop drawing category: change one of them first.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, NOW, TABLE, code, on_sqlite
from saraban_history.rebuild import changing
from saraban_history.shipped_names import THAI

revision = "0055"
down_revision = "0054"

# Table: the column of the code, of the name, of the English name, and how long a name is.
NAMED = {
    "correspondence_types": ("type_code", "type_name", "type_name_en", 255),
    "correspondence_status": ("status_code", "status_name", "status_name_en", 255),
    "rfa_status_codes": ("status_code", "status_name", "status_name_en", 100),
    "rfa_approve_codes": ("approve_code", "approve_name", "approve_name_en", 100),
    "circulation_status_codes": ("code", "description", "description_en", 50),
}
CATEGORIES = {
    "contract_drawing_volumes": "volume_name_en",
    "contract_drawing_cats": "cat_name_en",
    "contract_drawing_sub_cats": "sub_cat_name_en",
    "shop_drawing_main_categories": "main_category_name_en",
    "shop_drawing_sub_categories": "sub_category_name_en",
}
OF_CONTRACTS = {
    "disciplines": ("discipline_code", "discipline_code"),
    "rfa_types": ("type_code", "type_code"),
    "correspondence_sub_types": ("sub_type_code", "sub_type_number"),
}
SHOP = {
    "shop_drawing_main_categories": ("main_category_code", "ux_main_category_project"),
    "shop_drawing_sub_categories": ("sub_category_code", "ux_sub_category_project"),
}


def upgrade() -> None:
    for table, (_, _, english, length) in NAMED.items():
        op.add_column(table, sa.Column(english, sa.String(length), nullable=True))
        _fill_names(table)
    for table, english in CATEGORIES.items():
        with changing(table) as batch:
            batch.add_column(sa.Column(english, sa.String(255), nullable=True))
            if not table.startswith("shop_"):
                batch.add_column(sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()))
    for table, (column, order) in OF_CONTRACTS.items():
        with changing(table) as batch:
            batch.add_column(sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"))
            if table == "correspondence_sub_types":
                batch.add_column(sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()))
        op.create_index(f"idx_{table}_order", table, ["contract_id", "sort_order", column])
        _fill_order(table, order)
    for table, (column, name) in SHOP.items():
        _per_project(table, column, name)
    _tags()


def downgrade() -> None:
    op.drop_table("tags")
    for table, (column, name) in SHOP.items():
        _everywhere(table, column, name)
    for table in OF_CONTRACTS:
        if on_sqlite():
            op.drop_index(f"idx_{table}_order", table)
        with changing(table) as batch:
            if not on_sqlite():
                batch.drop_index(f"idx_{table}_order")
            batch.drop_column("sort_order")
            if table == "correspondence_sub_types":
                batch.drop_column("is_active")
    for table, english in CATEGORIES.items():
        with changing(table) as batch:
            batch.drop_column(english)
            if not table.startswith("shop_"):
                batch.drop_column("is_active")
    for table, (_, name, english, _) in NAMED.items():
        op.execute(f"UPDATE {table} SET {name} = COALESCE({english}, {name})")
        with changing(table) as batch:
            batch.drop_column(english)


def _per_project(table: str, column: str, name: str) -> None:
    with changing(table) as batch:
        batch.create_unique_constraint(name, ["project_id", column])
        batch.drop_constraint(f"uq_{table}_{column}", type_="unique")


def _everywhere(table: str, column: str, name: str) -> None:
    with changing(table) as batch:
        batch.create_unique_constraint(f"uq_{table}_{column}", [column])
        if not on_sqlite():  # the foreign key needs an index that begins with its column
            batch.create_index(f"fk_{table}_project_id", ["project_id"])
        batch.drop_constraint(name, type_="unique")


def _tags() -> None:
    op.create_table(
        "tags",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("project_id", sa.Integer(), sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("tag_code", code(50), nullable=False),
        sa.Column("tag_name", code(100), nullable=False),
        sa.Column("tag_name_en", sa.String(100), nullable=True),
        sa.Column("color_code", sa.String(30), nullable=False, server_default="default"),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.UniqueConstraint("project_id", "tag_code", name="uq_tag_project_code"),
        sa.UniqueConstraint("project_id", "tag_name", name="uq_tag_project"),
        sa.Index("idx_tags_order", "project_id", "sort_order", "tag_code"),
        **TABLE,
    )


def _fill_names(table: str) -> None:
    """What somebody has named otherwise keeps that name in both languages."""
    column, name, english, _ = NAMED[table]
    rows = sa.table(table, sa.column(column), sa.column(name), sa.column(english))
    connection = op.get_bind()
    connection.execute(sa.update(rows).values({english: rows.c[name]}))
    for value, thai in THAI[table].items():
        connection.execute(sa.update(rows).where(rows.c[column] == value).values({name: thai}))


def _fill_order(table: str, order: str) -> None:
    """Rows stand as forms have listed them until here."""
    rows = sa.table(
        table, *(sa.column(name, sa.Integer) for name in ("id", "contract_id", "sort_order")), sa.column(order)
    )
    connection = op.get_bind()
    found = connection.execute(sa.select(rows.c.id, rows.c.contract_id).order_by(rows.c.contract_id, rows.c[order]))
    places: dict[int, int] = {}
    filled = []
    for key, contract in found.all():
        places[contract] = places.get(contract, 0) + 10
        filled.append({"row": key, "sort_order": places[contract]})
    if filled:
        connection.execute(sa.update(rows).where(rows.c.id == sa.bindparam("row")), filled)
