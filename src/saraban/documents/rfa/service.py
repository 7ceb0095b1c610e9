"""Requests for approval: the shared verbs, with the RFA's type, its own status and its approve code."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.domain.kind import DRAFT
from saraban.documents.core.domain.visibility import Reach
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.rfa import repository
from saraban.documents.rfa.domain import RFA_RULES, may_ask, verdict
from saraban.documents.rfa.models import Rfa, RfaRevision
from saraban.documents.rfa.schemas import NewRfa, RfaAnswer, RfaSummary, RfaTypeAnswer
from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.errors import invalid
from saraban.kit.idempotency import OperationResult
from saraban.kit.pipeline import SqlStatement
from saraban.numbering.service import Allocator
from saraban.projects import service as projects
from saraban.projects.domain.master_data import RFA_APPROVE_CODES, RFA_STATUSES


async def _in_list(
    session: AsyncSession, rows: Sequence[core.DocumentRow], _reach: Reach
) -> Mapping[int, Mapping[str, Any]]:
    found = await repository.facts(session, revision_ids=[row.revision.id for row in rows])
    return {revision_id: _fields(facts) for revision_id, facts in found.items()}


async def _in_full(
    session: AsyncSession, rows: Sequence[core.DocumentRow], _reach: Reach
) -> Mapping[int, Mapping[str, Any]]:
    found = await repository.facts(session, revision_ids=[row.revision.id for row in rows])
    return {
        revision_id: {**_fields(facts), "approved_date": facts.approved_date} for revision_id, facts in found.items()
    }


def _fields(facts: repository.RfaFacts) -> dict[str, Any]:
    approved = facts.approve_code
    return {
        "status": core.coded(RFA_STATUSES, facts.status.status_code, facts.status.status_name),
        "rfa_type": RfaTypeAnswer(
            code=facts.type.type_code, name=facts.type.type_name_en, name_th=facts.type.type_name_th
        ),
        "approve_code": approved and core.coded(RFA_APPROVE_CODES, approved.approve_code, approved.approve_name),
    }


async def _moved(
    session: AsyncSession, revision_ids: Collection[int], reached: core.ReachedState
) -> Sequence[SqlStatement]:
    shown = verdict(reached.state, ended=reached.ended, meaning=reached.meaning, response_code=reached.response_code)
    return await repository.verdict_set(
        session,
        revision_ids=revision_ids,
        status=shown.status,
        answered=reached.response_code,
        approve_code=shown.approve_code,
        keeps=reached.automatic,
        day=reached.day if shown.approved else None,
    )


async def _revised(session: AsyncSession, revision: DocumentRevision) -> None:
    status = await repository.status_id(session, code=verdict(DRAFT).status)
    await repository.add(session, RfaRevision(id=revision.id, rfa_status_code_id=status))


async def _type_code(session: AsyncSession, row: core.DocumentRow) -> str:
    return await repository.type_code(session, document_id=row.head.id)


RFA = core.DocumentKind(
    RFA_RULES,
    summary=RfaSummary,
    answer=RfaAnswer,
    in_list=_in_list,
    in_full=_in_full,
    moved=_moved,
    revised=_revised,
    type_code=_type_code,
)


async def create(
    db: Database,
    allocator: Allocator,
    *,
    caller: Caller,
    order: NewRfa,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None = None,
) -> OperationResult:
    """
    Write a draft RFA with its number.

    :raises Invalid: naming the field; nothing has been written
    """

    async def prepare(session: AsyncSession) -> tuple[core.DocumentDraft, core.Complete]:
        sheet = await core.check(
            session,
            RFA,
            caller=caller,
            order=order,
            type_code="RFA",
            rfa_type_code=order.rfa_type_code,
            now=now,
            zone=zone,
        )
        await _check_author(session, sheet)
        return sheet, _beside(sheet, caller, now)

    return await core.create(
        db,
        allocator,
        RFA,
        caller=caller,
        payload=order.model_dump(mode="json", by_alias=True),
        prepare=prepare,
        now=now,
        zone=zone,
        address=address,
        key=key,
    )


async def _check_author(session: AsyncSession, sheet: core.DocumentDraft) -> None:
    """Whoever could never submit it must not use up a number for it."""
    originator = sheet.plan.originator
    parties = await projects.parties(session, project_id=sheet.plan.project.id, contract_id=sheet.contract_id)
    if not may_ask(originator.id, parties):
        raise invalid(
            "/originatorOrganizationPublicId",
            "not_a_contractor",
            "{organization} ไม่ใช่ผู้รับเหมาในสัญญานี้ จึงขออนุมัติ (RFA) ไม่ได้",
            "{organization} is not a contractor of this contract and cannot submit an RFA in it.",
            organization=originator.code,
        )


def _beside(sheet: core.DocumentDraft, caller: Caller, now: datetime) -> core.Complete:
    async def complete(session: AsyncSession, head: Document, revision: DocumentRevision) -> None:
        rfa_type = sheet.plan.rfa_type
        assert rfa_type is not None  # the schema requires the code, and the plan has resolved it
        row = Rfa(id=head.id, rfa_type_id=rfa_type.id, created_at=now, created_by=caller.user_id)
        await repository.add(session, row)
        await _revised(session, revision)

    return complete


def subject(zone: ZoneInfo) -> core.DocumentSubject:
    """Return the port that `bootstrap` registers with the workflow."""
    return core.DocumentSubject(RFA, zone)
