"""Changing a draft sheet, and cancelling a sheet by itself or together with the document it is about."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.schemas import CirculationAnswer, CirculationChanges
from saraban.documents.circulation.service.answering import current
from saraban.documents.circulation.service.creating import assignees_of, check_day, parts_of
from saraban.documents.circulation.service.news import record
from saraban.documents.circulation.service.presenting import etag, full, part_of
from saraban.documents.circulation.service.reading import find
from saraban.documents.core import service as core
from saraban.documents.core.domain.changes import field_changes
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text, invalid
from saraban.kit.idempotency import OperationResult, Remember, answer_once
from saraban.numbering import service as numbering
from saraban.workflow import service as workflow
from saraban.workflow.runtime.schemas import WorkflowEnvelope

_COLUMNS = {
    "subject": "circulation_subject",
    "remarks": "remarks",
    "deadline_date": "deadline_date",
    "priority": "priority",
}


class CirculationClosed(DomainError):
    """A sheet that everybody has answered and document control has closed stays as it is."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_CLOSED"
    says = Text("ใบเวียนนี้ปิดแล้ว", "This circulation is closed.")
    recovery = (Text("สร้างใบเวียนใหม่", "Create a new circulation."),)


def _scope(row: CirculationRow) -> Scope:
    return Scope(frozenset({row.sheet.organization_id}), row.sheet.project_id)


async def edit(
    session: AsyncSession,
    *,
    caller: Caller,
    public_id: UUID,
    changes: CirculationChanges,
    if_match: str | None,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> WorkflowEnvelope[CirculationAnswer]:
    """
    Change a draft sheet.

    :raises DocumentChanged: when `if_match` is not its version
    :raises NotADraft: once it has been started
    """
    row, parts, envelope = await current(session, caller=caller, public_id=public_id)
    caller.require(domain.CREATE, _scope(row))
    if if_match is not None:
        core.check_version(if_match, etag(await full(session, caller=caller, row=row, now=now, zone=zone)))
    if envelope is None or not envelope.can_edit:
        raise core.NotADraft
    values = _values(changes, now, zone)
    noted = field_changes(
        {name: getattr(row.sheet, column) for name, column in _COLUMNS.items()},
        {name: values[column] for name, column in _COLUMNS.items() if column in values},
    )
    if changes.assignees is not None:
        noted |= await _change_assignees(session, row, parts, changes, now, zone)
    await repository.change(session, sheet_id=row.sheet.id, values={**values, "updated_at": now})
    row = await find(session, caller=caller, public_id=public_id)
    details: dict[str, object] = {"fields": sorted(changes.model_dump(by_alias=True, exclude_unset=True))}
    await record(
        session,
        "edited",
        "edit",
        caller=caller,
        row=row,
        address=address,
        now=now,
        details=details,
        audited={"changes": noted},
    )
    return await full(session, caller=caller, row=row, now=now, zone=zone)


def _values(changes: CirculationChanges, now: datetime, zone: ZoneInfo) -> dict[str, Any]:
    given = changes.model_fields_set
    for name in ("subject", "priority", "assignees"):
        if name in given and getattr(changes, name) is None:
            raise invalid(f"/{name}", "required", "จำเป็นต้องระบุ", "Required")
    check_day(changes.deadline_date, local_date(now, zone), "/deadlineDate")
    return {_COLUMNS[name]: getattr(changes, name) for name in given & _COLUMNS.keys()}


async def _change_assignees(
    session: AsyncSession,
    row: CirculationRow,
    parts: list[AssigneeRow],
    changes: CirculationChanges,
    now: datetime,
    zone: ZoneInfo,
) -> dict[str, dict[str, Any]]:
    """
    Ask these people, in this order; give what was and what is, for the audit trail.

    :raises NotADraft: once somebody has answered
    """
    asked = changes.assignees or []
    deadline = changes.deadline_date if "deadline_date" in changes.model_fields_set else row.sheet.deadline_date
    before = [_said(one.user.public_id if one.user else None, one.routing.kind, one.routing.due_date) for one in parts]
    after = [_said(one.user_public_id, one.kind, one.due_date) for one in asked]
    noted = field_changes({"assignees": before}, {"assignees": after})
    if noted:
        if any(one.routing.status != "PENDING" for one in parts):
            raise core.NotADraft
        sheet = row.sheet
        people = await assignees_of(
            session,
            asked,
            deadline=deadline,
            organization_id=sheet.organization_id,
            project_id=sheet.project_id,
            today=local_date(now, zone),
        )
        await repository.replace_parts(session, sheet_id=sheet.id, rows=parts_of(sheet, people, now))
    return noted


def _said(person: UUID | None, kind: str, due: date | None) -> str:
    return f"{kind} {person} {due or ''}".rstrip()


async def cancel(
    db: Database,
    *,
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None = None,
) -> OperationResult:
    """
    Cancel a sheet: a draft by whoever writes sheets, later by whoever closes them. Answers given stay.

    :raises SheetClosed: when it has come to its end
    """

    async def run(remember: Remember) -> OperationResult:
        async def work(session: AsyncSession) -> OperationResult:
            row, parts, envelope = await current(session, caller=caller, public_id=public_id)
            if row.sheet.closed_at is not None:
                raise CirculationClosed
            in_draft = envelope is not None and envelope.current_state == domain.DRAFT
            caller.require(domain.CREATE if in_draft else domain.CLOSE, _scope(row))
            await _end(session, row, parts, caller=caller, reason=reason, address=address, now=now)
            row = await find(session, caller=caller, public_id=public_id)
            answer = await full(session, caller=caller, row=row, now=now, zone=zone)
            given = OperationResult(200, answer.model_dump(mode="json", by_alias=True), {"ETag": etag(answer)})
            await remember(session, given)
            return given

        return await db.transact(work)

    return await answer_once(
        db,
        key=key,
        user=caller.public_id,
        operation=f"POST {domain.PATH}/{public_id}/cancel",
        payload={"reason": reason},
        now=now,
        run=run,
    )


async def _end(
    session: AsyncSession,
    row: CirculationRow,
    parts: list[AssigneeRow],
    *,
    caller: Caller,
    reason: str,
    address: str,
    now: datetime,
) -> None:
    await repository.change(
        session,
        sheet_id=row.sheet.id,
        values={
            "circulation_status_code": domain.STATUSES[domain.CANCELLED],
            "closed_at": now,
            "cancelled_at": now,
            "cancelled_by": caller.user_id,
            "cancel_reason": reason,
            "updated_at": now,
        },
    )
    waiting = [one.user.public_id for one in parts if one.user is not None and domain.is_open(part_of(one))]
    await close_parts(session, parts, reason=reason, now=now)
    await workflow.cancel(
        session,
        entity_type=domain.ENTITY_TYPE,
        entity_id=str(row.sheet.public_id),
        caller=caller,
        reason=reason,
        now=now,
    )
    holder = numbering.Holder(domain.KIND, row.sheet.public_id)
    await numbering.cancel_number(session, caller=caller, holder=holder, reason=reason, now=now, address=address)
    details: dict[str, object] = {"reason": reason}
    await record(
        session,
        "cancelled",
        "cancel",
        caller=caller,
        row=row,
        address=address,
        now=now,
        details=details,
        concerned=waiting,
    )


async def close_parts(session: AsyncSession, parts: list[AssigneeRow], *, reason: str | None, now: datetime) -> None:
    """Close the parts that are still open as rejected; answers given stay (EC-CIRC-002)."""
    waiting = [one.routing.id for one in parts if domain.is_open(part_of(one))]
    await repository.answer(
        session,
        routing_ids=waiting,
        values={"status": "REJECTED", "comments": reason, "completed_at": now, "updated_at": now},
    )


@dataclass(frozen=True)
class OpenCirculations:
    """Ends the open sheets about a document together with it, in the same transaction (EC-CORR-001)."""

    async def document_cancelled(
        self, session: AsyncSession, *, caller: Caller, document_id: int, reason: str, address: str, now: datetime
    ) -> None:
        rows = await repository.open_circulations_of(session, document_id=document_id)
        ids = [str(row.sheet.public_id) for row in rows]
        await workflow.lock(session, entity_type=domain.ENTITY_TYPE, entity_ids=ids)
        # One may have been closed until here.
        rows = await repository.open_circulations_of(session, document_id=document_id)
        parts = await repository.parts(session, sheet_ids=[row.sheet.id for row in rows])
        for row in rows:
            await _end(session, row, parts[row.sheet.id], caller=caller, reason=reason, address=address, now=now)
