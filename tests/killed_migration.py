"""
`saraban workflow migrate` in batches of three, which is killed (`kill -9`) as soon as it has written so many instances.

The batch that it is at then is written, and not committed.
"""

import os
import signal
import sys
from itertools import count
from typing import Any

from saraban.cli import main
from saraban.workflow.administration.service import migration

BATCH = 3


def killed_after(most: int) -> None:
    stay, written = migration._stay, count(1)

    async def counted(*given: Any) -> None:
        await stay(*given)
        if next(written) == most:
            os.kill(os.getpid(), signal.SIGKILL)

    migration._stay = counted
    assert migration.migrate.__kwdefaults__ is not None
    migration.migrate.__kwdefaults__["size"] = BATCH


if __name__ == "__main__":
    killed_after(int(sys.argv.pop(1)))
    main()
