"""What the processes of a server cost: processor time, and the memory that is theirs."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """Return a process and all that it started."""
    found = [pid]
    for one in found:
        try:
            children = Path(f"/proc/{one}/task/{one}/children").read_text(encoding="ascii")
        except OSError:
            continue
        found += [int(child) for child in children.split()]
    return found


def seconds(pid: int) -> float:
    """Return user and system time of a process and all that it started, so far."""
    return sum(_seconds(one) for one in family(pid))


def _seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def megabytes(pid: int) -> float:
    """Return the PSS of a process and all that it started: what they share counts once."""
    return sum(_pss(one) for one in family(pid)) / 1024


def _pss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
