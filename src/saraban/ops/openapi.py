"""Complete FastAPI's description: problems, headers, examples, authentication."""

from collections.abc import Container, Iterator, Mapping
from hashlib import sha256
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
_TAGS: Final = {
    "Auth": "Sign in, renew and end a session, and choose a password.",
    "Users": "Accounts, invitations and the roles that people hold.",
    "Roles": "Roles and their permissions.",
    "Organizations": "Organizations that take part in projects.",
    "Projects": "Projects, their organizations, calendars, teams and project files.",
    "Contracts": "Contracts of a project and the organizations that take part in them.",
    "Master data": "Lists of codes: disciplines, types, statuses, tags and categories of drawings.",
    "Document numbering": "Number formats, issued numbers, reservations, ranges and imports.",
    "Correspondences": "Letters, memos and requests for information.",
    "RFAs": "Requests for approval.",
    "Transmittals": "Transmittals and the documents that they carry.",
    "Circulations": "Circulation sheets inside an organization.",
    "Drawings": "Contract, shop and as-built drawings with their revisions.",
    "Workflow": "Workflow definitions, running instances, tasks and delegations.",
    "Attachments": "Upload and download files.",
    "Search": "Find documents of every kind.",
    "Notifications": "Notifications of the caller and their delivery preferences.",
    "Webhooks": "Webhooks of projects and of people.",
    "Events": "Events that wait for delivery, and dead letters.",
    "Audit": "The audit trail.",
    "Operations": "Health, metrics and the state of the installation.",
}
_HEADERS: Final[OpenApi] = {
    name: {"description": description, "schema": {"type": "string"}, "example": example}
    for name, description, example in (
        ("X-Trace-Id", "Name of the request in the log; problems repeat it as `traceId`.", _TRACE),
        ("ETag", "Version of the resource, for `If-Match`.", '"3"'),
        ("Location", "Address of the new resource.", "/api/v1/rfas/01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"),
        ("Retry-After", "Seconds to wait before the request is sent again.", "30"),
        ("WWW-Authenticate", "The scheme of the token.", "Bearer"),
        ("Content-Language", "Language of `userMessage` and of the messages of `warnings`.", "th"),
        ("Idempotent-Replay", "`true` when an earlier request with the same key did it.", "true"),
    )
}
_NULL: Final[OpenApi] = {"type": "null"}
_METHODS = ("get", "put", "post", "patch", "delete")
_JSON = "application/json"
_BY_TYPE: Final[Mapping[str, Json]] = {"string": "text", "integer": 1, "number": 1.0, "boolean": False, "object": {}}
_BY_FORMAT: Final = {
    "uuid": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10",
    "date": "2026-03-16",
    "date-time": "2026-03-02T03:15:00Z",
}


def complete(app: FastAPI) -> None:
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
        tags=[{"name": name, "description": description} for name, description in _TAGS.items()],
        servers=app.servers,
        contact=app.contact,
        license_info=app.license_info,
    )
    guarded = _operations_with(app, LOADS_CALLER)
    keyed = _operations_with(app, {keyed_context})
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    schemas |= {"Problem": _PROBLEM, "FieldProblem": _FIELD}
    schemas["Text"]["example"] = {"th": "อนุมัติแล้ว", "en": "Approved"}
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}
    components |= {"examples": _problem_examples(), "headers": _HEADERS, "responses": {}}
    _complete_examples(schemas)
    for path, method, operation in operations(document):
        needs_caller = (method.upper(), path) in guarded
        operation["security"] = [{"bearer": []}] if needs_caller else []
        if (method.upper(), path) in keyed:
            operation.setdefault("parameters", []).append(dict(KEY_PARAMETER))
        _complete_parameters(operation)
        operation.setdefault("description", f"{operation['summary']}.")
        _add_problems(components, operation, path, method, needs_caller=needs_caller)
        _add_examples(operation, schemas)
        _add_headers(operation, path, method, document["paths"])
    _spell_nulls(document)
    return document


def operations(document: OpenApi) -> Iterator[tuple[str, str, OpenApi]]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield path, method, item[method]


def _operations_with(app: FastAPI, wanted: Container[object]) -> set[tuple[str, str]]:
    return {
        (method, str(context.path_format))
        for context in iter_route_contexts(app.routes)
        for method in (context.methods or ())
        if depends_on(getattr(context, "dependant", None), wanted)
    }


def depends_on(dependant: Dependant | None, wanted: Container[object]) -> bool:
    if dependant is None:
        return False
    return dependant.call in wanted or any(depends_on(child, wanted) for child in dependant.dependencies)


def _complete_parameters(operation: OpenApi) -> None:
    """Omit `null`: an absent parameter is not sent."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "header":
            parameter["name"] = header_name(parameter["name"])
        options = parameter["schema"].get("anyOf", [])
        if _NULL in options:
            others = [option for option in options if option != _NULL]
            settings = {name: value for name, value in parameter["schema"].items() if name != "anyOf"}
            parameter["schema"] = settings | (others[0] if len(others) == 1 else {"anyOf": others})


def _has_parameter(operation: OpenApi, header: str) -> bool:
    return any(parameter["name"].lower() == header for parameter in operation.get("parameters", ()))


def _add_headers(operation: OpenApi, path: str, method: str, paths: OpenApi) -> None:
    below = [paths[other] for other in paths if method == "get" and (other == path or other.startswith(f"{path}/"))]
    changes = [operation, *(item[verb] for item in below for verb in _METHODS if verb in item)]
    is_versioned = any(_has_parameter(change, "if-match") for change in changes)
    for status, response in operation["responses"].items():
        if "$ref" not in response:
            response["headers"] = _headers(
                {
                    "ETag": is_versioned and status in {"200", "201"},
                    "Location": status == "201",
                    "Content-Language": _JSON in response.get("content", {}),
                    "Idempotent-Replay": _has_parameter(operation, "idempotency-key"),
                }
            )


def _headers(sent: Mapping[str, bool]) -> OpenApi:
    names = ["X-Trace-Id", *(name for name, is_sent in sent.items() if is_sent)]
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _spell_nulls(node: Json | OpenApi) -> None:
    """Write `[string, "null"]`: client generators fail at a separate `null`."""
    if isinstance(node, list):
        for child in node:
            _spell_nulls(child)
    elif isinstance(node, dict):
        if isinstance(node.get("anyOf"), list) and _NULL in node["anyOf"]:
            _join_null(node, [option for option in node["anyOf"] if option != _NULL])
        elif node.get("type") == "null":
            node |= {"type": ["string", "null"], "maxLength": 0}
        for child in node.values():
            _spell_nulls(child)


def _join_null(schema: OpenApi, options: list[OpenApi]) -> None:
    types = [option.get("type") for option in options]
    if not all(types):  # a reference has no types of its own
        schema["anyOf"] = [*options, {"type": ["null"]}]
        return
    del schema["anyOf"]
    for option in options:
        schema |= option | schema
    schema["type"] = [*types, "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]


def _add_problems(components: OpenApi, operation: OpenApi, path: str, method: str, *, needs_caller: bool) -> None:
    operation["responses"].pop("422", None)
    errors = error_catalogue.error_classes()
    by_status: dict[int, list[str]] = {}
    for code in sorted(error_catalogue.codes_of(operation, path, method, needs_caller=needs_caller)):
        by_status.setdefault(status_of_class(errors[code]), []).append(code)
    for status, codes in by_status.items():
        name = f"{HTTPStatus(status).name.title()}_{sha256(' '.join(codes).encode()).hexdigest()[:8]}"
        if name not in components["responses"]:
            components["responses"][name] = _problem_response(status, codes)
        operation["responses"][str(status)] = {"$ref": f"#/components/responses/{name}"}


def _problem_response(status: int, codes: list[str]) -> OpenApi:
    examples = {f"{code}.{language}": _example_reference(code, language) for code in codes for language in _LANGUAGES}
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(f'`{code}`' for code in codes)}",
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
        "headers": _headers(
            {"Content-Language": True, "Retry-After": status in {429, 503}, "WWW-Authenticate": status == 401}
        ),
    }


def resolve_response(document: OpenApi, response: OpenApi) -> OpenApi:
    name = response.get("$ref", "").rpartition("/")[2]
    return document["components"]["responses"][name] if name else response


def _example_reference(code: str, language: str) -> dict[str, str]:
    return {"$ref": f"#/components/examples/{code}.{language}"}


def _problem_examples() -> OpenApi:
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
    body = operation.get("requestBody", {}).get("content", {}).get(_JSON)
    if body is not None:
        body.setdefault("example", _Composer(schemas, is_request=True).value(body["schema"]))
    for status, response in operation["responses"].items():
        answer = response.get("content", {}).get(_JSON)
        if status < "300" and answer is not None:
            answer.setdefault("example", _Composer(schemas, is_request=False).value(answer["schema"]))


def _complete_examples(schemas: OpenApi) -> None:
    composer = _Composer(schemas, is_request=False)
    for schema in schemas.values():
        if "example" in schema:
            schema["example"] = composer.complete(schema, schema["example"])
        if "examples" in schema:
            schema["examples"] = [composer.complete(schema, example) for example in schema["examples"]]


class _Composer:
    """A request omits fields that are neither required nor have an example."""

    def __init__(self, schemas: OpenApi, *, is_request: bool) -> None:
        self._schemas = schemas
        self._is_request = is_request

    def value(self, schema: OpenApi) -> Json:
        examples = [schema["example"]] if "example" in schema else schema.get("examples")
        if examples:
            return self.complete(schema, examples[0])
        if "$ref" in schema:
            return self.value(self._resolve(schema))
        if "anyOf" in schema:
            return self._first_of(schema["anyOf"])
        if "const" in schema or "enum" in schema:
            value: Json = schema.get("const", schema.get("enum", [None])[0])
            return value
        if "properties" in schema:
            return self._object(schema)
        if schema.get("type") == "array":
            return [self.value(schema["items"])]
        return _BY_FORMAT.get(schema.get("format", ""), _BY_TYPE.get(schema.get("type", "")))

    def _first_of(self, options: list[OpenApi]) -> Json:
        """Return null for nullable plain values: an invented value might never occur."""
        is_plain = "$ref" not in options[0] and options[0].get("type") not in {"array", "object"}
        return None if is_plain and _NULL in options else self.value(options[0])

    def _object(self, schema: OpenApi) -> dict[str, Json]:
        fields, required = schema["properties"], set(schema.get("required", ()))
        shown = [
            name for name, field in fields.items() if not self._is_request or name in required or "examples" in field
        ]
        return {name: self.value(fields[name]) for name in shown or list(fields)[:1]}

    def complete(self, schema: OpenApi, value: Json) -> Json:
        """Restore required nulls, which FastAPI removes."""
        schema = self._resolve(schema)
        if isinstance(value, list) and "items" in schema:
            return [self.complete(schema["items"], item) for item in value]
        if not isinstance(value, dict) or "properties" not in schema:
            return value
        fields = schema["properties"]
        stated = {name: self.complete(fields[name], item) for name, item in value.items() if name in fields}
        return stated | {name: None for name in schema.get("required", ()) if name not in stated}

    def _resolve(self, schema: OpenApi) -> OpenApi:
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
