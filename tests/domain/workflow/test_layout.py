"""The picture of a definition: no two boxes lie on each other, every way is there, and large ones are refused."""

import itertools
import json

import pytest

from saraban.workflow.administration.domain.diagram import Box, draw
from saraban.workflow.administration.domain.json_format import WIDTH, written
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.language.definition import Definition
from saraban.workflow.verification import definition_checks

SHIPPED = {raw["workflow"]: raw for raw in shipped()}
PARTY = {"party": ["originator"]}


def states(count: int, *, ways: int = 1, back: bool = False) -> Definition:
    """A row of states, each with actions to the `ways` next ones, and one back to the first."""

    def on(index: int) -> dict[str, object]:
        targets = [f"s{next_}" for next_ in range(index + 1, min(index + 1 + ways, count))]
        targets += ["s0"] if back and index else []
        return {
            f"go-{to}": {"to": to, "label": {"th": f"ไป {to}", "en": f"Go {to}"}, "require": PARTY} for to in targets
        }

    last = {"name": f"s{count - 1}", "label": {"th": "จบ", "en": "End"}, "terminal": True}
    raw = [
        {"name": f"s{index}", "label": {"th": "ก", "en": f"S{index}"}, "initial": index == 0, "on": on(index)}
        for index in range(count - 1)
    ]
    return definition_checks.verify({"workflow": "ROW", "states": [*raw, last]})


def meet(one: Box, other: Box) -> bool:
    return (
        abs(one.x - other.x) < (one.width + other.width) / 2 and abs(one.y - other.y) < (one.height + other.height) / 2
    )


class TestDraw:
    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.parametrize("code", sorted(SHIPPED))
    def test_puts_no_box_on_another_and_none_outside(self, code: str, language: str) -> None:
        drawing = draw(definition_checks.verify(SHIPPED[code]), language=language)

        assert drawing
        assert [pair for pair in itertools.combinations(drawing.boxes, 2) if meet(*pair)] == []
        assert all(box.left >= 0 and box.left + box.width <= drawing.width for box in drawing.boxes)
        assert all(box.top >= 0 and box.top + box.height <= drawing.height for box in drawing.boxes)

    @pytest.mark.parametrize("code", sorted(SHIPPED))
    def test_shows_every_state_and_a_line_for_every_two_that_are_joined(self, code: str) -> None:
        definition = definition_checks.verify(SHIPPED[code])
        joined = {(name, to) for name, state in definition.states.items() for to in state.targets if to != name}

        drawing = draw(definition, language="en")

        assert drawing
        shown = [box.lines[0] for box in drawing.boxes if box.is_state]
        assert sorted(shown) == sorted(state.label.en for state in definition.states.values())
        assert len(drawing.paths) == len(joined)

    def test_keeps_apart_what_leads_back_and_what_leads_on(self) -> None:
        drawing = draw(states(6, ways=3, back=True), language="th")

        assert drawing
        assert [pair for pair in itertools.combinations(drawing.boxes, 2) if meet(*pair)] == []
        assert len(drawing.paths) == 12 + 4

    def test_gives_up_where_nobody_could_read_it(self) -> None:
        assert draw(states(60, ways=40), language="en") is None


class TestWritten:
    @pytest.mark.parametrize("code", sorted(SHIPPED))
    def test_says_the_same_in_lines_that_can_be_read(self, code: str) -> None:
        text = written(SHIPPED[code])

        assert json.loads(text) == SHIPPED[code]
        steps = written({key: part for key, part in SHIPPED[code].items() if key != "description"})
        assert [line for line in steps.splitlines() if len(line) > WIDTH + 2] == []
