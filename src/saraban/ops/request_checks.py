"""
What an operation does not take is refused before it is asked: query parameters that nobody knows, which would otherwise
show everything, those that are no text, and a body of another content type.
"""

import re
from typing import Any, Final

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text

_JSON: Final = re.compile(r"application/([\w.-]+\+)?json")
_UNREADABLE = "\ufffd"  # what bytes that are no UTF-8 are read as
_MALFORMED = Text("ไม่ใช่ข้อความ UTF-8 ที่ถูกต้อง", "This is no valid UTF-8.")
_UNKNOWN = Text("ไม่รู้จักพารามิเตอร์นี้", "There is no such parameter.")


def check_query(request: Request) -> None:
    """
    :raises Invalid: naming each parameter of the address that the operation does not take, or that is no text
    """
    if not request.query_params:
        return
    unreadable = [name for name, value in request.query_params.multi_items() if _UNREADABLE in value]
    if unreadable:
        raise Invalid(fields=[FieldProblem(f"query:{name[:50]}", "malformed", _MALFORMED) for name in unreadable[:20]])
    strange = [name for name in dict.fromkeys(request.query_params) if name not in _taken(request)]
    if strange:
        fields = [FieldProblem(f"query:{name[:50]}", "unknown_field", _UNKNOWN) for name in strange[:20]]
        raise Invalid("; ".join(f"{field.pointer}: {_UNKNOWN.en}" for field in fields), fields=fields)


class BodyNotJson(DomainError):
    """The operation takes JSON, and the request says that its body is something else."""

    kind, code = ErrorKind.UNSUPPORTED, "BODY_NOT_JSON"
    says = Text("ต้องส่งข้อมูลเป็น application/json", "Send the body as application/json.")
    recovery = (Text("ตั้ง Content-Type เป็น application/json", "Set the Content-Type to application/json."),)


def check_content_type(request: Request) -> None:
    """
    :raises BodyNotJson: for another content type, where the operation takes JSON
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given and getattr(_route(request), "body_field", None) is not None and not _JSON.fullmatch(given):
        raise BodyNotJson


def _taken(request: Request) -> set[str]:
    return {field.alias for field in get_flat_params(_route(request).dependant) if isinstance(field.field_info, Query)}


def _route(request: Request) -> Any:
    return request.scope.get("fastapi", {}).get("effective_route_context") or request.scope["route"]
