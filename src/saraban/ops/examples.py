"""
One example for each JSON body that goes in or comes out, put together from the examples that stand at the fields.

A field without an example gets a value of its type. Nothing is known here of any one schema.
"""

from collections.abc import Mapping
from typing import Any, Final

from saraban.kit.json import Json

# A part of the description; FastAPI makes it, and gives it no other type.
OpenApi = dict[str, Any]
_JSON = "application/json"
_OF_TYPE: Final[Mapping[str, Json]] = {"string": "text", "integer": 1, "number": 1.0, "boolean": False, "object": {}}
_OF_FORMAT: Final = {
    "uuid": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10",
    "date": "2026-03-16",
    "date-time": "2026-03-02T03:15:00Z",
}


def add(operation: OpenApi, schemas: OpenApi) -> None:
    """Give the operation's JSON bodies their examples."""
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
