"""Circulations: the operations of all documents, with assignees instead of recipients."""

# ruff: noqa: ARG002  the interface of `DocumentKind` has arguments that this kind does not need

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic.alias_generators import to_camel
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.models import Attachment
from saraban.audit.domain.changes import field_changes
from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.domain import reach
from saraban.documents.circulation.models import Circulation, CirculationDrawing
from saraban.documents.circulation.repository import CirculationRow
from saraban.documents.circulation.schemas import (
    CirculationAnswer,
    CirculationChanges,
    CirculationQuery,
    CirculationSummary,
    NewCirculation,
)
from saraban.documents.circulation.service.assignees import (
    CirculationSubject,
    assignee_answer,
    change_assignees,
    check_assignees,
    check_day,
    facts_of,
    new_routings,
    reject_open_parts,
    scope_of,
    subject_facts,
)
from saraban.documents.core import service as core
from saraban.documents.core.domain import is_overdue
from saraban.documents.core.schemas import ReferenceAnswer, RegisterQuery
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.schemas import CarriedDrawingAnswer
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.db import table_of, violates_constraint
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text, invalid, required
from saraban.kit.text import sort_key
from saraban.numbering import service as numbering
from saraban.numbering.issue.schemas import NumberFormatOut
from saraban.projects import service as projects
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Envelope, SubjectFacts

_UNIQUE_CONSTRAINTS = ("uq_circulation_per_organization", "circulations.correspondence_id")


_COLUMNS = {
    "subject": "circulation_subject",
    "remarks": "remarks",
    "deadline_date": "deadline_date",
    "priority": "priority",
}
_TABLES = core.register_of_sheets(
    table_of(Circulation), "circulation_subject", repository.is_involved, repository.ABOUT
)


class CirculationExists(DomainError):
    """An organization can circulate a document only once."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_EXISTS"
    says = Text("องค์กรของคุณมีใบเวียนของเอกสารนี้แล้ว", "Your organization already has a circulation of this document.")
    recovery = (Text("เปิดใบเวียนที่มีอยู่", "Open the existing circulation."),)


class CirculationClosed(DomainError):
    """A closed circulation cannot be changed."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_CLOSED"
    says = Text("ใบเวียนนี้ปิดแล้ว", "This circulation is closed.")
    recovery = (Text("สร้างใบเวียนใหม่", "Create a new circulation."),)


@dataclass(frozen=True, slots=True, kw_only=True)
class CirculationDraft(core.UnnumberedDraft):
    order: NewCirculation
    correspondence_id: int | None
    assignees: Sequence[tuple[int, str, date | None]]
    drawings: drawings.Carried


class CirculationParts(NamedTuple):
    about: ReferenceAnswer | None
    drawings: Sequence[CarriedDrawingAnswer]
    files: Sequence[tuple[Attachment, bool]]
    number_format: NumberFormatOut | None


class CirculationKind(core.DocumentKind[CirculationRow, CirculationDraft]):
    rules = domain.CIRCULATION_RULES
    new, changes = NewCirculation, CirculationChanges
    summary, full = CirculationSummary, CirculationAnswer
    search = CirculationQuery
    index = core.reach_of_sheets(
        rules.register,
        core.ReachHeads(
            repository.NUMBERED, table_of(Circulation), Circulation.id, Circulation.project_id, (Circulation.id,)
        ),
        Circulation.organization_id,
        repository.REACH,
        status=repository.REACH_STATUS,
    )
    reserved_fields: Mapping[str, str] = {"/originatorOrganizationPublicId": "/organizationPublicId"}  # type: ignore[misc]

    def subject(self) -> CirculationSubject:
        return CirculationSubject(self.index)

    async def check(self, ctx: RequestContext, session: AsyncSession, *, new: NewCirculation) -> CirculationDraft:
        """:raises CirculationExists:"""
        pointer = "/organizationPublicId"
        request = numbering.NumberRequest(
            project_public_id=new.project_public_id,
            correspondence_type_code=domain.TYPE_CODE,
            originator_organization_public_id=core.stated_originator(ctx, new.organization_public_id, pointer),
        )
        plan = await core.plan_of(ctx, session, request, {"/originatorOrganizationPublicId": pointer})
        project, organization = plan.project, plan.originator
        of_project = await projects.list_parties(session, project_id=project.id)
        core.check_takes_part(plan, of_project, pointer)
        today = local_date(ctx.now, ctx.zone)
        check_day(new.deadline_date, today, "/deadlineDate")
        correspondence = await _circulated_document(ctx, session, new, organization.id)
        assignees = await check_assignees(
            session,
            new.assignees,
            deadline=new.deadline_date,
            organization_id=organization.id,
            project_id=project.id,
            today=today,
        )
        ids = new.drawing_revision_public_ids
        carried = await drawings.check_carried(ctx, session, project_id=project.id, asked=ids) if ids else []
        code, matter = core.started_by(self.rules, project.id, domain.TYPE_CODE)
        return CirculationDraft(
            order=new,
            plan=plan,
            correspondence_id=correspondence,
            assignees=assignees,
            drawings=carried,
            starting=await workflow.starting(session, code=code, matter=matter),
            reservation_token=new.reservation_token,
        )

    def due_dates(self, asked: Any) -> Mapping[str, date | None]:
        days = {f"/assignees/{index}/dueDate": row.due_date for index, row in enumerate(asked.assignees or ())}
        return {"/deadlineDate": asked.deadline_date, **days}

    async def insert(
        self, ctx: RequestContext, session: AsyncSession, draft: CirculationDraft, issued: numbering.Issued
    ) -> core.WrittenDocument:
        circulation = _new_circulation(ctx, draft, issued)
        routings = new_routings(circulation, draft.assignees, ctx.now)
        await repository.add(session, circulation, routings)
        await drawings.add_carried(session, CirculationDrawing, circulation.id, draft.drawings)
        await self.index.add(session, documents=[circulation.id])
        files, project, originator = draft.order.attachment_public_ids, draft.plan.project, draft.plan.originator
        if files:
            pointer = "/attachmentPublicIds"
            rows = await attachments.claim(ctx, session, public_ids=files, pointer=pointer, project_id=project.id)
            await repository.link_files(session, circulation_id=circulation.id, attachment_ids=[row.id for row in rows])
        facts = subject_facts(
            circulation, routings, (project.public_id, project.code), (originator.public_id, originator.code)
        )
        return core.WrittenDocument(facts, project, domain.TYPE_CODE)

    def conflict(self, error: IntegrityError) -> DomainError | None:
        return CirculationExists() if violates_constraint(error, *_UNIQUE_CONSTRAINTS) else None

    async def seen(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Sequence[CirculationRow]:
        return await repository.visible(session, reach=reach(ctx.caller), public_ids=[public_id])

    def newest(self, rows: Sequence[CirculationRow]) -> CirculationRow:
        if not rows:
            raise NotFound("There is no such circulation sheet.")
        return rows[0]

    async def find_written(self, session: AsyncSession, public_id: UUID) -> CirculationRow:
        return (await repository.visible(session, reach=None, public_ids=[public_id]))[0]

    async def page(
        self, ctx: RequestContext, session: AsyncSession, *, search: RegisterQuery, counted: bool
    ) -> core.CountedPage[CirculationRow]:
        register = core.KindRegister(
            domain.CIRCULATION_RULES,
            _TABLES,
            partial(domain.keys_of, reach(ctx.caller)),
            statuses=domain.STATUS_PLACES,
            due=_day_starts,
        )
        return await core.read_page(ctx, session, register, search, counted=counted, wide=repository.circulations_for)

    async def lock(self, session: AsyncSession, row: CirculationRow) -> None:
        # A step locks the instance before the circulation: the same order prevents a deadlock.
        await workflow.lock(session, entity_type=domain.ENTITY_TYPE, entity_ids=[row.entity_id])
        await repository.lock(session, circulation_id=row.circulation.id)

    async def facts(
        self, _session: AsyncSession, rows: Sequence[CirculationRow], *, zone: ZoneInfo
    ) -> Mapping[str, SubjectFacts]:
        return {row.entity_id: facts_of(row) for row in rows}

    async def summaries(
        self,
        ctx: RequestContext,
        session: AsyncSession,
        rows: Sequence[CirculationRow],
        facts: core.Facts,
        envelopes: Mapping[str, Envelope],
    ) -> Sequence[CirculationSummary]:
        today = local_date(ctx.now, ctx.zone)
        return [CirculationSummary(**_fields(row, today)) for row in rows]

    async def parts(
        self, ctx: RequestContext, session: AsyncSession, row: CirculationRow, rows: object, facts: core.Facts
    ) -> CirculationParts:
        key, number = row.circulation.id, row.circulation.number_uuid
        choice = await numbering.format_choice(session, number) if number else None
        return CirculationParts(
            await _circulated_reference(ctx, session, row),
            (await drawings.carried_answers(session, CirculationDrawing, [key])).get(key, []),
            await repository.files(session, circulation_id=key),
            choice.shown() if choice else None,
        )

    def answer(
        self, ctx: RequestContext, row: CirculationRow, parts: CirculationParts, envelope: Envelope | None
    ) -> CirculationAnswer:
        circulation, today = row.circulation, local_date(ctx.now, ctx.zone)
        return CirculationAnswer(
            **_fields(row, today),
            remarks=circulation.remarks,
            correspondence=parts.about,
            assignees=[assignee_answer(assignee, today) for assignee in row.assignees],
            drawings=list(parts.drawings),
            attachments=[core.file_answer(attachment, is_main=is_main) for attachment, is_main in parts.files],
            submitted_at=circulation.submitted_at,
            closed_at=circulation.closed_at,
            cancel_reason=circulation.cancel_reason,
            cancelled_by=core.person(row.canceller) if row.canceller else None,
            number_format=parts.number_format,
            version=circulation.version,
        )

    def require_edit(self, ctx: RequestContext, row: CirculationRow) -> None:
        ctx.caller.require(domain.CREATE, scope_of(row))

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
        values = _column_values(changes, ctx.now, ctx.zone)
        changed = field_changes(
            {name: getattr(row.circulation, column) for name, column in _COLUMNS.items()},
            {name: values[column] for name, column in _COLUMNS.items() if column in values},
        )
        if changes.assignees is not None:
            changed |= await change_assignees(session, row, changes, ctx.now, ctx.zone)
        if changes.drawing_revision_public_ids is not None:
            changed |= await _change_drawings(ctx, session, row, changes.drawing_revision_public_ids)
        await repository.change(session, circulation_id=row.circulation.id, values={**values, "updated_at": ctx.now})
        await self.renew_reach(session, document_id=row.circulation.id)
        return changed

    async def check_cancel(
        self, ctx: RequestContext, _session: AsyncSession, row: CirculationRow, envelope: Envelope | None
    ) -> None:
        """:raises CirculationClosed:"""
        if row.circulation.closed_at is not None:
            raise CirculationClosed
        in_draft = envelope is not None and envelope.current_state == domain.DRAFT
        ctx.caller.require(domain.CREATE if in_draft else domain.CLOSE, scope_of(row))

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
        pending = [part.user.public_id for part in row.assignees if part.user and domain.is_open(part.routing.status)]
        await reject_open_parts(session, row.assignees, reason=reason, now=ctx.now)
        await self.renew_reach(session, document_id=row.circulation.id)
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
        number = {"circulation_no": issued.number, "number_sort": sort_key(issued.number)}
        values = {**number, "number_uuid": issued.public_id, "updated_at": now}
        await repository.change(session, circulation_id=row.circulation.id, values=values)
        await self.renew_reach(session, document_id=row.circulation.id)

    def event_fields(self, entity_id: str, notify: Sequence[UUID]) -> dict[str, object]:
        return {
            "entityType": domain.ENTITY_TYPE,  # only people who can see it are notified
            "entityId": entity_id,
            "notify": {"users": [str(public_id) for public_id in notify]},
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


def _new_circulation(ctx: RequestContext, draft: CirculationDraft, issued: numbering.Issued) -> Circulation:
    return Circulation(
        public_id=draft.public_id,
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


def _fields(row: CirculationRow, today: date) -> dict[str, Any]:
    circulation = row.circulation
    must = [part.routing.status for part in row.assignees if part.routing.kind in domain.MUST_ANSWER]
    return {
        "public_id": circulation.public_id,
        "document_number": circulation.circulation_no,
        "document_type": domain.TYPE_CODE,
        "kind": domain.KIND,
        "project": row.project,
        "originator": row.organization,
        "subject": circulation.circulation_subject,
        "priority": circulation.priority,
        "due_date": circulation.deadline_date,
        "is_overdue": is_overdue(circulation.deadline_date, today=today, closed=circulation.closed_at is not None),
        "status": core.coded(row.status.code, row.status.description_en, row.status.description),
        "answered": sum(not domain.is_open(status) for status in must),
        "must_answer": len(must),
        "created_at": circulation.created_at,
        "created_by": core.person(row.author),
        "cancelled_at": circulation.cancelled_at,
    }


async def _circulated_reference(
    ctx: RequestContext, session: AsyncSession, row: CirculationRow
) -> ReferenceAnswer | None:
    if row.correspondence is None:
        return None
    documents = await core.visible(ctx, session, public_ids=[row.correspondence])
    return core.reference(documents[row.correspondence]) if documents else None


async def _change_drawings(
    ctx: RequestContext, session: AsyncSession, row: CirculationRow, revisions: Sequence[UUID]
) -> dict[str, dict[str, object]]:
    key = row.circulation.id
    current = await drawings.carried_ids(session, CirculationDrawing, key)
    changed = field_changes({"drawings": [*map(str, current)]}, {"drawings": [*map(str, revisions)]})
    if changed:
        checked = await drawings.check_carried(ctx, session, project_id=row.project.id, asked=revisions)
        await drawings.replace_carried(session, CirculationDrawing, key, checked)
    return changed


def _column_values(changes: CirculationChanges, now: datetime, zone: ZoneInfo) -> dict[str, Any]:
    given = changes.model_fields_set
    for name in ("subject", "priority", "assignees", "drawing_revision_public_ids"):
        if name in given and getattr(changes, name) is None:
            raise required(f"/{to_camel(name)}")
    check_day(changes.deadline_date, local_date(now, zone), "/deadlineDate")
    return {_COLUMNS[name]: getattr(changes, name) for name in given & _COLUMNS.keys()}


CIRCULATION = CirculationKind()


@dataclass(frozen=True)
class OpenCirculations:
    """Cancels a document's open circulations in its transaction (EC-CORR-001)."""

    async def document_cancelled(
        self, ctx: RequestContext, session: AsyncSession, *, document: UUID, reason: str
    ) -> None:
        rows = await repository.open_circulations_of(session, document=document)
        await workflow.lock(session, entity_type=domain.ENTITY_TYPE, entity_ids=[row.entity_id for row in rows])
        # Read again: a circulation can have been closed before the lock.
        for row in await repository.open_circulations_of(session, document=document):
            await core.cancel_held(ctx, session, CIRCULATION, row, reason=reason)


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    caller_reach = reach(ctx.caller)
    if await repository.reaches_file(session, reach=caller_reach, attachment_id=attachment_id):
        return True
    carriers = await drawings.carriers_of_file(session, CirculationDrawing, attachment_id)
    return bool(carriers) and await repository.reaches_any(session, reach=caller_reach, circulation_ids=carriers)


def _day_starts(day: date, _zone: ZoneInfo) -> datetime:
    """Return the first moment of the day in UTC, as `document_reach` stores it."""
    return datetime.combine(day, time(), UTC)
