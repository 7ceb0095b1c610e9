"""`saraban doctor` on a MariaDB server."""

import json
import sys

import pytest

from saraban import config
from saraban.cli.output import run_app
from tests.servers import MariaDb

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(("limit", "state"), [(42, "fault"), (151, "ok")])
def test_the_pools_of_all_processes_need_room_below_max_connections(
    mariadb_server: MariaDb,
    mariadb_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: object,
    limit: int,
    state: str,
) -> None:
    from saraban.cli import app

    monkeypatch.setenv("SARABAN_DATABASE_URL", mariadb_url)
    monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SARABAN_SECRET_KEY", "of-this-test-" * 3)
    monkeypatch.setenv("SARABAN_LANG", "en")
    monkeypatch.setattr(sys, "argv", ["saraban", "doctor", "--json"])
    before = mariadb_server.run("SELECT @@max_connections").split()[-1]
    mariadb_server.run(f"SET GLOBAL max_connections = {limit}")
    config.load.cache_clear()
    try:
        code = run_app(app)
    finally:
        mariadb_server.run(f"SET GLOBAL max_connections = {before}")
        config.load.cache_clear()

    assert code == 1  # no worker runs
    found = {one["check"]: one for one in json.loads(capfd.readouterr().out)}
    assert found["database_server"]["state"] == state
    assert f"max_connections={limit}" in found["database_server"]["text"]
    assert found["clock"]["state"] == found["migrations"]["state"] == "ok"
