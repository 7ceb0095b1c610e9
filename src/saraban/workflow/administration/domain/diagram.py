"""The diagram of a definition: as data that a page lays out and draws, and as text for Mermaid."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from saraban.workflow.language.definition import Definition, Transition
from saraban.workflow.language.review import FELL, LABELS

# A browser lays this many out in about a second; nobody reads more in a picture.
MOST_TRANSITIONS = 300


@dataclass(frozen=True, slots=True)
class DiagramState:
    name: str
    label: str
    initial: bool
    terminal: bool


@dataclass(frozen=True, slots=True)
class DiagramTransition:
    """`labels`: the actions that lead from one state to another, with their response codes."""

    start: str
    to: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagram:
    states: tuple[DiagramState, ...]
    transitions: tuple[DiagramTransition, ...]


@dataclass(frozen=True, slots=True)
class _Arrow:
    """One way out of a state; `marks`: `?` for a condition, `*` for a required comment."""

    name: str
    to: str
    label: str
    code: str | None = None
    marks: str = ""


def diagram(definition: Definition, *, language: str) -> Diagram | None:
    """
    Return states and transitions in the reader's language.

    :param language: `th` or `en`
    :returns: None for a definition that has too much in it to be read as a picture
    """
    found: dict[tuple[str, str], list[_Arrow]] = {}
    for name in definition.states:
        for arrow in _arrows(definition, name, language):
            found.setdefault((name, arrow.to), []).append(arrow)
    if len(found) > MOST_TRANSITIONS:
        return None
    return Diagram(
        tuple(
            DiagramState(name, state.label.say(language), state.initial, state.terminal)
            for name, state in definition.states.items()
        ),
        tuple(DiagramTransition(*pair, tuple(_labels(arrows))) for pair, arrows in found.items()),
    )


def mermaid(definition: Definition, *, language: str) -> str:
    """
    Write the diagram as a `stateDiagram-v2`, which many tools draw.

    An action with a condition is marked `?`, one that needs a comment `*`; each response code has an arrow of its own.

    :param language: `th` or `en`
    """
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
    """Return one line an action, with all its response codes."""
    for _, several in groupby(arrows, key=lambda arrow: arrow.name):
        same = list(several)
        codes = ", ".join(arrow.code for arrow in same if arrow.code is not None)
        marks = "".join(mark for mark in "?*" if any(mark in arrow.marks for arrow in same))
        yield " ".join(filter(None, (same[0].label, codes, marks)))


def _lines(definition: Definition, language: str) -> Iterator[str]:
    yield "stateDiagram-v2"
    # Names may be words of Mermaid's own (`end`, `note`), so each state is drawn under a name of ours.
    aliases = {name: f"s{index}" for index, name in enumerate(definition.states)}
    for name, state in definition.states.items():
        yield f'    state "{_escaped(state.label.say(language))}" as {aliases[name]}'
    yield f"    [*] --> {aliases[definition.initial]}"
    for name, state in definition.states.items():
        for arrow in _arrows(definition, name, language):
            said = " ".join(filter(None, (_escaped(arrow.label), _escaped(arrow.code or ""), arrow.marks)))
            yield f"    {aliases[name]} --> {aliases[arrow.to]} : {said}"
        if state.terminal:
            yield f"    {aliases[name]} --> [*]"


def _escaped(text: str) -> str:
    """Write the characters that would end a label as numeric entities, which Mermaid knows."""
    return "".join(f"#{ord(character)};" if character in '"#:;{}[]<>%' else character for character in text)
