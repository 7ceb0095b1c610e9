"""
A command of `saraban` in small batches, which is killed (`kill -9`) in one of them.

The batch that it is at then is written, and not committed.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from saraban.documents.core.service import reach_check
from saraban.documents.demo.domain import DemoRegister
from saraban.workflow.administration.service import migration
from saraban_tools import documents as generation
from saraban_tools.mix import GeneratedScript
from tests.preloaded import PreloadedProgram
from tests.processes import environment_of

GENERATED, REBUILT, MIGRATED = 10, 3, 3  # documents, rows of the index and instances of one batch
FEW = (
    (DemoRegister.RFA, ("submit", "approve", "approve")),
    (DemoRegister.CORRESPONDENCE, ("submit",)),
    (DemoRegister.CIRCULATION, ("start", "respond", "complete")),
    (DemoRegister.TRANSMITTAL, ("submit", "acknowledge")),
)


async def run_killed(
    prepare: Callable[[int], None], at: int, *words: str, folder: Path, url: str, within: float = 60
) -> int | None:
    """
    Run a command on a database, and tell how it ended.

    :param prepare: `generating`, `rebuilding` or `migrating`
    :param at: which batch or, when migrating, which instance is the last; 0 where it may end
    """
    environment = environment_of(data_dir=folder, database_url=url)
    log = folder / "killed.log"
    program = PreloadedProgram(*words, environment=environment, folder=folder, log=log, prepare=partial(prepare, at))
    await asyncio.to_thread(program.wait, within)
    return program.poll()


def generating(at: int) -> None:
    """`saraban demo generate`, of few sorts of documents."""
    scripts_of: Callable[..., list[GeneratedScript]] = generation.scripts_of
    generation.scripts_of = lambda *given, **named: few(scripts_of(*given, **named))
    generation.BATCH = GENERATED
    _kill_in(generation.copying, "write", at)


def few(scripts: Sequence[GeneratedScript]) -> list[GeneratedScript]:
    """Return one sort of each register, so that few documents have to be written as people do."""
    named = {(one.script.where, tuple(act.action for act in one.script.acts)): one for one in reversed(scripts)}
    return [replace(named[sort], weight=1.0) for sort in FEW]


def rebuilding(at: int) -> None:
    """`saraban document reach rebuild`."""
    reach_check.SLICE = REBUILT
    _kill_in(reach_check, "_mend", at)


def migrating(at: int) -> None:
    """`saraban workflow migrate`."""
    assert migration.migrate.__kwdefaults__ is not None
    migration.migrate.__kwdefaults__["size"] = MIGRATED
    _kill_in(migration, "_keep_state", at)


def _kill_in(module: Any, name: str, at: int) -> None:
    write, written = getattr(module, name), count(1)

    async def counted(*given: Any) -> None:
        await write(*given)
        if next(written) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(module, name, counted)
