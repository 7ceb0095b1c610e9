"""
The API description, completed: the problem schema, the problems each operation can give, examples of what goes in and
comes out, and who may call without a token.

FastAPI describes what endpoints return; what the door adds around all of them is added here, once.
"""

from collections.abc import Container, Iterator, Mapping
from http import HTTPStatus
from typing import Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts

from saraban.identity.dependencies import LOADS_CALLER, keyed_context
from saraban.kit.http import KEY_PARAMETER
from saraban.kit.json import Json
from saraban.kit.problem import MEDIA_TYPE, header_name, to_problem
from saraban.ops import error_catalogue
from saraban.ops.error_catalogue import OpenApi, status_of_class

_TRACE = "0190a7c4d1e27b3f8a6c5d4e3f2a1b0c"
_LANGUAGES = ("th", "en")
_METHODS = ("get", "put", "post", "patch", "delete")
_JSON = "application/json"
_OF_TYPE: Final[Mapping[str, Json]] = {"string": "text", "integer": 1, "number": 1.0, "boolean": False, "object": {}}
_OF_FORMAT: Final = {
    "uuid": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10",
    "date": "2026-03-16",
    "date-time": "2026-03-02T03:15:00Z",
}


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
    guarded = _operations_with(app, LOADS_CALLER)
    keyed = _operations_with(app, {keyed_context})
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
        if (method.upper(), path) in keyed:
            operation.setdefault("parameters", []).append(dict(KEY_PARAMETER))
        _name_headers(operation)
        _add_problems(operation, path, method, needs_caller=needs_caller)
        _add_examples(operation, schemas)
    return document


def operations(document: OpenApi) -> Iterator[tuple[str, str, OpenApi]]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield path, method, item[method]


def _operations_with(app: FastAPI, wanted: Container[object]) -> set[tuple[str, str]]:
    """Return (method, path) of every operation that depends on one of the functions."""
    return {
        (method, str(context.path_format))
        for context in iter_route_contexts(app.routes)
        for method in (context.methods or ())
        if depends_on(getattr(context, "dependant", None), wanted)
    }


def depends_on(dependant: Dependant | None, wanted: Container[object]) -> bool:
    """Return whether one of the functions is somewhere in a route's tree of dependencies."""
    if dependant is None:
        return False
    return dependant.call in wanted or any(depends_on(child, wanted) for child in dependant.dependencies)


def _name_headers(operation: OpenApi) -> None:
    """Header names as people write them: `If-Match`, whatever the parameter is called inside."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "header":
            parameter["name"] = header_name(parameter["name"])


def _add_problems(operation: OpenApi, path: str, method: str, *, needs_caller: bool) -> None:
    responses = operation.setdefault("responses", {})
    responses.pop("422", None)
    known = error_catalogue.error_classes()
    for code in error_catalogue.codes_of(operation, path, method, needs_caller=needs_caller):
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
            "value": to_problem(error_catalogue.sample_error(error), language=language, trace_id=_TRACE),
        }
        for code, error in error_catalogue.error_classes().items()
        if code not in error_catalogue.NOT_FROM_THE_API
        for language in _LANGUAGES
    }


def _add_examples(operation: OpenApi, schemas: OpenApi) -> None:
    """
    Give the operation's JSON bodies an example each, put together from the examples that stand at the fields.

    A field without an example gets a value of its type. Nothing is known here of any one schema.
    """
    body = operation.get("requestBody", {}).get("content", {}).get(_JSON)
    if body is not None:
        body.setdefault("example", _Composer(schemas, is_request=True).value(body["schema"]))
    for status, response in operation["responses"].items():
        answer = response.get("content", {}).get(_JSON)
        if status < "300" and answer is not None:
            answer.setdefault("example", _Composer(schemas, is_request=False).value(answer["schema"]))


class _Composer:
    """:param is_request: whether fields are left out that are neither required nor have an example"""

    def __init__(self, schemas: OpenApi, *, is_request: bool) -> None:
        self._schemas = schemas
        self._is_request = is_request

    def value(self, schema: OpenApi) -> Json:
        own = [schema["example"]] if "example" in schema else schema.get("examples")
        if own:
            return self._completed(schema, own[0])
        if "$ref" in schema:
            return self.value(self._resolved(schema))
        if "anyOf" in schema:
            return self._first_of(schema["anyOf"])
        if "const" in schema or "enum" in schema:
            value: Json = schema.get("const", schema.get("enum", [None])[0])
            return value
        if "properties" in schema:
            return self._object(schema)
        if schema.get("type") == "array":
            return [self.value(schema["items"])]
        return _OF_FORMAT.get(schema.get("format", ""), _OF_TYPE.get(schema.get("type", "")))

    def _first_of(self, options: list[OpenApi]) -> Json:
        """Plain values that may be null are null: an invented one would describe a case that does not occur."""
        is_plain = "$ref" not in options[0] and options[0].get("type") not in {"array", "object"}
        return None if is_plain and {"type": "null"} in options else self.value(options[0])

    def _object(self, schema: OpenApi) -> dict[str, Json]:
        fields, required = schema["properties"], set(schema.get("required", ()))
        shown = [
            name for name, field in fields.items() if not self._is_request or name in required or "examples" in field
        ]
        return {name: self.value(fields[name]) for name in shown or list(fields)[:1]}

    def _completed(self, schema: OpenApi, value: Json) -> Json:
        """Put back the required nulls that FastAPI leaves out of an example."""
        schema = self._resolved(schema)
        if isinstance(value, list) and "items" in schema:
            return [self._completed(schema["items"], item) for item in value]
        if not isinstance(value, dict) or "properties" not in schema:
            return value
        fields = schema["properties"]
        stated = {name: self._completed(fields[name], item) for name, item in value.items() if name in fields}
        return stated | {name: None for name in schema.get("required", ()) if name not in stated}

    def _resolved(self, schema: OpenApi) -> OpenApi:
        return self._schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


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
