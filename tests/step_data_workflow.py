"""A definition whose steps take data."""

from typing import Any

WORDS = {"th": "คำ", "en": "Word"}

PROPERTIES: dict[str, Any] = {
    "amount": {"type": "number", "minimum": 1},
    "grade": {"enum": ["A", "B", None]},
    "note": {"type": "string"},
}


def written(
    checks: dict[str, Any] | None = None, *, required: tuple[str, ...] = (), properties: Any = PROPERTIES, **send: Any
) -> dict[str, Any]:
    """Sent, then checked or corrected, then closed; `send` and `checks` say more of the first and of `correct`."""
    payload = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {
        "workflow": "STATED",
        "context_schema": {"type": "object", "properties": {"payload": payload}},
        "states": [
            {"name": "draft", "label": WORDS, "initial": True, "on": {"send": {"to": "open", "label": WORDS} | send}},
            {
                "name": "open",
                "label": WORDS,
                "on": {
                    "correct": {"to": "open", "label": WORDS} | (checks or {}),
                    "close": {"to": "closed", "label": WORDS},
                },
            },
            {"name": "closed", "label": WORDS, "terminal": True},
        ],
    }
