"""What the scenarios of `make cluster-test` measured, printed at the end and kept in `build/cluster.json`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

RESULTS = pytest.StashKey[list[dict[str, Any]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = []


def commit() -> str:
    """Return the commit that is measured, and whether the tree differs from it."""
    words = ["git", "describe", "--always", "--abbrev=40", "--dirty=, changed", "--exclude=*"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def save(config: pytest.Config, row: dict[str, Any]) -> None:
    """Keep what a scenario measured, also where a later one is broken off."""
    config.stash[RESULTS].append(row)
    report = {"commit": commit(), "scenarios": config.stash[RESULTS]}
    Path("build").mkdir(exist_ok=True)
    Path("build/cluster.json").write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[RESULTS]
    if not results:
        return
    columns = [name for name in results[0] if name != "failed"]
    table = [columns, *([str(row[name]) for name in columns] for row in results)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    terminalreporter.section(f"cluster, commit {commit()}")
    for row in table:
        terminalreporter.write_line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
