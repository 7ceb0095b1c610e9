"""
Definitions written to do harm, at the doors: each is refused, or does no harm, before long.

`/validate` and publishing say the same; what is wrong is named by its place, in Thai and in English.
"""

import json
import time
from collections.abc import Iterator, Mapping
from itertools import cycle, product
from typing import Any, NamedTuple

import httpx
import pytest

from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.language import dsl
from saraban.workflow.verification import definition_checks
from tests.conftest import SignIn
from tests.factories.letterbox import Office

URL = "/api/v1/workflow/definitions"
JSON = {"Content-Type": "application/json"}
# Seconds of this process's own work. Each takes less than one; what grows without bound takes minutes, on any machine.
QUICK = 15.0
WORDS = {"th": "คำ", "en": "Word"}
RULE = "/dsl/states/0/on/go/condition/rule"


def workflow(*, condition: Any = None, context_schema: Any = None, **more: Any) -> dict[str, Any]:
    step: dict[str, Any] = {"to": "done", "label": WORDS}
    if condition is not None:
        step["condition"] = {"type": "json-logic", "rule": condition}
    raw: dict[str, Any] = {
        "workflow": "HOSTILE",
        "states": [
            {
                "name": "open",
                "label": WORDS,
                "initial": True,
                "on": {"go": step, "out": {"to": "done", "label": WORDS}},
            },
            {"name": "done", "label": WORDS, "terminal": True},
        ],
    }
    return raw | ({} if context_schema is None else {"context_schema": context_schema}) | more


def nested(depth: int) -> str:
    """The text of a condition so deep that no reader may follow it with recursion."""
    rule = '{"!":' * depth + "true" + "}" * depth
    return json.dumps(workflow(condition="HERE")).replace('"HERE"', rule)


def doubling(steps: int) -> dict[str, Any]:
    """A schema in which each definition names the next one twice: a million schemas after twenty."""
    names = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(steps)}
    return {"type": "object", "$ref": "#/$defs/d0", "$defs": names | {f"d{steps}": {"type": "object"}}}


def crowded(states: int, actions: int) -> dict[str, Any]:
    """Every state leads to many others."""
    listed = [
        {
            "name": f"s{n}",
            "label": WORDS,
            "initial": n == 0,
            "on": {f"a{m}": {"to": f"s{min(n + m + 1, states)}", "label": WORDS} for m in range(actions)},
        }
        for n in range(states)
    ]
    return {"workflow": "HOSTILE", "states": [*listed, {"name": f"s{states}", "label": WORDS, "terminal": True}]}


def chain(paths: int, name: str) -> dict[str, Any]:
    """A condition that never holds, over so many facts that hang together that not all their values can be tried."""
    links = [
        {"==": [{"var": f"payload.{name}{n}"}, {"+": [{"var": f"payload.{name}{n + 1}"}, 0.5]}]} for n in range(paths)
    ]
    return {"and": [*links, {"!=": [{"var": f"payload.{name}0"}, {"var": f"payload.{name}0"}]}]}


def loops(name: str) -> dict[str, Any]:
    """A condition of which every try is as long as it may be."""
    many = [1] * 90
    other = {"!==": [{"var": f"payload.{name}"}, {"var": ""}]}
    sum_of = {"+": [{"var": f"payload.{name}{n}"} for n in range(3)]}
    return {
        "and": [
            {"all": [many, {"all": [many, other]}]},
            {"==": [{"var": f"payload.{name}"}, sum_of]},
            {"var": f"payload.{name}"},
        ]
    }


def with_conditions(*rules: Any) -> dict[str, Any]:
    raw = crowded(len(rules), 2)
    for state, rule in zip(raw["states"], rules, strict=False):
        state["on"]["a0"]["condition"] = {"type": "json-logic", "rule": rule}
    return raw


class Hostile(NamedTuple):
    """:param fault: where and what is refused; None for what is taken, and harmless"""

    name: str
    dsl: str
    fault: tuple[str, str] | None


def cases() -> Iterator[Hostile]:
    def case(name: str, raw: Mapping[str, Any], *fault: str) -> Hostile:
        return Hostile(name, json.dumps(raw), (fault[0], fault[1]) if fault else None)

    yield case("a megabyte of text", workflow(description="ก" * 340_000), "/dsl", "too_large")
    yield case("a hundred thousand parts", crowded(200, 50), "/dsl", "too_large")
    yield case("as many states and actions as go in", crowded(150, 20))
    yield case("too many states", crowded(201, 1), "/dsl/states", "length")
    yield case("too many actions", crowded(60, 51), "/dsl/states/0/on", "length")
    yield Hostile("a condition of depth 100", nested(100), ("/dsl", "too_large"))
    yield case("a condition over its own depth", workflow(condition=json.loads('{"!":' * 50 + "1" + "}" * 50)))
    yield case("states in a circle", _circle(), "/dsl/states/0", "dead_end")
    yield case("a schema in a circle", workflow(context_schema=_ring()), "/dsl/context_schema/$defs/a", "recursive")
    yield case("doubling references", workflow(context_schema=doubling(30)), "/dsl/context_schema", "too_large")
    yield case(
        "a huge choice",
        workflow(context_schema={"properties": {"a": {"enum": list(range(30_000))}}}),
        "/dsl/context_schema",
        "too_large",
    )
    yield case(
        "a pattern that needs a gigabyte",
        workflow(context_schema={"properties": {"a": {"pattern": "((a{1,100}){1,100}){1,100}"}}}),
        "/dsl/context_schema/properties/a/pattern",
        "pattern",
    )
    yield case(
        "a pattern that looks back",
        workflow(context_schema={"properties": {"a": {"pattern": r"^(a+)+\1$"}}}),
        "/dsl/context_schema/properties/a/pattern",
        "pattern",
    )
    yield case(
        "too many patterns",
        workflow(context_schema={"properties": {f"p{n}": {"pattern": f"^[ก-๙]{{1,900}}{n}$"} for n in range(400)}}),
        "/dsl/context_schema",
        "too_many_patterns",
    )
    yield case("conditions over very many facts", with_conditions(*(chain(38, f"v{n}x") for n in range(25))))
    yield case("conditions whose every try is long", with_conditions(*(loops(f"z{n}") for n in range(60))))


def _circle() -> dict[str, Any]:
    raw = crowded(2, 1)
    raw["states"][1]["on"]["a0"]["to"] = "s0"
    raw["states"][0]["on"]["a0"]["to"] = "s1"
    return raw


def _ring() -> dict[str, Any]:
    return {"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}}


CASES = list(cases())


@pytest.fixture
async def admin(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("admin")


class TestHostileDefinitions:
    """One application for all of them: starting it takes longer than they do."""

    async def test_are_judged_quickly_before_they_are_published(self, admin: httpx.AsyncClient) -> None:
        for case in CASES:
            answer, took = await posted(admin, f"{URL}/validate", f'{{"dsl":{case.dsl}}}')

            assert took < QUICK, case.name
            if case.fault is None:
                assert answer.json() == {"valid": True, "errors": []}, case.name
                continue
            told = {(each["pointer"], each["code"]): each["message"] for each in answer.json()["errors"]}
            assert case.fault in told, case.name
            if answer.status_code == 422:  # more or deeper values than any body may have: refused before it is judged
                continue
            assert all(told[case.fault][language] for language in ("th", "en"))

    async def test_are_judged_quickly_when_they_are_published(self, admin: httpx.AsyncClient) -> None:
        for case, language in zip(CASES, cycle(("th", "en")), strict=False):
            answer, took = await posted(admin, URL, f'{{"dsl":{case.dsl}}}', language=language)

            assert took < QUICK, case.name
            if case.fault is None:
                assert answer.status_code == 201, case.name
                continue
            assert answer.status_code == 422, case.name
            assert answer.json()["code"] in {"INVALID_WORKFLOW_DSL", "VALIDATION_ERROR"}, case.name
            (told,) = [each for each in answer.json()["errors"] if (each["pointer"], each["code"]) == case.fault]
            assert any("\u0e00" <= letter <= "\u0e7f" for letter in told["message"]) is (language == "th")
            assert not any("\u0e00" <= letter <= "\u0e7f" for letter in told["detail"])

    async def test_that_are_too_deep_to_be_read_are_named(self, admin: httpx.AsyncClient) -> None:
        for url, depth in product((URL, f"{URL}/validate"), (400, 800, 1_000, 10_000)):
            answer, took = await posted(admin, url, f'{{"dsl":{nested(depth)}}}')

            assert took < QUICK
            assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [("/dsl", "too_large")]


class TestText:
    async def test_that_is_very_deep_is_judged_quickly(self, admin: httpx.AsyncClient) -> None:
        answer, took = await posted(admin, f"{URL}/validate", json.dumps({"text": nested(10_000)}))

        assert took < QUICK
        assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [("/text", "too_large")]

    async def test_of_which_every_place_has_a_long_name_costs_no_more(self, admin: httpx.AsyncClient) -> None:
        # Twenty times deeper than a definition may be, and a hundred thousand parts down there.
        text = f'{{"{"k" * 60}":' * 900 + "[" + "1," * 150_000 + "1]" + "}" * 900

        answer, took = await posted(admin, f"{URL}/validate", json.dumps({"text": text}))

        assert took < QUICK
        assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [("/text", "too_large")]

    async def test_that_is_too_long_is_refused_by_its_field(self, admin: httpx.AsyncClient) -> None:
        answer, took = await posted(admin, f"{URL}/validate", json.dumps({"text": "x" * 600_000}))

        assert took < QUICK
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/text")

    async def test_that_no_server_should_read_is_refused_before_it_is_read(self, admin: httpx.AsyncClient) -> None:
        answer, took = await posted(admin, URL, '{"dsl":{"description":"' + "x" * 3_000_000 + '"}}')

        assert took < QUICK
        assert (answer.status_code, answer.json()["code"]) == (413, "REQUEST_TOO_LARGE")


class TestPattern:
    async def test_that_would_take_a_backtracking_engine_for_ever_takes_no_time(self, office: Office) -> None:
        schema = {"properties": {"payload": {"properties": {"name": {"pattern": "^(a+)+$"}}}}}
        await office.define(workflow(context_schema=schema))
        instance = (await office.start(office.letter(), code="HOSTILE")).instance_public_id
        began = time.process_time()

        with pytest.raises(Exception, match="payload") as refused:
            await office.act(instance, "go", by="dc.contractor", payload={"name": "a" * 5_000 + "!"})

        assert time.process_time() - began < QUICK
        assert [(each.pointer, each.code) for each in refused.value.fields] == [("/payload/name", "pattern")]


class TestCycle:
    def test_of_a_condition_that_holds_itself_is_refused(self) -> None:
        """JSON cannot say it; whoever calls from inside can."""
        rule: dict[str, Any] = {}
        rule["!"] = [rule]
        began = time.process_time()

        faults = definition_checks.problems(workflow(condition=rule), known=dsl.Known())

        assert [(fault.pointer, fault.code) for fault in faults] == [("/dsl", "too_large")]
        assert time.process_time() - began < QUICK


def test_what_ships_is_judged_in_no_time() -> None:
    began = time.process_time()
    for raw in shipped():
        assert definition_checks.problems(raw, known=dsl.Known()) == ()
    assert time.process_time() - began < QUICK


async def posted(
    client: httpx.AsyncClient, url: str, body: str, *, language: str = "th"
) -> tuple[httpx.Response, float]:
    """Return the answer and the seconds of work that it took."""
    content = body.encode()
    began = time.process_time()
    answer = await client.post(url, content=content, headers=JSON | {"Accept-Language": language})
    return answer, time.process_time() - began
