"""What an edit changed, as the audit trail keeps it: the old and the new value of each field."""

from collections.abc import Mapping
from datetime import date
from typing import Any

LONGEST = 500


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return old and new of the fields of `after` that are different now; long texts are cut short."""
    return {
        name: {"old": _kept(before.get(name)), "new": _kept(value)}
        for name, value in after.items()
        if before.get(name) != value
    }


def _kept(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST:
        return value[: LONGEST - 1] + "…"
    return value.isoformat() if isinstance(value, date) else value
