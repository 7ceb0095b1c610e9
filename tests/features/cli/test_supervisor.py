"""The parent of the server processes, without any."""

import pytest

from saraban.cli import supervisor
from saraban.cli.supervisor import Supervisor


class HardOfHearing:
    """A server process that hears only what it is told after it has started."""

    idx = 0

    def __init__(self) -> None:
        self.told = 0

    def terminate(self) -> None:
        self.told += 1

    def is_alive(self) -> bool:
        return self.told < 3

    def join(self, _seconds: float | None = None) -> None: ...


def test_a_process_that_still_starts_is_told_again_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_PAUSE", 0.0)
    parent = Supervisor("saraban.app:served")
    parent.wrks = children = [HardOfHearing(), HardOfHearing()]  # type: ignore[list-item]

    parent._stop_workers()

    assert all(not child.is_alive() for child in children)
