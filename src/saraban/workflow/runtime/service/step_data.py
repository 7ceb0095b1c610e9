"""The values of steps."""

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
from saraban.workflow.language.schema.fields import field_text, written
from saraban.workflow.language.subject import ValueOut
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.schemas import ChangedValueOut
from saraban.workflow.runtime.service import definitions


@dataclass(frozen=True)
class StepData:
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
    def _transitions(self) -> Mapping[str, Transition]:
        return self.definition.state(self.state).on if self.definition is not None and self.state else {}

    @cached_property
    def judged(self) -> frozenset[str]:
        return frozenset(
            step.action
            for step in self._transitions.values()
            if step.condition is not None and names(step.condition.logic) & {step_data.PAYLOAD, "*"}
        )

    @property
    def merges(self) -> bool:
        return self.definition is None or self.definition.merges

    def of(self, action: str) -> tuple[Field, ...]:
        """Return the fields of an action, without stated values that it does not change or read."""
        step = self._transitions.get(action)
        if step is None or not self.merges:
            return self.fields
        if step.fields is not None:
            return tuple(value_field for value_field in self.fields if value_field.name in step.fields)
        return tuple(
            value_field
            for value_field in self.fields
            if action in self.judged or value_field.name not in self.remembered
        )

    def check(self, payload: JsonObject) -> None:
        """
        Check a payload against the schema, before any condition is evaluated.

        :raises Invalid: with a fault for each value, under `/payload`
        """
        if self.definition is None:
            return
        payload_after = (
            step_data.remembered(step_data.after(self.definition, self.context, payload)) if self.merges else payload
        )
        step_data.check_context(self.definition, {**self.context, step_data.PAYLOAD: dict(payload_after)})


NO_STEP_DATA = StepData()


async def step_data_of(session: AsyncSession, *, public_id: UUID) -> StepData:
    row = await repository.instance(session, public_id)
    return NO_STEP_DATA if row is None else step_data_in(row, await definitions.load(session, row.definition_id))


def step_data_in(row: Instance, definition: Definition) -> StepData:
    if definition.context_schema is None:
        return NO_STEP_DATA
    return StepData(definition, row.context or {}, row.current_state)


def stated_values(definition: Definition, context: JsonObject | None) -> tuple[ValueOut, ...]:
    """Return the values in the order of the schema, then those it does not name."""
    values, fields = step_data.remembered(context or {}), _fields(definition)
    ordered = [name for name in fields if name in values] + [name for name in values if name not in fields]
    return tuple(_value_out(fields.get(name) or _untyped_field(name), values[name]) for name in ordered)


def changed_values(definition: Definition, payload: Any, before: JsonObject) -> tuple[ChangedValueOut, ...]:
    if not isinstance(payload, Mapping):
        return ()
    fields, changes = _fields(definition), []
    for name, value in payload.items():
        value_field = fields.get(name) or _untyped_field(name)
        is_changed = name in before and not step_data.same(before[name], value)
        old, old_text = (before[name], field_text(value_field, before[name])) if is_changed else (None, None)
        changes.append(ChangedValueOut(**dict(_value_out(value_field, value)), before=old, before_text=old_text))
    return tuple(changes)


def _fields(definition: Definition) -> dict[str, Field]:
    schema = definition.context_schema
    return {value_field.name: value_field for value_field in payload_fields(schema.raw)} if schema is not None else {}


def _untyped_field(name: str) -> Field:
    return Field(name, "json")


def _value_out(value_field: Field, value: Json) -> ValueOut:
    text = field_text(value_field, value) if value_field.kind != "json" or isinstance(value, int | float) else None
    raw_text = "–" if value is None else written(value)
    label = value_field.label or Text(value_field.name, value_field.name)
    return ValueOut(
        name=value_field.name, label=label, kind=value_field.kind, value=value, text=text or Text(raw_text, raw_text)
    )
