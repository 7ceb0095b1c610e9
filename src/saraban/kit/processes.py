"""What a child process owes its parent: it ends with it."""

import multiprocessing
import os
import signal
import threading
import time

_GRACE = 3.0  # seconds for what is under way


def end_with_parent() -> None:
    """
    Watch the parent from a child that `multiprocessing` started, and end when it has ended, however it did.

    The parent's end closes a pipe that the child holds, on every system and also after `kill -9`.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), name="saraban-parent", daemon=True).start()


def _end_after(parent: "multiprocessing.process.BaseProcess") -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)
