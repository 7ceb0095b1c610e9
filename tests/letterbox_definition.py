"""The definition of the letterbox, written out."""

from typing import Any

WORDS = {"th": "คำ", "en": "Word"}


def letterbox() -> dict[str, Any]:
    return {
        "workflow": "LETTERBOX",
        "states": [
            {
                "name": "open",
                "label": dict(WORDS),
                "initial": True,
                "on": {"close": {"to": "closed", "label": dict(WORDS)}},
            },
            {"name": "closed", "label": dict(WORDS), "terminal": True},
        ],
    }
