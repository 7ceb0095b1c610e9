"""The API description: an example for whatever goes in and comes out, and every refusal at the operations that give it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from saraban.app import create_app
from saraban.kit.problem import MEDIA_TYPE
from saraban.ops import error_catalogue, openapi
from saraban.ops.error_catalogue import every_error, status_of_class
from tests.conftest import settings_in

JSON = "application/json"
NUMBER = "คคง.-สคฉ.3-0001-2569"


@pytest.fixture(scope="module")
def app() -> FastAPI:
    """It is looked at and never started; every refusal there is counts, whatever other tests have loaded."""
    every_error()
    return create_app(settings_in(Path("nowhere")))


@pytest.fixture(scope="module")
def document(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


def bodies(app: FastAPI) -> Iterator[tuple[str, Any, Any]]:
    """The name of each JSON body, the example of it, and the field that FastAPI checks it with."""
    document = app.openapi()
    for context in iter_route_contexts(app.routes):
        route: Any = context
        for method in context.methods or ():
            operation = document["paths"].get(context.path, {}).get(method.lower())
            if operation is None:
                continue
            sent = operation.get("requestBody", {}).get("content", {}).get(JSON)
            if sent is not None:
                yield f"{operation['operationId']} in", sent.get("example"), route.body_field
            for status, response in operation["responses"].items():
                given = response.get("content", {}).get(JSON)
                if status < "300" and given is not None:
                    yield f"{operation['operationId']} out", given.get("example"), route.response_field


class TestExamples:
    def test_stand_at_every_body(self, app: FastAPI) -> None:
        found = list(bodies(app))

        assert len(found) > 80
        assert [name for name, example, _ in found if not isinstance(example, dict) or not example] == []

    def test_are_taken_by_the_very_schemas_they_stand_for(self, app: FastAPI) -> None:
        wrong = [
            f"{name}: {faults}"
            for name, example, schema in bodies(app)
            if schema is not None and (faults := schema.validate(example, {}, loc=())[1])
        ]

        assert wrong == [], "\n".join(wrong)


class TestRefusals:
    def test_are_all_listed_by_an_operation_or_said_to_come_from_elsewhere(self, document: dict[str, Any]) -> None:
        listed = {code for *_, operation in openapi.operations(document) for code, _ in told(document, operation)}

        assert set(error_catalogue.error_classes()) - listed - set(error_catalogue.NOT_FROM_THE_API) == set()
        assert listed & set(error_catalogue.NOT_FROM_THE_API) == set()
        assert set(error_catalogue.NOT_FROM_THE_API) <= {error.code for error in every_error()}

    def test_of_its_own_belong_to_an_operation_that_exists(self, document: dict[str, Any]) -> None:
        names = {operation["operationId"] for *_, operation in openapi.operations(document)}

        assert set(error_catalogue.by_operation()) - names == set()

    def test_stand_under_their_status_in_both_languages(self, document: dict[str, Any]) -> None:
        known = error_catalogue.error_classes()
        for *_, operation in openapi.operations(document):
            for code, status in told(document, operation):
                assert status == status_of_class(known[code])
                response = openapi.resolve_response(document, operation["responses"][str(status)])
                examples = response["content"][MEDIA_TYPE]["examples"]
                assert {f"{code}.th", f"{code}.en"} <= set(examples)

    def test_have_examples_without_open_places(self, document: dict[str, Any]) -> None:
        examples = document["components"]["examples"]

        for name, example in examples.items():
            problem = example["value"]
            assert problem["userMessage"], name
            assert "{" not in problem["userMessage"] + problem["detail"], name
            thai = any("\u0e00" <= letter <= "\u0e7f" for letter in problem["userMessage"].replace(NUMBER, ""))
            assert thai == name.endswith(".th"), name


class TestGenerators:
    """What generators of clients and the linters redocly and spectral ask for."""

    def test_read_null_among_the_types_of_a_schema(self, document: dict[str, Any]) -> None:
        nodes = list(nodes_of(document["paths"])) + list(nodes_of(document["components"]))

        assert [node for node in nodes if node.get("type") == "null"] == []
        typed = [node for node in nodes if {"type": ["null"]} in node.get("anyOf", ())]
        assert [node for node in typed if not any("$ref" in option for option in node["anyOf"])] == []
        assert [node for node in nodes if node.get("in") == "query" and "null" in str(node["schema"])] == []

    def test_know_the_server_and_each_tag_once(self, document: dict[str, Any]) -> None:
        named = [tag["name"] for tag in document["tags"]]

        assert [server["url"] for server in document["servers"]] == ["/"]
        assert len(set(named)) == len(named)
        assert all(tag["description"] for tag in document["tags"])
        used = {tag for *_, operation in openapi.operations(document) for tag in operation["tags"]}
        assert used == set(named)

    def test_know_each_operation_by_one_name_with_a_description(self, document: dict[str, Any]) -> None:
        names = [operation["operationId"] for *_, operation in openapi.operations(document)]

        assert len(set(names)) == len(names)
        assert [one["operationId"] for *_, one in openapi.operations(document) if not one["description"]] == []

    def test_read_errors_and_headers_from_the_components(self, document: dict[str, Any]) -> None:
        for *_, operation in openapi.operations(document):
            for status, response in operation["responses"].items():
                assert status < "400" or set(response) == {"$ref"}, operation["operationId"]
                for name, header in openapi.resolve_response(document, response)["headers"].items():
                    assert header == {"$ref": f"#/components/headers/{name}"}

    def test_get_examples_that_fit_their_schemas(self, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        wrong = []
        for name, schema in schemas.items():
            for example in [*schema.get("examples", []), *([schema["example"]] if "example" in schema else [])]:
                check = jsonschema_rs.validator_for(
                    {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
                )
                wrong += [f"{name}: {fault.message}" for fault in check.iter_errors(example)]

        assert wrong == []


class TestHeaders:
    def test_of_a_version_are_named_where_it_is_shown(self, document: dict[str, Any]) -> None:
        paths = document["paths"]

        assert {"ETag", "X-Trace-Id"} <= set(paths["/api/v1/rfas/{publicId}"]["get"]["responses"]["200"]["headers"])
        assert "Location" in paths["/api/v1/rfas"]["post"]["responses"]["201"]["headers"]
        refused = openapi.resolve_response(document, paths["/api/v1/auth/login"]["post"]["responses"]["429"])
        assert {"Retry-After", "Content-Language"} <= set(refused["headers"])

    def test_are_named_as_people_write_them(self, document: dict[str, Any]) -> None:
        named = {
            parameter["name"]
            for *_, operation in openapi.operations(document)
            for parameter in operation.get("parameters", [])
            if parameter["in"] == "header"
        }

        assert named == {"Idempotency-Key", "If-Match", "Range"}

    def test_every_post_that_makes_something_takes_a_key(self, document: dict[str, Any]) -> None:
        without = [
            path
            for path, method, operation in openapi.operations(document)
            if method == "post"
            and "201" in operation["responses"]
            and "Idempotency-Key" not in {parameter["name"] for parameter in operation.get("parameters", [])}
        ]

        assert without == []


def nodes_of(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes_of(child)


def told(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for status, response in operation["responses"].items():
        for name in (
            openapi.resolve_response(document, response).get("content", {}).get(MEDIA_TYPE, {}).get("examples", {})
        ):
            yield name.rpartition(".")[0], int(status)
