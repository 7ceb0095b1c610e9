"""
The schema at 0072, as SQL in which a few words are put into the language of each database.

MariaDB takes the indexes with their table, in one statement; SQLite takes each by itself.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from alembic import op

from saraban_history.columns import on_sqlite

_EXACT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
_YEARS = ", ".join(f"PARTITION p{year} VALUES LESS THAN ({year + 1})" for year in range(2024, 2031))
# Each word, and what it is on MariaDB and on SQLite.
_WORDS = {
    "AUTO": ("INT NOT NULL AUTO_INCREMENT", "INTEGER NOT NULL"),
    "BIGAUTO": ("BIGINT NOT NULL AUTO_INCREMENT", "INTEGER NOT NULL"),
    "BIG": ("BIGINT", "INTEGER"),
    "INT": ("INT", "INTEGER"),
    "PUBLIC_ID": ("UUID NOT NULL DEFAULT UUID()", "CHAR(32) NOT NULL"),
    "UUID": ("UUID", "CHAR(32)"),
    "MOMENT": ("DATETIME(6)", "DATETIME"),
    "NOW": ("CURRENT_TIMESTAMP(6)", "CURRENT_TIMESTAMP"),
    r"CODE\((\d+)\)": (rf"VARCHAR(\1) {_EXACT}", r"VARCHAR(\1)"),
    "EXACT_TEXT": (f"LONGTEXT {_EXACT}", "TEXT"),
    "LONGTEXT": ("LONGTEXT", "TEXT"),
    "MEDIUMBLOB": ("MEDIUMBLOB", "BLOB"),
    r"ENUM(\([^)]*\))": (r"ENUM\1", lambda word: f"VARCHAR({max(map(len, re.findall('[A-Z]+', word[1])))})"),
    r"YEARLY_KEY\((\w+)\)": (r"PRIMARY KEY (\1, created_at)", r"PRIMARY KEY (\1)"),
}
_TABLE = re.compile(r"CREATE TABLE (\w+) \(\n(.*?)\n\) ?([A-Z ]*);", re.DOTALL)
_INDEX = re.compile(r"(UNIQUE )?INDEX (\w+) (\(.*\))")


@cache
def tables() -> dict[str, tuple[list[str], str]]:
    """Return the columns, keys and indexes of each table, and its options."""
    files = sorted((Path(__file__).parent / "schema_0072").glob("*.sql"))
    return {
        name: (body.removeprefix("  ").split(",\n  "), options)
        for file in files
        for name, body, options in _TABLE.findall(file.read_text("utf-8"))
    }


def create() -> None:
    for name in tables():
        for statement in _statements(name):
            op.get_bind().exec_driver_sql(statement)


def _statements(table: str) -> Iterator[str]:
    parts, options = tables()[table]
    if not on_sqlite():
        options = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
        if any(part.startswith("YEARLY_KEY") for part in parts):
            options += (
                f" PARTITION BY RANGE (YEAR(created_at)) ({_YEARS}, PARTITION p_future VALUES LESS THAN MAXVALUE)"
            )
        yield f"CREATE TABLE {table} ({_translated(parts)}) {options}"
        return
    yield f"CREATE TABLE {table} ({_translated([part for part in parts if not _INDEX.match(part)])}) {options}"
    for index in filter(None, map(_INDEX.match, parts)):
        yield f"CREATE {index[1] or ''}INDEX {index[2]} ON {table} {index[3]}"


def _translated(parts: list[str]) -> str:
    text = ", ".join(parts)
    for word, meanings in _WORDS.items():
        text = re.sub(rf"(?<!\w){word}(?!\w)", meanings[on_sqlite()], text)
    return text
