"""
What publishing asks of the ways through a definition (REQ-WFL-09): each state is on one from the start to an end.

An exit without a condition counts. One with a condition counts when the engine itself has let somebody pass: with an example of
the definition, or with an ordinary document. Where a state needs an example to come to an end, publishing asks for it.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from saraban.kit.json import Json, as_text
from saraban.workflow.language.definition import Definition, State, Transition, TransitionExample
from saraban.workflow.language.faults import Faults, below
from saraban.workflow.language.registers import TOP
from saraban.workflow.verification import example_facts

Exit = tuple[str, str, str | None]  # state, action, response code
MOST_USUAL = 200  # exits that are tried with an ordinary document: each may cost as much as a condition may
_DECIDED = frozenset({"state", "responseCode"})  # what the definition itself says of an exit
_SENT = frozenset({"responseCode", "comment", "*"})  # what can differ from one code to another


@dataclass(slots=True)
class Exits:
    """
    :param closed: whose condition never holds, whatever the document
    :param conditional: that no example was shown to open
    """

    closed: set[Exit] = field(default_factory=set)
    conditional: set[Exit] = field(default_factory=set)

    def ways(self, definition: Definition, *, shown_only: bool) -> dict[str, list[str]]:
        """Return the states to which each state leads: all that is not closed, or only what was shown to open."""
        without = self.closed | (self.conditional if shown_only else set())
        return {
            name: [target for exit_, target in exits_of(state) if exit_ not in without]
            + list(state.review.targets if state.review else ())
            for name, state in definition.states.items()
        }


def exits_of(state: State) -> Iterator[tuple[Exit, str]]:
    for action, step in state.on.items():
        for code, target in step.outcomes:
            yield (state.name, action, code), target


def check(definition: Definition, found: Faults) -> None:
    """Refuse examples that the engine refuses, states off the ways, and states from which no way to an end was shown."""
    exits = examine(definition, found)
    ends = _ends(definition)
    ways = exits.ways(definition, shown_only=False)
    reached, finishing = spread([definition.initial], ways), spread(ends, _backwards(ways))
    for index, (name, state) in enumerate(definition.states.items()):
        if name not in reached:
            th, en = "ไม่มีทางมาถึงสถานะ “{name}” จากจุดเริ่มต้น", "The status “{name}” cannot be reached from the start."
            found.add(f"/states/{index}", "unreachable", th, en, name=name)
        if name not in finishing and not state.terminal:
            th = "จากสถานะ “{name}” ไม่มีทางไปถึงสถานะสุดท้าย"
            en = "No final status can be reached from the status “{name}”."
            found.add(f"/states/{index}", "dead_end", th, en, name=name)
    _ask_for_examples(definition, exits, found)


def examine(definition: Definition, found: Faults, *, kind: str | None = None, type_code: str | None = None) -> Exits:
    """
    Play the examples of a definition, then an ordinary document, and return which exits they leave closed.

    :param kind: with a document of this kind, and of this type; None for what the examples say themselves
    """
    exits = Exits()
    for at, state, step in definition.steps:
        _examine_condition(state, step, at, exits, found)
    stated = stated_before(definition)
    for index, example in enumerate(definition.examples):
        at = f"/examples/{index}"
        step_of = definition.states[example.state].on.get(example.action) if example.state in stated else None
        if step_of is None:
            th, en = (
                "ไม่มีการดำเนินการ “{action}” ในสถานะ “{state}”",
                "There is no action “{action}” in a status “{state}”.",
            )
            found.add(at, "unknown_action", th, en, action=example.action, state=example.state)
            continue
        faults = example_facts.problems(
            definition, example, stated=stated[example.state], kind=kind, type_code=type_code
        )
        found.extend(at, faults)
        if not faults:
            exits.conditional -= _opened(example.state, step_of, as_text(example.facts.get("responseCode")))
    for state_name, action, code in sorted(exits.conditional, key=str)[:MOST_USUAL]:
        facts = {} if code is None else {"responseCode": code}
        usual = TransitionExample(state_name, action, facts)
        if not example_facts.problems(definition, usual, stated=None, kind=kind, type_code=type_code):
            exits.conditional.discard((state_name, action, code))
    return exits


def _examine_condition(state: State, step: Transition, at: str, exits: Exits, found: Faults) -> None:
    if step.condition is None:
        return
    codes = [code for code, _ in step.outcomes]
    if not step.condition.logic.variables <= _DECIDED:
        exits.conditional |= {(state.name, step.action, code) for code in codes}
        return
    shut = [code for code in codes if not step.condition.holds({"state": state.name, "responseCode": code})]
    exits.closed |= {(state.name, step.action, code) for code in shut}
    if len(shut) == len(codes):
        th, en = "เงื่อนไขนี้ไม่มีวันเป็นจริง", "This condition never holds."
        found.add(f"{at}/condition/rule", "never_holds", th, en)
        return
    for code in shut:
        th, en = "เงื่อนไขไม่มีวันเป็นจริงกับรหัสนี้", "With this code the condition never holds."
        found.add(below(f"{at}/responses", str(code)), "never_holds", th, en)


def _opened(state: str, step: Transition, code: str | None) -> set[Exit]:
    """One code stands for all where the condition cannot tell them apart."""
    reads = step.condition.logic.variables if step.condition is not None else frozenset()
    codes = [each for each, _ in step.outcomes] if reads.isdisjoint(_SENT) else [code or step.usual]
    return {(state, step.action, each) for each in codes}


def stated_before(definition: Definition) -> dict[str, frozenset[str] | None]:
    """Return the values that can have come with the steps on any way to a state; None where that can be any."""
    known: dict[str, frozenset[str] | None] = {definition.initial: frozenset()}
    waiting = [definition.initial]
    while waiting:
        name = waiting.pop()
        state, before = definition.states[name], known[name]
        verdicts = [(target, frozenset[str]()) for target in (state.review.targets if state.review else ())]
        brought = [
            (target, None if step.fields is None else frozenset(step.fields))
            for step in state.on.values()
            for target in step.targets
        ]
        for target, more in [*verdicts, *brought]:
            after = None if before is None or more is None else before | more
            together = after if target not in known else _both(known[target], after)
            if target not in known or together != known[target]:
                known[target] = together
                waiting.append(target)
    return {name: known.get(name, frozenset()) for name in definition.states}


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other


def _ask_for_examples(definition: Definition, exits: Exits, found: Faults) -> None:
    """From the ends backwards: where a state is asked for an example, those before it may lead to it."""
    ways = exits.ways(definition, shown_only=True)
    indexes = {name: index for index, name in enumerate(definition.states)}
    certain = spread(_ends(definition), _backwards(ways))
    while asked := dict(_missing(definition, exits, certain)):
        for name, action in asked.items():
            th = (
                "สถานะ “{name}” มีแต่ทางออกที่มีเงื่อนไข กรุณาเพิ่มตัวอย่างค่าที่ทำให้เงื่อนไขเป็นจริงใน examples ของนิยาม "
                "แล้วแทน … ด้วยค่าจริง เช่น {example}"
            )
            en = (
                "The status “{name}” has conditional exits only. Add an example of facts that open one to `examples` of the "
                "definition, with real values in the place of …: {example}"
            )
            step = definition.states[name].on[action]
            found.add(f"/states/{indexes[name]}", "not_shown", th, en, name=name, example=example_of(name, step))
        certain = spread([*certain, *asked], _backwards(ways))


def _missing(definition: Definition, exits: Exits, certain: Collection[str]) -> Iterator[tuple[str, str]]:
    """The states that one example would bring to an end, each with the action that it is needed for."""
    for name, state in definition.states.items():
        conditional = [(exit_[1], target) for exit_, target in exits_of(state) if exit_ in exits.conditional]
        action = next((action for action, target in conditional if target in certain), None)
        if name not in certain and action is not None:
            yield name, action


def example_of(state: str, step: Transition) -> str:
    """Write an example of an action as it stands in a definition, with … for each value that its condition reads."""
    facts: dict[str, Json] = {}
    if step.responses:
        facts["responseCode"] = next(iter(step.responses))
    for path in sorted(step.condition.logic.variables if step.condition is not None else ()):
        keys = path.split(".")
        if keys[0] in TOP and keys[0] not in _DECIDED:
            _put(facts, keys)
    return json.dumps({"state": state, "action": step.action, "facts": facts}, ensure_ascii=False)[:500]


def _put(facts: dict[str, Json], keys: Sequence[str]) -> None:
    *above, last = keys
    for key in above:
        below = facts.setdefault(key, {})
        if not isinstance(below, dict):
            return
        facts = below
    facts.setdefault(last, "…")


def stuck(definition: Definition, exits: Exits) -> dict[str, str]:
    """Return the states from which no way was shown to lead to an end, with an example that one of their exits needs."""
    certain = spread(_ends(definition), _backwards(exits.ways(definition, shown_only=True)))
    return {
        name: example_of(name, definition.states[name].on[action])
        for name, action, _ in sorted(exits.conditional | exits.closed, key=str)
        if name not in certain
    }


def _ends(definition: Definition) -> list[str]:
    return [name for name, state in definition.states.items() if state.terminal]


def spread(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    """Return every state that can be come to, those at the start among them."""
    reached, waiting = set(start), list(start)
    while waiting:
        for target in edges[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _backwards(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {name: [] for name in edges}
    for name, targets in edges.items():
        for target in targets:
            turned[target].append(name)
    return turned
