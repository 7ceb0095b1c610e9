"""The site memo, a workflow of our own, with more steps."""

from typing import Any

WORDS = {"th": "คำ", "en": "Word"}

HELP = {"th": "ตอบภายในห้าวันทำการ", "en": "Answer within five working days"}

BY_CONSULTANT = {"organizationRoles": ["CONSULTANT"], "permissions": ["workflow.action_review"]}

BY_OWNER = {"organizationRoles": ["OWNER"], "permissions": ["workflow.action_review"]}


def site_memo(*events: dict[str, Any]) -> dict[str, Any]:
    """draft -send-> review -answer-> done, refused, or filed by the engine itself."""
    return {
        "workflow": "SITE_MEMO",
        "states": [
            {
                "name": "draft",
                "label": WORDS,
                "initial": True,
                "editable": True,
                "on": {"send": {"to": "review", "label": WORDS, "events": list(events)}},
            },
            {
                "name": "review",
                "label": WORDS,
                "help": HELP,
                "due": {"workingDays": 5},
                "on": {
                    "answer": {
                        "label": WORDS,
                        "help": HELP,
                        "require": BY_CONSULTANT,
                        "responses": {
                            "1A": {"to": "done", "label": {"th": "อนุมัติ", "en": "Approved"}},
                            "3R": {"to": "draft", "comment": "required"},
                        },
                    },
                    "close": {
                        "to": "done",
                        "label": WORDS,
                        "require": BY_OWNER,
                        "attachments": "required",
                        "optional": True,
                    },
                },
            },
            {"name": "done", "label": WORDS, "terminal": True},
        ],
    }


def with_filing(rule: Any) -> dict[str, Any]:
    """The same, but the engine files what was approved when `rule` holds."""
    raw = site_memo()
    answer = raw["states"][1]["on"]["answer"]
    del answer["responses"]
    answer |= {"to": "approved", "events": [{"type": "auto_action", "action": "file"}]}
    webhook = {"type": "webhook", "target": "memo.filed"}
    approved = {
        "name": "approved",
        "label": WORDS,
        "on": {
            "file": {
                "to": "done",
                "label": WORDS,
                "require": BY_OWNER,
                "condition": {"type": "json-logic", "rule": rule},
                "events": [webhook],
            }
        },
    }
    raw["states"].insert(2, approved)
    return raw | {"examples": [{"state": "approved", "action": "file", "facts": {"document": {"priority": "LOW"}}}]}
