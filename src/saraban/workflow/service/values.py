"""The values that may come with a step, as its definition's `context_schema` names them, for whoever shows a form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.workflow import repository
from saraban.workflow.domain import engine
from saraban.workflow.domain.definition import Definition
from saraban.workflow.domain.schema import Field, payload_fields
from saraban.workflow.service import definitions


@dataclass(frozen=True, slots=True)
class Values:
    """
    What a step of one instance can be given.

    :param remembered: what came with the latest step that was given anything
    :param judged: the actions of the present state whose conditions read what comes with them
    """

    fields: tuple[Field, ...] = ()
    remembered: Mapping[str, Any] = field(default_factory=dict)
    judged: frozenset[str] = frozenset()
    _definition: Definition | None = None
    _context: Mapping[str, Any] = field(default_factory=dict)

    def check(self, payload: Mapping[str, Any]) -> None:
        """
        This will say what the schema would say of a payload, an empty one too, before any condition is asked.

        :raises Invalid: with a fault for each value, under `/payload`
        """
        if self._definition is not None:
            engine.check_context(self._definition, {**self._context, "payload": dict(payload)})


NO_VALUES = Values()


async def values_of(session: AsyncSession, *, public_id: UUID) -> Values:
    """This will give what the steps of an instance can be given; whether the caller sees it is the caller's check."""
    row = await repository.instance(session, public_id)
    if row is None:
        return NO_VALUES
    definition = await definitions.load(session, row.definition_id)
    if definition.context_schema is None:
        return NO_VALUES
    context = row.context or {}
    remembered = context.get("payload")
    return Values(
        payload_fields(definition.context_schema.raw),
        remembered if isinstance(remembered, dict) else {},
        _judged(definition, row.current_state),
        definition,
        context,
    )


def _judged(definition: Definition, state: str) -> frozenset[str]:
    return frozenset(
        step.action
        for step in definition.state(state).on.values()
        if step.condition is not None
        and any(path == "*" or path.split(".")[0] == "payload" for path in step.condition.logic.variables)
    )
