"""`saraban audit seal | verify | export | purge` as a person meets them, and what the worker measures."""

import asyncio
import gzip
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from pydantic import ValidationError

from saraban.bootstrap import System, closing, wire
from saraban.config import Settings
from saraban.kit.clock import FixedClock
from saraban.worker.timers import measure_audit_trail, seal_audit_trail, verify_audit_trail
from tests.terminal import Command, commands_of

ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)


@pytest.fixture
def command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """`command("verify")` gives the exit code, stdout and stderr of `saraban audit verify`, on demo data."""
    with commands_of("audit", settings, monkeypatch, capfd) as command:
        yield command


@pytest.fixture
def rows(settings: Settings) -> sqlite3.Connection:
    """The database as somebody with the file sees it, with two deeds in it."""
    connection = sqlite3.connect(settings.data_dir / "saraban.db", isolation_level=None)
    connection.execute("DELETE FROM audit_logs")
    for place in (1, 2):
        connection.execute(
            "INSERT INTO audit_logs (uuid, action, severity, details_json, created_at)"
            f" VALUES ('{place:032x}', 'rfa.step{place}', 'INFO', '{{}}', '2018-03-0{place} 00:00:00')"
        )
    return connection


class TestCommands:
    def test_seal_then_find_nothing(self, command: Command, rows: sqlite3.Connection, settings: Settings) -> None:
        assert command("verify")[1].count("not sealed yet, from") >= 1
        code, out, _ = command("seal")
        assert (code, "blocks sealed" in out) == (0, True)
        key_line, *heads = (settings.data_dir / "audit-heads.log").read_text().splitlines()
        assert (key_line.split()[1], len(heads)) == ("key", int(out.split()[0]))

        code, out, err = command("verify")

        assert (code, err) == (0, "")
        assert "Nothing was changed." in out

    @pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
    def test_an_export_is_checked_without_a_database(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path, name: str, settings: Settings
    ) -> None:
        command("seal")
        file, heads = tmp_path / name, settings.data_dir / "audit-heads.log"
        assert command("export", file)[0] == 0
        assert (command("verify", "--file", file)[0], command("verify", "--file", file, "--heads", heads)[0]) == (0, 0)

        opened = gzip.open if name.endswith(".gz") else open
        with opened(file, "rt", encoding="utf-8") as whole:
            text = whole.read()
        with opened(file, "wt", encoding="utf-8") as changed:
            changed.write(text.replace("rfa.step2", "rfa.step3"))
        code, _, err = command("verify", "--file", file)
        assert code == 1
        assert err.startswith("saraban: deeds block ")
        assert "00000000-0000-0000-0000-000000000002 (2018-03-02T00:00:00.000000Z)" in err

    def test_a_key_that_only_the_export_states_is_said(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path, settings: Settings
    ) -> None:
        command("seal")
        file, heads = tmp_path / "out.jsonl", settings.data_dir / "audit-heads.log"
        command("export", file)
        own = heads.read_text().splitlines()[0].split()[2]

        alone = command("verify", "--file", file)
        proved = [command("verify", "--file", file, *more) for more in (("--key", own), ("--heads", heads))]
        foreign = command("verify", "--file", file, "--key", "5d" * 32)

        assert (alone[0], f"This data itself states the key ({own})" in alone[1]) == (0, True)
        assert [(code, "itself states" in out) for code, out, _ in proved] == [(0, False), (0, False)]
        assert (foreign[0], "signed with an unknown key" in foreign[2]) == (1, True)

    def test_a_changed_row_is_named(self, command: Command, rows: sqlite3.Connection) -> None:
        command("seal")
        rows.execute(f"UPDATE audit_logs SET action = 'x' WHERE uuid = '{1:032x}'")

        code, _, err = command("verify")

        assert code == 1
        assert "a row was changed 00000000-0000-0000-0000-000000000001" in err

    def test_what_cannot_be_read_proves_nothing(
        self, command: Command, tmp_path: Path, settings: Settings, rows: sqlite3.Connection
    ) -> None:
        (tmp_path / "other").write_text("something else")
        command("seal")
        command("export", tmp_path / "cut.gz")
        (tmp_path / "cut.gz").write_bytes((tmp_path / "cut.gz").read_bytes()[:40])
        for words in (["--file", tmp_path / "none"], ["--file", tmp_path / "other"], ["--heads", tmp_path / "none"]):
            assert command("verify", *words)[0] == 2
        assert command("verify", "--file", tmp_path / "cut.gz")[0] in {1, 2}
        rows.execute("ALTER TABLE audit_blocks RENAME TO elsewhere")
        assert command("verify")[0] == 2

    def test_purge_shows_first_and_deletes_when_told(
        self, command: Command, rows: sqlite3.Connection, settings: Settings
    ) -> None:
        asyncio.run(_seal_in_2018(settings))
        rows.execute(
            "INSERT INTO audit_logs (uuid, action, severity, details_json, created_at)"
            f" VALUES ('{3:032x}', 'rfa.young', 'INFO', '{{}}', '2026-11-01 00:00:00')"
        )
        command("seal")

        def left() -> int:
            return int(rows.execute("SELECT count(*) FROM audit_logs WHERE created_at < '2019-01-01'").fetchone()[0])

        assert "Nothing was deleted" in command("purge")[1]
        assert left() == 2
        assert command("purge", "--yes")[0] == 0
        assert left() == 0
        code, out, _ = command("verify")
        assert code == 0
        assert "lawfully deleted by age" in out

    def test_the_page_for_outsiders_has_a_script_that_works(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path
    ) -> None:
        command("seal")
        command("export", tmp_path / "out.jsonl")
        script = (ROOT / "docs" / "audit.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
        assert 0 < len(script.splitlines()) <= 30

        def checked() -> subprocess.CompletedProcess[str]:
            call = [sys.executable, "-I", "-c", script, str(tmp_path / "out.jsonl")]
            return subprocess.run(call, capture_output=True, text=True, check=False)

        assert checked().returncode == 0, checked().stderr
        text = (tmp_path / "out.jsonl").read_text("utf-8")
        (tmp_path / "out.jsonl").write_text(text.replace("rfa.step1", "rfa.step9"), "utf-8")
        assert checked().returncode != 0
        assert "00000000-0000-0000-0000-000000000001" in checked().stdout


async def _seal_in_2018(settings: Settings) -> None:
    async with closing(wire(settings, clock=FixedClock(datetime(2018, 3, 5, tzinfo=UTC), settings.zone))) as system:
        await system.sealer.seal_now()


def test_less_than_seven_years_is_no_setting(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        Settings(_env_file=None, data_dir=tmp_path, audit_retention_years=6)


async def test_the_worker_seals_measures_and_looks(system: System, rows: sqlite3.Connection) -> None:
    def value(name: str) -> float:
        return REGISTRY.get_sample_value(name, {"journal": "deeds"}) or 0.0

    await measure_audit_trail(system, NOW)
    assert value("saraban_audit_unsealed_age_seconds") > 8 * 365 * 86400
    for run in (seal_audit_trail, verify_audit_trail, measure_audit_trail):
        await run(system, NOW)
    before = value("saraban_audit_verify_failures_total")
    assert (value("saraban_audit_unsealed_age_seconds"), value("saraban_audit_sealed_blocks")) == (0, 1)

    await asyncio.to_thread(
        _run, system.settings.data_dir / "saraban.db", f"UPDATE audit_logs SET action = 'x' WHERE uuid = '{1:032x}'"
    )
    await verify_audit_trail(system, NOW)
    assert value("saraban_audit_verify_failures_total") == before + 1

    await asyncio.to_thread(_run, system.settings.data_dir / "saraban.db", "DELETE FROM audit_logs")
    await asyncio.to_thread(_run, system.settings.data_dir / "saraban.db", "DELETE FROM audit_blocks")
    for run in (seal_audit_trail, verify_audit_trail):
        await run(system, NOW)

    assert value("saraban_audit_verify_failures_total") == before + 2


def _run(file: Path, statement: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()
