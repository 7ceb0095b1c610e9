"""The parent of the server processes: one that ends is replaced, and the others serve on meanwhile."""

from typing import Any

from granian import Granian

_PAUSE = 1.0  # seconds; a process that ends as soon as it starts shall not keep the machine busy


class Supervisor(Granian):  # type: ignore[misc,valid-type]  # chosen at run time by how Python was built
    """
    Granian, but whoever ends a process twice within seconds has not ended them all.

    Its own `respawn_failed_workers` takes that for a broken program and shuts down; it also forgets a process that
    ends in the moment in which it replaces another.
    """

    def signal_handler_interrupt(self, *args: Any, **more: Any) -> None:
        for child in self.wrks:  # they may have been told too, and be quicker: that is no failure of theirs
            child.interrupt_by_parent = True
        super().signal_handler_interrupt(*args, **more)

    def _serve_loop(self, spawn_target: Any, target_loader: Any) -> None:
        while not self.interrupt_signal:
            self.main_loop_interrupt.clear()  # before the looks: whatever comes after them wakes it
            if self.reload_signal:
                self._reload(spawn_target, target_loader)
            ended = [number for number, child in enumerate(self.wrks) if not child.is_alive()]
            if ended:
                self._respawn_workers(ended, spawn_target, target_loader, delay=_PAUSE)
                self.interrupt_children.clear()  # what is left in it makes the exit code of an orderly stop 1
            elif not self.interrupt_signal:
                self.main_loop_interrupt.wait()

    def _stop_workers(self) -> None:
        """Ask until each has heard it: a process that has hardly begun forgets what it was told meanwhile."""
        for child in self.wrks:
            child.terminate()
        for child in self.wrks:
            while child.is_alive():
                child.join(_PAUSE)
                child.terminate()
        super()._stop_workers()
