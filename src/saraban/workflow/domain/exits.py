"""
Which exits of a definition open (ruling W5): by each one that counts somebody can leave, which the engine itself has shown.

Every state has a way to an end on which each step was shown to be possible. An exit of which it is proved that nothing opens it
is refused wherever it stands. One of which neither could be shown is refused where no other way leads to an end.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from saraban.workflow.domain.definition import Definition, State, Transition
from saraban.workflow.domain.faults import Faults
from saraban.workflow.domain.opening import WORK, Opening, opening, shown
from saraban.workflow.domain.proof import MOST_WORK as MOST_PROOF

CODE = "responseCode"
MOST_WORK = 3_000_000  # steps for all conditions of a definition: a second and a half
FIRST_WORK = 20_000  # for each at first, so that hard ones take nothing from the others
STATE = "state"

Exit = tuple[str, str, str | None]  # state, action, response code


@dataclass(slots=True)
class Exits:
    """
    :param closed: which nothing opens
    :param doubtful: for which no facts were found, and some that do not do
    """

    closed: dict[Exit, Opening] = field(default_factory=dict)
    doubtful: dict[Exit, Opening] = field(default_factory=dict)

    def ways(self, definition: Definition, *, shown_only: bool) -> dict[str, list[str]]:
        """Return the states to which each state leads: all that is not closed, or only what was shown to open."""
        without = self.closed.keys() | (self.doubtful.keys() if shown_only else set())
        return {
            name: [target for exit_, target in _targets(state) if exit_ not in without]
            + list(state.review.targets if state.review else ())
            for name, state in definition.states.items()
        }


def _targets(state: State) -> Iterator[tuple[Exit, str]]:
    for action, step in state.on.items():
        for code, target in step.outcomes:
            yield (state.name, action, code), target


def examine(
    definition: Definition,
    found: Faults,
    *,
    roles: Collection[str] | None = None,
    kind: str | None = None,
    type_code: str | None = None,
    most: int = MOST_WORK,
) -> Exits:
    """
    Look at each exit that has a condition, and name those that nothing opens with facts that do not.

    :param roles: all that there are; None when that is not known
    :param kind: of the documents; None for those of any
    :param type_code: their document type; None for any of the kind
    :param most: steps for all conditions together
    """
    looked = _Looking(definition, roles, (kind, type_code), most)
    for work in (FIRST_WORK, WORK):
        for state in definition.states.values():
            for step in state.on.values():
                for code in _asked(step):
                    looked.at(state, step, code, work)
    exits = Exits()
    for index, state in enumerate(definition.states.values()):
        for action, step in state.on.items():
            at = found.below(f"/states/{index}/on", action)
            known = {code: looked.known[looked.key(state, step, code)] for code in _asked(step)}
            _closed(state, step, known, at, exits, found)
    return exits


class _Looking:
    """The same question is asked once, and so many steps are taken for all of them."""

    def __init__(
        self, definition: Definition, roles: Collection[str] | None, of: tuple[str | None, str | None], most: int
    ) -> None:
        self._definition, self._roles, (self._kind, self._type) = definition, roles, of
        self._stated = stated_before(definition)
        self._left = most
        self.known: dict[object, Opening] = {}
        self._rules: dict[int, str] = {}

    def at(self, state: State, step: Transition, code: str | None, work: int) -> None:
        key = self.key(state, step, code)
        before = self.known.get(key)
        if before is not None and (before.facts is not None or before.sure):
            return
        left = max(self._left, 0)
        proofs = min(MOST_PROOF, left) if before is None else 0  # there is nothing new to prove the second time
        looked = opening(
            self._definition,
            state,
            step,
            code,
            roles=self._roles,
            stated=self._stated[state.name],
            kind=self._kind,
            type_code=self._type,
            work=min(work, left),
            proofs=proofs,
        )
        self._left -= looked.work
        self.known[key] = looked

    def key(self, state: State, step: Transition, code: str | None) -> object:
        """What the answer depends on."""
        assert step.condition is not None
        rule = self._rules.get(id(step))
        if rule is None:
            rule = self._rules[id(step)] = json.dumps(step.condition.logic.rule, sort_keys=True)
        here = state.name if not step.condition.logic.variables.isdisjoint({STATE, "*"}) else None
        comment = step.comment_required or (code is not None and step.responses[code].comment_required)
        return (rule, code, here, step.require, comment, step.fields, self._stated[state.name])


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
    return {name: known.get(name) for name in definition.states}


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other


def _asked(step: Transition) -> Sequence[str | None]:
    """The codes for which a condition may differ: one stands for all when it does not read them."""
    if step.condition is None:
        return []
    codes = [code for code, _ in step.outcomes]
    reads = not step.condition.logic.variables.isdisjoint({CODE, "comment", "*"})
    return codes if reads else codes[:1]


def _closed(
    state: State, step: Transition, known: Mapping[str | None, Opening], at: str, exits: Exits, found: Faults
) -> None:
    codes = [code for code, _ in step.outcomes]
    stands_for = {code: known[code] if code in known else known[codes[0]] for code in codes} if known else {}
    for code, looked in stands_for.items():
        if looked.never:
            exits.closed[state.name, step.action, code] = looked
        elif looked.facts is None:
            exits.doubtful[state.name, step.action, code] = looked
    shut = [(code, looked) for code, looked in known.items() if looked.never]
    if shut and len(shut) == len(known):
        th = "เงื่อนไขนี้ไม่มีวันเป็นจริงสำหรับผู้ที่ดำเนินการได้ ลองแล้วเช่น {example}"
        en = "This condition never holds for anybody who may act: not with {example}, nor with anything else."
        found.add(f"{at}/condition/rule", "never_holds", th, en, example=shown(shut[0][1].tried))
        return
    for code, looked in shut:
        th, en = (
            "เงื่อนไขไม่มีวันเป็นจริงกับรหัสนี้ ลองแล้วเช่น {example}",
            "With this code the condition never holds: not with {example}.",
        )
        found.add(found.below(f"{at}/responses", str(code)), "never_holds", th, en, example=shown(looked.tried))


def tell_doubtful(definition: Definition, exits: Exits, lost: Collection[str], found: Faults) -> None:
    """
    Name the exits on which states depend though nothing was found that opens them.

    :param lost: the states from which no way that was shown leads to an end
    """
    for index, state in enumerate(definition.states.values()):
        for (name, action, code), target in _targets(state):
            looked = exits.doubtful.get((name, action, code))
            if name not in lost or target in lost or looked is None:
                continue
            at = found.below(f"/states/{index}/on", action) + "/condition/rule"
            th = (
                "ไม่พบค่าใดที่ทำให้เงื่อนไขนี้เป็นจริง ลองแล้วเช่น {example} และสถานะ “{state}” ไม่มีทางอื่นไปถึงสถานะสุดท้าย "
                "ให้เขียนค่าที่ใช้ได้จริงเป็นตัวอย่างใน examples ของ payload ใน context_schema หรือเพิ่มการดำเนินการที่ไม่มีเงื่อนไข"
            )
            en = (
                "Nothing was found that makes this condition hold: not {example}. The state “{state}” has no other way to an end. "
                "Write values that do under “examples” of the payload in the context_schema, or add an action without a condition."
            )
            found.add(at, "not_shown", th, en, example=shown(looked.tried), state=name)


def stuck(definition: Definition, exits: Exits) -> dict[str, str]:
    """Return the states from which no way was shown to lead to an end, with values with which one of their exits does not open."""
    ends = [name for name, state in definition.states.items() if state.terminal]
    certain = spread(ends, backwards(exits.ways(definition, shown_only=True)))
    examples = {name: looked.tried for (name, _, _), looked in {**exits.doubtful, **exits.closed}.items()}
    return {name: shown(tried) for name, tried in examples.items() if name not in certain}


def spread(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    """Return every state that can be come to, those at the start among them."""
    reached, waiting = set(start), list(start)
    while waiting:
        for target in edges[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def backwards(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {name: [] for name in edges}
    for name, targets in edges.items():
        for target in targets:
            turned[target].append(name)
    return turned
