"""The diagram of a definition: as data for a page, and as text for Mermaid."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from saraban.workflow.language.definition import Definition, Transition
from saraban.workflow.language.review import FELL, LABELS

# Browsers need about a second to lay out this many.
MOST_TRANSITIONS = 300


@dataclass(frozen=True, slots=True)
class DiagramState:
    name: str
    label: str
    initial: bool
    terminal: bool


@dataclass(frozen=True, slots=True)
class DiagramTransition:
    """`labels`: actions from one state to the other, with their response codes."""

    start: str
    to: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagram:
    states: tuple[DiagramState, ...]
    transitions: tuple[DiagramTransition, ...]


@dataclass(frozen=True, slots=True)
class _Arrow:
    """`marks`: `?` for a condition, `*` for a required comment."""

    name: str
    to: str
    label: str
    code: str | None = None
    marks: str = ""


def diagram(definition: Definition, *, language: str) -> Diagram | None:
    """:returns: None for a definition too large for a diagram"""
    arrows_by_pair: dict[tuple[str, str], list[_Arrow]] = {}
    for name in definition.states:
        for arrow in _arrows(definition, name, language):
            arrows_by_pair.setdefault((name, arrow.to), []).append(arrow)
    if len(arrows_by_pair) > MOST_TRANSITIONS:
        return None
    return Diagram(
        tuple(
            DiagramState(name, state.label.say(language), state.initial, state.terminal)
            for name, state in definition.states.items()
        ),
        tuple(DiagramTransition(*pair, tuple(_labels(arrows))) for pair, arrows in arrows_by_pair.items()),
    )


def mermaid(definition: Definition, *, language: str) -> str:
    """Return a `stateDiagram-v2`: `?` marks a condition, `*` a required comment."""
    return "\n".join(_lines(definition, language)) + "\n"


def _arrows(definition: Definition, name: str, language: str) -> Iterator[_Arrow]:
    state = definition.states[name]
    for action, step in state.on.items():
        for code, target in step.outcomes:
            yield _Arrow(action, target, step.label.say(language), code, _marks(step, code))
    for way, target in state.review.then.items() if state.review else ():
        yield _Arrow(way, target, LABELS[FELL[way]].say(language))


def _marks(step: Transition, code: str | None) -> str:
    commented = step.comment_required or (code is not None and step.responses[code].comment_required)
    return "?" * (step.condition is not None) + "*" * commented


def _labels(arrows: list[_Arrow]) -> Iterator[str]:
    for _, group in groupby(arrows, key=lambda arrow: arrow.name):
        arrows_of_action = list(group)
        codes = ", ".join(arrow.code for arrow in arrows_of_action if arrow.code is not None)
        marks = "".join(mark for mark in "?*" if any(mark in arrow.marks for arrow in arrows_of_action))
        yield " ".join(filter(None, (arrows_of_action[0].label, codes, marks)))


def _lines(definition: Definition, language: str) -> Iterator[str]:
    yield "stateDiagram-v2"
    # State names may be keywords of Mermaid (`end`, `note`), so each gets an alias.
    aliases = {name: f"s{index}" for index, name in enumerate(definition.states)}
    for name, state in definition.states.items():
        yield f'    state "{_escape(state.label.say(language))}" as {aliases[name]}'
    yield f"    [*] --> {aliases[definition.initial]}"
    for name, state in definition.states.items():
        for arrow in _arrows(definition, name, language):
            label = " ".join(filter(None, (_escape(arrow.label), _escape(arrow.code or ""), arrow.marks)))
            yield f"    {aliases[name]} --> {aliases[arrow.to]} : {label}"
        if state.terminal:
            yield f"    {aliases[name]} --> [*]"


def _escape(text: str) -> str:
    return "".join(f"#{ord(character)};" if character in '"#:;{}[]<>%' else character for character in text)
