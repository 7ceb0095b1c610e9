"""Every text that a request may send has a bound, and every body fits into the limit of its address."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from saraban.app import create_app
from saraban.identity.dependencies import LOADS_CALLER
from saraban.kit.http import check_texts
from saraban.ops import openapi
from saraban.ops.body_limits import LARGE, WITHOUT_TOKEN, body_limit
from saraban.ops.problems import check_request
from tests.conftest import settings_in

# Sizes that a definition of a workflow and the data of a step are checked for by rules of their own.
OPEN_OBJECTS = {"dsl", "payload", "document", "context"}
# Its description has room for more than the address takes: 50 rehearsed steps, each with all the data a step may have.
LIMITED_BY_SIZE = {"/api/v1/workflow/definitions/{code}/versions/{version}/rehearse"}


@pytest.fixture(scope="module")
def application() -> FastAPI:
    return create_app(settings_in(Path("nowhere")))


class SchemaWalk:
    """Follows the schemas of requests to their texts, lists and objects."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.definitions = document["components"]["schemas"]

    def unbounded(self, schema: dict[str, Any], path: str) -> Iterator[str]:
        schema = self.resolved(schema)
        for option in [*schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])]:
            yield from self.unbounded(option, path)
        kind = schema.get("type")
        is_fixed = {"maxLength", "enum", "const"} & set(schema) or schema.get("format") in {"uuid", "date", "date-time"}
        if kind == "string" and not is_fixed:
            yield path
        if kind == "array":
            if "maxItems" not in schema:
                yield path
            yield from self.unbounded(schema.get("items", {}), f"{path}/0")
        for name, inner in schema.get("properties", {}).items():
            yield from self.unbounded(inner, f"{path}/{name}")
        if isinstance(schema.get("additionalProperties"), dict):
            yield from self.unbounded(schema["additionalProperties"], f"{path}/*")
        elif kind == "object" and "properties" not in schema and path.rpartition("/")[2] not in OPEN_OBJECTS:
            yield path

    def values(self, schema: dict[str, Any]) -> int:
        schema = self.resolved(schema)
        if options := [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
            return max(map(self.values, options))
        inner = [self.values(one) for one in schema.get("properties", {}).values()]
        return 1 + sum(inner) + schema.get("maxItems", 0) * (self.values(schema["items"]) if "items" in schema else 0)

    def size(self, schema: dict[str, Any]) -> int:
        """Bytes of the largest JSON, with three for each character of a text."""
        schema = self.resolved(schema)
        if options := [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
            return max(map(self.size, options))
        named = sum(len(name) + 4 + self.size(one) for name, one in schema.get("properties", {}).items())
        listed = schema.get("maxItems", 0) * (1 + self.size(schema["items"]) if "items" in schema else 0)
        return 2 + 3 * schema.get("maxLength", 12) + named + listed

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        return self.definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_every_text_and_list_of_a_request_has_a_bound(application: FastAPI) -> None:
    document = application.openapi()
    walk = SchemaWalk(document)
    unbounded = []
    for method, path, operation in operations(document):
        for parameter in operation.get("parameters", []):
            unbounded += walk.unbounded(parameter["schema"], f"{method} {path} {parameter['in']}:{parameter['name']}")
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        unbounded += walk.unbounded(body["schema"], f"{method} {path} ") if body else []

    assert unbounded == []


def test_every_body_fits_into_the_limit_of_its_address(application: FastAPI) -> None:
    document = application.openapi()
    walk = SchemaWalk(document)
    too_large = []
    for method, path, operation in operations(document):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if body and path not in LIMITED_BY_SIZE:
            limit, schema = body_limit(method, path), body["schema"]
            if walk.size(schema) > limit.size or walk.values(schema) > limit.values:
                too_large.append((path, walk.size(schema), walk.values(schema), limit))

    assert too_large == []


def test_whatever_needs_no_token_takes_little(application: FastAPI) -> None:
    large = {
        str(context.path)
        for context in iter_route_contexts(application.routes)
        if (context.methods or set()) - {"GET", "HEAD"}
        and not openapi.depends_on(getattr(context, "dependant", None), LOADS_CALLER)
        and body_limit("POST", str(context.path)) != WITHOUT_TOKEN
    }

    assert large == {"/setup"}
    assert body_limit("POST", "/setup").size < LARGE.size


def test_every_operation_and_page_checks_its_texts(application: FastAPI) -> None:
    unchecked = set()
    for context in iter_route_contexts(application.routes):
        dependant = getattr(context, "dependant", None)
        calls = {one.call for one in dependant.dependencies} if dependant else set()
        if dependant and not calls & {check_texts, check_request}:
            unchecked.add(str(context.path))

    assert unchecked == {"/health/live", "/health/ready", "/metrics", "/docs/errors"} & unchecked
