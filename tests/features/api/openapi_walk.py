"""Walks the OpenAPI document: every operation, its parameters, and the fields of its body."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Operation:
    """One method of one path, with its JSON body resolved."""

    method: str
    path: str
    parameters: list[dict[str, Any]]
    body: dict[str, Any] | None = None
    content_type: str = "application/json"
    definitions: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    def fields(self) -> dict[str, dict[str, Any]]:
        """Return each field of the body, nullable unions reduced to what they allow besides null."""
        if self.body is None:
            return {}
        return {name: self._plain(schema) for name, schema in self.body.get("properties", {}).items()}

    def _plain(self, schema: dict[str, Any]) -> dict[str, Any]:
        schema = self.resolve(schema)
        options = [one for one in schema.get("anyOf", []) if one.get("type") != ["null"]]
        plain = self.resolve(options[0]) if options else schema
        if not isinstance(plain.get("type"), list):
            return plain
        types = [one for one in plain["type"] if one != "null"]
        if len(types) != 1:  # each of several is taken, or nothing but null
            return {}
        enum = {"enum": [one for one in plain["enum"] if one is not None]} if "enum" in plain else {}
        return plain | {"type": types[0]} | enum

    def resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.definitions[schema["$ref"].rpartition("/")[2]]
        return schema


def operations(document: dict[str, Any]) -> Iterator[Operation]:
    definitions = document.get("components", {}).get("schemas", {})
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method not in methods:
                continue
            described = methods[method]
            content = described.get("requestBody", {}).get("content", {})
            body = content.get("application/json", {}).get("schema")
            parameters, content_type = described.get("parameters", []), next(iter(content), "application/json")
            operation = Operation(method, path, parameters, definitions=definitions)
            yield replace(operation, body=operation.resolve(body) if body else None, content_type=content_type)
