"""Who the people are that notices are addressed to: looked up for many notices at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.notifications import repository
from saraban.notifications.domain.rules import ACTS, Notice
from saraban.notifications.repository import Parties


@dataclass(frozen=True, slots=True)
class Directory:
    """
    People by public id, with their keys.

    :param members: of each organization, by its key, those who may act in workflows
    :param parties: keys of organizations and authors, by document
    """

    organizations: Mapping[UUID, int]
    members: Mapping[int, Mapping[UUID, int]]
    users: Mapping[UUID, int]
    authors: Mapping[UUID, int]
    parties: Mapping[UUID, Parties]

    def readers(self, notice: Notice) -> list[int]:
        """This will give the keys of a notice's people, without the one who did what it tells."""
        audience = notice.audience
        keys = {self.organizations[one] for one in audience.organizations if one in self.organizations}
        people = {one: self.users[one] for one in audience.users if one in self.users}
        if audience.parties and notice.entity_id:
            parties = self.parties.get(UUID(notice.entity_id), Parties())
            keys |= parties.originator if "originator" in audience.parties else frozenset()
            keys |= parties.recipients if "recipients" in audience.parties else frozenset()
            if "author" in audience.parties:
                people |= {public_id: key for public_id, key in self.authors.items() if key in parties.author}
        for key in keys:
            people |= self.members.get(key, {})
        return sorted(user_id for public_id, user_id in people.items() if public_id != notice.actor)


async def directory(session: AsyncSession, notices: Sequence[Notice]) -> Directory:
    """This will look up everybody whom the notices name."""
    documents = {UUID(one.entity_id) for one in notices if one.audience.parties and one.entity_id}
    parties = await repository.parties(session, documents=documents)
    organizations = await repository.organization_keys(
        session, public_ids={one for notice in notices for one in notice.audience.organizations}
    )
    keys = frozenset(organizations.values()).union(*(one.originator | one.recipients for one in parties.values()))
    return Directory(
        organizations=organizations,
        members=await identity.members_of_each(session, keys, ACTS),
        users=await repository.user_keys(
            session, public_ids={one for notice in notices for one in notice.audience.users}
        ),
        authors=await repository.public_ids_of(
            session, user_ids={key for one in parties.values() for key in one.author}
        ),
        parties=parties,
    )
