"""
A workflow definition once it has been read and checked: frozen, so that a version can be cached and shared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

from saraban.kit.errors import Text
from saraban.workflow.domain.condition import Condition
from saraban.workflow.domain.schema import ContextSchema


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
class Transition:
    """One action of a state. `optional`: it is possible, but nobody is waited for because of it."""

    action: str
    to: str
    label: Text
    require: Require
    comment_required: bool = False
    attachments: bool = True
    condition: Condition | None = None
    events: tuple[dict[str, Any], ...] = ()
    optional: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """Every state that the action can lead to."""
        return (self.to,)


@dataclass(frozen=True, slots=True)
class State:
    name: str
    label: Text
    initial: bool
    terminal: bool
    editable: bool
    on: Mapping[str, Transition]

    @property
    def targets(self) -> tuple[str, ...]:
        """Every state that can come next, each once, in the order of the definition."""
        return tuple(dict.fromkeys(target for step in self.on.values() for target in step.targets))


# Every workflow ends here when its subject is withdrawn; a definition need not name it.
CANCELLED = State(
    "cancelled", Text("ยกเลิกแล้ว", "Cancelled"), initial=False, terminal=True, editable=False, on=MappingProxyType({})
)


@dataclass(frozen=True, slots=True)
class Definition:
    """
    `states` keeps the order in which they were written, which is the order of the timeline.

    :param context_schema: what an instance may remember, with the payload of its latest step; None leaves it open
    """

    code: str
    description: str | None
    initial: str
    states: Mapping[str, State]
    context_schema: ContextSchema | None = None

    def state(self, name: str) -> State:
        """This will give a state that an instance can stand in: one of its own, or `cancelled`."""
        return self.states.get(name, CANCELLED) if name == CANCELLED.name else self.states[name]

    @property
    def actions(self) -> frozenset[str]:
        return frozenset(action for state in self.states.values() for action in state.on)


def compiled(definition: Definition) -> dict[str, Any]:
    """This will give the short form that is stored beside the text of a version, for reports and comparison."""
    return {
        "workflow": definition.code,
        "initialState": definition.initial,
        "states": {
            state.name: {
                "terminal": state.terminal,
                "transitions": {action: {"to": step.to} for action, step in state.on.items()},
            }
            for state in definition.states.values()
        },
    }
