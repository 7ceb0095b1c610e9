"""Sheets as answers, and as facts for their workflow."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.domain.visibility import CirculationReach, may_see, reach_of
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.schemas import AssigneeAnswer, CirculationAnswer, CirculationSummary
from saraban.documents.core import service as core
from saraban.documents.core.domain.dates import is_overdue
from saraban.documents.core.schemas import ProjectAnswer, ReferenceAnswer
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.clock import local_date
from saraban.projects.domain.master_data import CIRCULATION_STATUSES
from saraban.workflow import service as workflow
from saraban.workflow.runtime.schemas import WorkflowEnvelope, WorkflowItem


def reach(caller: Caller) -> CirculationReach:
    return reach_of(caller.grants, caller.organization_ids)


def part_of(row: AssigneeRow) -> domain.AssigneeState:
    return domain.AssigneeState(row.routing.kind, row.routing.status)


def facts_of(row: CirculationRow, parts: Sequence[AssigneeRow]) -> workflow.SubjectFacts:
    sheet = row.sheet
    waiting = frozenset(
        one.routing.assigned_to for one in parts if one.routing.assigned_to and domain.is_open(part_of(one))
    )
    return workflow.SubjectFacts(
        entity_id=str(sheet.public_id),
        scope=Scope(frozenset({sheet.organization_id}), sheet.project_id),
        originator_organization_id=sheet.organization_id,
        recipient_organization_ids=frozenset(),
        parties={},
        submitter_user_id=sheet.created_by_user_id,
        assignee_user_ids=waiting,
        kind=domain.KIND,
        public_id=sheet.public_id,
        number=sheet.circulation_no,
        title=sheet.circulation_subject,
        due_date=sheet.deadline_date,
        priority=sheet.priority,
        context={
            "documentType": domain.TYPE_CODE,
            "projectPublicId": str(row.project.public_id),
            "projectCode": row.project.project_code,
            "originatorCode": row.organization.organization_code,
            "openRoutings": domain.still_to_answer(part_of(one) for one in parts),
        },
        organizations={sheet.organization_id: (row.organization.public_id, row.organization.organization_code)},
        edit_permission=domain.CREATE,
        seen_by=lambda person, _state: may_see(
            reach(person), organization=sheet.organization_id, project=sheet.project_id
        ),
        open_to=lambda organization, _state: organization == sheet.organization_id,
    )


def _part(row: AssigneeRow, today: date) -> AssigneeAnswer:
    routing = row.routing
    closed = not domain.is_open(part_of(row))
    return AssigneeAnswer(
        public_id=routing.public_id,
        user=core.person(row.user) if row.user else None,
        is_active=row.user is not None and row.user.is_active,
        kind=routing.kind,
        status=routing.status,
        due_date=routing.due_date,
        is_overdue=is_overdue(routing.due_date, today=today, closed=closed),
        comment=routing.comments,
        completed_at=routing.completed_at,
    )


def _fields(row: CirculationRow, parts: Sequence[AssigneeRow], today: date) -> dict[str, Any]:
    sheet = row.sheet
    must = [part_of(one) for one in parts if one.routing.kind in domain.MUST_ANSWER]
    return {
        "public_id": sheet.public_id,
        "document_number": sheet.circulation_no,
        "document_type": domain.TYPE_CODE,
        "kind": domain.KIND,
        "project": ProjectAnswer.model_validate(row.project),
        "originator": core.organization(row.organization),
        "subject": sheet.circulation_subject,
        "priority": sheet.priority,
        "due_date": sheet.deadline_date,
        "is_overdue": is_overdue(sheet.deadline_date, today=today, closed=sheet.closed_at is not None),
        "status": core.coded(CIRCULATION_STATUSES, row.status.code, row.status.description),
        "answered": sum(1 for part in must if not domain.is_open(part)),
        "must_answer": len(must),
        "created_at": sheet.created_at,
        "created_by": core.person(row.author),
        "cancelled_at": sheet.cancelled_at,
    }


async def envelopes(
    session: AsyncSession,
    *,
    caller: Caller,
    rows: Sequence[CirculationRow],
    parts: Mapping[int, Sequence[AssigneeRow]],
    now: datetime | None = None,
    alone: bool = False,
) -> dict[str, workflow.Envelope]:
    """
    :param now: for what is to be shown: then the actions in the place of others are there too
    :param alone: where it is one that is read by itself: whether somebody may act is looked at closely
    """
    facts = {str(row.sheet.public_id): facts_of(row, parts[row.sheet.id]) for row in rows}
    return await workflow.envelopes(
        session, caller=caller, entity_type=domain.ENTITY_TYPE, facts=facts, now=now, alone=alone
    )


async def summaries(
    session: AsyncSession, *, caller: Caller, rows: Sequence[CirculationRow], now: datetime, zone: ZoneInfo
) -> list[WorkflowItem[CirculationSummary]]:
    if not rows:
        return []
    parts = await repository.parts(session, sheet_ids=[row.sheet.id for row in rows])
    where = await envelopes(session, caller=caller, rows=rows, parts=parts, now=now)
    today = local_date(now, zone)
    return [
        WorkflowItem.around(
            CirculationSummary(**_fields(row, parts[row.sheet.id], today)), where.get(str(row.sheet.public_id))
        )
        for row in rows
    ]


async def full(
    session: AsyncSession, *, caller: Caller, row: CirculationRow, now: datetime, zone: ZoneInfo
) -> WorkflowEnvelope[CirculationAnswer]:
    """Return a sheet with everybody's part in it."""
    parts = await repository.parts(session, sheet_ids=[row.sheet.id])
    where = await envelopes(session, caller=caller, rows=[row], parts=parts, now=now, alone=True)
    today = local_date(now, zone)
    answer = CirculationAnswer(
        **_fields(row, parts[row.sheet.id], today),
        remarks=row.sheet.remarks,
        correspondence=await _about(session, caller, row),
        assignees=[_part(one, today) for one in parts[row.sheet.id]],
        attachments=[
            core.file_answer(attachment, is_main=is_main)
            for attachment, is_main in await repository.files(session, sheet_id=row.sheet.id)
        ],
        submitted_at=row.sheet.submitted_at,
        closed_at=row.sheet.closed_at,
        cancel_reason=row.sheet.cancel_reason,
        cancelled_by=core.person(row.canceller) if row.canceller else None,
        number_format=await core.number_format(session, row.sheet.number_uuid),
    )
    return WorkflowEnvelope[CirculationAnswer].around(answer, where.get(str(row.sheet.public_id)))


async def _about(session: AsyncSession, caller: Caller, row: CirculationRow) -> ReferenceAnswer | None:
    if row.correspondence is None:
        return None
    found = await core.visible(session, caller=caller, public_ids=[row.correspondence])
    return core.reference(found[row.correspondence]) if found else None


_NOT_VERSIONED = {"is_overdue", "correspondence"}


def etag(answer: WorkflowEnvelope[CirculationAnswer]) -> str:
    """Return the sheet's version as an ETag: another text as soon as anything in it has changed."""
    step = answer.workflow.version_no if answer.workflow else 0
    text = answer.data.model_dump_json(exclude=_NOT_VERSIONED)
    return f'"{hashlib.sha256(f"{step}|{text}".encode()).hexdigest()[:32]}"'
