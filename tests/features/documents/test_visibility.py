"""The rule in words and the rule in SQL agree, on documents and callers made up at random."""

from random import Random  # noqa: TID251  seeded: the same documents and callers in every run

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import DRAFT, VIEW, Placement, Reach, may_see
from saraban.documents.core.models import Document, DocumentRecipient, DocumentRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, Grant
from saraban.identity.models import Organization, User
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.projects.models import Contract, ContractOrganization, CorrespondenceStatus, CorrespondenceType, Project
from saraban.workflow.language.subject import BANGKOK
from tests.factories.letterbox import NOW
from tests.reach import rebuild

DOCUMENTS, CALLERS = 60, 150


async def _keys(session: AsyncSession, column: sa.ColumnElement[int]) -> list[int]:
    return list(await session.scalars(sa.select(column).order_by(column)))


async def _write(session: AsyncSession, random: Random) -> dict[object, Placement]:
    other = Project(project_code="OTHER", project_name="โครงการอื่น", created_at=NOW, updated_at=NOW)
    session.add(other)
    await session.flush()
    organizations = await _keys(session, Organization.id)
    contracts = {row.id: row.project_id for row in await session.scalars(sa.select(Contract))}
    projects = [*set(contracts.values()), other.id]
    kind = await session.scalar(sa.select(CorrespondenceType.id).where(CorrespondenceType.type_code == "LETTER"))
    status = await session.scalar(sa.select(CorrespondenceStatus.id).where(CorrespondenceStatus.status_code == "DRAFT"))
    user = await session.scalar(sa.select(User.user_id).limit(1))
    parties: dict[int, set[int]] = {contract: set() for contract in contracts}
    for row in await session.scalars(sa.select(ContractOrganization)):
        parties[row.contract_id].add(row.organization_id)
    places: dict[object, Placement] = {}
    for number in range(DOCUMENTS):
        contract = random.choice([None, *contracts])
        project = contracts[contract] if contract else random.choice(projects)
        sent_to = random.sample(organizations, random.randint(1, 2))
        originator = random.choice(organizations)
        head = Document(
            correspondence_type_id=kind,
            correspondence_number=f"หนังสือ-{number}",
            project_id=project,
            contract_id=contract,
            originator_id=originator,
            created_by=user,
            created_at=NOW,
        )
        session.add(head)
        await session.flush()
        issued = random.random() < 0.6
        revision = DocumentRevision(
            correspondence_id=head.id,
            correspondence_number=head.correspondence_number,
            revision_number=0,
            revision_label="A",
            is_current=True,
            correspondence_status_id=status,
            subject="เรื่อง",
            issued_date=NOW if issued else None,
            created_by=user,
            created_at=NOW,
        )
        session.add(revision)
        session.add_all(
            DocumentRecipient(correspondence_id=head.id, recipient_organization_id=one, recipient_type="TO")
            for one in sent_to
        )
        await session.flush()
        places[head.public_id] = Placement(
            project,
            contract,
            originator,
            frozenset(sent_to),
            frozenset(parties[contract]) if contract else frozenset(),
            issued,
        )
    return places


def _some(random: Random, among: list[int]) -> frozenset[int]:
    return frozenset(random.sample(among, random.choice([0, 0, 1, 1, 2])))


def _caller(organizations: frozenset[int]) -> Caller:
    grants = tuple(Grant("Viewer", frozenset({VIEW}), organization=one) for one in sorted(organizations))
    return Caller(0, new_id(), "somebody", "Somebody", None, organizations, grants)


class TestVisible:
    async def test_says_the_same_in_sql_as_in_words(self, demo_db: Database) -> None:
        random = Random(2569)
        async with demo_db.writing() as session:
            places = await _write(session, random)
            organizations = await _keys(session, Organization.id)
            contracts, projects = await _keys(session, Contract.id), await _keys(session, Project.id)
        await rebuild(demo_db)
        async with demo_db.reading() as session:
            for _ in range(CALLERS):
                reach = Reach(
                    everything=random.random() < 0.05,
                    projects=_some(random, projects) if random.random() < 0.2 else frozenset(),
                    contracts=_some(random, contracts),
                    organizations=_some(random, organizations),
                    member_of=_some(random, organizations),
                )
                seen = await repository.visible(session, reach=reach, public_ids=list(places))

                assert set(seen) == {one for one, place in places.items() if may_see(reach, place)}, reach

    async def test_says_the_same_to_a_workflow_that_looks_for_people(self, demo_db: Database) -> None:
        random = Random(2570)
        async with demo_db.writing() as session:
            await _write(session, random)
            organizations = await _keys(session, Organization.id)
            revisions = list(await session.scalars(sa.select(DocumentRevision.public_id)))
        await rebuild(demo_db)
        subject = CORRESPONDENCE.subject(BANGKOK)
        everybody = [_caller(_some(random, organizations)) for _ in range(40)]
        async with demo_db.reading() as session:
            system = await identity.system_caller(session)
            asked = [str(one) for one in revisions]
            known = await subject.facts(session, caller=system, entity_ids=asked)
            for person in everybody:
                seen = await subject.facts(session, caller=person, entity_ids=asked)
                assert set(seen) == {key for key, facts in known.items() if facts.seen_by(person, DRAFT)}
                assert set(seen) <= {key for key, facts in known.items() if facts.seen_by(person, "sent")}
