"""
Formats for some documents of a type: those with a sub type, an RFA type or a discipline.

Going back deletes the narrowed formats, which the older schema has no place for; the ledger keeps what they printed.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code, on_sqlite
from saraban_history.rebuild import changing

revision = "0041"
down_revision = "0040"

FORMATS = "document_number_formats"
CODES = {"sub_type_code": 20, "rfa_type_code": 20, "discipline_code": 10}


def upgrade() -> None:
    with changing(FORMATS) as batch:
        for name, length in CODES.items():
            batch.add_column(sa.Column(name, code(length), nullable=False, server_default=""))
    _unique("project_id", "type_key", *CODES)


def downgrade() -> None:
    op.execute(f"DELETE FROM {FORMATS} WHERE " + " OR ".join(f"{name} <> ''" for name in CODES))
    _unique("project_id", "type_key")
    with changing(FORMATS) as batch:
        for name in CODES:
            batch.drop_column(name)


def _unique(*columns: str) -> None:
    if on_sqlite():
        op.drop_index("unique_format", FORMATS)
        op.create_index("unique_format", FORMATS, list(columns), unique=True)
    else:  # in one statement: the project's foreign key needs the index at every moment
        op.execute(
            f"ALTER TABLE {FORMATS} DROP INDEX unique_format, ADD UNIQUE INDEX unique_format ({', '.join(columns)})"
        )
