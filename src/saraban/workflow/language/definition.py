"""A parsed workflow definition: immutable, so that a version can be cached and shared."""

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

# Values that the client sends with an action.
SENT = frozenset({"payload", "comment", "responseCode", "*"})


@dataclass(frozen=True, slots=True)
class Condition:
    """:param message: shown when it is not met; `{name}` fields come from `document`"""

    logic: logic.Compiled
    message: Text | None = None

    @property
    def reads_payload(self) -> bool:
        """Whether it reads values that the client sends, so it cannot be evaluated before."""
        return not names(self.logic).isdisjoint(SENT)

    def holds(self, facts: JsonObject) -> bool:
        """Return False also when the rule exceeds its budget."""
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
    """Who may act: one entry of each non-empty set must match."""

    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    organization_roles: frozenset[str] = frozenset()
    party: frozenset[str] = frozenset()
    user: UUID | None = None
    not_submitter: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """:param inherits: the code leads to the action's `to`"""

    to: str
    comment_required: bool = False
    label: Text | None = None
    inherits: bool = False


@dataclass(frozen=True)
class Transition:
    """
    An action of a state; an `optional` one makes nobody responsible.
    :param to: None where `responses` contain the next states
    :param fields: values that it accepts, also to change them; None accepts values not stated yet
    :param usual: code to use without a response code; None requires one
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
        """Return whether the action accepts the first statement of a value."""
        return self.fields is None or name in self.fields

    @cached_property
    def choice(self) -> ActionOut:
        return ActionOut(
            code=self.action,
            label=self.label,
            comment_required=self.comment_required,
            attachments=self.attachments,
            attachments_required=self.attachments_required,
            responses=[
                ResponseOut(
                    code=code,
                    label=response.label,
                    comment_required=response.comment_required or self.comment_required,
                    usual=code == self.usual,
                )
                for code, response in self.responses.items()
            ],
            help=self.help,
            fields=None if self.fields is None else list(self.fields),
        )

    @cached_property
    def decider(self) -> str | None:
        """The role of the acting organizations, if it requires exactly one."""
        roles = self.require.organization_roles
        return next(iter(roles)) if len(roles) == 1 else None

    @property
    def outcomes(self) -> tuple[tuple[str | None, str], ...]:
        if self.to is not None:
            return ((None, self.to),)
        return tuple((code, response.to) for code, response in self.responses.items())

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(target for _, target in self.outcomes))


@dataclass(frozen=True, slots=True)
class Way:
    """
    A way out of a state: an action, or the result of its review.
    :param name: in the history
    :param place: path below the state
    """

    name: str
    place: tuple[str, ...]
    targets: tuple[str, ...]
    events: tuple[dict[str, str], ...]

    @property
    def automatic(self) -> tuple[str, ...]:
        return tuple(event["action"] for event in self.events if event["type"] == "auto_action")


@dataclass(frozen=True)
class State:
    """
    :param due_days: working days to act after the state is entered
    :param review: starts when the state is entered
    :param outcome: of a final state
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
        """The outcome of a final state, from the definition or from a well-known name."""
        return (self.outcome or BY_NAME.get(self.name)) if self.terminal else None

    @cached_property
    def required(self) -> tuple[Require, ...]:
        """Requirements of the actions that are not optional."""
        return tuple(dict.fromkeys(step.require for step in self.on.values() if not step.optional))

    @cached_property
    def asks(self) -> str | None:
        """The role that all actions require, or `recipient`; None if they differ."""
        roles = {
            step.decider or ("recipient" if step.require.party == RECIPIENT_ALONE else None)
            for step in self.on.values()
            if not step.optional
        }
        return roles.pop() if len(roles) == 1 else None

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


# The end of every workflow whose subject is withdrawn, without an entry in the definition.
CANCELLED = State(
    "cancelled", Text("ยกเลิกแล้ว", "Cancelled"), initial=False, terminal=True, editable=False, on=MappingProxyType({})
)

# The end of a workflow that an administrator terminates; its subject remains.
TERMINATED = State(
    "terminated", Text("ยุติแล้ว", "Terminated"), initial=False, terminal=True, editable=False, on=MappingProxyType({})
)
ENDS = MappingProxyType({CANCELLED.name: CANCELLED, TERMINATED.name: TERMINATED})


@dataclass(frozen=True, slots=True)
class TransitionExample:
    """
    An example by the author of the definition.
    :param facts: values for its condition, as `{"context": {"payload": {"amount": 1}}}`
    """

    state: str
    action: str
    facts: JsonObject


@dataclass(frozen=True)
class Definition:
    """
    `states` are in the order of the timeline.
    :param context_schema: for the values of steps; None allows any
    :param examples: run when it is published
    :param merges: payloads are merged; in old versions a payload replaces the previous one
    """

    code: str
    description: Text | None
    initial: str
    states: Mapping[str, State]
    context_schema: ContextSchema | None = None
    merges: bool = True
    examples: tuple[TransitionExample, ...] = ()

    def action_label(self, state: str, action: str) -> Text | None:
        state_definition = self.states.get(state)
        transition = state_definition.on.get(action) if state_definition else None
        return transition.label if transition else None

    def state(self, name: str) -> State:
        return self.states.get(name) or ENDS[name]

    @cached_property
    def reviews(self) -> bool:
        return any(state.review is not None for state in self.states.values())

    @cached_property
    def steps(self) -> tuple[tuple[str, State, Transition], ...]:
        """Each action with its pointer and state."""
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
    """Return a stored version with the payload rule of its publication."""
    return definition if stored.get("payload") == MERGED else replace(definition, merges=False)


def compiled(definition: Definition) -> dict[str, Json]:
    """Return the summary that is stored beside a version, with its payload rule."""
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
