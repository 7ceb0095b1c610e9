"""
The diagram of a definition as boxes and lines on a plane, ready to be drawn: states from top to bottom, actions between them.

Layered after Sugiyama: what leads back is turned round, every state gets a level, lines that pass levels get a place in each,
and the places are put near what they are joined to. An action has a box of its own, so that no two labels meet.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from saraban.workflow.language.definition import Definition, Transition
from saraban.workflow.language.review import FELL, LABELS

MOST_PLACES = 1500
_LONGEST = 30
_LETTER, _LINE = 7.4, 22
_STATE_HEIGHT, _GAP, _BETWEEN, _EDGE = 42, 26, 26, 10
_ASIDE = 18


@dataclass(frozen=True, slots=True)
class Box:
    """A state, or the actions that lead from one to another; `x` and `y` are its middle."""

    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float
    is_state: bool
    initial: bool = False
    terminal: bool = False

    @property
    def left(self) -> float:
        return round(self.x - self.width / 2, 1)

    @property
    def top(self) -> float:
        return round(self.y - self.height / 2, 1)

    def line_at(self, index: int) -> float:
        """Return the height on which a line of text stands."""
        return round(self.y + (index - (len(self.lines) - 1) / 2) * _LINE + 5, 1)


@dataclass(frozen=True, slots=True)
class Drawing:
    """`paths` are lines as SVG writes them; each ends in an arrow."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    paths: tuple[str, ...]


@dataclass(slots=True)
class _Place:
    """Something that has room on a level: a state, a label, or a line that passes by."""

    level: int
    lines: tuple[str, ...] = ()
    state: str | None = None
    width: float = 8
    height: float = 0
    x: float = 0
    y: float = 0
    order: float = 0
    joined: "list[_Place]" = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Line:
    """From one state to another through labels and empty places, from top to bottom; `back`: read upwards."""

    places: "list[_Place]"
    back: bool


def draw(definition: Definition, *, language: str) -> Drawing | None:
    """
    Lay a definition out.

    :param language: `th` or `en`
    :returns: None for one that has too much in it to be read as a picture
    """
    labels = _labels(definition, language)
    back = _back(definition)
    levels = _levels(definition, back)
    if sum(abs(levels[to] - levels[start]) * 2 for start, to in labels if start != to) > MOST_PLACES:
        return None
    states = {
        name: _place(2 * levels[name], (_short(state.label.say(language)), *labels.get((name, name), ())), name)
        for name, state in definition.states.items()
    }
    lines = [_line(states, *pair, labels[pair], back=pair in back) for pair in labels if pair[0] != pair[1]]
    layers = _layers(states, lines)
    _order(layers)
    _spread(layers)
    return _drawn(definition, layers, lines)


def _labels(definition: Definition, language: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """What stands on the line from one state to another."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, state in definition.states.items():
        for step in state.on.values():
            for target in step.targets:
                sign = "↻ " if name == target else ""
                found.setdefault((name, target), []).append(sign + _action(step, target, language))
        for way, target in state.review.then.items() if state.review else ():
            sign = "↻ " if name == target else ""
            found.setdefault((name, target), []).append(sign + _short(LABELS[FELL[way]].say(language)))
    return {pair: tuple(lines) for pair, lines in found.items()}


def _action(step: Transition, target: str, language: str) -> str:
    """The label with the response codes that lead to the target, and marks for what must be met."""
    codes = ", ".join(code for code, to in step.outcomes if code is not None and to == target)
    needs = step.comment_required or any(one.comment_required for one in step.responses.values() if one.to == target)
    marks = "".join(mark for mark, holds in (("?", step.condition is not None), ("*", needs)) if holds)
    return " ".join(filter(None, (_short(step.label.say(language)), _short(codes), marks)))


def _short(text: str) -> str:
    return text if _letters(text) <= _LONGEST else _cut(text, _LONGEST - 1) + "…"


def _letters(text: str) -> int:
    """Vowels and tone marks above and below take no room of their own."""
    return sum(unicodedata.category(letter) != "Mn" for letter in text)


def _cut(text: str, most: int) -> str:
    seen = 0
    for index, letter in enumerate(text):
        seen += unicodedata.category(letter) != "Mn"
        if seen > most:
            return text[:index]
    return text


def _back(definition: Definition) -> set[tuple[str, str]]:
    """The pairs that lead back to a state on the way to them."""
    found: set[tuple[str, str]] = set()
    done: set[str] = set()
    for start in (definition.initial, *definition.states):
        way: dict[str, Iterator[str]] = {}
        if start not in done:
            way[start] = iter(definition.states[start].targets)
        while way:
            here = next(reversed(way))
            target = next(way[here], None)
            if target is None:
                done.add(here)
                way.pop(here)
            elif target in way:
                found.add((here, target))
            elif target not in done:
                way[target] = iter(definition.states[target].targets)
    return found


def _levels(definition: Definition, back: set[tuple[str, str]]) -> dict[str, int]:
    """The longest way to each state."""
    levels = dict.fromkeys(definition.states, 0)
    changed = True
    while changed:  # ends: without the pairs that lead back there is no circle
        changed = False
        for name, state in definition.states.items():
            for target in state.targets:
                if (name, target) not in back and levels[target] <= levels[name]:
                    levels[target] = levels[name] + 1
                    changed = True
    return levels


def _place(level: int, lines: tuple[str, ...], state: str | None = None) -> _Place:
    widest = max((_letters(line) for line in lines), default=0)
    if state is not None:
        return _Place(level, lines, state, max(96, widest * _LETTER + 28), _STATE_HEIGHT + (len(lines) - 1) * _LINE)
    return _Place(level, lines, None, widest * _LETTER + 14, len(lines) * _LINE + 2)


def _line(states: dict[str, _Place], start: str, to: str, label: tuple[str, ...], *, back: bool) -> _Line:
    """The label stands next to the state that the line starts from."""
    upper, lower = (states[to], states[start]) if back else (states[start], states[to])
    levels = range(upper.level + 1, lower.level)
    labelled = levels[-1] if back else levels[0]
    between = [_place(level, label) if level == labelled else _Place(level) for level in levels]
    places = [upper, *between, lower]
    for one, other in pairwise(places):
        one.joined.append(other)
        other.joined.append(one)
    return _Line(places, back)


def _layers(states: dict[str, _Place], lines: Sequence[_Line]) -> list[list[_Place]]:
    found: list[list[_Place]] = [[] for _ in range(max(place.level for place in states.values()) + 1)]
    for place in states.values():
        found[place.level].append(place)
    for line in lines:
        for place in line.places[1:-1]:
            found[place.level].append(place)
    return found


def _order(layers: list[list[_Place]]) -> None:
    """Each place goes to the middle of what it is joined to, down and up again a few times: few lines cross then."""
    _number(layers)
    for turn in range(6):
        for layer in layers if turn % 2 == 0 else reversed(layers):
            side = -1 if turn % 2 == 0 else 1
            middles = {id(place): _middle(place, side, lambda one: one.order) for place in layer}
            layer.sort(key=lambda place, middles=middles: middles[id(place)])  # type: ignore[misc]
            _number([layer])


def _number(layers: list[list[_Place]]) -> None:
    for layer in layers:
        for index, place in enumerate(layer):
            place.order = (index + 1) / (len(layer) + 1)


def _middle(place: _Place, side: int, of: Callable[[_Place], float]) -> float:
    near = [of(one) for one in place.joined if side == 0 or (one.level - place.level) * side > 0]
    return sum(near) / len(near) if near else of(place)


def _spread(layers: list[list[_Place]]) -> None:
    """Each place gets as near to the middle of its neighbours as those beside it let it."""
    for layer in layers:
        _put(layer, [0.0] * len(layer))
    for turn in range(12):
        for layer in layers if turn % 2 == 0 else reversed(layers):
            _put(layer, [_middle(place, 0, lambda one: one.x) for place in layer])
    height = float(_EDGE)
    for layer in layers:
        tallest = max(place.height for place in layer)
        for place in layer:
            place.y = height + tallest / 2
        height += tallest + _BETWEEN


def _put(layer: list[_Place], wished: list[float]) -> None:
    """Half way between pushing everything to the right and everything to the left, both of which keep the distances."""
    right, left = list(wished), list(wished)
    for index in range(1, len(layer)):
        right[index] = max(right[index], right[index - 1] + _apart(layer[index - 1], layer[index]))
    for index in range(len(layer) - 2, -1, -1):
        left[index] = min(left[index], left[index + 1] - _apart(layer[index], layer[index + 1]))
    for place, one, other in zip(layer, right, left, strict=True):
        place.x = (one + other) / 2


def _apart(one: _Place, other: _Place) -> float:
    return (one.width + other.width) / 2 + _GAP


def _drawn(definition: Definition, layers: list[list[_Place]], lines: Sequence[_Line]) -> Drawing:
    places = [place for layer in layers for place in layer]
    shift = _EDGE - min(place.x - place.width / 2 for place in places)
    for place in places:
        place.x += shift
    return Drawing(
        round(max(place.x + place.width / 2 for place in places) + _EDGE + _ASIDE),
        round(max(place.y + place.height / 2 for place in places) + _EDGE),
        tuple(_box(definition, place) for place in places if place.lines),
        tuple(_path(line) for line in lines),
    )


def _box(definition: Definition, place: _Place) -> Box:
    state = definition.states[place.state] if place.state is not None else None
    return Box(
        place.lines,
        round(place.x, 1),
        round(place.y, 1),
        round(place.width, 1),
        round(place.height, 1),
        state is not None,
        initial=state is not None and state.initial,
        terminal=state is not None and state.terminal,
    )


def _path(line: _Line) -> str:
    """Curves that leave and enter every place straight up or down; what leads back keeps to the right."""
    aside = _ASIDE if line.back else 0
    ends = {id(line.places[0]), id(line.places[-1])}
    points = [
        (place.x + (aside if id(place) in ends else 0), place.y + side * place.height / 2)
        for place in line.places
        for side in (-1, 1)
    ][1:-1]
    if line.back:
        points.reverse()
    (x, y), rest = points[0], points[1:]
    parts = [f"M{x:.1f} {y:.1f}"]
    for next_x, next_y in rest:
        half = (y + next_y) / 2
        parts.append(f"C{x:.1f} {half:.1f} {next_x:.1f} {half:.1f} {next_x:.1f} {next_y:.1f}")
        x, y = next_x, next_y
    return "".join(parts)
