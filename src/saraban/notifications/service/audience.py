"""Who the people are that notices are addressed to, and who of them may know: looked up for many notices at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.notifications import repository
from saraban.notifications.domain.notices import Notice
from saraban.notifications.repository import DocumentParties
from saraban.workflow.engine.pending_assignees import ACTS, SubjectState
from saraban.workflow.runtime.service.assignees import NotificationAudience, audience_of
from saraban.workflow.service import Subjects


@dataclass(frozen=True, slots=True)
class AudienceDirectory:
    """
    People by public id, with their keys.

    :param members: of each organization, by its key, those who come into question
    :param parties: keys of organizations and authors, by document
    :param callers: what each may do at this moment
    """

    organizations: Mapping[UUID, int]
    members: Mapping[int, Mapping[UUID, int]]
    users: Mapping[UUID, int]
    authors: Mapping[UUID, int]
    parties: Mapping[UUID, DocumentParties]
    hearing: NotificationAudience
    callers: Mapping[UUID, Caller] = field(default_factory=dict)

    def readers(self, notice: Notice) -> list[int]:
        """
        Return the keys of a notice's people, as far as they may see what it tells of; without the one who did it.

        """
        audience = notice.audience
        keys = {self.organizations[one] for one in audience.organizations if one in self.organizations}
        people = {one: self.users[one] for one in audience.users if one in self.users}
        if audience.parties and notice.entity_id:
            parties = self.parties.get(UUID(notice.entity_id), DocumentParties())
            keys |= parties.originator if "originator" in audience.parties else frozenset()
            keys |= parties.recipients if "recipients" in audience.parties else frozenset()
            if "author" in audience.parties:
                people |= {public_id: key for public_id, key in self.authors.items() if key in parties.author}
        for key in keys:
            people |= {one: user for one, user in self.members.get(key, {}).items() if self._acts(one, notice)}
        return sorted(
            user_id
            for public_id, user_id in people.items()
            if public_id != notice.actor and self.may_know(self.callers.get(public_id), notice)
        )

    def may_know(self, person: Caller | None, notice: Notice) -> bool:
        """Return whether somebody may see what a notice tells of, in the state it tells of."""
        stand = self._stand(notice)
        return person is not None and (stand is None or self.hearing.sees(person, stand))

    def _acts(self, public_id: UUID, notice: Notice) -> bool:
        person, stand = self.callers.get(public_id), notice.stand
        if person is None:
            return False
        if notice.audience.acts and stand is not None:
            return self.hearing.asks(person, stand)
        return person.may_anywhere(ACTS)

    def _stand(self, notice: Notice) -> SubjectState | None:
        return stand_of(notice, self.parties)


def stand_of(notice: Notice, parties: Mapping[UUID, DocumentParties]) -> SubjectState | None:
    """Return what a notice tells of: an event of a document names it, and its present revision is meant."""
    if notice.stand is not None or not notice.audience.parties or not notice.entity_id:
        return notice.stand
    revision = parties.get(UUID(notice.entity_id), DocumentParties()).revision
    return SubjectState(str(revision)) if revision is not None else None


async def directory(session: AsyncSession, notices: Sequence[Notice], *, subjects: Subjects) -> AudienceDirectory:
    """Look up everybody whom the notices name, with what each may do and what may be known of."""
    documents = {UUID(one.entity_id) for one in notices if one.audience.parties and one.entity_id}
    parties = await repository.parties(session, documents)
    organizations = await repository.organization_keys(
        session, public_ids={one for notice in notices for one in notice.audience.organizations}
    )
    keys = frozenset(organizations.values()).union(*(one.originator | one.recipients for one in parties.values()))
    stands = {stand for one in notices if (stand := stand_of(one, parties)) is not None}
    heard = await audience_of(session, stands, subjects=subjects)
    members = await identity.members_of_each(session, keys, _permissions(notices, heard))
    users = await repository.user_keys(session, public_ids={one for notice in notices for one in notice.audience.users})
    authors = await repository.public_ids_of(session, user_ids={key for one in parties.values() for key in one.author})
    everybody = {*users, *authors}.union(*members.values())
    callers = await identity.load_callers(session, everybody)
    return AudienceDirectory(organizations, members, users, authors, parties, heard, callers)


def _permissions(notices: Sequence[Notice], heard: NotificationAudience) -> frozenset[str] | None:
    """Of which every member has one who can come into question; None where a step asks some who need none."""
    found = {ACTS}
    for one in notices:
        if one.audience.acts and one.stand is not None:
            asked = heard.permissions(one.stand)
            if asked is None:
                return None
            found |= asked
    return frozenset(found)
