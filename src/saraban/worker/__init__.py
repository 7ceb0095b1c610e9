"""Door 3: delivers events and runs timers, inside the server or apart from it."""

from saraban.worker.loop import Worker
from saraban.worker.sealing import seal_timers
from saraban.worker.timers import Job, Timer, standard_timers

__all__ = ["Job", "Timer", "Worker", "seal_timers", "standard_timers"]
