"""
The values of steps in words: what an action can be given, what an instance remembers, what each step brought.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.engine import step_data
from saraban.workflow.language.definition import Definition, Transition, names
from saraban.workflow.language.schema import Field, payload_fields
from saraban.workflow.language.schema.fields import said, written
from saraban.workflow.language.subject import ValueOut
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.schemas import ChangedValueOut
from saraban.workflow.runtime.service import definitions


@dataclass(frozen=True)
class StepData:
    """What a step of one instance can be given, by the schema of its definition; nothing where that has none."""

    definition: Definition | None = None
    context: JsonObject = field(default_factory=dict)
    state: str = ""

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(_fields(self.definition).values()) if self.definition is not None else ()

    @property
    def remembered(self) -> JsonObject:
        return step_data.remembered(self.context)

    @property
    def stated(self) -> tuple[ValueOut, ...]:
        return stated_values(self.definition, self.context) if self.definition is not None else ()

    @cached_property
    def _here(self) -> Mapping[str, Transition]:
        return self.definition.state(self.state).on if self.definition is not None and self.state else {}

    @cached_property
    def judged(self) -> frozenset[str]:
        """The actions of the present state whose conditions read what comes with them."""
        return frozenset(
            step.action
            for step in self._here.values()
            if step.condition is not None and names(step.condition.logic) & {step_data.PAYLOAD, "*"}
        )

    @property
    def merges(self) -> bool:
        """Whether values are kept one by one, so that only what is new has to be sent."""
        return self.definition is None or self.definition.merges

    def of(self, action: str) -> tuple[Field, ...]:
        """
        Return what an action can be given.

        What was stated before is not asked again where the action does not change it, except by a condition that reads it.
        """
        step = self._here.get(action)
        if step is None or not self.merges:
            return self.fields
        if step.fields is not None:
            return tuple(one for one in self.fields if one.name in step.fields)
        return tuple(one for one in self.fields if action in self.judged or one.name not in self.remembered)

    def check(self, payload: JsonObject) -> None:
        """
        Tell what the schema would say of a payload, an empty one too, before any condition is asked.

        :raises Invalid: with a fault for each value, under `/payload`
        """
        if self.definition is None:
            return
        known = (
            step_data.remembered(step_data.after(self.definition, self.context, payload)) if self.merges else payload
        )
        step_data.check_context(self.definition, {**self.context, step_data.PAYLOAD: dict(known)})


NO_STEP_DATA = StepData()


async def step_data_of(session: AsyncSession, *, public_id: UUID) -> StepData:
    """Return what the steps of an instance can be given; whether the caller sees it is the caller's check."""
    row = await repository.instance(session, public_id)
    return NO_STEP_DATA if row is None else step_data_in(row, await definitions.load(session, row.definition_id))


def step_data_in(row: Instance, definition: Definition) -> StepData:
    if definition.context_schema is None:
        return NO_STEP_DATA
    return StepData(definition, row.context or {}, row.current_state)


def stated_values(definition: Definition, context: JsonObject | None) -> tuple[ValueOut, ...]:
    """Return what an instance remembers, in the order of the schema; what that does not name comes last."""
    known, fields = step_data.remembered(context or {}), _fields(definition)
    ordered = [name for name in fields if name in known] + [name for name in known if name not in fields]
    return tuple(_value(fields.get(name) or _unnamed(name), known[name]) for name in ordered)


def changed_values(definition: Definition, payload: Any, before: JsonObject) -> tuple[ChangedValueOut, ...]:
    """Return what came with a step, and what of what was stated `before` each value took the place of."""
    if not isinstance(payload, Mapping):
        return ()
    fields, found = _fields(definition), []
    for name, value in payload.items():
        one = fields.get(name) or _unnamed(name)
        changes = name in before and not step_data.same(before[name], value)
        old, old_text = (before[name], said(one, before[name])) if changes else (None, None)
        found.append(ChangedValueOut(**dict(_value(one, value)), before=old, before_text=old_text))
    return tuple(found)


def _fields(definition: Definition) -> dict[str, Field]:
    schema = definition.context_schema
    return {one.name: one for one in payload_fields(schema.raw)} if schema is not None else {}


def _unnamed(name: str) -> Field:
    return Field(name, "json")


def _value(one: Field, value: Json) -> ValueOut:
    text = said(one, value) if one.kind != "json" or isinstance(value, bool | int | float) else None
    plain = "–" if value is None else written(value)
    label = one.label or Text(one.name, one.name)
    return ValueOut(name=one.name, label=label, kind=one.kind, value=value, text=text or Text(plain, plain))
