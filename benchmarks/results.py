"""Rows of measurements: what was wanted, whether it was met, the table a person reads and the file a program reads."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

OUT = Path("build/bench.json")
TOLERANCE = 0.10


@dataclass(frozen=True, slots=True)
class Row:
    """
    :param wanted: the bound, with its direction: `>= 40` or `<= 4`; empty for information
    :param refused: operations that were refused while this was measured
    """

    suite: str
    row: str
    value: float
    unit: str
    wanted: str = ""
    refused: int = 0

    @property
    def met(self) -> bool | None:
        """Within ten per cent of what is wanted: the machines are shared and noisy."""
        if not self.wanted:
            return None
        sign, bound = self.wanted.split()
        return (
            self.value >= float(bound) * (1 - TOLERANCE)
            if sign == ">="
            else self.value <= float(bound) * (1 + TOLERANCE)
        )

    @property
    def told(self) -> dict[str, Any]:
        """What the file says of it; refusals, where there were any, are a row of their own there (`facts`)."""
        return {
            "suite": self.suite,
            "row": self.row,
            "value": round(self.value, 3 if abs(self.value) < 10 else 1),
            "unit": self.unit,
            "wanted": self.wanted or None,
            "met": self.met,
        }


def facts(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the file says."""
    told = []
    for row in rows:
        told.append(row.told)
        if row.refused:
            told.append(Row(row.suite, f"{row.row}: refused", row.refused, "refusals").told)
    return {"machine": machine(), "rows": told}


def machine() -> str:
    system = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    return f"{system}, Python {platform.python_version()}"


def publish(rows: Sequence[Row]) -> None:
    """Print the table and write `build/bench.json`."""
    table = Table("suite", "row", "value", "unit", "refused", "wanted", "met")
    marks = {True: "yes", False: "NO", None: ""}
    for row in rows:
        told = row.told
        table.add_row(
            row.suite, row.row, f"{told['value']:,}", row.unit, str(row.refused or ""), row.wanted, marks[row.met]
        )
    Console(width=150).print(table)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(orjson.dumps(facts(rows), option=orjson.OPT_INDENT_2))
