"""How a process that has started tells Python's garbage collector what to look through."""

import gc

# Requests make thousands of objects that go with them, and hardly any cycle; by default the collector looks after 700.
_AFTER = 5000


def started() -> None:
    """Leave alone what the process is made of, which lives as long as it does, and look less often for the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_AFTER, 10, 10)
