"""
The API description, completed: the problem schema, the problems each operation can give, examples of what goes in and
comes out, and who may call without a token.

FastAPI describes what endpoints return; what the door adds around all of them is added here, once.
"""

from collections.abc import Iterator
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts

from saraban.identity.dependencies import current_caller
from saraban.kit.problem import MEDIA_TYPE, to_problem
from saraban.kit.validation import header_name
from saraban.ops import error_responses, examples
from saraban.ops.error_catalogue import status_of_class
from saraban.ops.examples import OpenApi

_TRACE = "0190a7c4d1e27b3f8a6c5d4e3f2a1b0c"
_LANGUAGES = ("th", "en")
_METHODS = ("get", "put", "post", "patch", "delete")


def complete(app: FastAPI) -> None:
    """Replace `app.openapi` by the completed description, made once."""

    def describe() -> OpenApi:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _describe(app: FastAPI) -> OpenApi:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    guarded = guarded_operations(app)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    schemas |= {"Problem": _PROBLEM, "FieldProblem": _FIELD}
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}
    components["examples"] = _problem_examples()
    for path, method, operation in operations(document):
        needs_caller = (method.upper(), path) in guarded
        operation["security"] = [{"bearer": []}] if needs_caller else []
        _name_headers(operation)
        _add_problems(operation, path, method, needs_caller=needs_caller)
        examples.add(operation, schemas)
    return document


def operations(document: OpenApi) -> Iterator[tuple[str, str, OpenApi]]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield path, method, item[method]


def guarded_operations(app: FastAPI) -> set[tuple[str, str]]:
    """Return (method, path) of every operation that loads the caller before it runs."""
    return {
        (method, str(context.path))
        for context in iter_route_contexts(app.routes)
        for method in (context.methods or ())
        if depends_on(getattr(context, "dependant", None), current_caller)
    }


def depends_on(dependant: Dependant | None, target: object) -> bool:
    """Return whether `target` is somewhere in a route's tree of dependencies."""
    if dependant is None:
        return False
    return dependant.call is target or any(depends_on(child, target) for child in dependant.dependencies)


def _name_headers(operation: OpenApi) -> None:
    """Header names as people write them: `If-Match`, whatever the parameter is called inside."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "header":
            parameter["name"] = header_name(parameter["name"])


def _add_problems(operation: OpenApi, path: str, method: str, *, needs_caller: bool) -> None:
    responses = operation.setdefault("responses", {})
    responses.pop("422", None)
    known = error_responses.error_classes()
    for code in error_responses.codes_of(operation, path, method, needs_caller=needs_caller):
        status = status_of_class(known[code])
        told = responses.setdefault(str(status), _refusal(status))["content"][MEDIA_TYPE]["examples"]
        told |= {f"{code}.{language}": _example_at(code, language) for language in _LANGUAGES}


def _refusal(status: int) -> OpenApi:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema, "examples": {}}}}


def _example_at(code: str, language: str) -> dict[str, str]:
    return {"$ref": f"#/components/examples/{code}.{language}"}


def _problem_examples() -> OpenApi:
    """Every refusal once in each language; the operations point here."""
    return {
        f"{code}.{language}": {
            "summary": error.says.say(language, {}).split("{")[0].strip() or code,
            "value": to_problem(error_responses.sample_error(error), language=language, trace_id=_TRACE),
        }
        for code, error in error_responses.error_classes().items()
        if code not in error_responses.NOT_FROM_THE_API
        for language in _LANGUAGES
    }


_FIELD: OpenApi = {
    "type": "object",
    "title": "FieldProblem",
    "required": ["pointer", "code", "detail", "message"],
    "properties": {
        "pointer": {
            "type": "string",
            "description": "JSON pointer into the body, or `query:`, `path:`, `header:` and a name.",
        },
        "code": {"type": "string", "examples": ["required"]},
        "detail": {"type": "string", "description": "English."},
        "message": {"type": "string", "description": "In the caller's language."},
    },
}
_PROBLEM: OpenApi = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457; every code is explained under its `type`.",
    "required": ["type", "title", "status", "detail", "code", "userMessage", "recovery", "errors", "traceId"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "For developers, English."},
        "code": {"type": "string"},
        "userMessage": {"type": "string", "description": "For people, in the caller's language."},
        "recovery": {"type": "array", "items": {"type": "string"}},
        "errors": {"type": "array", "items": {"$ref": "#/components/schemas/FieldProblem"}},
        "traceId": {"type": "string"},
    },
}
