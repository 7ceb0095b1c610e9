"""The kind of RFAs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.domain import DRAFT, Reach
from saraban.documents.core.models import DocumentRevision
from saraban.documents.core.schemas import DocumentChanges
from saraban.documents.rfa import repository
from saraban.documents.rfa.domain import NOT_ANSWERED, RFA_RULES, may_ask, require_items, verdict
from saraban.documents.rfa.models import RfaRevision
from saraban.documents.rfa.schemas import (
    NewRfa,
    RfaAnswer,
    RfaChanges,
    RfaRevisionDetail,
    RfaSummary,
    RfaTypeAnswer,
)
from saraban.documents.rfa.service import items
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import FieldProblem, invalid, required
from saraban.numbering import service as numbering
from saraban.projects import service as projects

_Items = list[items.CheckedItem]


class RfaKind(core.RevisionedKind):
    rules = RFA_RULES
    new, changes = NewRfa, RfaChanges
    summary, full = RfaSummary, RfaAnswer
    revision = RfaRevisionDetail

    @cached_property
    def index(self) -> core.ReachIndex:
        return core.reach_of_documents(self.rules, repository.type_key())

    def subject(self, zone: ZoneInfo) -> core.DocumentSubject:
        return replace(super().subject(zone), own_items=items.answer)

    def type_codes(self, new: NewRfa) -> tuple[str, str | None]:
        return "RFA", new.rfa_type_code

    def check_originator(self, draft: core.DocumentDraft) -> None:
        """Refuse before a number is issued."""
        originator = draft.plan.originator
        if not may_ask(originator.id, projects.by_role(draft.taking_part)):
            raise invalid(
                "/originatorOrganizationPublicId",
                "not_a_contractor",
                "{organization} ไม่ใช่ผู้รับเหมาในสัญญานี้ จึงขออนุมัติ (RFA) ไม่ได้",
                "{organization} is not a contractor of this contract and cannot submit an RFA in it.",
                organization=originator.code,
            )

        items_of = cast("_Items", draft.own)
        assert draft.plan.rfa_type is not None  # the schema requires the code, and the plan has resolved it
        require_items(draft.plan.rfa_type.items, len(items_of))
        for item in items_of:
            item.refuse_for(originator.id)

    async def check_own(self, ctx: RequestContext, session: AsyncSession, new: NewRfa, project_id: int) -> _Items:
        return await items.check(ctx, session, project_id=project_id, requested=new.items)

    async def insert(
        self, ctx: RequestContext, session: AsyncSession, draft: core.DocumentDraft, issued: numbering.Issued
    ) -> core.WrittenDocument:
        """:raises DrawingRevisionInRfa: if another RFA has claimed a drawing since the check"""
        if draft.own:
            await items.hold(ctx, session, cast("_Items", draft.own))
        return await super().insert(ctx, session, draft, issued)

    async def insert_own(
        self, ctx: RequestContext, session: AsyncSession, draft: core.DocumentDraft, rows: core.NewRows
    ) -> None:
        rfa_type = draft.plan.rfa_type
        assert rfa_type is not None  # the schema requires the code, and the plan has resolved it
        row = {
            "id": rows.document,
            "rfa_type_id": rfa_type.id,
            "created_at": ctx.now,
            "created_by": ctx.caller.user_id,
        }
        await repository.create(session, row, revision=rows.revision, status=verdict(DRAFT).status)
        await repository.add_items(session, rows.revision, [item.carries for item in cast("_Items", draft.own)])

    async def insert_own_revision(self, session: AsyncSession, revision: DocumentRevision, *, before: int) -> None:
        status = repository.status_key(verdict(DRAFT).status)
        await repository.add(session, RfaRevision(id=revision.id, rfa_status_code_id=status))
        await items.take_over(session, before=before, revision_id=revision.id)

    async def in_list(self, session: AsyncSession, rows: Sequence[core.DocumentRow], _reach: Reach) -> core.OwnFields:
        facts_by_revision = await repository.facts(session, revision_ids=[row.revision.id for row in rows])
        return {revision_id: _summary_fields(facts) for revision_id, facts in facts_by_revision.items()}

    async def in_full(self, session: AsyncSession, rows: Sequence[core.DocumentRow], _reach: Reach) -> core.OwnFields:
        facts_by_revision = await repository.facts(session, revision_ids=[row.revision.id for row in rows])
        with_items = [revision_id for revision_id, facts in facts_by_revision.items() if facts.has_items]
        answers = await items.answers(session, await repository.items(session, revision_ids=with_items))
        return {
            revision_id: {
                **_summary_fields(facts),
                "approved_date": facts.approved_date,
                "items": answers.get(revision_id, []),
            }
            for revision_id, facts in facts_by_revision.items()
        }

    async def own_statuses(self, session: AsyncSession, revision_id: int, reached: core.ReachedState) -> None:
        result = verdict(
            reached.state, ended=reached.ended, meaning=reached.meaning, response_code=reached.response_code
        )
        await repository.set_verdict(
            session,
            revision_id=revision_id,
            status=result.status,
            answered=reached.response_code,
            approve_code=result.approve_code,
            keeps=reached.automatic,
            day=reached.day if result.approved else None,
        )
        if reached.issued:
            require_items(*await repository.item_count(session, revision_id))
        elif reached.item_results:
            await items.answer(session, revision_id, reached.item_results)
        if reached.ended or reached.state in self.rules.finished:
            # A cancelled or terminated RFA gives its drawings no response.
            if result.status not in NOT_ANSWERED:
                await repository.close_items(session, revision_id)
            await repository.release(session, revision_id)

    async def change_own(
        self, ctx: RequestContext, session: AsyncSession, row: core.DocumentRow, changes: DocumentChanges
    ) -> Mapping[str, tuple[object, object]]:
        """:raises DocumentAlreadyIssued: also if the workflow allows edits again (EC-RFA-005)"""
        assert isinstance(changes, RfaChanges)
        if "items" not in changes.model_fields_set:
            return {}
        if changes.items is None:
            raise required("/items")
        before = list(map(str, await repository.carried(session, row.revision.id)))
        after = [str(item.public_id) for item in changes.items]
        if before == after:
            return {}
        if row.revision.issued_date is not None:
            message = core.DocumentAlreadyIssued.says
            raise core.DocumentAlreadyIssued(fields=[FieldProblem("/items", "issued", message)])
        require_items(await repository.items_rule(session, document_id=row.document.id), len(after))
        checked = await items.check(ctx, session, project_id=row.document.project_id, requested=changes.items)
        for item in checked:
            item.refuse_for(row.originator.id)
        await items.replace_items(ctx, session, row.revision.id, checked)
        return {"items": (before, after)}

    def register(self, reach: Reach) -> core.KindRegister:
        return replace(super().register(reach), types=repository.type_keys)

    async def type_code(self, session: AsyncSession, row: core.DocumentRow) -> str:
        return await repository.type_code(session, document_id=row.document.id)


def _summary_fields(facts: repository.RfaFacts) -> dict[str, Any]:
    return {
        "status": core.coded(facts.status_code, facts.status_name_en, facts.status_name),
        "rfa_type": RfaTypeAnswer(code=facts.type_code, name=facts.type_name_en, name_th=facts.type_name_th),
        "approve_code": facts.approve_code
        and core.coded(facts.approve_code, facts.approve_name_en, facts.approve_name),
    }


RFA = RfaKind()
