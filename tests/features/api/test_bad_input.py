"""Every field of every endpoint, given what it must not take: a problem names the field, and nothing is written."""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from saraban.kit.db import Database
from tests.conftest import SignIn
from tests.features.api.openapi_walk import Operation, operations
from tests.row_counts import row_counts

ID = "019505a1-7c3e-7000-8000-abc123def456"
# Refusals are kept on purpose, and a log-in that fails is counted.
KEPT = {
    "document_number_errors",
    "audit_logs",
    "users",
    "refresh_tokens",
    "user_preferences",
    "sqlite_sequence",
}


MOST_AT_ONCE = 8  # a problem names 20, and some values are wrong in two ways
# Secrets are compared, never stored or shown; a template has a grammar and tests of its own.
ANY_CHARACTER = {"password", "currentPassword", "newPassword", "refreshToken", "template"}


def bad_values(name: str, schema: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a field of this type must refuse, each with a name for the report."""
    wrong: list[tuple[str, Any]] = [("an object in place of a value", {"x": 1})]
    kind = schema.get("type")
    if kind == "string":
        wrong += [("a number", 42), ("a list", ["a"])]
        if name not in ANY_CHARACTER:
            wrong.append(("a control character", "a\u0000b"))
        if "maxLength" in schema:
            wrong.append(("too long", "ก" * (schema["maxLength"] + 1)))
        if schema.get("format") in {"uuid", "date", "date-time"} or "enum" in schema or "const" in schema:
            wrong.append(("not one of its kind", "nonsense"))
    elif kind in {"integer", "number"}:
        wrong += [
            ("text", "many"),
            ("a list", [1]),
            ("too large", 10**30),
            ("digits in text", "1"),
            ("a fraction", 1.5),
        ]
        wrong.append(("a boolean", True))
    elif kind == "boolean":
        wrong += [("text", "true"), ("a list", [True]), ("a number", 1)]
    elif kind == "array":
        wrong += [("text", "many"), ("items of the wrong kind", [{"unexpected": True}, 7])]
    else:
        wrong = [("text", "nonsense"), ("a number", 5)] if kind == "object" and schema.get("properties") else []
    return wrong


def bodies(operation: Operation) -> Iterator[dict[str, tuple[str, Any]]]:
    """Yield bodies with several wrong fields each, but no more than a problem names, until each has had each of its bad values."""
    fields = {name: bad_values(name, schema) for name, schema in operation.fields().items()}
    for turn in range(max(map(len, fields.values()), default=0)):
        wrong = [(name, values[turn]) for name, values in fields.items() if turn < len(values)]
        for first in range(0, len(wrong), MOST_AT_ONCE):
            yield dict(wrong[first : first + MOST_AT_ONCE])


async def rows_of(db: Database) -> dict[str, int]:
    return {name: count for name, count in (await row_counts(db)).items() if name not in KEPT}


def named(problem: dict[str, Any], pointer: str) -> bool:
    return any(error["pointer"] == pointer or error["pointer"].startswith(pointer + "/") for error in problem["errors"])


def address(operation: Operation) -> str:
    path = operation.path
    for parameter in operation.parameters:
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", ID if "ublic" in parameter["name"] else "1")
    return path


def check(answer: httpx.Response, pointer: str, what: str) -> list[str]:
    if answer.status_code != 422:
        return [f"{what}: {answer.status_code} instead of 422"]
    problem = answer.json()
    if answer.headers["content-type"] != "application/problem+json":
        return [f"{what}: not a problem response"]
    if not named(problem, pointer):
        return [f"{what}: {pointer} is not named, only {[error['pointer'] for error in problem['errors']]}"]
    if not problem["userMessage"] or not problem["traceId"]:
        return [f"{what}: no message or trace id"]
    return []


class TestEveryField:
    @pytest.mark.slow
    async def test_refuses_what_it_must_not_take_and_is_named(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        before = await rows_of(app.state.db)
        wrong: list[str] = []
        asked = 0
        for operation in operations(app.openapi()):
            for body in bodies(operation):
                sent = {name: value for name, (_, value) in body.items()}
                answer = await admin.request(operation.method, address(operation), json=sent)
                for name, (what, _) in body.items():
                    wrong += check(answer, f"/{name}", f"{operation} {name}: {what}")
                    asked += 1

        assert wrong == [], "\n".join(wrong)
        assert asked > 150
        assert await rows_of(app.state.db) == before

    async def test_that_is_required_is_named_when_it_is_missing(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        before = await rows_of(app.state.db)
        wrong: list[str] = []
        for operation in operations(app.openapi()):
            if required := (operation.body or {}).get("required", []):
                answer = await admin.request(operation.method, address(operation), json={})
                for name in required:
                    wrong += check(answer, f"/{name}", f"{operation} without {name}")

        assert wrong == [], "\n".join(wrong)
        assert await rows_of(app.state.db) == before

    async def test_that_nobody_knows_is_named(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        wrong: list[str] = []
        for operation in operations(app.openapi()):
            if operation.body is not None:
                answer = await admin.request(operation.method, address(operation), json={"somethingElse": 1})
                wrong += check(answer, "/somethingElse", f"{operation} with a field too many")

        assert wrong == [], "\n".join(wrong)

    async def test_of_a_body_that_is_no_object_ends_in_a_problem(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        headers = {"Content-Type": "application/json"}
        texts = cycle([b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"a": NaN}'])
        with_body = [operation for operation in operations(app.openapi()) if operation.body is not None]
        for operation in with_body:  # each reads its body as the others do, and meets two of these
            for body in islice(texts, 2):
                answer = await admin.request(operation.method, address(operation), content=body, headers=headers)
                assert answer.status_code == 422, f"{operation}: {answer.status_code}"
                assert answer.json()["errors"], operation


class TestEveryParameter:
    async def test_of_the_query_is_named_when_it_is_wrong(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        wrong: list[str] = []
        for operation in operations(app.openapi()):
            for parameter in operation.parameters:
                if parameter["in"] != "query":
                    continue
                for value in bad_texts(operation, parameter["schema"]):
                    answer = await admin.request(
                        operation.method,
                        address(operation),
                        params={parameter["name"]: value},
                        headers={"Content-Type": operation.content_type},
                    )
                    wrong += check(answer, f"query:{parameter['name']}", f"{operation} ?{parameter['name']}={value!r}")

        assert wrong == [], "\n".join(wrong)

    @pytest.mark.parametrize(("language", "words"), [("th", "ไม่รู้จักพารามิเตอร์นี้"), ("en", "There is no such parameter.")])
    @pytest.mark.sampled("[th")
    async def test_of_the_query_that_nobody_knows_is_named(
        self, app: FastAPI, signed_in: SignIn, language: str, words: str
    ) -> None:
        admin = await signed_in("admin")
        wrong: list[str] = []
        for operation in operations(app.openapi()):
            if operation.path.startswith("/api/v1"):
                answer = await admin.request(
                    operation.method,
                    address(operation),
                    params={"documentType": "XX"},
                    headers={"Accept-Language": language},
                )
                wrong += check(answer, "query:documentType", str(operation))
                if not wrong:
                    assert answer.json()["errors"][0] == {
                        "pointer": "query:documentType",
                        "code": "unknown_field",
                        "detail": "There is no such parameter.",
                        "message": words,
                    }

        assert wrong == [], "\n".join(wrong)

    async def test_of_the_path_is_named_when_it_is_no_public_id(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        wrong: list[str] = []
        for operation in operations(app.openapi()):
            for parameter in operation.parameters:
                if parameter["in"] == "path" and parameter["schema"].get("format") == "uuid":
                    path = operation.path.replace("{" + parameter["name"] + "}", "1").replace("{", "").replace("}", "")
                    headers = {"Content-Type": operation.content_type}
                    answer = await admin.request(operation.method, path, json={}, headers=headers)
                    wrong += check(answer, f"path:{parameter['name']}", f"{operation} with an integer")

        assert wrong == [], "\n".join(wrong)


def bad_texts(operation: Operation, schema: dict[str, Any]) -> list[str]:
    plain = Operation("", "", [], {"properties": {"x": schema}}, definitions=operation.definitions).fields()["x"]
    wrong: list[str] = []
    if plain.get("type") == "integer":
        wrong += ["many", "-1", str(10**9)]
    if plain.get("type") == "boolean" or plain.get("format") in {"uuid", "date", "date-time"} or "enum" in plain:
        wrong.append("nonsense")
    if "maxLength" in plain:
        wrong.append("x" * (plain["maxLength"] + 1))
    return wrong
