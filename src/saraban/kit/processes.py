"""What a process does once when it has started: end with its parent, and tune the garbage collector."""

import gc
import multiprocessing
import os
import signal
import threading
import time

_GRACE = 3.0  # seconds for what is under way
# Requests make thousands of objects that go with them, and hardly any cycle; by default the collector looks after 700.
_COLLECT_AFTER = 5000


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


def tune_garbage_collector() -> None:
    """Leave alone what the process is made of, which lives as long as it does, and look less often for the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
