"""`saraban setup` on MariaDB, in production: the first administrator and a project, once."""

import io
import sys
from pathlib import Path

import pytest

from saraban import config
from saraban.cli import app
from saraban.cli.output import run_app
from tests.factories.projects import FULL

ROOT = ("--username", "root", "--email", "root@example.org", "--organization", "ทช.", "--password-stdin")


class TestSetup:
    def test_makes_an_empty_database_ready_once(
        self,
        mariadb_url: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        file = tmp_path / "project.yaml"
        file.write_text(FULL)
        chosen = {"DATA_DIR": str(tmp_path), "ENV": "production", "DATABASE_URL": mariadb_url, "LANG": "en"}
        for name, value in chosen.items():
            monkeypatch.setenv(f"SARABAN_{name}", value)
        config.load.cache_clear()
        codes = []
        for _ in range(2):
            monkeypatch.setattr(sys, "argv", ["saraban", "setup", *ROOT, "--project", str(file)])
            monkeypatch.setattr(sys, "stdin", io.StringIO("Harbour-Wall-61\n"))
            codes.append(run_app(app))
        config.load.cache_clear()

        printed = capsys.readouterr()
        assert codes == [0, 6]
        assert "somchai: /invitations/" in printed.out
        assert printed.err.count("\n") == 1
