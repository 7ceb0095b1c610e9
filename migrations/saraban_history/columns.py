"""Column types as the history knows them, each for both databases."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

MOMENT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NOW = sa.text("CURRENT_TIMESTAMP")
TABLE = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4"}


def code(length: int) -> sa.String:
    """Text that compares byte for byte: on MariaDB `utf8mb4_nopad_bin`, on SQLite it always does (REQ-IDN-05)."""
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_nopad_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def on_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
