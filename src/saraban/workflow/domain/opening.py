"""
Looks for facts under which an action can be taken, so that publishing accepts no state that nothing leads out of (ruling W5).

A condition is taken apart into comparisons that have to hold and others that must not. Each proposes values for what it reads,
the likeliest first; what contradicts is taken back. What is found counts only when the engine itself lets the action pass with
it. Finding nothing proves nothing by itself: that is for `proof` to say.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from saraban.workflow.domain import logic, proof
from saraban.workflow.domain.candidates import Candidates, nested, solutions
from saraban.workflow.domain.definition import Definition, State, Transition
from saraban.workflow.domain.engine import Facts
from saraban.workflow.domain.logic.compiler import ANYTHING
from saraban.workflow.domain.vocabulary import World, world
from saraban.workflow.domain.witness import opened

WORK = 400_000  # steps for one condition: a fifth of a second
_PATHS = 40  # of more no search comes to an end
# What a try costs besides the evaluating, in steps: itself, each of its values, each question to the engine.
_TRY, _VALUE, _ASKED = 80, 10, 600

Goal = tuple[Any, bool]  # a part of the rule, and whether it is to hold


@dataclass(frozen=True, slots=True)
class Opening:
    """
    :param facts: some under which the engine lets the action pass; None when none were found
    :param tried: some under which the condition does not hold: what its paths were
    :param sure: when none were found, whether it is proved that there are none
    :param work: steps that this took, for whoever has only so many
    """

    facts: Facts | None
    tried: Mapping[str, Any] = field(default_factory=dict)
    sure: bool = False
    work: int = 0

    @property
    def never(self) -> bool:
        return self.facts is None and self.sure


def opening(
    definition: Definition,
    state: State,
    step: Transition,
    code: str | None = None,
    *,
    roles: Collection[str] | None = None,
    stated: Collection[str] | None = None,
    kind: str | None = None,
    type_code: str | None = None,
    work: int = WORK,
    proofs: int = proof.MOST_WORK,
) -> Opening:
    """
    Look for facts under which an action with a condition can be taken with a response code, within so many steps.

    :param roles: all that there are; None when that is not known
    :param stated: the values that can have come with the steps before; None when that can be any
    :param kind: of the documents; None for those of any
    :param type_code: their document type; None for any of the kind
    :param proofs: further steps, for the proof that there are none
    """
    assert step.condition is not None
    around = world(definition, state, step, code, roles=roles, stated=stated, kind=kind, type_code=type_code)
    search = _Search(definition, state, step, code, around, stated)
    found = search.run(work)
    if found is not None:
        return Opening(found, work=search.spent)
    sure, spent = proof.never_holds(step.condition.logic.rule, around, most=proofs)
    return Opening(None, search.tried, sure=sure, work=search.spent + spent)


@dataclass(frozen=True, slots=True)
class _Node:
    """Goals that are left, and the values chosen so far."""

    goals: Sequence[Goal]
    values: Mapping[str, Any]


class _Search:
    """A walk through the choices, without recursion; `tried` are the first values that did not do."""

    def __init__(
        self,
        definition: Definition,
        state: State,
        step: Transition,
        code: str | None,
        around: World,
        stated: Collection[str] | None,
    ) -> None:
        assert step.condition is not None
        self._asked = (definition, state, step, code)
        self._stated = stated
        self._rule = step.condition.logic.rule
        variables = step.condition.logic.variables - {ANYTHING}
        self._candidates = Candidates(self._rule, variables, around)
        self._variables = sorted(variables)
        self._fixed = {"state": state.name, "responseCode": code}
        self._compiled: dict[int, logic.Compiled] = {}
        self._kept: list[Any] = []  # whose `id` is a key stays
        self.tried: dict[str, Any] = {}
        self.spent = 0

    def run(self, work: int) -> Facts | None:
        given = {path: value for path, value in self._fixed.items() if path in self._variables}
        stack: list[Iterator[_Node]] = [iter([_Node([(self._rule, True)], given)])]
        while stack and self.spent < work:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                continue
            self.spent += _TRY + _VALUE * len(node.values)
            following = self._follow(node)
            if isinstance(following, Facts):
                return following
            if following is None:
                self._note(node.values)
            else:
                stack.append(following)
        if not self.tried:
            self._note(given)
        return None

    def _follow(self, node: _Node) -> Facts | Iterator[_Node] | None:
        """The nodes after one; the facts where nothing is left; None where it leads nowhere."""
        sorted_out = self._sorted(node)
        if sorted_out is None:
            return None
        atoms, choices = sorted_out
        if atoms:
            atom, _ = min(atoms, key=lambda goal: len(self._open(goal[0], node.values)))
            return self._valued(atom, [*atoms, *choices], node.values)
        if choices:
            first = min(choices, key=lambda goal: len(_alternatives(*goal) or ()))
            rest = [goal for goal in choices if goal is not first]
            return iter([_Node([*way, *rest], node.values) for way in _alternatives(*first) or ()])
        self.spent += _ASKED
        return opened(*self._asked, nested(node.values), stated=self._stated)

    def _sorted(self, node: _Node) -> tuple[list[Goal], list[Goal]] | None:
        """The comparisons that still want a value, and the parts that can hold in several ways; None at a contradiction."""
        atoms: list[Goal] = []
        choices: list[Goal] = []
        waiting = list(node.goals)
        laid_out = nested(node.values)
        while waiting:
            goal = waiting.pop()
            ways = _alternatives(*goal)
            if ways is None:
                if self._open(goal[0], node.values):
                    atoms.append(goal)
                elif ANYTHING not in self._of(goal[0]).variables and self._holds(goal[0], laid_out) is not goal[1]:
                    return None
            elif len(ways) == 1:
                waiting += ways[0]
            elif ways:
                choices.append(goal)
            else:
                return None
        return atoms, choices

    def _open(self, atom: Any, values: Mapping[str, Any]) -> list[str]:
        """The paths of a comparison that have no value yet; one with too many is left to the engine."""
        return sorted(self._of(atom).variables - {ANYTHING} - values.keys())

    def _valued(self, atom: Any, goals: Sequence[Goal], values: Mapping[str, Any]) -> Iterator[_Node]:
        free = self._open(atom, values)
        path = free[0]
        if len(free) > 1:
            # Where many add up, all at their highest or lowest say more than one after the other.
            corners = {each: self._candidates.corners(each) for each in free}
            for place in range(2):
                yield _Node(goals, {**values, **{each: ends[place] for each, ends in corners.items()}})
            yield _Node(goals, {**values, **dict.fromkeys(free[1:], 1)})  # so that what multiplies is solved for one
        solved = list(self._solutions(atom, path, values)) if len(free) == 1 else []
        for value in self._candidates.of(path, atom, solved):
            yield _Node(goals, {**values, path: value})

    def _solutions(self, atom: Any, path: str, values: Mapping[str, Any]) -> Iterator[Any]:
        def evaluate(rule: logic.Compiled, value: Any) -> Any:
            self.spent += _TRY
            found, steps = rule.measured(nested({**values, path: value}))
            self.spent += steps
            return found

        return solutions(atom, path, evaluate)

    def _holds(self, atom: Any, laid_out: Mapping[str, Any]) -> bool:
        value, steps = self._of(atom).measured(laid_out)
        self.spent += steps
        return logic.truthy(value)

    def _of(self, atom: Any) -> logic.Compiled:
        if id(atom) not in self._compiled:
            self._compiled[id(atom)] = made = logic.compile(atom)
            self._kept.append(atom)
            self.spent += 5 * len(made.variables) + 20
        return self._compiled[id(atom)]

    def _note(self, values: Mapping[str, Any]) -> None:
        if not self.tried:
            paths = self._variables[:_PATHS]
            rest = {path: next(iter(self._candidates.of(path)), None) for path in paths if path not in values}
            self.tried = {path: {**rest, **values}[path] for path in paths}


def _alternatives(rule: Any, wanted: bool) -> list[list[Goal]] | None:
    """The ways in which a part can come to what is wanted, each a list of goals; None for one that has to be evaluated."""
    if not isinstance(rule, Mapping):
        if isinstance(rule, list):
            return None
        return [[]] if logic.truthy(rule) is wanted else []
    ((operator, given),) = rule.items()
    arguments = given if isinstance(given, list) else [given]
    match operator:
        case "!":
            return [[(arguments[0], not wanted)]]
        case "!!" | "log":
            return [[(arguments[0], wanted)]]
        case "and" | "or":
            together = (operator == "and") is wanted
            return [[(each, wanted) for each in arguments]] if together else [[(each, wanted)] for each in arguments]
        case "if" | "?:":
            return _branches(arguments, wanted)
    return None


def _branches(arguments: Sequence[Any], wanted: bool) -> list[list[Goal]]:
    ways: list[list[Goal]] = []
    denied: list[Goal] = []
    for asked, outcome in [pair for place, pair in enumerate(pairwise(arguments)) if place % 2 == 0]:
        ways.append([*denied, (asked, True), (outcome, wanted)])
        denied.append((asked, False))
    ways.append([*denied, (arguments[-1] if len(arguments) % 2 else None, wanted)])
    return ways


def shown(values: Mapping[str, Any]) -> str:
    """Write values as they stand in a message."""
    return json.dumps(values, ensure_ascii=False)[:300]
