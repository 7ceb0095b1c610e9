"""The diagram of a definition, as text for Mermaid (a `stateDiagram-v2`), which many tools draw."""

from collections.abc import Iterator

from saraban.workflow.language.definition import Definition, Transition
from saraban.workflow.language.review import FELL, LABELS


def mermaid(definition: Definition, *, language: str) -> str:
    """
    Draw the states with their labels and the actions between them.

    An action with a condition is marked `?`, one that needs a comment `*`; each response code has an arrow of its own.

    :param language: `th` or `en`
    """
    return "\n".join(_lines(definition, language)) + "\n"


def _lines(definition: Definition, language: str) -> Iterator[str]:
    yield "stateDiagram-v2"
    # Names may be words of Mermaid's own (`end`, `note`), so each state is drawn under a name of ours.
    places = {name: f"s{index}" for index, name in enumerate(definition.states)}
    for name, state in definition.states.items():
        yield f'    state "{_plain(state.label.say(language))}" as {places[name]}'
    yield f"    [*] --> {places[definition.initial]}"
    for name, state in definition.states.items():
        for step in state.on.values():
            for code, target in step.outcomes:
                yield f"    {places[name]} --> {places[target]} : {_action(step, code, language)}"
        for way, target in state.review.then.items() if state.review else ():
            yield f"    {places[name]} --> {places[target]} : {_plain(LABELS[FELL[way]].say(language))}"
        if state.terminal:
            yield f"    {places[name]} --> [*]"


def _action(step: Transition, code: str | None, language: str) -> str:
    commented = step.comment_required or (code is not None and step.responses[code].comment_required)
    marks = "".join(mark for mark, holds in (("?", step.condition is not None), ("*", commented)) if holds)
    return " ".join(filter(None, (_plain(step.label.say(language)), _plain(code or ""), marks)))


def _plain(text: str) -> str:
    """Without the characters that would end a label; Mermaid knows numeric entities."""
    return "".join(f"#{ord(character)};" if character in '"#:;{}[]<>%' else character for character in text)
