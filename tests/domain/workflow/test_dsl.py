"""Reading definitions: what is refused, where, and in which words."""

import copy
import time
from typing import Any
from uuid import UUID

import pytest

from saraban.workflow.language import dsl
from saraban.workflow.verification import definition_checks
from tests.letterbox_definition import WORDS, letterbox

STRANGER = "01890a5d-ac96-774b-bcce-b302099a8057"
KNOWN = dsl.Known(roles={"Editor"}, permissions={"workflow.action_review"}, users=frozenset())


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the letterbox with the value at a pointer replaced, or removed when it is `...`."""
    raw: Any = copy.deepcopy(letterbox())
    place = raw
    *way, last = path.strip("/").split("/")
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place[part]
    key: Any = int(last) if isinstance(place, list) else last
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return raw


def faults(raw: Any) -> list[tuple[str, str]]:
    return [(fault.pointer, fault.code) for fault in definition_checks.problems(raw, known=KNOWN)]


CLOSE = "/states/0/on/close"
EVENT_KEY = f"/dsl{CLOSE}/events/0/template"


@pytest.mark.parametrize(
    ("path", "value", "pointer", "code"),
    [
        ("/workflow", "lower", "/dsl/workflow", "name"),
        ("/workflow", ..., "/dsl/workflow", "required"),
        ("/states", [], "/dsl/states", "length"),
        ("/states", "x", "/dsl/states", "type"),
        ("/colour", "red", "/dsl/colour", "unknown_key"),
        ("/version", "1", "/dsl/version", "type"),
        ("/description", 7, "/dsl/description", "text"),
        ("/description", "x" * 2001, "/dsl/description", "text"),
        ("/description", {"th": "คำ"}, "/dsl/description/en", "required"),
        ("/description", {"th": "คำ", "en": " "}, "/dsl/description/en", "text"),
        ("/states/0/name", "Pending", "/dsl/states/0/name", "name"),
        ("/states/0/name", "closed", "/dsl/states/1/name", "duplicate"),
        ("/states/0/initial", False, "/dsl/states", "no_initial_state"),
        ("/states/1/initial", True, "/dsl/states/1/initial", "multiple_initial_states"),
        ("/states/0/initial", 1, "/dsl/states/0/initial", "type"),
        ("/states/1/terminal", False, "/dsl/states", "no_terminal_state"),
        ("/states/1/on", {"again": {"to": "open", "label": WORDS}}, "/dsl/states/1/on", "exit_from_terminal"),
        ("/states/0/label", "Open", "/dsl/states/0/label", "type"),
        ("/states/0/label/th", "", "/dsl/states/0/label/th", "label"),
        ("/states/0/label/en", "a\ue000b", "/dsl/states/0/label/en", "label"),
        (f"{CLOSE}/to", "gone", f"/dsl{CLOSE}/to", "unknown_state"),
        (f"{CLOSE}/to", 5, f"/dsl{CLOSE}/to", "name"),
        (f"{CLOSE}/comment", [], f"/dsl{CLOSE}/comment", "choice"),
        (f"{CLOSE}/optional", "yes", f"/dsl{CLOSE}/optional", "type"),
        (f"{CLOSE}/require", {"role": "Editor"}, f"/dsl{CLOSE}/require/role", "unknown_key"),
        (f"{CLOSE}/require", {"roles": ["Emperor"]}, f"/dsl{CLOSE}/require/roles/0", "unknown"),
        (f"{CLOSE}/require", {"roles": []}, f"/dsl{CLOSE}/require/roles", "length"),
        (f"{CLOSE}/require", {"permissions": ["fly"]}, f"/dsl{CLOSE}/require/permissions/0", "unknown"),
        (f"{CLOSE}/require", {"party": ["everybody"]}, f"/dsl{CLOSE}/require/party/0", "unknown"),
        (f"{CLOSE}/require", {"organizationRoles": ["owner"]}, f"/dsl{CLOSE}/require/organizationRoles/0", "unknown"),
        (f"{CLOSE}/require", {"user": 7}, f"/dsl{CLOSE}/require/user", "uuid"),
        (f"{CLOSE}/condition", "context.x", f"/dsl{CLOSE}/condition", "type"),
        (f"{CLOSE}/condition", {"type": "js", "rule": True}, f"/dsl{CLOSE}/condition/type", "choice"),
        (
            f"{CLOSE}/condition",
            {"type": "json-logic", "rule": True, "message": {"th": "คำ"}},
            f"/dsl{CLOSE}/condition/message/en",
            "required",
        ),
        (
            f"{CLOSE}/condition",
            {"type": "json-logic", "rule": {"and": [{"eval": 1}]}},
            f"/dsl{CLOSE}/condition/rule/and/0/eval",
            "unknown_operator",
        ),
        (
            f"{CLOSE}/condition",
            {"type": "json-logic", "rule": {"==": [1]}},
            f"/dsl{CLOSE}/condition/rule/==",
            "arguments",
        ),
        (
            f"{CLOSE}/condition",
            {"type": "json-logic", "rule": {"var": "docment.priority"}},
            f"/dsl{CLOSE}/condition/rule",
            "unknown_name",
        ),
        ("/context_schema", True, "/dsl/context_schema", "type"),
        ("/context_schema", {"requierd": []}, "/dsl/context_schema/requierd", "unknown_keyword"),
        (
            "/context_schema",
            {"properties": {"a": {"pattern": "(?=a)"}}},
            "/dsl/context_schema/properties/a/pattern",
            "pattern",
        ),
        (f"{CLOSE}/events", [{"type": "fax", "target": "originator"}], f"/dsl{CLOSE}/events/0/type", "choice"),
        (f"{CLOSE}/events", [{"type": ["notify"], "target": "x"}], f"/dsl{CLOSE}/events/0/type", "choice"),
        (f"{CLOSE}/events", [{"type": "webhook", "target": "Not A Topic"}], f"/dsl{CLOSE}/events/0/target", "name"),
        (f"{CLOSE}/events", [{"type": "assign", "target": "originator"}], f"/dsl{CLOSE}/events/0/target", "choice"),
        (f"{CLOSE}/events", [{"type": "assign", "target": STRANGER}], f"/dsl{CLOSE}/events/0/target", "unknown"),
        (f"{CLOSE}/events", [{"type": "assign", "target": "submitter"}] * 2, f"/dsl{CLOSE}/events/1", "duplicate"),
        (f"{CLOSE}/events", [{"type": "auto_action", "target": "x"}], f"/dsl{CLOSE}/events/0/action", "required"),
        (
            f"{CLOSE}/events",
            [{"type": "auto_action", "action": "go"}],
            f"/dsl{CLOSE}/events/0/action",
            "unknown_action",
        ),
        (f"{CLOSE}/events", [{"type": "notify", "target": "submitter", "template": "x"}], EVENT_KEY, "unknown_key"),
        (f"{CLOSE}/help", {"th": "คำ", "en": "x" * 501}, f"/dsl{CLOSE}/help/en", "help"),
        ("/states/0/help", {"th": "คำ"}, "/dsl/states/0/help/en", "required"),
        ("/states/0/due", {"workingDays": 0}, "/dsl/states/0/due/workingDays", "range"),
        ("/states/0/due", {"workingDays": 366}, "/dsl/states/0/due/workingDays", "range"),
        ("/states/0/due", {"workingDays": True}, "/dsl/states/0/due/workingDays", "range"),
        ("/states/0/due", {"days": 3}, "/dsl/states/0/due/workingDays", "required"),
        ("/states/1/due", {"workingDays": 3}, "/dsl/states/1/due", "due_in_terminal"),
        (f"{CLOSE}/attachments", "optional", f"/dsl{CLOSE}/attachments", "type"),
        (f"{CLOSE}/to", ..., f"/dsl{CLOSE}/to", "required"),
        (f"{CLOSE}/responses", {"1A": {"to": "closed"}}, f"/dsl{CLOSE}/responses", "one_of"),
        (CLOSE, {"label": WORDS, "responses": {}}, f"/dsl{CLOSE}/responses", "length"),
        (CLOSE, {"label": WORDS, "responses": []}, f"/dsl{CLOSE}/responses", "type"),
        (CLOSE, {"label": WORDS, "responses": {"a b": {"to": "closed"}}}, f"/dsl{CLOSE}/responses/a b", "name"),
        (CLOSE, {"label": WORDS, "responses": {"1A": {}}}, f"/dsl{CLOSE}/responses/1A/to", "required"),
        (CLOSE, {"label": WORDS, "responses": {"1A": {"to": "gone"}}}, f"/dsl{CLOSE}/responses/1A/to", "unknown_state"),
        (
            CLOSE,
            {"label": WORDS, "responses": {"1A": {"to": "closed", "comment": True}}},
            f"/dsl{CLOSE}/responses/1A/comment",
            "choice",
        ),
        (f"{CLOSE}/events", [{"type": "notify", "target": {}}], f"/dsl{CLOSE}/events/0/target", "choice"),
    ],
)
def test_names_the_place_of_a_fault(path: str, value: Any, pointer: str, code: str) -> None:
    assert (pointer, code) in faults(changed(path, value))


def test_accepts_what_is_sound() -> None:
    definition = definition_checks.verify(letterbox(), known=KNOWN)

    assert (definition.code, definition.initial, list(definition.states)) == ("LETTERBOX", "open", ["open", "closed"])
    assert faults(letterbox()) == []


@pytest.mark.parametrize("raw", [None, 5, "text", [], {}])
def test_refuses_what_is_no_definition(raw: Any) -> None:
    assert faults(raw) != []


def test_finds_states_without_a_way_in_or_out() -> None:
    raw = letterbox()
    loop = {"to": "stuck", "label": WORDS}
    raw["states"].append({"name": "stuck", "label": WORDS, "on": {"again": loop}})
    raw["states"][0]["on"]["stick"] = loop
    raw["states"].append({"name": "island", "label": WORDS, "terminal": True})

    assert set(faults(raw)) == {("/dsl/states/2", "dead_end"), ("/dsl/states/3", "unreachable")}


@pytest.mark.parametrize(
    "rule",
    [
        False,
        0,
        "",
        {"==": [1, 2]},
        {"and": [True, {"!": [True]}]},
        {"if": [False, True]},
        {"substr": ["x", 1]},
        {"missing": []},
    ],
    ids=str,
)
def test_counts_an_exit_that_never_opens_as_none(rule: Any) -> None:
    found = faults(changed(f"{CLOSE}/condition", {"type": "json-logic", "rule": rule}))

    assert set(found) == {
        ("/dsl/states/0/on/close/condition/rule", "never_holds"),
        ("/dsl/states/0", "dead_end"),
        ("/dsl/states/1", "unreachable"),
    }


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        (True, None),
        ({"==": [1, 1]}, None),
        ({"==": [{"var": "document.revision"}, "B"]}, {"document": {"revision": "B"}}),
        ({"missing": ["comment"]}, {}),
    ],
    ids=str,
)
def test_accepts_conditions_that_hold_or_that_an_example_opens(rule: Any, facts: Any) -> None:
    raw = changed(f"{CLOSE}/condition", {"type": "json-logic", "rule": rule})
    examples = [] if facts is None else [{"state": "open", "action": "close", "facts": facts}]

    assert faults(raw | {"examples": examples}) == []


CLOSED = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "tags": {"type": "array"},
        "site": {"type": "object", "properties": {"zone": True, "plot": False}, "additionalProperties": False},
        "any": {"$ref": "#/$defs/any"},
    },
    "additionalProperties": False,
    "$defs": {"any": {"type": "object"}},
}


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("context", True),
        ("context.payload", True),
        ("context.payload.amount", True),
        ("context.payload.tags.0.x", True),
        ("context.payload.site.zone.x", True),
        ("context.payload.any.thing", True),
        ("context.payload.ammount", False),
        ("context.payload.site.nowhere", False),
        ("context.payload.site.plot", False),
        ("payload.amount", True),
        ("payload.ammount", False),
        ("payload.site.plot", False),
    ],
)
def test_compares_what_conditions_read_with_the_schema_of_the_context(path: str, known: bool) -> None:
    raw = changed(f"{CLOSE}/condition", {"type": "json-logic", "rule": {"or": [{"!": {"var": path}}, True]}})

    assert faults(raw) == []
    payload = {"properties": {"payload": {name: part for name, part in CLOSED.items() if name != "$defs"}}}
    found = faults(raw | {"context_schema": {**payload, "$defs": CLOSED["$defs"]}})
    assert found == ([] if known else [("/dsl/states/0/on/close/condition/rule", "unknown_name")])


@pytest.mark.parametrize("schema", [None, {"properties": {"round": {"type": "integer"}}}])
def test_refuses_conditions_on_what_no_document_remembers(schema: Any) -> None:
    rule = {"or": [{"!": {"var": "context.round"}}, {"==": [{"var": "context.payload.round"}, 2]}]}
    raw = changed(f"{CLOSE}/condition", {"type": "json-logic", "rule": rule})
    raw |= {"context_schema": schema} if schema else {}

    assert faults(raw) == [("/dsl/states/0/on/close/condition/rule", "unknown_name")]


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"required": ["payload"]}, ["no_start"]),
        ({"minProperties": 1}, ["no_start"]),
        ({"properties": {"payload": {"type": "object", "required": ["amount"]}}}, []),
    ],
    ids=str,
)
def test_refuses_a_schema_under_which_no_document_could_start(schema: Any, found: list[str]) -> None:
    faulty = faults(letterbox() | {"context_schema": schema})

    assert faulty == [("/dsl/context_schema", code) for code in found]


@pytest.mark.parametrize("name", ["cancelled", "terminated"])
def test_keeps_the_names_of_the_ends_of_every_workflow_for_ends(name: str) -> None:
    raw = letterbox()
    on = {"open": {"to": raw["states"][0]["name"], "label": WORDS}}
    step = {"to": name, "label": WORDS}
    raw["states"][0]["on"]["halt"] = step
    state = {"name": name, "label": WORDS}

    assert faults(raw | {"states": [*raw["states"], {**state, "terminal": True}]}) == []
    at = len(raw["states"])
    assert faults(raw | {"states": [*raw["states"], {**state, "on": on}]}) == [
        (f"/dsl/states/{at}/name", "reserved_name")
    ]


def test_refuses_to_give_a_state_in_which_there_is_nothing_to_do() -> None:
    raw = changed(f"{CLOSE}/events", [{"type": "assign", "target": "submitter"}])

    assert faults(raw) == [(f"/dsl{CLOSE}/events/0", "idle_assign")]


def test_asks_for_the_people_whom_an_action_requires_and_refuses_those_who_cannot_work() -> None:
    somebody = "0199a2b4-0000-7000-8000-000000000001"
    raw = changed(f"{CLOSE}/require", {"user": somebody})

    assert dsl.assigned(raw) == {UUID(somebody)}
    assert definition_checks.problems(raw, known=dsl.Known(users={UUID(somebody)})) == ()
    assert faults(raw) == [(f"/dsl{CLOSE}/require/user", "unknown")]


def test_escapes_a_key_in_the_pointer() -> None:
    raw = changed("/states/0/on", {"a/b~c": {"to": "closed", "label": WORDS}})

    assert ("/dsl/states/0/on/a~1b~0c", "name") in faults(raw)


def test_says_everything_in_both_languages() -> None:
    found = definition_checks.problems(changed("/states/0/name", "closed"), known=KNOWN)

    assert all(fault.text.th != fault.text.en for fault in found)
    assert any("closed" in fault.text.say("th", fault.values) for fault in found)


class TestSize:
    def test_refuses_a_definition_of_a_megabyte(self) -> None:
        raw = letterbox() | {"description": "x" * 1_000_001}
        began = time.process_time()

        assert faults(raw) == [("/dsl", "too_large")]
        assert time.process_time() - began < 0.5

    def test_refuses_too_many_states(self) -> None:
        raw = letterbox()
        raw["states"] += [{"name": f"s{n}", "label": WORDS, "terminal": True} for n in range(200)]

        assert ("/dsl/states", "length") in faults(raw)

    def test_refuses_endless_nesting(self) -> None:
        deep: Any = True
        for _ in range(5_000):
            deep = [deep]

        assert faults(changed(f"{CLOSE}/condition", deep)) == [("/dsl", "too_large")]
