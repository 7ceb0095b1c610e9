"""Rules over the whole route table: who may call, what is described, what never appears."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from saraban.app import create_app
from saraban.identity.dependencies import LOADS_CALLER, PUBLIC_PATHS
from saraban.ops import openapi
from tests.conftest import settings_in


@pytest.fixture(scope="module")
def application() -> FastAPI:
    return create_app(settings_in(Path("nowhere")))


@pytest.fixture(scope="module")
def document(application: FastAPI) -> dict[str, Any]:
    return application.openapi()


def test_every_route_is_public_by_the_list_or_guarded(application: FastAPI) -> None:
    unguarded = {
        str(context.path)
        for context in iter_route_contexts(application.routes)
        if not openapi.depends_on(getattr(context, "dependant", None), LOADS_CALLER)
    }

    assert unguarded - PUBLIC_PATHS == set()


def test_no_route_holds_a_connection_to_read_while_it_writes(application: FastAPI) -> None:
    """Whoever writes takes another connection: a pool full of such requests waits for itself."""
    writes = {"database", "idempotency", "document_services", "number_services", "transitions"}
    both = set()
    for context in iter_route_contexts(application.routes):
        dependant = getattr(context, "dependant", None)
        needs = {getattr(one.call, "__name__", "") for one in dependant.dependencies} if dependant else set()
        if "read_session" in needs and needs & writes:
            both.add(str(context.path))

    assert both == set()


def test_every_feature_is_there(document: dict[str, Any]) -> None:
    named = {
        "/api/v1/auth/login",
        "/api/v1/auth/refresh",
        "/api/v1/auth/me",
        "/api/v1/organizations",
        "/api/v1/projects",
        "/api/v1/correspondences",
        "/api/v1/rfas",
        "/api/v1/transmittals",
        "/api/v1/circulations",
        "/api/v1/attachments",
        "/api/v1/document-numbering/generate",
        "/api/v1/document-numbering/preview",
        "/api/v1/document-numbering/configs",
        "/api/v1/workflow/definitions",
        "/api/v1/inbox",
        "/api/v1/notifications",
        "/health/live",
        "/health/ready",
        "/metrics",
    }

    assert named - set(document["paths"]) == set()


def test_the_description_is_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")


def test_every_operation_has_a_summary(document: dict[str, Any]) -> None:
    silent = [
        f"{method} {path}" for path, method, operation in openapi.operations(document) if not operation.get("summary")
    ]

    assert silent == []


def test_every_operation_lists_the_problems_it_can_give(document: dict[str, Any]) -> None:
    bare = [
        f"{method} {path}"
        for path, method, operation in openapi.operations(document)
        if not {"500", "503"} <= set(operation["responses"])
        or (operation["security"] and not {"401", "403"} <= set(operation["responses"]))
    ]

    assert bare == []


def test_every_problem_has_an_example(document: dict[str, Any]) -> None:
    without = [
        name
        for name, response in document["components"]["responses"].items()
        for form, media in response["content"].items()
        if form.endswith("problem+json") and not media.get("examples")
    ]

    assert without == []


def test_no_schema_has_an_integer_identifier(document: dict[str, Any]) -> None:
    found = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, kind in schema.get("properties", {}).items()
        if (field == "id" or field.endswith(("Id", "_id"))) and "integer" in set(types_of(kind))
    ]

    assert found == []


def types_of(schema: dict[str, Any]) -> Iterator[str]:
    if "type" in schema:
        yield from [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    for choice in schema.get("anyOf", []):
        yield from types_of(choice)


def test_every_text_that_comes_in_has_a_greatest_length(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    endless = sorted(
        f"{name}.{field}"
        for name in bodies(document, schemas)
        for field, kind in schemas[name].get("properties", {}).items()
        for text in texts_of(kind)
        if not text.keys() & {"maxLength", "format", "enum", "const", "contentMediaType"}
    )

    assert endless == []


def bodies(document: dict[str, Any], schemas: dict[str, Any]) -> set[str]:
    """The names of all schemas that a request body can contain."""
    found: set[str] = set()
    pending = [operation.get("requestBody", {}) for _, _, operation in openapi.operations(document)]
    while pending:
        for name in references(pending.pop()):
            if name not in found:
                found.add(name)
                pending.append(schemas[name])
    return found


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rpartition("/")[2]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def texts_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "string" in types_of(schema | {"anyOf": []}):
        yield schema
    if isinstance(schema.get("items"), dict):
        yield from texts_of(schema["items"])
    for choice in schema.get("anyOf", []):
        yield from texts_of(choice)
