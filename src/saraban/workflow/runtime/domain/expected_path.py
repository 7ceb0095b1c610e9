"""The way that lies ahead of an instance when everything goes well: what a timeline shows in grey."""

from saraban.workflow.language.definition import Definition, State


def ahead(definition: Definition, name: str) -> tuple[State, ...]:
    """Follow the first action of each state that leads on, up to a terminal state or one seen before."""
    states: list[State] = []
    seen = {name}
    while True:
        onward = [target for target in definition.states[name].targets if target not in seen]
        if not onward:
            return tuple(states)
        name = onward[0]
        seen.add(name)
        states.append(definition.states[name])
