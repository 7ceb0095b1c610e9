"""The way that lies ahead, as a timeline shows it in grey."""

import json
from importlib import resources

import pytest

from saraban.workflow.engine.decisions import expected_path
from saraban.workflow.verification import definition_checks


def shipped(name: str):
    text = resources.files("saraban.workflow.language.shipped").joinpath(f"{name}.json").read_text("utf-8")
    return definition_checks.verify(json.loads(text))


class TestAhead:
    @pytest.mark.parametrize(
        ("name", "state", "path"),
        [
            ("rfa_approval", "draft", ["pending_review", "pending_approval", "approved"]),
            ("rfa_approval", "pending_approval", ["approved"]),
            ("rfa_approval", "approved", []),
            ("correspondence", "draft", ["in_review", "approved"]),
            ("transmittal", "submitted", ["completed"]),
            ("circulation", "routing", ["completed"]),
        ],
    )
    def test_follows_the_first_action_that_leads_on(self, name: str, state: str, path: list[str]) -> None:
        assert [step.name for step in expected_path(shipped(name), state)] == path
