"""
The one seam between a workflow and what it moves: documents implement `SubjectPort`, `bootstrap` registers it.

Nobody is asked for what they could not open, nor told of it: who may see it is read here too.
"""

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
    """
    A step of one subject, as its port hears of it.

    :param facts: as the port gave them
    :param caller: whose step it is: who acts, or the person in whose place they do
    :param meaning: what its definition says of it
    :param item_results: what was answered with it to single items
    """

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
    """What a kind of subject tells its workflow, and hears from it."""

    @property
    def entity_type(self) -> str: ...

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, SubjectFacts]:
        """Return the facts by entity id; a missing key means that the caller may not know of it."""
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
    """What the port of subjects that carry items can do besides."""

    async def answer_items(self, session: AsyncSession, facts: SubjectFacts, results: Sequence[ItemResult]) -> None:
        """
        Write down what is answered to single items without a step.

        :raises Invalid: for what is no item, and for a code that there is not
        """
        ...


@dataclass(frozen=True, slots=True)
class InstanceState:
    """
    An instance with what it is judged by.

    :param seats: in whose place the caller may act, as far as they had to be asked for
    :param has_files: False where it is known that no step of it has any
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
    """The registered ports by entity type."""

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
    """Return those of some people, by key or by name, who may see a subject that stands in a state; two queries."""
    public_ids = await repository.user_public_ids(session, sorted(users)) if users else {}
    people = await identity.load_callers(session, sorted({*public_ids.values(), *named}))
    return [person for person in people.values() if facts.seen_by(person, state)]


async def facts_of(
    session: AsyncSession, rows: Iterable[Instance], *, caller: Caller, subjects: Subjects
) -> dict[tuple[str, str], SubjectFacts]:
    """
    Return what a caller may see of what instances move, by entity type and id.

    What the caller may not know of is not there, nor what is of a kind that nobody has registered.
    """
    wanted: dict[str, list[str]] = {}
    for row in rows:
        if row.entity_type in subjects:
            wanted.setdefault(row.entity_type, []).append(row.entity_id)
    facts: dict[tuple[str, str], SubjectFacts] = {}
    for kind in sorted(wanted):
        found = await subjects.port(kind).facts(session, caller=caller, entity_ids=wanted[kind])
        facts |= {(kind, key): one for key, one in found.items()}
    return facts


async def seen(ctx: RequestContext, session: AsyncSession, row: Instance, *, subjects: Subjects) -> SubjectFacts | None:
    """Return what one instance moves, None for what the caller may not know of."""
    return (await facts_of(session, [row], caller=ctx.caller, subjects=subjects)).get((row.entity_type, row.entity_id))


async def find_instance(
    ctx: RequestContext, session: AsyncSession, *, subjects: Subjects, public_id: UUID
) -> InstanceState:
    """
    :raises NotFound: when there is none, or the caller may not see what it moves
    """
    row = await repository.instance(session, public_id)
    facts = await seen(ctx, session, row, subjects=subjects) if row is not None else None
    if row is None or facts is None:
        raise NotFound(f"There is no workflow instance {public_id}.")
    return InstanceState(row, await definitions.load(session, row.definition_id), facts)
