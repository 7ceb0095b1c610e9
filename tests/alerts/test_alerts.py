"""
The alert rules of deploy/, tried by promtool: each fires when it should and is silent when it should be.

Prometheus' own test format is YAML, of which JSON is a part; so the cases stand here, beside what is asked of them.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prometheus_client import REGISTRY

import saraban.app  # noqa: F401  loads every feature, and with it every metric
from saraban.numbering.issue.service.monitoring import GENERATED
from saraban.workflow.runtime.service.transition_metrics import DURATION, TRANSITIONS
from tests.servers import program

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARDS = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))
RUNBOOKS = ROOT / "docs" / "runbooks"
HOUR = 61


class Case(NamedTuple):
    """`series` is what was scraped once a minute; at minute `at` the alert fires or does not."""

    alert: str
    fires: bool
    series: dict[str, str]
    at: int = 10


def lock(*, attempts: int, failed: int = 0, timeouts: int = 0) -> dict[str, str]:
    """So many of each in a minute."""
    return {
        "docnum_lock_attempts_total": f"0+{attempts}x70",
        "docnum_lock_redis_failed_total": f"0+{failed}x70",
        "docnum_lock_timeout_total": f"0+{timeouts}x70",
    }


def wait(seconds_each: float) -> dict[str, str]:
    return {"docnum_lock_wait_seconds_sum": f"0+{60 * seconds_each}x70", "docnum_lock_wait_seconds_count": "0+60x70"}


def retries(a_minute: int) -> dict[str, str]:
    return {
        'docnum_retry_total{attempt="1",reason="lock_timeout"}': f"0+{a_minute}x70",
        'docnum_retry_total{attempt="2",reason="version_conflict"}': "0x70",
    }


def pool(in_use: int) -> dict[str, str]:
    return {
        'saraban_db_pool_connections{state="in_use",instance="a"}': f"{in_use}x70",
        'saraban_db_pool_connections{state="limit",instance="a"}': "20x70",
    }


def steps(*, tried: int, conflicts: int = 0, failed: int = 0) -> dict[str, str]:
    """So many of each in a minute, on two servers."""
    of = 'workflow_transitions_total{{workflow_code="RFA_APPROVAL",action="approve",outcome="{}",instance="{}"}}'
    return {
        of.format("success", "a"): f"0+{tried - conflicts - failed}x70",
        of.format("conflict", "b"): f"0+{conflicts}x70",
        of.format("system_error", "a"): f"0+{failed}x70",
    }


UTILIZATION = 'docnum_sequence_utilization_ratio{rank="1"}'
UNSEALED = 'saraban_audit_unsealed_age_seconds{journal="numbers"}'
CHANGED = 'saraban_audit_verify_failures_total{journal="numbers"}'
NOBODY = 'workflow_steps_to_nobody_total{workflow_code="X",state="s"}'
HEARTBEAT = "saraban_worker_heartbeat_age_seconds"
UP = 'up{job="saraban",instance="a"}'

CASES = [
    Case("DocnumRedisUnavailable", True, {"docnum_redis_up": "1 1 1 0x70"}, at=5),
    Case("DocnumRedisUnavailable", False, {"docnum_redis_up": "1 1 1 0 1x70"}, at=4),
    Case(
        "DocnumRedisUnavailable",
        True,
        {'docnum_redis_up{instance="a"}': "1x9", 'docnum_redis_up{instance="b"}': "0x9"},
        at=5,
    ),
    Case("DocnumLockFailuresCritical", True, lock(attempts=100, failed=6, timeouts=5)),
    Case("DocnumLockFailuresCritical", False, lock(attempts=100, failed=5, timeouts=5)),
    Case("DocnumLockFailuresCritical", False, lock(attempts=0)),
    Case("DocnumLockFailuresWarning", True, lock(attempts=100, timeouts=6)),
    Case("DocnumLockFailuresWarning", False, lock(attempts=100, timeouts=5)),
    Case("DocnumLockFailuresWarning", False, lock(attempts=0)),
    Case("DocnumLockWaitHigh", True, wait(1.1)),
    Case("DocnumLockWaitHigh", False, wait(0.9)),
    Case("DocnumRetriesHigh", True, retries(2), at=HOUR),
    Case("DocnumRetriesHigh", False, retries(1), at=HOUR),
    Case("WorkflowConflictsHigh", True, steps(tried=100, conflicts=21), at=25),
    Case("WorkflowConflictsHigh", False, steps(tried=100, conflicts=20), at=25),
    Case("WorkflowConflictsHigh", False, steps(tried=100, conflicts=21), at=4),
    Case(
        "WorkflowConflictsHigh",
        False,
        {name: f"0+0x20 {1 if 'conflict' in name else 0}x50" for name in steps(tried=1)},
        at=30,
    ),
    Case("WorkflowConflictsHigh", False, steps(tried=0), at=25),
    Case("WorkflowStepsFailing", True, steps(tried=100, failed=1), at=16),
    Case("WorkflowStepsFailing", False, steps(tried=100), at=16),
    Case("WorkflowWaitsForNobody", True, {NOBODY: "_x10 1x80"}, at=11),
    Case("WorkflowWaitsForNobody", True, {NOBODY: "3x30 4x80"}, at=31),
    Case("WorkflowWaitsForNobody", False, {NOBODY: "_x10 1x80"}, at=75),
    Case("WorkflowWaitsForNobody", False, {NOBODY: "3x90"}, at=70),
    Case("SarabanDown", True, {UP: "1 1 0x70"}, at=4),
    Case("SarabanDown", False, {UP: "1 1 0 1x70"}, at=3),
    Case("SarabanDatabaseDown", True, {"saraban_database_up": "1 0x70"}, at=3),
    Case("SarabanDatabaseDown", False, {"saraban_database_up": "1 0 1x70"}, at=3),
    Case("SarabanDatabasePoolNearlyFull", True, pool(19)),
    Case("SarabanDatabasePoolNearlyFull", False, pool(18)),
    Case("SarabanDatabasePoolNearlyFull", False, pool(19), at=4),
    Case("DocnumSequenceNearlyUsedUp", True, {UTILIZATION: "0.91x70"}),
    Case("DocnumSequenceNearlyUsedUp", False, {UTILIZATION: "0.9x70"}),
    Case("SarabanEventsGivenUp", True, {"saraban_dead_letters": "3 3 3 4x70"}),
    Case("SarabanEventsGivenUp", False, {"saraban_dead_letters": "3x70"}),
    Case("SarabanEventsLate", True, {"saraban_outbox_oldest_age_seconds": "301x70"}),
    Case("SarabanEventsLate", False, {"saraban_outbox_oldest_age_seconds": "301 301 301 301 4x70"}),
    Case("SarabanEventsLate", False, {"saraban_outbox_oldest_age_seconds": "300x70"}),
    # Beats every ten seconds until the first minute; then the age grows by 60 s a minute. One server lags behind.
    Case(
        "SarabanWorkerSilent",
        True,
        {f'{HEARTBEAT}{{instance="a"}}': "10 10+60x70", f'{HEARTBEAT}{{instance="b"}}': "10 5+60x70"},
        at=3,
    ),
    Case("SarabanWorkerSilent", True, {HEARTBEAT: "Inf Inf Inf Inf"}, at=2),
    Case("SarabanWorkerSilent", False, {HEARTBEAT: "10x70"}),
    Case("SarabanWorkerSilent", False, {HEARTBEAT: "60x70"}),
    Case("SarabanAuditNotSealed", True, {UNSEALED: "901x70"}),
    Case("SarabanAuditNotSealed", False, {UNSEALED: "60x70"}),
    Case("SarabanAuditChanged", True, {CHANGED: "0 0 1x70"}),
    Case("SarabanAuditChanged", False, {CHANGED: "0x70"}),
]


def rules() -> dict[str, str]:
    """Return the text of each alert."""
    parts = re.split(r"^ +- alert: (\w+)$", RULES.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def exported() -> set[str]:
    """Return the names under which Prometheus finds what the product measures."""
    names = set()
    for family in REGISTRY.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        names |= {family.name + suffix for suffix in suffixes}
    return names


def families() -> set[str]:
    """What people call a histogram."""
    return {family.name for family in REGISTRY.collect()}


def used(text: str) -> set[str]:
    return set(re.findall(r"\b(?:docnum|saraban|workflow_transition)s?_[a-z_]+", text))


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [program("promtool", package="prometheus"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


class TestRules:
    def test_are_accepted_by_prometheus(self) -> None:
        checked = promtool("check", "rules", str(RULES))
        assert checked.returncode == 0, checked.stderr + checked.stdout

    def test_are_found_by_the_shipped_configuration(self) -> None:
        checked = promtool("check", "config", str(RULES.with_name("prometheus.yml")))
        assert checked.returncode == 0, checked.stderr + checked.stdout

    def test_fire_and_keep_silent_as_they_should(self, tmp_path: Path) -> None:
        tried = _tried(CASES, tmp_path)
        assert tried.returncode == 0, tried.stderr + tried.stdout

    def test_are_really_tried(self, tmp_path: Path) -> None:
        """A case that states the opposite must fail, or none of them proves anything."""
        for case in (CASES[0], CASES[1]):
            assert _tried([case._replace(fires=not case.fires)], tmp_path).returncode != 0

    @pytest.mark.parametrize("alert", rules())
    def test_each_has_a_case_of_both_kinds(self, alert: str) -> None:
        assert {case.fires for case in CASES if case.alert == alert} == {True, False}

    @pytest.mark.parametrize(("alert", "text"), rules().items())
    def test_each_says_in_two_languages_what_it_is(self, alert: str, text: str) -> None:
        noted = dict(re.findall(r"^ {10}(\w+): (.+)$", text, flags=re.MULTILINE))
        assert noted["severity"] in {"critical", "warning"}
        assert noted.keys() >= {"summary", "description", "summary_th", "description_th", "runbook"}
        for name, sentence in noted.items():
            assert bool(re.search("[\u0e01-\u0e5b]", sentence)) == name.endswith("_th")

    @pytest.mark.parametrize(
        ("alert", "severity", "lasts"),
        [
            ("DocnumRedisUnavailable", "critical", "1m"),
            ("DocnumLockFailuresCritical", "critical", None),
            ("DocnumLockFailuresWarning", "warning", None),
            ("DocnumLockWaitHigh", "warning", None),
            ("DocnumRetriesHigh", "warning", None),
        ],
    )
    def test_of_the_specification_have_its_severity(self, alert: str, severity: str, lasts: str | None) -> None:
        text = rules()[alert]
        found = re.search(r"^ +for: (\w+)$", text, flags=re.MULTILINE)
        assert f"severity: {severity}\n" in text
        assert (found[1] if found else None) == lasts


class TestRunbooks:
    def test_there_is_one_for_every_alert_and_none_for_another(self) -> None:
        assert {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"} == rules().keys()

    @pytest.mark.parametrize(("alert", "text"), rules().items())
    def test_the_alert_names_it(self, alert: str, text: str) -> None:
        assert f"runbook: docs/runbooks/{alert}.md\n" in text
        page = (RUNBOOKS / f"{alert}.md").read_text()
        assert page.startswith(f"# {alert}\n")
        assert all(heading in page for heading in ("## What it means", "## How to confirm", "## What to do"))

    def test_the_list_of_them_names_all(self) -> None:
        listed = set(re.findall(r"\]\((\w+)\.md\)", (RUNBOOKS / "README.md").read_text()))
        assert listed == rules().keys()


class TestMetrics:
    def test_in_the_rules_are_exported(self) -> None:
        assert used(RULES.read_text()) <= exported()

    @pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
    def test_on_the_dashboard_are_exported(self, dashboard: Path) -> None:
        expressions = " ".join(_expressions(dashboard))
        assert used(expressions)
        assert used(expressions) <= exported()

    def test_in_the_runbooks_are_exported(self) -> None:
        assert used(" ".join(page.read_text() for page in RUNBOOKS.glob("*.md"))) <= exported() | families()

    def test_of_numbering_are_all_there(self) -> None:
        wanted = {
            *("docnum_generate_seconds_bucket", "docnum_success_total", "docnum_error_total"),
            *("docnum_lock_wait_seconds_bucket", "docnum_lock_redis_success_total", "docnum_lock_redis_failed_total"),
            *("docnum_lock_db_fallback_total", "docnum_conflict_version_total", "docnum_retry_total"),
            *("docnum_sequence_utilization_ratio", "docnum_redis_up", "saraban_db_pool_connections"),
        }
        assert wanted <= exported()

    def test_of_generation_tell_refusals_and_failures_apart(self) -> None:
        assert set(GENERATED) == {"success", "refused", "failed"}
        assert any("sum by (le, outcome)" in one for one in _expressions(DASHBOARDS[0]))

    def test_of_workflows_are_there_with_their_labels_and_buckets(self) -> None:
        assert TRANSITIONS._labelnames == ("workflow_code", "action", "outcome")
        assert DURATION._labelnames == ("workflow_code",)
        assert DURATION._upper_bounds == [50, 100, 250, 500, 1000, 2500, 5000, float("inf")]
        assert {"workflow_transitions_total", "workflow_transition_duration_ms_bucket"} <= exported()


class TestDashboards:
    def test_of_numbers_has_the_five_panels_that_are_asked_for(self) -> None:
        assert [panel["title"] for panel in _panels(DASHBOARDS[0])] == [
            "Lock acquisition success rate",
            "Lock wait time",
            "Numbers per minute",
            "Errors by type",
            "Redis and database",
        ]

    def test_of_workflows_shows_steps_and_events(self) -> None:
        assert [panel["title"] for panel in _panels(DASHBOARDS[1])] == [
            "Transitions per minute",
            "Time of a transition",
            "Conflict rate",
            "Refused and failed",
            "Events that wait",
            "Deliveries",
        ]

    def test_are_told_apart(self) -> None:
        boards = [json.loads(path.read_text()) for path in DASHBOARDS]
        assert (
            len({board["uid"] for board in boards}) == len({board["title"] for board in boards}) == len(DASHBOARDS) == 2
        )

    @pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
    def test_ask_what_prometheus_understands(self, dashboard: Path, tmp_path: Path) -> None:
        """A recording rule of each expression: promtool reads them all."""
        expressions = _expressions(dashboard)
        recorded = [{"record": f"panel:{place}", "expr": text} for place, text in enumerate(expressions)]
        file = tmp_path / "panels.yml"
        file.write_text(json.dumps({"groups": [{"name": "panels", "rules": recorded}]}))
        checked = promtool("check", "rules", str(file))
        assert checked.returncode == 0, checked.stderr + checked.stdout

    @pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
    def test_use_the_provisioned_data_source(self, dashboard: Path) -> None:
        provisioned = (ROOT / "deploy/grafana/provisioning/datasources/prometheus.yml").read_text()
        sources = {panel["datasource"]["uid"] for panel in _panels(dashboard)}
        assert all(f"uid: {uid}\n" in provisioned for uid in sources)


def _panels(dashboard: Path) -> list[dict[str, Any]]:
    return json.loads(dashboard.read_text())["panels"]


def _expressions(dashboard: Path) -> list[str]:
    return [target["expr"] for panel in _panels(dashboard) for target in panel["targets"]]


def _tried(cases: list[Case], folder: Path) -> subprocess.CompletedProcess[str]:
    shutil.copy(RULES, folder / "alerts.yml")
    written = {
        "rule_files": ["alerts.yml"],
        "evaluation_interval": "15s",
        "tests": [
            {
                "name": f"{case.alert} {'fires' if case.fires else 'is silent'}",
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{case.alert}",alertstate="firing"}})',
                        "eval_time": f"{case.at}m",
                        "exp_samples": [{"labels": "{}", "value": 1}] if case.fires else [],
                    }
                ],
            }
            for case in cases
        ],
    }
    file = folder / "cases.yml"
    file.write_text(json.dumps(written))
    return promtool("test", "rules", str(file))
