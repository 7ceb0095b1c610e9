"""The interface of a workflow to its subjects."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.errors import NotFound
from saraban.workflow.engine.decisions import Step
from saraban.workflow.language.definition import Definition, State
from saraban.workflow.language.subject import NOTHING, ItemResult, Meaning, SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.service import definitions


@dataclass(frozen=True, slots=True)
class SubjectStep:
    """:param caller: the actor, or the delegator on whose behalf they act"""

    facts: SubjectFacts
    caller: Caller
    step: Step
    now: datetime
    meaning: Meaning = NOTHING
    item_results: tuple[ItemResult, ...] = ()

    @property
    def entity_id(self) -> str:
        return self.facts.entity_id


class SubjectPort(Protocol):
    @property
    def entity_type(self) -> str: ...

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, SubjectFacts]:
        """Return facts by entity id, without those that the caller may not see."""
        ...

    async def apply(self, session: AsyncSession, step: SubjectStep) -> bool:
        """
        Apply a step to the subject's own rows, in the transition's transaction.

        :raises NotAssigned, ItemIsDraft, ItemIsCancelled: by the kind of the document
        :returns: whether `facts` differ afterwards
        """
        ...


@runtime_checkable
class ItemPort(Protocol):
    async def answer_items(self, session: AsyncSession, facts: SubjectFacts, results: Sequence[ItemResult]) -> None:
        """
        Save answers to single items without a step.

        :raises Invalid: for an unknown item or code
        """
        ...


@dataclass(frozen=True, slots=True)
class InstanceState:
    """
    :param seats: the delegators on whose behalf the caller may act, if they were read
    :param has_files: False if no step has files; True may be untrue
    """

    row: Instance
    definition: Definition
    facts: SubjectFacts
    seats: tuple[Caller, ...] = ()
    has_files: bool = True

    @property
    def state(self) -> State:
        return self.definition.state(self.row.current_state)


class Subjects:
    def __init__(self, *ports: SubjectPort) -> None:
        self._ports: dict[str, SubjectPort] = {}
        for port in ports:
            self.register(port)

    def register(self, port: SubjectPort) -> None:
        if port.entity_type in self._ports:
            raise ValueError(f"{port.entity_type} has a port already")
        self._ports[port.entity_type] = port

    def port(self, entity_type: str) -> SubjectPort:
        return self._ports[entity_type]

    def __contains__(self, entity_type: str) -> bool:
        return entity_type in self._ports


async def readers(
    session: AsyncSession, users: Collection[int], *, named: Iterable[UUID] = (), facts: SubjectFacts, state: str
) -> list[Caller]:
    public_ids = await repository.user_public_ids(session, sorted(users)) if users else {}
    people = await identity.load_callers(session, sorted({*public_ids.values(), *named}))
    return [person for person in people.values() if facts.seen_by(person, state)]


async def facts_of(
    session: AsyncSession, rows: Iterable[Instance], *, caller: Caller, subjects: Subjects
) -> dict[tuple[str, str], SubjectFacts]:
    """Return the facts that the caller may see, by entity type and id; types without a port are left out."""
    ids_by_type: dict[str, list[str]] = {}
    for row in rows:
        if row.entity_type in subjects:
            ids_by_type.setdefault(row.entity_type, []).append(row.entity_id)
    facts: dict[tuple[str, str], SubjectFacts] = {}
    for entity_type in sorted(ids_by_type):
        visible = await subjects.port(entity_type).facts(session, caller=caller, entity_ids=ids_by_type[entity_type])
        facts |= {(entity_type, key): subject for key, subject in visible.items()}
    return facts


async def seen(ctx: RequestContext, session: AsyncSession, row: Instance, *, subjects: Subjects) -> SubjectFacts | None:
    return (await facts_of(session, [row], caller=ctx.caller, subjects=subjects)).get((row.entity_type, row.entity_id))


async def find_instance(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID
) -> InstanceState:
    """:raises NotFound: when there is none, or the caller may not see its subject"""
    row = await repository.instance(session, public_id)
    facts = await seen(ctx, session, row, subjects=subjects) if row is not None else None
    if row is None or facts is None:
        raise NotFound(f"There is no workflow instance {public_id}.")
    return InstanceState(row, await definitions.load(session, row.definition_id), facts)
