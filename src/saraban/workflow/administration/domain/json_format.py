"""A definition as text that people can read and change: one part a line, short parts on one."""

import json
from collections.abc import Mapping

from saraban.kit.json import Json

WIDTH = 100
_STEP = "  "


def written(raw: Json, *, depth: int = 0, room: int = WIDTH) -> str:
    """
    Write JSON with two blanks for each level; what fits on a line stays on it.

    :param room: characters left on the line that it begins on
    """
    short = json.dumps(raw, ensure_ascii=False)
    if len(short) <= room or not isinstance(raw, Mapping | list) or not raw:
        return short
    inner, end = _STEP * (depth + 1), _STEP * depth
    if isinstance(raw, list):
        parts = [inner + written(one, depth=depth + 1, room=WIDTH - len(inner)) for one in raw]
        return "[\n" + ",\n".join(parts) + f"\n{end}]"
    parts = []
    for key, value in raw.items():
        name = f"{inner}{json.dumps(key, ensure_ascii=False)}: "
        parts.append(name + written(value, depth=depth + 1, room=WIDTH - len(name)))
    return "{\n" + ",\n".join(parts) + f"\n{end}}}"
