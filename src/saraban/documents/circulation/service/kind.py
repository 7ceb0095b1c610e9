"""Circulations: the verbs of every document, with assignees of one organization in place of recipients."""

# ruff: noqa: ARG002

# The verbs give every kind the same, whether it needs it or not.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.models import Circulation
from saraban.documents.circulation.repository import CirculationFilters, CirculationRow
from saraban.documents.circulation.schemas import (
    CirculationAnswer,
    CirculationChanges,
    CirculationSummary,
    NewCirculation,
)
from saraban.documents.circulation.service.assignees import (
    assignee_answer,
    assignees_of,
    change_assignees,
    check_day,
    close_open,
    reach,
    routings_of,
    state_of,
)
from saraban.documents.circulation.service.workflow_subject import CirculationSubject, facts_of
from saraban.documents.core import service as core
from saraban.documents.core.domain import field_changes, is_overdue
from saraban.documents.core.schemas import ProjectAnswer, ReferenceAnswer
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.clock import local_date
from saraban.kit.db import violates_constraint
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text, invalid
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.projects.domain.master_data import CIRCULATION_STATUSES
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Envelope, SubjectFacts

_ONE_FOR_EACH = ("uq_circulation_per_organization", "circulations.correspondence_id")
_COLUMNS = {
    "subject": "circulation_subject",
    "remarks": "remarks",
    "deadline_date": "deadline_date",
    "priority": "priority",
}


class CirculationExists(DomainError):
    """An organization passes a document round once."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_EXISTS"
    says = Text("องค์กรของคุณมีใบเวียนของเอกสารนี้แล้ว", "Your organization already has a circulation of this document.")
    recovery = (Text("เปิดใบเวียนที่มีอยู่", "Open the existing circulation."),)


class CirculationClosed(DomainError):
    """A sheet that everybody has answered and document control has closed stays as it is."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_CLOSED"
    says = Text("ใบเวียนนี้ปิดแล้ว", "This circulation is closed.")
    recovery = (Text("สร้างใบเวียนใหม่", "Create a new circulation."),)


@dataclass(frozen=True, slots=True)
class CirculationDraft:
    """A new circulation with everything resolved and checked; only its number is missing."""

    order: NewCirculation
    plan: numbering.Plan
    correspondence_id: int | None
    assignees: Sequence[tuple[int, str, date | None]]

    @property
    def reservation_token(self) -> UUID | None:
        return self.order.reservation_token


class CirculationKind(core.DocumentKind[CirculationRow, CirculationDraft]):
    rules = domain.CIRCULATION_RULES
    new, changes, full = NewCirculation, CirculationChanges, CirculationAnswer
    reserved_fields: Mapping[str, str] = {"/originatorOrganizationPublicId": "/organizationPublicId"}  # type: ignore[misc]

    def scope(self, row: CirculationRow) -> Scope:
        return Scope(frozenset({row.circulation.organization_id}), row.circulation.project_id)

    def subject(self) -> CirculationSubject:
        """Return the port that `bootstrap` registers with the workflow."""
        return CirculationSubject()

    async def check(self, ctx: RequestContext, session: AsyncSession, *, new: NewCirculation) -> CirculationDraft:
        """
        :raises CirculationExists: when the organization circulates this document already
        """
        project = await projects.find_project(session, public_id=new.project_public_id, pointer="/projectPublicId")
        organization = await core.originator_of(
            ctx, session, project=project, stated=new.organization_public_id, pointer="/organizationPublicId"
        )
        request = numbering.NumberRequest(
            project_public_id=project.public_id,
            correspondence_type_code=domain.TYPE_CODE,
            originator_organization_public_id=organization.public_id,
        )
        plan = await numbering.plan(ctx, session, request=request)
        today = local_date(ctx.now, ctx.zone)
        check_day(new.deadline_date, today, "/deadlineDate")
        correspondence = await _circulated_document(ctx, session, new, organization.id)
        assignees = await assignees_of(
            session,
            new.assignees,
            deadline=new.deadline_date,
            organization_id=organization.id,
            project_id=project.id,
            today=today,
        )
        return CirculationDraft(new, plan, correspondence, assignees)

    async def insert(
        self,
        ctx: RequestContext,
        session: AsyncSession,
        draft: CirculationDraft,
        issued: numbering.Issued,
        *,
        public_id: UUID,
    ) -> CirculationRow:
        circulation = await _insert_row(ctx, session, draft, issued, public_id)
        await repository.add_assignees(session, routings_of(circulation, draft.assignees, ctx.now))
        files = draft.order.attachment_public_ids
        if files:
            rows = await attachments.claim(ctx, session, public_ids=files, pointer="/attachmentPublicIds")
            await repository.link_files(session, circulation_id=circulation.id, attachment_ids=[row.id for row in rows])
        return await self.find_written(session, public_id=public_id)

    async def find(self, ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> CirculationRow:
        rows = await repository.visible(session, reach=reach(ctx.caller), public_ids=[public_id])
        if not rows:
            raise NotFound("There is no such circulation sheet.")
        return rows[0]

    async def find_written(self, session: AsyncSession, *, public_id: UUID) -> CirculationRow:
        return (await repository.visible(session, reach=None, public_ids=[public_id]))[0]

    async def page(
        self, ctx: RequestContext, session: AsyncSession, *, search: core.DocumentSearch, cursor: str | None, limit: int
    ) -> Page[CirculationRow]:
        if search.status is not None and search.status not in domain.STATUSES:
            raise core.not_in_list("query:status", list(domain.STATUSES))
        filters = CirculationFilters(
            reach=reach(ctx.caller),
            project=search.project,
            status=domain.STATUSES[search.status] if search.status else None,
            correspondence=search.correspondence,
            text=fold(search.text).strip() or None if search.text else None,
            due_before=search.due_before,
            overdue_on=local_date(ctx.now, ctx.zone) if search.overdue else None,
            person=ctx.caller.user_id if search.mine else None,
        )
        return await repository.page(session, filters=filters, cursor=cursor, limit=limit)

    async def lock(self, session: AsyncSession, row: CirculationRow) -> None:
        # A step holds the instance and changes the circulation; in another order the two would wait for each other.
        await workflow.lock(session, entity_type=domain.ENTITY_TYPE, entity_ids=[row.entity_id])
        await repository.lock(session, circulation_id=row.circulation.id)

    async def facts(
        self,
        _session: AsyncSession,
        rows: Sequence[CirculationRow],
        *,
        zone: ZoneInfo,
    ) -> Mapping[str, SubjectFacts]:
        return {row.entity_id: facts_of(row) for row in rows}

    async def type_code(self, _session: AsyncSession, _row: CirculationRow) -> str:
        return domain.TYPE_CODE

    async def summaries(
        self,
        ctx: RequestContext,
        session: AsyncSession,
        rows: Sequence[CirculationRow],
        *,
        envelopes: Mapping[str, Envelope],
        today: date,
    ) -> Sequence[CirculationSummary]:
        return [CirculationSummary(**_fields(row, today)) for row in rows]

    async def answer(
        self, ctx: RequestContext, session: AsyncSession, row: CirculationRow, *, envelope: Envelope | None, today: date
    ) -> CirculationAnswer:
        circulation = row.circulation
        return CirculationAnswer(
            **_fields(row, today),
            remarks=circulation.remarks,
            correspondence=await _about(ctx, session, row),
            assignees=[assignee_answer(one, today) for one in row.assignees],
            attachments=[
                core.file_answer(attachment, is_main=is_main)
                for attachment, is_main in await repository.files(session, circulation_id=circulation.id)
            ],
            submitted_at=circulation.submitted_at,
            closed_at=circulation.closed_at,
            cancel_reason=circulation.cancel_reason,
            cancelled_by=core.person(row.canceller) if row.canceller else None,
            number_format=await core.number_format(session, circulation.number_uuid),
            version=circulation.version,
        )

    async def revision_labels(
        self, ctx: RequestContext, _session: AsyncSession, row: CirculationRow
    ) -> dict[str, str | None]:
        return {row.entity_id: None}

    def require_edit(self, ctx: RequestContext, row: CirculationRow) -> None:
        ctx.caller.require(domain.CREATE, self.scope(row))

    async def change(
        self,
        ctx: RequestContext,
        session: AsyncSession,
        row: CirculationRow,
        envelope: Envelope | None,
        *,
        changes: CirculationChanges,
    ) -> dict[str, dict[str, Any]]:
        if envelope is None or not envelope.can_edit:
            raise core.NotADraft
        values = _values(changes, ctx.now, ctx.zone)
        noted = field_changes(
            {name: getattr(row.circulation, column) for name, column in _COLUMNS.items()},
            {name: values[column] for name, column in _COLUMNS.items() if column in values},
        )
        if changes.assignees is not None:
            noted |= await change_assignees(session, row, changes, ctx.now, ctx.zone)
        await repository.change(session, circulation_id=row.circulation.id, values={**values, "updated_at": ctx.now})
        return noted

    async def check_cancel(
        self, ctx: RequestContext, _session: AsyncSession, row: CirculationRow, envelope: Envelope | None
    ) -> None:
        """
        A draft is cancelled by whoever writes circulations, later by whoever closes them.

        :raises CirculationClosed: when it has come to its end
        """
        if row.circulation.closed_at is not None:
            raise CirculationClosed
        in_draft = envelope is not None and envelope.current_state == domain.DRAFT
        ctx.caller.require(domain.CREATE if in_draft else domain.CLOSE, self.scope(row))

    async def mark_cancelled(
        self, ctx: RequestContext, session: AsyncSession, row: CirculationRow, *, reason: str
    ) -> Sequence[UUID]:
        values = {
            "circulation_status_code": domain.STATUSES[domain.CANCELLED],
            "closed_at": ctx.now,
            "cancelled_at": ctx.now,
            "cancelled_by": ctx.caller.user_id,
            "cancel_reason": reason,
            "updated_at": ctx.now,
        }
        await repository.change(session, circulation_id=row.circulation.id, values=values)
        pending = [
            one.user.public_id for one in row.assignees if one.user is not None and domain.is_open(state_of(one))
        ]
        await close_open(session, row.assignees, reason=reason, now=ctx.now)
        return pending

    async def number_request(self, _session: AsyncSession, row: CirculationRow) -> numbering.NumberRequest:
        return numbering.NumberRequest(
            project_public_id=row.project.public_id,
            correspondence_type_code=domain.TYPE_CODE,
            originator_organization_public_id=row.organization.public_id,
        )

    async def change_number(
        self, session: AsyncSession, row: CirculationRow, issued: numbering.Issued, *, now: datetime
    ) -> None:
        values = {"circulation_no": issued.number, "number_uuid": issued.public_id, "updated_at": now}
        await repository.change(session, circulation_id=row.circulation.id, values=values)

    def event_fields(self, row: CirculationRow, notify: Sequence[UUID]) -> dict[str, object]:
        return {
            "entityType": domain.ENTITY_TYPE,  # so that only those are told who may see it
            "entityId": row.entity_id,
            "notify": {"users": [str(one) for one in notify]},
        }


async def _circulated_document(
    ctx: RequestContext, session: AsyncSession, order: NewCirculation, organization_id: int
) -> int | None:
    public_id = order.correspondence_public_id
    if public_id is None:
        return None
    row = (await core.visible(ctx, session, public_ids=[public_id])).get(public_id)
    if row is None or row.project.public_id != order.project_public_id:
        raise invalid(
            "/correspondencePublicId", "unknown", "ไม่พบเอกสารนี้ในโครงการ", "The document is not in this project."
        )
    if row.document.cancelled_at is not None:
        raise invalid("/correspondencePublicId", "cancelled", "เอกสารนี้ถูกยกเลิกแล้ว", "The document has been cancelled.")
    if await repository.has_circulation(session, correspondence_id=row.document.id, organization_id=organization_id):
        raise CirculationExists
    return row.document.id


async def _insert_row(
    ctx: RequestContext, session: AsyncSession, draft: CirculationDraft, issued: numbering.Issued, public_id: UUID
) -> Circulation:
    circulation = Circulation(
        public_id=public_id,
        project_id=draft.plan.project.id,
        correspondence_id=draft.correspondence_id,
        organization_id=draft.plan.originator.id,
        circulation_no=issued.number,
        number_uuid=issued.public_id,
        circulation_subject=draft.order.subject,
        circulation_status_code=domain.STATUSES[domain.DRAFT],
        priority=draft.order.priority,
        remarks=draft.order.remarks,
        created_by_user_id=ctx.caller.user_id,
        deadline_date=draft.order.deadline_date,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    try:
        await repository.add(session, circulation)
    except IntegrityError as error:
        if violates_constraint(error, *_ONE_FOR_EACH):
            raise CirculationExists from error
        raise
    return circulation


def _fields(row: CirculationRow, today: date) -> dict[str, Any]:
    circulation = row.circulation
    must = [state_of(one) for one in row.assignees if one.routing.kind in domain.MUST_ANSWER]
    return {
        "public_id": circulation.public_id,
        "document_number": circulation.circulation_no,
        "document_type": domain.TYPE_CODE,
        "kind": domain.KIND,
        "project": ProjectAnswer.model_validate(row.project),
        "originator": core.organization(row.organization),
        "subject": circulation.circulation_subject,
        "priority": circulation.priority,
        "due_date": circulation.deadline_date,
        "is_overdue": is_overdue(circulation.deadline_date, today=today, closed=circulation.closed_at is not None),
        "status": core.coded(CIRCULATION_STATUSES, row.status.code, row.status.description),
        "answered": sum(1 for part in must if not domain.is_open(part)),
        "must_answer": len(must),
        "created_at": circulation.created_at,
        "created_by": core.person(row.author),
        "cancelled_at": circulation.cancelled_at,
    }


async def _about(ctx: RequestContext, session: AsyncSession, row: CirculationRow) -> ReferenceAnswer | None:
    if row.correspondence is None:
        return None
    found = await core.visible(ctx, session, public_ids=[row.correspondence])
    return core.reference(found[row.correspondence]) if found else None


def _values(changes: CirculationChanges, now: datetime, zone: ZoneInfo) -> dict[str, Any]:
    given = changes.model_fields_set
    for name in ("subject", "priority", "assignees"):
        if name in given and getattr(changes, name) is None:
            raise invalid(f"/{name}", "required", "จำเป็นต้องระบุ", "Required")
    check_day(changes.deadline_date, local_date(now, zone), "/deadlineDate")
    return {_COLUMNS[name]: getattr(changes, name) for name in given & _COLUMNS.keys()}


CIRCULATION = CirculationKind()


@dataclass(frozen=True)
class OpenCirculations:
    """Cancels the open circulations of a document together with it, in the same transaction (EC-CORR-001)."""

    async def document_cancelled(
        self, ctx: RequestContext, session: AsyncSession, *, document: UUID, reason: str
    ) -> None:
        rows = await repository.open_circulations_of(session, document=document)
        await workflow.lock(session, entity_type=domain.ENTITY_TYPE, entity_ids=[row.entity_id for row in rows])
        # One may have been closed until here.
        for row in await repository.open_circulations_of(session, document=document):
            await core.cancel_held(ctx, session, CIRCULATION, row, reason=reason)


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Return whether a file belongs to a circulation that the caller may see."""
    return await repository.reaches_file(session, reach=reach(ctx.caller), attachment_id=attachment_id)
