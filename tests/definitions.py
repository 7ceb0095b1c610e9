"""Workflow definitions that several rooms test with: the shipped RFA, a shorter one, the examples of the guide."""

import copy
import json
import re
from pathlib import Path
from typing import Any

from saraban.workflow.administration.service.versions import shipped

RFA = next(raw for raw in shipped() if raw["workflow"] == "RFA_APPROVAL")

GUIDE = (Path(__file__).resolve().parents[1] / "docs" / "workflow.md").read_text("utf-8")

BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]

EXAMPLES: dict[str, dict[str, Any]] = {block["workflow"]: block for block in BLOCKS if "workflow" in block}

CONTRACTOR = {
    "roles": ["Document Control"],
    "permissions": ["rfa.submit"],
    "party": ["originator"],
    "organizationRoles": ["CONTRACTOR"],
}


def shorter() -> dict[str, Any]:
    """The RFA's path without the owner."""
    raw: dict[str, Any] = copy.deepcopy(RFA)
    raw["states"] = [state for state in raw["states"] if state["name"] != "pending_approval"]
    raw["states"][1]["on"]["approve"]["to"] = "approved"
    return raw
