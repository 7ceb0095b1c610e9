"""Yearly partitions of tables that grow for ever, on MariaDB."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

# Tables that grow for ever, which MariaDB keeps in a partition for each year (REQ-IDN-08).
PARTITIONED_TABLES = ("notifications", "audit_logs")
MAXVALUE = "MAXVALUE"


@dataclass(frozen=True, slots=True)
class Partition:
    name: str
    method: str
    expression: str
    bound: str


async def ensure_partitions(now: datetime, session: AsyncSession) -> list[str]:
    """
    Add the partitions of this year and the next where they are missing, and say which it added.

    They are cut off the partition without an end while it is still empty, which is quick; later, rows would have to move.
    """
    if session.get_bind().dialect.name == "sqlite":
        return []
    added = []
    for table in PARTITIONED_TABLES:
        present = await _present(session, table)
        years = missing_years(present, year=now.year)
        if years:
            await session.execute(sa.text(reorganize_statement(table, present, years=years)))
        added += [f"{table} {year}" for year in years]
    return added


async def _present(session: AsyncSession, table: str) -> list[Partition]:
    rows = await session.execute(
        sa.text(
            "SELECT partition_name, partition_method, partition_expression, partition_description"
            " FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = :table"
            " AND partition_name IS NOT NULL ORDER BY partition_ordinal_position"
        ),
        {"table": table},
    )
    return [Partition(*(str(part) for part in row)) for row in rows]


def missing_years(partitions: Sequence[Partition], *, year: int) -> list[int]:
    """Return those of this year and the next that would fall into the partition without an end."""
    bounds = {_bound(partitions[0], wanted + 1): wanted for wanted in (year, year + 1)} if partitions else {}
    present = [partition.bound for partition in partitions if partition.bound != MAXVALUE]
    newest = max(present, key=_order, default="")
    return [wanted for bound, wanted in bounds.items() if _order(bound) > _order(newest)]


def reorganize_statement(table: str, partitions: Sequence[Partition], *, years: Sequence[int]) -> str:
    """Return the statement that cuts `years` off the partition without an end, which stays the last one."""
    rest = next(partition for partition in partitions if partition.bound == MAXVALUE)
    columns = "COLUMNS" in rest.method
    open_end = "(MAXVALUE)" if columns else "MAXVALUE"
    parts = [f"PARTITION p{year} VALUES LESS THAN ({_literal(rest, year + 1)})" for year in years]
    parts.append(f"PARTITION {rest.name} VALUES LESS THAN {open_end}")
    return f"ALTER TABLE {table} REORGANIZE PARTITION {rest.name} INTO ({', '.join(parts)})"


def _literal(partition: Partition, year: int) -> str:
    expression = partition.expression.lower().replace("`", "")
    if "COLUMNS" in partition.method:
        return f"'{year}-01-01'"
    if expression.startswith("year("):
        return str(year)
    if expression.startswith("to_days("):
        return f"TO_DAYS('{year}-01-01')"
    raise ValueError(f"a table is partitioned by {partition.expression}, which nobody taught this to extend")


def _bound(partition: Partition, year: int) -> str:
    """The bound as `information_schema` would tell it."""
    literal = _literal(partition, year)
    if literal.startswith("TO_DAYS"):
        return str((year - 1) * 365 + (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400 + 366)
    return literal


def _order(bound: str) -> tuple[int, str]:
    text = bound.strip("'")
    return (int(text), "") if text.isdigit() else (0, text)
