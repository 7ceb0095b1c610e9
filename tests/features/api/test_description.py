"""The API description: an example for whatever goes in and comes out, and every refusal at the operations that give it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
        listed = {code for *_, operation in openapi.operations(document) for code, _ in told(operation)}

        assert set(error_catalogue.error_classes()) - listed - set(error_catalogue.NOT_FROM_THE_API) == set()
        assert listed & set(error_catalogue.NOT_FROM_THE_API) == set()
        assert set(error_catalogue.NOT_FROM_THE_API) <= {error.code for error in every_error()}

    def test_of_its_own_belong_to_an_operation_that_exists(self, document: dict[str, Any]) -> None:
        names = {operation["operationId"] for *_, operation in openapi.operations(document)}

        assert set(error_catalogue.BY_OPERATION) - names == set()

    def test_stand_under_their_status_in_both_languages(self, document: dict[str, Any]) -> None:
        known = error_catalogue.error_classes()
        for *_, operation in openapi.operations(document):
            for code, status in told(operation):
                assert status == status_of_class(known[code])
                examples = operation["responses"][str(status)]["content"][MEDIA_TYPE]["examples"]
                assert {f"{code}.th", f"{code}.en"} <= set(examples)

    def test_have_examples_without_open_places(self, document: dict[str, Any]) -> None:
        examples = document["components"]["examples"]

        for name, example in examples.items():
            problem = example["value"]
            assert problem["userMessage"], name
            assert "{" not in problem["userMessage"] + problem["detail"], name
            thai = any("\u0e00" <= letter <= "\u0e7f" for letter in problem["userMessage"].replace(NUMBER, ""))
            assert thai == name.endswith(".th"), name


class TestHeaders:
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


def told(operation: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for status, response in operation["responses"].items():
        for name in response.get("content", {}).get(MEDIA_TYPE, {}).get("examples", {}):
            yield name.rpartition(".")[0], int(status)
