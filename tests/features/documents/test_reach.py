"""Whatever was done to documents, people and contracts: each register shows each person what the words say, and no more."""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from saraban.config import Settings
from tests.conftest import run_apart, settings_in
from tests.reach_machine import Reach, Template, stage

_names = count(1)


@pytest.fixture
def machine(demo_folder: Path, tmp_path: Path) -> type[Reach]:
    first = tmp_path / "first"
    shutil.copytree(demo_folder, first)
    template = run_apart(stage(settings_in(first)))

    def make() -> tuple[Settings, Template, Callable[[], None]]:
        folder = tmp_path / str(next(_names))
        folder.mkdir()
        shutil.copy(first / "saraban.db", folder)
        return settings_in(folder), template, lambda: shutil.rmtree(folder)

    return type("ReachOnSqlite", (Reach,), {"make": staticmethod(make)})


class TestReach:
    @pytest.mark.faults  # tests/database/test_reach.py asks a few examples on MariaDB in `make test`
    @pytest.mark.parametrize("examples", [40])
    def test_is_what_the_words_say(self, machine: type[Reach], examples: int) -> None:
        quick = settings(
            max_examples=examples, stateful_step_count=12, phases=(Phase.generate,)
        )  # making it smaller takes minutes
        run_state_machine_as_test(machine, settings=quick)
