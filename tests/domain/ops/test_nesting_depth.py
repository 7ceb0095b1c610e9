"""Which field of a body is too deep, for bodies that no reader follows."""

import json
import time
from typing import Any

import pytest

from saraban.ops.problems import DEEPEST, too_deep

DEEP = DEEPEST + 1
LISTS, OBJECTS = "[" * DEEP, '{"dsl":' * DEEP


class TestTooDeep:
    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            pytest.param('{"dsl":' + LISTS, "/dsl", id="lists"),
            pytest.param('{"payload":' + OBJECTS, "/payload", id="objects, which have members of their own"),
            pytest.param('{"a": "[[[{{{", "b" : ' + LISTS, "/b", id="brackets in a text before it"),
            pytest.param(r'{"a": "\"[\\", "b": ' + LISTS, "/b", id="quotes in a text before it"),
            pytest.param('{"a": [{"x": []}], "b": {}, "c": ' + LISTS, "/c", id="others before it"),
            pytest.param('{"a": "b", "c": ' + LISTS + "]" * DEEP + ', "d": 1}', "/c", id="others after it"),
            pytest.param(LISTS, "", id="no object"),
            pytest.param('{"<b>": ' + LISTS, "", id="a name that is no field's"),
            pytest.param('{"' + "k" * 65 + '": ' + LISTS, "", id="a name without end"),
            pytest.param('{"dsl": [[[', "", id="not too deep"),
            pytest.param("]" * 1_000 + '{"dsl":', "", id="no JSON"),
            pytest.param("", "", id="nothing"),
        ],
    )
    def test_names_the_outermost_member(self, body: str, pointer: str) -> None:
        told = too_deep(body.encode())

        assert (told.pointer, told.code) == (pointer, "too_large")

    @pytest.mark.parametrize(
        "part", ['"', "\\", "[],", '\\"', '{"a":1},'], ids=["quotes", "marks", "lists", "both", "objects"]
    )
    def test_gives_up_before_it_takes_long(self, part: str) -> None:
        body: Any = ('{"dsl": [' + part * (2_000_000 // len(part)) + LISTS).encode()
        began = time.process_time()

        assert too_deep(body).pointer == ""
        assert time.process_time() - began < 2

    def test_is_asked_of_bodies_that_the_reader_gives_up_on(self) -> None:
        body = '{"dsl":' + "[" * 5_000 + "]" * 5_000 + "}"

        with pytest.raises(RecursionError):
            json.loads(body)
        assert too_deep(body.encode()).pointer == "/dsl"
