"""
The one seam between a workflow and what it moves: documents implement `SubjectPort`, `bootstrap` registers it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.pipeline import SqlStatement
from saraban.workflow.engine.decisions import Step
from saraban.workflow.language.outcome import NOTHING, Meaning
from saraban.workflow.language.subject import SubjectFacts


@dataclass(frozen=True, slots=True)
class SubjectStep:
    """
    A step of one subject, as its port hears of it.

    :param caller: whose step it is: who acts, or the person in whose place he does
    :param meaning: what its definition says of it
    """

    entity_id: str
    caller: Caller
    step: Step
    now: datetime
    meaning: Meaning = NOTHING


@dataclass(frozen=True, slots=True)
class AppliedSteps:
    """
    What a port has done with steps.

    :param changed: the entities of which `facts` tells anything else afterwards
    :param due: what is still to be sent to the database, with the rows of the steps themselves
    """

    changed: Collection[str] = ()
    due: Sequence[SqlStatement] = ()


class SubjectPort(Protocol):
    """What a kind of subject tells its workflow, and hears from it."""

    @property
    def entity_type(self) -> str: ...

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, SubjectFacts]:
        """Return the facts by entity id; a missing key means that the caller may not know of it."""
        ...

    async def facts_for(self, session: AsyncSession, callers: Mapping[str, Caller]) -> dict[str, SubjectFacts]:
        """Do the same where each is asked for by a caller of its own."""
        ...

    async def moved(self, session: AsyncSession, moves: Sequence[SubjectStep]) -> AppliedSteps:
        """Apply one step of each of several subjects to their own status columns, in the transition's transaction."""
        ...


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
