"""The indexes of the registers of drawings say when each was registered: the register as of an early day passes over the others."""

from alembic import op

revision = "0069"
down_revision = "0068"

HEADS = {"contract_drawings": "condwg_no", "shop_drawings": "drawing_number", "asbuilt_drawings": "drawing_number"}
AUDIENCE = ("project_id", "audience_kind", "audience_id")


def upgrade() -> None:
    for table, number in HEADS.items():
        _date(table, table.removesuffix("s"))
        op.create_index(f"ix_{table}_number", table, ["project_id", number, "created_at"])
        _rebuild(table, number, "created_at")


def downgrade() -> None:
    for table, number in HEADS.items():
        op.drop_index(f"ix_{table}_number", table)
        _rebuild(table, number)


def _date(table: str, drawing: str) -> None:
    """Have no drawing be there later than its first revision is."""
    first = f"(SELECT MIN(r.current_from) FROM {drawing}_revisions r WHERE r.{drawing}_id = {table}.id)"
    op.execute(f"UPDATE {table} SET created_at = {first} WHERE created_at > {first}")


def _rebuild(table: str, number: str, *more: str) -> None:
    indexes = {
        f"ix_{table}_discipline": ["project_id", "discipline_id", number],
        f"ix_{table}_audience": [*AUDIENCE, number],
        f"ix_{table}_audience_discipline": [*AUDIENCE, "discipline_id", number],
    }
    for name, columns in indexes.items():
        op.drop_index(name, table)
        op.create_index(name, table, [*columns, *more])
