"""Every answer about something that a workflow moves has the same shape, in the description as in what is sent."""

from typing import Any

from fastapi import FastAPI

from tests.features.documents.conftest import Desk, desk

__all__ = ["desk"]

WHERE = "#/components/schemas/WorkflowOut"
# Besides documents and sheets: what is asked of an instance, and the inbox.
INSTANCES = {"transitions", "force", "terminate", "reassign", "answers"}
# They say too what the request did, which a repetition says again.
TRANSITIONS = INSTANCES - {"answers"}


def schema_of(document: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (
        document["components"]["schemas"][told["$ref"].rpartition("/")[2]] if "$ref" in told else told
    )
    return found


def answers(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the schema of each operation that answers about a document, a sheet, an instance or the inbox."""
    found = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation.get("responses", {}).items():
                body = answer.get("content", {}).get("application/json", {}).get("schema")
                if status.startswith("2") and body:
                    found[f"{method} {path}"] = schema_of(document, body)
    return found


def mentions(document: dict[str, Any], schema: Any, seen: frozenset[str] = frozenset()) -> bool:
    if isinstance(schema, list):
        return any(mentions(document, one, seen) for one in schema)
    if not isinstance(schema, dict):
        return False
    name = schema.get("$ref")
    if name == WHERE:
        return True
    if name is not None and name not in seen:
        return mentions(document, schema_of(document, schema), seen | {name})
    return any(mentions(document, one, seen) for one in schema.values())


def test_of_everything_that_a_workflow_moves_is_described(app: FastAPI) -> None:
    document = app.openapi()
    aware = {name: schema for name, schema in answers(document).items() if mentions(document, schema)}

    for name, schema in aware.items():
        fields = schema["properties"]
        if "items" in fields:
            item = schema_of(document, fields["items"]["items"])["properties"]
            assert set(item) == {"data", "workflow"}, name
        else:
            done = {"transition"} if name.rpartition("/")[2] in TRANSITIONS else set()
            assert set(fields) == {"data", "workflow", "stepAttachments", "warnings"} | done, name
            assert set(schema["required"]) == set(fields), name
    registers = [name for name in aware if name.startswith(("get /api/v1/rfas", "get /api/v1/circulations"))]
    assert {name.rpartition("/")[2] for name in aware} >= INSTANCES | {
        "inbox",
        "cancel",
        "renumber",
        "withdraw-revision",
    }
    assert len(registers) == 5  # lists, single ones, and the revisions of an RFA
    assert len([name for name in aware if "/drawings/" in name]) == 10


async def test_of_a_step_says_what_was_moved(desk: Desk) -> None:
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa())

    moved = await desk.act("dc.contractor", rfa, "submit")

    instance = rfa["workflow"]["instancePublicId"]
    read = (await (await desk.as_("dc.contractor")).get(f"/api/v1/workflow/instances/{instance}")).json()
    assert moved["data"]["subject"]["number"] == rfa["documentNumber"]
    assert (moved["data"], moved["workflow"]["currentState"]) == (read["data"], read["workflow"]["currentState"])
