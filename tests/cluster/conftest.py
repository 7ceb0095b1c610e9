"""What the scenarios of `make cluster-test` measured, printed at the end and kept in `build/cluster.json`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

RESULTS = pytest.StashKey[list[dict[str, Any]]]()
COLUMNS = ("scenario", "requests", "statuses", "503_percent", "reads_elsewhere", "not_found", "p50", "p95", "slowest", "repeated", "retried")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = []


def commit() -> str:
    """Return the commit that is measured, and whether the tree differs from it."""
    words = ["git", "describe", "--always", "--abbrev=40", "--dirty=, changed", "--exclude=*"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[RESULTS]
    if not results:
        return
    table = [COLUMNS, *(tuple(str(row[name]) for name in COLUMNS) for row in results)]
    widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
    terminalreporter.section(f"cluster, commit {commit()}")
    for row in table:
        terminalreporter.write_line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    Path("build").mkdir(exist_ok=True)
    report = {"commit": commit(), "scenarios": results}
    Path("build/cluster.json").write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")
