"""
Who may hear of what instances do, for those who tell people: whoever could not open it is not sent a word of it.

It is asked at the moment of telling, of each person, by the state that is told of.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.workflow.engine import pending_assignees
from saraban.workflow.engine.pending_assignees import ACTS, SubjectState
from saraban.workflow.language.definition import CANCELLED, Definition
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime.repository import assignees as repository
from saraban.workflow.runtime.service import definitions
from saraban.workflow.runtime.service.subjects import Subjects


@dataclass(frozen=True, slots=True)
class NotificationAudience:
    """
    What is known of some subjects, by their ids.

    :param states: where they stand now
    """

    facts: Mapping[str, SubjectFacts] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[UUID, Definition] = field(default_factory=dict)

    def sees(self, person: Caller, stand: SubjectState) -> bool:
        """Return whether a person may see a subject in the state that is told of; nobody sees what cannot be read."""
        facts = self.facts.get(stand.entity_id)
        if facts is None:
            # What no workflow moves is addressed by those who tell of it.
            return not stand.entity_type and stand.entity_id not in self.states
        state, version = stand.state or self.states.get(stand.entity_id, ""), self._version(stand)
        # Whatever its end is called, what never left its draft is open to nobody because of it.
        given_up = version is not None and version.state(state).means == "withdrawn"
        return facts.seen_by(person, CANCELLED.name if given_up else state)

    def asks(self, person: Caller, stand: SubjectState) -> bool:
        """Return whether the state that is told of asks a member of an organization that it waits for."""
        facts, version = self.facts.get(stand.entity_id), self._version(stand)
        if facts is None or version is None or stand.state is None:
            return person.may_anywhere(ACTS)
        return pending_assignees.asks(version, stand.state, person, facts)

    def permissions(self, stand: SubjectState) -> frozenset[str] | None:
        """Return permissions of which everybody has one whom `asks` may say yes to, None where some need none."""
        version = self._version(stand)
        if version is None or stand.state is None:
            return frozenset({ACTS})
        return pending_assignees.permissions_asked(version, stand.state)

    def _version(self, stand: SubjectState) -> Definition | None:
        version = self.versions.get(stand.definition) if stand.definition else None
        return version if version is not None and stand.state in version.states else None


async def audience_of(
    session: AsyncSession, stands: Collection[SubjectState], *, subjects: Subjects
) -> NotificationAudience:
    """Read what is told of, for many at once."""
    if not stands:
        return NotificationAudience()
    kinds = {one.entity_id: one.entity_type for one in stands if one.entity_type}
    states: dict[str, str] = {}
    unknown = {one.entity_id for one in stands} - kinds.keys()
    for entity_type, entity_id, state in await repository.current_states(session, unknown) if unknown else ():
        kinds[entity_id], states[entity_id] = entity_type, state
    system = await identity.system_caller(session)
    facts: dict[str, SubjectFacts] = {}
    for kind in sorted(set(kinds.values())):
        if kind in subjects:
            asked = [key for key, one in kinds.items() if one == kind]
            facts |= await subjects.port(kind).facts(session, caller=system, entity_ids=asked)
    keys = {one.definition for one in stands} - {None}
    versions = {key: await definitions.load(session, key) for key in keys if key is not None}
    return NotificationAudience(facts, states, versions)
