"""What the workflow is told about documents: who takes part, in which role, and what a person's inbox shows."""

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import Kind
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.documents import DocumentRow, Recipient
from saraban.identity.domain.permission import Scope
from saraban.kit.clock import local_date
from saraban.projects import service as projects
from saraban.workflow.domain.subject import SubjectFacts

Parties = Mapping[str, frozenset[int]]


async def facts_of(
    session: AsyncSession, kind: Kind, *, rows: Sequence[DocumentRow], zone: ZoneInfo
) -> dict[str, SubjectFacts]:
    """This will give the facts by the revisions' public ids; two queries, and one for each project or contract."""
    recipients = await repository.recipients(session, document_ids={row.head.id for row in rows})
    places = {(row.head.project_id, row.head.contract_id) for row in rows}
    parties = {
        place: await projects.parties(session, project_id=place[0], contract_id=place[1])
        for place in sorted(places, key=lambda place: (place[0], place[1] or 0))
    }
    return {
        str(row.revision.public_id): _facts(
            kind, row, recipients[row.head.id], parties[row.head.project_id, row.head.contract_id], zone
        )
        for row in rows
    }


def _facts(
    kind: Kind, row: DocumentRow, recipients: Sequence[Recipient], parties: Parties, zone: ZoneInfo
) -> SubjectFacts:
    head, revision = row.head, row.revision
    sent_to = frozenset(one.organization.id for one in recipients)
    return SubjectFacts(
        entity_id=str(revision.public_id),
        scope=Scope(
            concerned(head.originator_id, sent_to, parties, head.contract_id), head.project_id, head.contract_id
        ),
        originator_organization_id=head.originator_id,
        recipient_organization_ids=frozenset(one.organization.id for one in recipients if one.recipient_type == "TO"),
        parties=parties,
        submitter_user_id=revision.created_by,
        assignee_user_ids=frozenset(),
        kind=kind.name,
        public_id=head.public_id,
        number=revision.correspondence_number,
        title=revision.subject,
        due_date=local_date(revision.due_date, zone) if revision.due_date else None,
        priority=revision.priority,
        context={
            "documentType": row.type.type_code,
            "projectPublicId": str(row.project.public_id),
            "projectCode": row.project.project_code,
            "originatorCode": row.originator.organization_code,
            "revision": revision.revision_label,
            "discipline": row.discipline.discipline_code if row.discipline else None,
        },
        edit_permission=kind.edit,
        zone=zone,
    )


def concerned(originator: int, sent_to: frozenset[int], parties: Parties, contract: int | None) -> frozenset[int]:
    """This will give whose grants count: both sides, and the contract's parties where there is a contract."""
    of_contract = frozenset().union(*parties.values()) if contract is not None else frozenset()
    return frozenset({originator}) | sent_to | of_contract
