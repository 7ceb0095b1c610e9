"""
Drawings belong to a contract, an originator and a discipline; contract drawings have revisions as the others do; a revision
says from when until when it was the current one.

A drawing that stands in the tables already concerns its whole project, as before. Its revisions count from the moment at which
they were written; a contract drawing becomes its own first revision, with its files.
"""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, NOW, TABLE, code, on_sqlite
from saraban_history.rebuild import changing

revision = "0061"
down_revision = "0060"

HEADS = {"contract_drawings": "condwg_no", "shop_drawings": "drawing_number", "asbuilt_drawings": "drawing_number"}
PLACES = {"contract_id": "contracts", "originator_id": "organizations", "discipline_id": "disciplines"}
AUDIENCE = ("project_id", "audience_kind", "audience_id")
FILE_TYPE = sa.Enum("PDF", "DWG", "SOURCE", "OTHER", name="drawing_file_type", native_enum=False, length=10)
REVISIONS = {"shop_drawing_revisions": "shop_drawing_id", "asbuilt_drawing_revisions": "asbuilt_drawing_id"}


def upgrade() -> None:
    for table, number in HEADS.items():
        _widen(table, number)
    for table in REVISIONS:
        with changing(table) as batch:
            for column in _told():
                batch.add_column(column)
        op.execute(f"UPDATE {table} SET current_from = created_at, current_until = CASE WHEN is_current = 1 THEN NULL ELSE created_at END")
        with changing(table) as batch:
            batch.alter_column("current_from", existing_type=MOMENT, nullable=False, server_default=NOW)
    _contract_revisions()
    op.create_table(
        "drawing_settings",
        sa.Column("project_id", sa.Integer(), sa.ForeignKey("projects.id"), autoincrement=False, nullable=False),
        sa.Column("kind", code(10), nullable=False),
        sa.Column("revision_scheme", code(100), nullable=False),
        sa.Column("number_pattern", code(100), nullable=True),
        sa.Column("addenda", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("updated_by_user_id", sa.Integer(), sa.ForeignKey("users.user_id"), nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "kind"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("drawing_settings")
    _files_of_heads()
    op.drop_table("contract_drawing_revision_attachments")
    op.drop_table("contract_drawing_revisions")
    for table in REVISIONS:
        with changing(table) as batch:
            for column in _told():
                batch.drop_column(column.name)
    for table, number in HEADS.items():
        _narrow(table, number)


def _told() -> list[sa.Column[object]]:
    return [
        sa.Column("title_en", sa.String(500), nullable=True),
        sa.Column("status_code", code(20), nullable=True),
        sa.Column("current_from", MOMENT, nullable=True),
        sa.Column("current_until", MOMENT, nullable=True),
    ]


def _widen(table: str, number: str) -> None:
    with changing(table) as batch:
        for name, other in PLACES.items():
            batch.add_column(sa.Column(name, sa.Integer(), nullable=True))
            batch.create_foreign_key(f"fk_{table}_{name}", other, [name], ["id"])
        batch.add_column(sa.Column("audience_kind", sa.SmallInteger(), nullable=False, server_default="1"))
        batch.add_column(sa.Column("audience_id", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("scale", sa.String(50), nullable=True))
        batch.add_column(sa.Column("sheet_size", sa.String(20), nullable=True))
        batch.add_column(sa.Column("zone", sa.String(100), nullable=True))
        batch.add_column(sa.Column("version", sa.Integer(), nullable=False, server_default="1"))
        if table != "contract_drawings":
            for column in ("main_category_id", "sub_category_id"):
                batch.alter_column(column, existing_type=sa.Integer(), nullable=True)
    for name, columns in _indexes(table, number).items():
        op.create_index(name, table, columns)


def _indexes(table: str, number: str) -> dict[str, list[str]]:
    return {
        f"ix_{table}_discipline": ["project_id", "discipline_id", number],
        f"ix_{table}_audience": [*AUDIENCE, number],
        f"ix_{table}_audience_discipline": [*AUDIENCE, "discipline_id", number],
    }


def _narrow(table: str, number: str) -> None:
    for name in _indexes(table, number):
        op.drop_index(name, table)
    with changing(table) as batch:
        for name in PLACES:
            batch.drop_constraint(f"fk_{table}_{name}", type_="foreignkey")
            if not on_sqlite():  # that MariaDB made for the foreign key
                batch.drop_index(f"fk_{table}_{name}")
            batch.drop_column(name)
        for name in ("audience_kind", "audience_id", "scale", "sheet_size", "zone", "version"):
            batch.drop_column(name)
        if table != "contract_drawings":
            for column in ("main_category_id", "sub_category_id"):
                batch.alter_column(column, existing_type=sa.Integer(), nullable=False)


def _contract_revisions() -> None:
    op.create_table(
        "contract_drawing_revisions",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("contract_drawing_id", sa.Integer(), sa.ForeignKey("contract_drawings.id"), nullable=False),
        sa.Column("revision_number", sa.Integer(), nullable=False),
        sa.Column("revision_label", code(10), nullable=True),
        sa.Column("is_current", sa.Boolean(), nullable=True),
        sa.Column("revision_date", sa.Date(), nullable=True),
        sa.Column("title", sa.String(500), nullable=False),
        sa.Column("title_en", sa.String(500), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("status_code", code(20), nullable=True),
        sa.Column("legacy_drawing_number", code(100), nullable=True),
        sa.Column("current_from", MOMENT, nullable=False, server_default=NOW),
        sa.Column("current_until", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("created_by", sa.Integer(), sa.ForeignKey("users.user_id"), nullable=True),
        sa.Column("updated_by", sa.Integer(), sa.ForeignKey("users.user_id"), nullable=True),
        sa.Column("uuid", sa.Uuid(), nullable=False, server_default=None if on_sqlite() else sa.text("UUID()")),
        sa.UniqueConstraint("contract_drawing_id", "revision_number", name="ux_cd_rev_drawing_revision"),
        sa.UniqueConstraint("contract_drawing_id", "is_current", name="uq_cd_current"),
        sa.Index("idx_contract_drawing_revisions_uuid", "uuid", unique=True),
        **TABLE,
    )
    _file_table("contract_drawing_revision_attachments", "contract_drawing_revision_id", "contract_drawing_revisions")
    connection = op.get_bind()
    heads = connection.execute(sa.text("SELECT id, title FROM contract_drawings")).all()
    typed = {"is_current": sa.Boolean(), "uuid": sa.Uuid()}
    names = ("contract_drawing_id", "revision_number", "revision_label", "is_current", "title", "uuid")
    rows = sa.table("contract_drawing_revisions", *(sa.column(name, typed.get(name)) for name in names))
    for key, title in heads:
        values = dict(zip(names, (key, 0, "0", True, title, uuid4()), strict=True))
        connection.execute(sa.insert(rows).values(values))
    op.execute(
        "UPDATE contract_drawing_revisions SET created_at = (SELECT h.created_at FROM contract_drawings h WHERE h.id = contract_drawing_id)"
    )
    op.execute("UPDATE contract_drawing_revisions SET current_from = created_at")
    op.execute(
        "INSERT INTO contract_drawing_revision_attachments SELECT r.id, f.attachment_id, f.file_type, f.is_main_document"
        " FROM contract_drawing_attachments f JOIN contract_drawing_revisions r ON r.contract_drawing_id = f.contract_drawing_id"
    )
    op.drop_table("contract_drawing_attachments")


def _files_of_heads() -> None:
    """What several revisions of one contract drawing have is its file once."""
    _file_table("contract_drawing_attachments", "contract_drawing_id", "contract_drawings")
    op.execute(
        "INSERT INTO contract_drawing_attachments SELECT r.contract_drawing_id, f.attachment_id, MIN(f.file_type),"
        " MAX(f.is_main_document) FROM contract_drawing_revision_attachments f JOIN contract_drawing_revisions r"
        " ON r.id = f.contract_drawing_revision_id GROUP BY r.contract_drawing_id, f.attachment_id"
    )


def _file_table(name: str, column: str, parent: str) -> None:
    op.create_table(
        name,
        sa.Column(column, sa.Integer(), sa.ForeignKey(f"{parent}.id"), nullable=False),
        sa.Column("attachment_id", sa.Integer(), sa.ForeignKey("attachments.id"), nullable=False),
        sa.Column("file_type", FILE_TYPE, nullable=True),
        sa.Column("is_main_document", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint(column, "attachment_id"),
        **TABLE,
    )
