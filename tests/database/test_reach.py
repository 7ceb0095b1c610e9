"""The same on MariaDB, a few times: each register shows each person what the words say."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from saraban.config import Settings
from tests.conftest import run_apart, settings_in
from tests.reach_machine import Reach, Template, stage
from tests.servers import MariaDb

pytestmark = [pytest.mark.servers, pytest.mark.slow]
_names = count(1)


@pytest.fixture
def machine(mariadb_server: MariaDb, mariadb_demo_url: str, tmp_path: Path) -> type[Reach]:
    template = run_apart(stage(settings_in(tmp_path, database_url=mariadb_demo_url)))
    statements = mariadb_server.dump(mariadb_demo_url.rpartition("/")[2].partition("?")[0])

    def make() -> tuple[Settings, Template, Callable[[], None]]:
        name = f"reach_{next(_names)}"
        url = mariadb_server.create(name, statements=statements)
        return settings_in(tmp_path, database_url=url), template, lambda: mariadb_server.drop(name)

    return type("ReachOnMariaDb", (Reach,), {"make": staticmethod(make)})


class TestReach:
    @pytest.mark.parametrize("examples", [2, pytest.param(6, marks=pytest.mark.faults)])
    def test_is_what_the_words_say(self, machine: type[Reach], examples: int) -> None:
        health = [HealthCheck.too_slow, HealthCheck.data_too_large]
        few = settings(
            max_examples=examples, stateful_step_count=12, phases=(Phase.generate,), suppress_health_check=health
        )
        run_state_machine_as_test(machine, settings=few)
