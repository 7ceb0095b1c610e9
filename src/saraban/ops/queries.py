"""
Query parameters that nobody knows are refused: a filter with a slip in its name would otherwise show everything.
"""

from typing import Any

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query

from saraban.kit.errors import FieldProblem, Invalid, Text

_UNKNOWN = Text("ไม่รู้จักพารามิเตอร์นี้", "There is no such parameter.")


def known_queries(request: Request) -> None:
    """
    :raises Invalid: naming each parameter of the address that the operation does not take
    """
    if not request.query_params:
        return
    strange = [name for name in dict.fromkeys(request.query_params) if name not in _taken(request)]
    if strange:
        fields = [FieldProblem(f"query:{name[:50]}", "unknown_field", _UNKNOWN) for name in strange[:20]]
        raise Invalid("; ".join(f"{field.pointer}: {_UNKNOWN.en}" for field in fields), fields=fields)


def _taken(request: Request) -> set[str]:
    context: Any = request.scope.get("fastapi", {}).get("effective_route_context") or request.scope["route"]
    return {field.alias for field in get_flat_params(context.dependant) if isinstance(field.field_info, Query)}
