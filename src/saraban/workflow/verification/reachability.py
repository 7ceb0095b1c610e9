"""
Check that each state lies on a path from the start to an end (REQ-WFL-09).

A conditional exit counts only if the engine took it with an example, or with an ordinary document.
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
MOST_USUAL = 200  # exits tried with an ordinary document; each costs up to the budget of a condition
_DECIDED = frozenset({"state", "responseCode"})  # known from the definition
_SENT = frozenset({"responseCode", "comment", "*"})  # may differ between response codes


@dataclass(slots=True)
class Exits:
    """
    :param closed: conditions that are never met
    :param conditional: not opened by an example
    """

    closed: set[Exit] = field(default_factory=set)
    conditional: set[Exit] = field(default_factory=set)

    def ways(self, definition: Definition, *, shown_only: bool) -> dict[str, list[str]]:
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


def check(definition: Definition, faults: Faults) -> None:
    exits = examine(definition, faults)
    ends = _ends(definition)
    ways = exits.ways(definition, shown_only=False)
    reached, finishing = spread([definition.initial], ways), spread(ends, _reverse_edges(ways))
    for index, (name, state) in enumerate(definition.states.items()):
        if name not in reached:
            th, en = "ไม่มีทางมาถึงสถานะ “{name}” จากจุดเริ่มต้น", "The status “{name}” cannot be reached from the start."
            faults.add(f"/states/{index}", "unreachable", th, en, name=name)
        if name not in finishing and not state.terminal:
            th = "จากสถานะ “{name}” ไม่มีทางไปถึงสถานะสุดท้าย"
            en = "No final status can be reached from the status “{name}”."
            faults.add(f"/states/{index}", "dead_end", th, en, name=name)
    _ask_for_examples(definition, exits, faults)


def examine(definition: Definition, faults: Faults, *, kind: str | None = None, type_code: str | None = None) -> Exits:
    """Run the examples and an ordinary document."""
    exits = Exits()
    for at, state, step in definition.steps:
        _examine_condition(state, step, at, exits, faults)
    stated = stated_before(definition)
    for index, example in enumerate(definition.examples):
        at = f"/examples/{index}"
        step_of = definition.states[example.state].on.get(example.action) if example.state in stated else None
        if step_of is None:
            th, en = (
                "ไม่มีการดำเนินการ “{action}” ในสถานะ “{state}”",
                "There is no action “{action}” in a status “{state}”.",
            )
            faults.add(at, "unknown_action", th, en, action=example.action, state=example.state)
            continue
        example_faults = example_facts.problems(
            definition, example, stated=stated[example.state], kind=kind, type_code=type_code
        )
        faults.extend(at, example_faults)
        if not example_faults:
            exits.conditional -= _opened_exits(example.state, step_of, as_text(example.facts.get("responseCode")))
    for state_name, action, code in sorted(exits.conditional, key=str)[:MOST_USUAL]:
        facts = {} if code is None else {"responseCode": code}
        usual = TransitionExample(state_name, action, facts)
        if not example_facts.problems(definition, usual, stated=None, kind=kind, type_code=type_code):
            exits.conditional.discard((state_name, action, code))
    return exits


def _examine_condition(state: State, step: Transition, at: str, exits: Exits, faults: Faults) -> None:
    if step.condition is None:
        return
    codes = [code for code, _ in step.outcomes]
    if not step.condition.logic.variables <= _DECIDED:
        exits.conditional |= {(state.name, step.action, code) for code in codes}
        return
    closed_codes = [code for code in codes if not step.condition.holds({"state": state.name, "responseCode": code})]
    exits.closed |= {(state.name, step.action, code) for code in closed_codes}
    if len(closed_codes) == len(codes):
        th, en = "เงื่อนไขนี้ไม่มีวันเป็นจริง", "This condition never holds."
        faults.add(f"{at}/condition/rule", "never_holds", th, en)
        return
    for code in closed_codes:
        th, en = "เงื่อนไขไม่มีวันเป็นจริงกับรหัสนี้", "With this code the condition never holds."
        faults.add(below(f"{at}/responses", str(code)), "never_holds", th, en)


def _opened_exits(state: str, step: Transition, code: str | None) -> set[Exit]:
    """One code stands for all if the condition cannot distinguish them."""
    reads = step.condition.logic.variables if step.condition is not None else frozenset()
    codes = [outcome_code for outcome_code, _ in step.outcomes] if reads.isdisjoint(_SENT) else [code or step.usual]
    return {(state, step.action, outcome_code) for outcome_code in codes}


def stated_before(definition: Definition) -> dict[str, frozenset[str] | None]:
    """Return the values that steps before a state can state; None for any."""
    values_by_state: dict[str, frozenset[str] | None] = {definition.initial: frozenset()}
    waiting = [definition.initial]
    while waiting:
        name = waiting.pop()
        state, before = definition.states[name], values_by_state[name]
        verdicts = [(target, frozenset[str]()) for target in (state.review.targets if state.review else ())]
        field_values = [
            (target, None if step.fields is None else frozenset(step.fields))
            for step in state.on.values()
            for target in step.targets
        ]
        for target, more in [*verdicts, *field_values]:
            after = None if before is None or more is None else before | more
            combined = after if target not in values_by_state else _union(values_by_state[target], after)
            if target not in values_by_state or combined != values_by_state[target]:
                values_by_state[target] = combined
                waiting.append(target)
    return {name: values_by_state.get(name, frozenset()) for name in definition.states}


def _union(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    return None if left is None or right is None else left | right


def _ask_for_examples(definition: Definition, exits: Exits, faults: Faults) -> None:
    """Work backwards from the ends: a state with a requested example counts as proven."""
    ways = exits.ways(definition, shown_only=True)
    indexes = {name: index for index, name in enumerate(definition.states)}
    certain = spread(_ends(definition), _reverse_edges(ways))
    while requested := dict(_states_without_example(definition, exits, certain)):
        for name, action in requested.items():
            th = (
                "สถานะ “{name}” มีแต่ทางออกที่มีเงื่อนไข กรุณาเพิ่มตัวอย่างค่าที่ทำให้เงื่อนไขเป็นจริงใน examples ของนิยาม "
                "แล้วแทน … ด้วยค่าจริง เช่น {example}"
            )
            en = (
                "The status “{name}” has conditional exits only. Add an example of facts that open one to `examples` of the "
                "definition, with real values in the place of …: {example}"
            )
            step = definition.states[name].on[action]
            faults.add(f"/states/{indexes[name]}", "not_shown", th, en, name=name, example=example_of(name, step))
        certain = spread([*certain, *requested], _reverse_edges(ways))


def _states_without_example(
    definition: Definition, exits: Exits, certain: Collection[str]
) -> Iterator[tuple[str, str]]:
    for name, state in definition.states.items():
        conditional = [(exit_[1], target) for exit_, target in exits_of(state) if exit_ in exits.conditional]
        action = next((action for action, target in conditional if target in certain), None)
        if name not in certain and action is not None:
            yield name, action


def example_of(state: str, step: Transition) -> str:
    """Write … for each value that the condition reads."""
    facts: dict[str, Json] = {}
    if step.responses:
        facts["responseCode"] = next(iter(step.responses))
    for path in sorted(step.condition.logic.variables if step.condition is not None else ()):
        keys = path.split(".")
        if keys[0] in TOP and keys[0] not in _DECIDED:
            _set_placeholder(facts, keys)
    return json.dumps({"state": state, "action": step.action, "facts": facts}, ensure_ascii=False)[:500]


def _set_placeholder(facts: dict[str, Json], keys: Sequence[str]) -> None:
    *above, last = keys
    for key in above:
        below = facts.setdefault(key, {})
        if not isinstance(below, dict):
            return
        facts = below
    facts.setdefault(last, "…")


def stuck(definition: Definition, exits: Exits) -> dict[str, str]:
    """Return the states without a proven path to an end, with a missing example."""
    certain = spread(_ends(definition), _reverse_edges(exits.ways(definition, shown_only=True)))
    return {
        name: example_of(name, definition.states[name].on[action])
        for name, action, _ in sorted(exits.conditional | exits.closed, key=str)
        if name not in certain
    }


def _ends(definition: Definition) -> list[str]:
    return [name for name, state in definition.states.items() if state.terminal]


def spread(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    reached, waiting = set(start), list(start)
    while waiting:
        for target in edges[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _reverse_edges(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    reversed_edges: dict[str, list[str]] = {name: [] for name in edges}
    for name, targets in edges.items():
        for target in targets:
            reversed_edges[target].append(name)
    return reversed_edges
