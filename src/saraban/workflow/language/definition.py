"""
A workflow definition once it has been read and checked: frozen, so that a version can be cached and shared.

What follows from it is found once, for every step asks for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from uuid import UUID

from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language import logic
from saraban.workflow.language.faults import below
from saraban.workflow.language.outcome import BY_NAME, Outcome
from saraban.workflow.language.review import FELL, ResponseOut, Review
from saraban.workflow.language.schema import ContextSchema
from saraban.workflow.language.subject import ActionOut

# What the client sends with an action; such a condition cannot be judged before the action is taken.
SENT = frozenset({"payload", "comment", "responseCode", "*"})


@dataclass(frozen=True, slots=True)
class Condition:
    """
    :param message: said when it does not hold; `{name}` places are filled from `document`
    """

    logic: logic.Compiled
    message: Text | None = None

    @property
    def reads_payload(self) -> bool:
        """Whether it asks what the client sends, so that it cannot be judged before."""
        return not names(self.logic).isdisjoint(SENT)

    def holds(self, facts: JsonObject) -> bool:
        """Return whether the condition is met; a rule that would take too long on these facts is not."""
        try:
            return logic.truthy(self.logic.evaluate(facts))
        except logic.BudgetExceeded:
            return False


def names(rule: logic.Compiled) -> frozenset[str]:
    """Return the top-level names that a rule reads; `*` stands for any."""
    return frozenset(path.partition(".")[0] for path in rule.variables)


RECIPIENT_ALONE = frozenset({"recipient"})


@dataclass(frozen=True, slots=True)
class Require:
    """Who may act: within one set any entry does, and every set that is not empty must be met."""

    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    organization_roles: frozenset[str] = frozenset()
    party: frozenset[str] = frozenset()
    user: UUID | None = None
    not_submitter: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """
    What one response code of an action leads to.

    :param inherits: it leads where its action does, and says nothing of its own
    """

    to: str
    comment_required: bool = False
    label: Text | None = None
    inherits: bool = False


@dataclass(frozen=True)
class Transition:
    """
    One action of a state. `optional`: it is possible, but nobody is waited for because of it.

    :param to: where it leads; None where `responses` say so, by the code that comes with it
    :param fields: the values that can come with it, those that were stated before too; None takes what was not stated yet
    :param usual: the code that counts where none comes with it; without one there must come one
    """

    action: str
    to: str | None
    label: Text
    require: Require
    comment_required: bool = False
    attachments: bool = True
    condition: Condition | None = None
    events: tuple[dict[str, str], ...] = ()
    optional: bool = False
    attachments_required: bool = False
    responses: Mapping[str, Response] = field(default_factory=dict)
    help: Text | None = None
    fields: tuple[str, ...] | None = None
    usual: str | None = None

    def takes(self, name: str) -> bool:
        """Return whether a value can come with it that nobody has stated before."""
        return self.fields is None or name in self.fields

    @cached_property
    def choice(self) -> ActionOut:
        """What a caller who may take it is offered."""
        return ActionOut(
            code=self.action,
            label=self.label,
            comment_required=self.comment_required,
            attachments=self.attachments,
            attachments_required=self.attachments_required,
            responses=[
                ResponseOut(
                    code=code,
                    label=one.label,
                    comment_required=one.comment_required or self.comment_required,
                    usual=code == self.usual,
                )
                for code, one in self.responses.items()
            ],
            help=self.help,
            fields=None if self.fields is None else list(self.fields),
        )

    @cached_property
    def decider(self) -> str | None:
        """The role of the organizations that take it, where it asks one role alone."""
        roles = self.require.organization_roles
        return next(iter(roles)) if len(roles) == 1 else None

    @property
    def outcomes(self) -> tuple[tuple[str | None, str], ...]:
        """(response code, state) of every way it can end; the code is None where none is asked for."""
        if self.to is not None:
            return ((None, self.to),)
        return tuple((code, response.to) for code, response in self.responses.items())

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(target for _, target in self.outcomes))


@dataclass(frozen=True, slots=True)
class Way:
    """
    How a state is left: by an action, or by the verdict of its review.

    :param name: what the history calls it
    :param place: where it stands below its state
    """

    name: str
    place: tuple[str, ...]
    targets: tuple[str, ...]
    events: tuple[dict[str, str], ...]

    @property
    def automatic(self) -> tuple[str, ...]:
        """The actions that the engine tries by itself after this, in their order."""
        return tuple(event["action"] for event in self.events if event["type"] == "auto_action")


@dataclass(frozen=True)
class State:
    """
    :param due_days: working days, from the day it is entered, within which somebody is to act
    :param review: who is asked at once when it is entered, and where their verdict leads
    :param outcome: of an end, what the definition says that it means
    """

    name: str
    label: Text
    initial: bool
    terminal: bool
    editable: bool
    on: Mapping[str, Transition]
    help: Text | None = None
    due_days: int | None = None
    review: Review | None = None
    outcome: Outcome | None = None

    @cached_property
    def means(self) -> Outcome | None:
        """What it means to have ended here: by the word of the definition, or else by a name that has always said it."""
        return (self.outcome or BY_NAME.get(self.name)) if self.terminal else None

    @cached_property
    def required(self) -> tuple[Require, ...]:
        """What its actions ask for that are not optional, each once."""
        return tuple(dict.fromkeys(step.require for step in self.on.values() if not step.optional))

    @cached_property
    def asks(self) -> str | None:
        """The role of the organizations that it waits for, or `recipient`, where all its actions ask for the same."""
        asked = {
            step.decider or ("recipient" if step.require.party == RECIPIENT_ALONE else None)
            for step in self.on.values()
            if not step.optional
        }
        return asked.pop() if len(asked) == 1 else None

    @property
    def targets(self) -> tuple[str, ...]:
        verdicts = self.review.targets if self.review else ()
        return tuple(dict.fromkeys((*verdicts, *(target for step in self.on.values() for target in step.targets))))

    @property
    def ways(self) -> tuple[Way, ...]:
        ways = [Way(action, ("on", action), step.targets, step.events) for action, step in self.on.items()]
        if self.review is not None:
            for verdict, to in self.review.then.items():
                events = self.review.events.get(verdict, ())
                ways.append(Way(FELL[verdict], ("review", "then", verdict), (to,), events))
        return tuple(ways)


# Every workflow ends here when its subject is withdrawn; a definition need not name it.
CANCELLED = State(
    "cancelled", Text("ยกเลิกแล้ว", "Cancelled"), initial=False, terminal=True, editable=False, on=MappingProxyType({})
)

# And here when somebody ends it without an outcome, while its subject stays.
TERMINATED = State(
    "terminated", Text("ยุติแล้ว", "Terminated"), initial=False, terminal=True, editable=False, on=MappingProxyType({})
)
ENDS = MappingProxyType({CANCELLED.name: CANCELLED, TERMINATED.name: TERMINATED})


@dataclass(frozen=True, slots=True)
class TransitionExample:
    """
    What whoever wrote the definition says that an action can be taken with.

    :param facts: what its condition reads, as `{"context": {"payload": {"amount": 1}}}`
    """

    state: str
    action: str
    facts: JsonObject


@dataclass(frozen=True)
class Definition:
    """
    `states` keeps the order in which they were written, which is the order of the timeline.

    :param context_schema: what an instance may remember, with the values of its steps; None leaves it open
    :param examples: played on the engine when it is published
    :param merges: values are kept one by one; False in versions from before that, where a payload replaces the last one
    """

    code: str
    description: Text | None
    initial: str
    states: Mapping[str, State]
    context_schema: ContextSchema | None = None
    merges: bool = True
    examples: tuple[TransitionExample, ...] = ()

    def action_label(self, state: str, action: str) -> Text | None:
        here = self.states.get(state)
        transition = here.on.get(action) if here else None
        return transition.label if transition else None

    def state(self, name: str) -> State:
        """Return a state that an instance can stand in: one of its own, or an end that every workflow has."""
        return self.states.get(name) or ENDS[name]

    @cached_property
    def reviews(self) -> bool:
        return any(state.review is not None for state in self.states.values())

    @cached_property
    def steps(self) -> tuple[tuple[str, State, Transition], ...]:
        """Every action, with the pointer to it and the state that has it."""
        return tuple(
            (below(f"/states/{index}/on", action), state, step)
            for index, state in enumerate(self.states.values())
            for action, step in state.on.items()
        )

    @cached_property
    def actions(self) -> frozenset[str]:
        return frozenset(step.action for _, _, step in self.steps)


MERGED = "merged"


def as_published(definition: Definition, stored: JsonObject) -> Definition:
    """Return a stored version as it was published, by the short form that was stored with it."""
    return definition if stored.get("payload") == MERGED else replace(definition, merges=False)


def compiled(definition: Definition) -> dict[str, Json]:
    """
    Return the short form that is stored beside the text of a version, for reports and comparison.

    It says by which rule payloads are kept: a version runs by the rule under which it was published.
    """
    return {
        "workflow": definition.code,
        "payload": MERGED,
        "initialState": definition.initial,
        "states": {
            state.name: {
                "terminal": state.terminal,
                "transitions": {action: _outcome(step) for action, step in state.on.items()},
                **({"review": {way: {"to": to} for way, to in state.review.then.items()}} if state.review else {}),
            }
            for state in definition.states.values()
        },
    }


def _outcome(step: Transition) -> dict[str, Json]:
    fields: dict[str, Json] = {} if step.fields is None else {"fields": list(step.fields)}
    if step.to is not None:
        return {"to": step.to, **fields}
    return {"responses": {code: {"to": response.to} for code, response in step.responses.items()}, **fields}
