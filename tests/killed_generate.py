"""
`saraban demo generate` with few sorts of documents in batches of ten, which is killed (`kill -9`) in one of them.

The batch that it is at then is written, and not committed.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from saraban.cli import main
from saraban.documents.demo.domain import DemoRegister
from saraban.documents.demo.domain.mix import GeneratedScript
from saraban.documents.demo.service import generate as generation

BATCH = 10
FEW = (
    (DemoRegister.RFA, ("submit", "approve", "approve")),
    (DemoRegister.CORRESPONDENCE, ("submit",)),
    (DemoRegister.CIRCULATION, ("start", "respond", "complete")),
    (DemoRegister.TRANSMITTAL, ("submit", "acknowledge")),
)


def few(scripts: Sequence[GeneratedScript]) -> list[GeneratedScript]:
    """Return one sort of each register, so that few documents have to be written as people do."""
    named = {(one.script.where, tuple(act.action for act in one.script.acts)): one for one in reversed(scripts)}
    return [replace(named[sort], weight=1.0) for sort in FEW]


def with_few(scripts_of: Callable[..., list[GeneratedScript]]) -> Callable[..., list[GeneratedScript]]:
    return lambda *given, **named: few(scripts_of(*given, **named))


def killed_at(number: int) -> None:
    """:param number: of the batch; 0 where it may end"""
    write, written = generation.copying.write, count(1)

    async def counted(*given: Any) -> None:
        await write(*given)
        if next(written) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    generation.copying.write = counted  # type: ignore[assignment]
    generation.scripts_of = with_few(generation.scripts_of)  # type: ignore[assignment]
    generation.BATCH = BATCH


if __name__ == "__main__":
    killed_at(int(sys.argv.pop(1)))
    main()
