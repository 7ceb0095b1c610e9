"""`make bench` and `make bench-full`: measures, prints the table and writes `build/bench.json`."""

import argparse
import sys
import time

import uvloop

from benchmarks import (
    allocator,
    controllers,
    creation,
    documents,
    drawings,
    footing,
    full,
    number_import,
    numbering,
    overload,
    registers,
    rfa_items,
    search,
    search_index,
    setup,
    workflow,
)
from benchmarks.bench import Suite
from benchmarks.bench import bench as opened
from benchmarks.results import Row, publish

SECONDS, ROUNDS = 8.0, 3


def joined(*groups: dict[str, Suite]) -> dict[str, Suite]:
    """Put suites together, each under a name of its own."""
    found: dict[str, Suite] = {}
    for group in groups:
        if taken := found.keys() & group.keys():
            raise ValueError(f"two suites have one name: {', '.join(taken)}")
        found |= group
    return found


SUITES = joined(
    numbering.SUITES,
    number_import.SUITES,
    workflow.SUITES,
    documents.SUITES,
    footing.SUITES,
    registers.SUITES,
    creation.SUITES,
    controllers.SUITES,
    setup.SUITES,
    drawings.SUITES,
    rfa_items.SUITES,
    search.SUITES,
    search_index.SUITES,
    overload.SUITES,
)
FULL = joined(full.SUITES, registers.FULL, controllers.FULL, drawings.FULL, search.FULL, search_index.FULL)


async def measure(chosen: list[str], *, seconds: float, rounds: int) -> list[Row]:
    started = time.monotonic()

    def say(what: str) -> None:
        sys.stderr.write(f"{time.monotonic() - started:6.0f} s  {what}\n")

    allocator.quiet_logs()
    rows: list[Row] = []
    async with opened(seconds=seconds, rounds=rounds, say=say) as bench:
        for name in chosen:
            rows += await (SUITES | FULL)[name](bench)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--suite", action="append", choices=[*SUITES, *FULL], help="only this part")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one round (default 8)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of which the median counts (default 3)")
    parser.add_argument("--full", action="store_true", help="the long rows too")
    given = parser.parse_args()
    chosen = given.suite or [*SUITES, *(FULL if given.full else ())]
    publish(uvloop.run(measure(chosen, seconds=given.seconds, rounds=given.rounds)))


if __name__ == "__main__":
    main()
