"""
`saraban document reach rebuild` in slices of three, which is killed (`kill -9`) at so many of them.

The slice that it is at then is written, and not committed.
"""

import os
import signal
import sys
from itertools import count
from typing import Any

from saraban.cli import main
from saraban.documents.core.service import reach_check

SLICE = 3


def killed_at(number: int) -> None:
    mend, written = reach_check._mend, count(1)

    async def counted(*given: Any) -> None:
        await mend(*given)
        if next(written) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    reach_check._mend = counted
    reach_check.SLICE = SLICE


if __name__ == "__main__":
    killed_at(int(sys.argv.pop(1)))
    main()
