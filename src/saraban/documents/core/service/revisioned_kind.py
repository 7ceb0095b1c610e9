"""Kinds of documents with recipients and revisions."""

# ruff: noqa: ARG002

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any, ClassVar, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.domain.changes import field_changes
from saraban.documents.core.domain import (
    CANCELLED,
    DRAFT,
    Reach,
    ReachedState,
    WrittenDocument,
    reach,
)
from saraban.documents.core.domain.registers import keys_of
from saraban.documents.core.models import DocumentRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.reach import ReachIndex, reach_of_documents
from saraban.documents.core.repository.register_filters import DOCUMENTS
from saraban.documents.core.repository.rows import DocumentRow
from saraban.documents.core.repository.workflow_subject import SubjectRow
from saraban.documents.core.schemas import (
    DocumentAnswer,
    DocumentChanges,
    DocumentSummary,
    NewDocument,
    RegisterQuery,
    RevisionDetail,
)
from saraban.documents.core.service import drafts, registers
from saraban.documents.core.service.cancellation import CancelOnlyDraft, WithdrawRevisionFirst
from saraban.documents.core.service.document_change import claim_files
from saraban.documents.core.service.draft_changes import (
    NotADraft,
    audited_changes,
    change_files,
    change_relations,
    check_printed,
    draft_values,
    project_of,
)
from saraban.documents.core.service.drafts import DocumentDraft
from saraban.documents.core.service.kind import DocumentKind, Facts, OwnFields
from saraban.documents.core.service.presentation import DocumentParts, full_fields, read_parts, summary_fields
from saraban.documents.core.service.registers import CountedPage
from saraban.documents.core.service.warnings import UPLOADS, file_warnings, sender_number_warnings
from saraban.documents.core.service.workflow_subject import DocumentSubject, facts_in, recipients_in, subject_contexts
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.errors import FieldProblem, NotFound
from saraban.kit.schema import Schema, ShortList
from saraban.kit.text import sort_key
from saraban.numbering import service as numbering
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Envelope
from saraban.workflow.runtime.schemas import WorkflowItem

IN_REACH = {"due_date", "document_date", "recipients"}  # changes of a draft that `document_reach` contains


class RevisionedKind(DocumentKind[DocumentRow, DocumentDraft]):
    new: ClassVar[type[Schema]] = NewDocument
    changes: ClassVar[type[Schema]] = DocumentChanges
    summary: ClassVar[type[DocumentSummary]] = DocumentSummary
    full: ClassVar[type[Schema]] = DocumentAnswer
    revision: ClassVar[type[RevisionDetail]] = RevisionDetail

    @property
    def revisions(self) -> type[ShortList[WorkflowItem[RevisionDetail]]]:
        item: Any = WorkflowItem.__class_getitem__(self.revision)
        return cast("type[ShortList[WorkflowItem[RevisionDetail]]]", ShortList.__class_getitem__(item))

    @cached_property
    def index(self) -> ReachIndex:
        return reach_of_documents(self.rules)

    # Subtypes override these.

    @abstractmethod
    def type_codes(self, new: Any) -> tuple[str, str | None]:
        """Return document type and RFA type."""

    async def check_own(self, ctx: RequestContext, session: AsyncSession, new: Any, project_id: int) -> object:
        """Return `DocumentDraft.own`."""
        return None

    def check_originator(self, draft: DocumentDraft) -> None:
        """:raises Invalid:"""
        drafts.check_party(draft)

    async def insert_own(
        self, ctx: RequestContext, session: AsyncSession, draft: DocumentDraft, rows: drafts.NewRows
    ) -> None:
        """Insert the subtype's rows."""

    async def insert_own_revision(self, session: AsyncSession, revision: DocumentRevision, *, before: int) -> None:
        """:param before: key of the superseded revision"""

    async def in_list(self, session: AsyncSession, rows: Sequence[DocumentRow], reach: Reach) -> OwnFields:
        """Return fields that the subtype adds or overrides."""
        return {}

    async def in_full(self, session: AsyncSession, rows: Sequence[DocumentRow], reach: Reach) -> OwnFields:
        return await self.in_list(session, rows, reach)

    async def own_statuses(self, session: AsyncSession, revision_id: int, reached: ReachedState) -> None:
        """Set the subtype's status columns."""

    async def change_own(
        self, ctx: RequestContext, session: AsyncSession, row: DocumentRow, changes: Any
    ) -> Mapping[str, tuple[object, object]]:
        """Change the subtype's fields, and return old and new values."""
        return {}

    async def type_code(self, session: AsyncSession, row: DocumentRow) -> str:
        """Return the code that selects the workflow."""
        return row.type_code

    # All subtypes share these.

    def subject(self, zone: ZoneInfo) -> DocumentSubject:
        return DocumentSubject(self.rules, self.index, self.own_statuses, zone)

    async def check(self, ctx: RequestContext, session: AsyncSession, *, new: Any) -> DocumentDraft:
        draft = await drafts.check(ctx, session, self.rules, new, self.type_codes(new))
        draft = replace(draft, own=await self.check_own(ctx, session, new, draft.plan.project.id))
        self.check_originator(draft)
        return draft

    async def warnings(
        self, ctx: RequestContext, session: AsyncSession, asked: Schema, public_id: UUID | None
    ) -> list[FieldProblem]:
        warnings = await super().warnings(ctx, session, asked, public_id)
        if public_id is not None and not isinstance(asked, NewDocument) and UPLOADS.keys() & asked.model_fields_set:
            seen = reversed(await self.seen(ctx, session, public_id))
            rows = [row.revision for row in seen if row.revision.withdrawn_at is None]
            files = await repository.files(session, revision_ids=[row.id for row in rows])
            earlier = [(row.public_id, row.revision_label, file) for row in rows for file in files[row.id]]
            warnings += await file_warnings(session, asked, earlier)
        if isinstance(asked, NewDocument | DocumentChanges) and (number := asked.sender_number):
            if isinstance(asked, NewDocument):
                project = asked.project_public_id
                originator = asked.originator_organization_public_id or ctx.caller.organization_public_id
            else:
                assert public_id is not None  # changes have a document
                row = await self.find(ctx, session, public_id)
                project, originator = row.project.public_id, row.originator.public_id
            entries = await repository.documents_by_sender_number(
                session, number, project=project, originator=originator
            )
            others = {key: day for key, day in entries.items() if key != public_id}
            warnings += await sender_number_warnings(ctx, session, number, asked.sender_date, others)
        return warnings

    async def insert(
        self, ctx: RequestContext, session: AsyncSession, draft: DocumentDraft, issued: numbering.Issued
    ) -> WrittenDocument:
        rows, subject = await drafts.insert(ctx, session, self.rules, draft, issued)
        await self.insert_own(ctx, session, draft, rows)
        await self.index.add(session, documents=[rows.document])
        plan, files = draft.plan, draft.order.attachment_public_ids
        await claim_files(ctx, session, rows.revision, files, project_id=plan.project.id)
        facts = facts_in(self.rules, subject, zone=ctx.zone)
        return WrittenDocument(facts, plan.project, (plan.rfa_type or plan.type).code, issued.revision)

    async def revised(self, ctx: RequestContext, session: AsyncSession, row: DocumentRow) -> WrittenDocument:
        facts = await self.facts(session, [row], zone=ctx.zone)
        code = await self.type_code(session, row)
        return WrittenDocument(facts[row.entity_id], project_of(row), code, row.revision_label)

    async def seen(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Sequence[DocumentRow]:
        return await repository.revisions(session, reach=reach(ctx.caller), public_id=public_id)

    def newest(self, rows: Sequence[DocumentRow]) -> DocumentRow:
        newest = next((row for row in rows if row.revision.withdrawn_at is None), None)
        if newest is None or newest.type_code not in self.rules.type_codes:
            raise NotFound(f"There is no such {self.rules.name}.")
        return newest

    async def find_written(self, session: AsyncSession, public_id: UUID) -> DocumentRow:
        return await repository.first_issue(session, public_id)

    async def page(
        self, ctx: RequestContext, session: AsyncSession, *, search: RegisterQuery, counted: bool
    ) -> CountedPage[DocumentRow]:
        register = self.register(reach(ctx.caller))
        wide = repository.at_revisions
        return await registers.read_page(ctx, session, register, search, counted=counted, wide=wide)

    def register(self, reach: Reach) -> registers.KindRegister:
        return registers.KindRegister(self.rules, DOCUMENTS, partial(keys_of, reach), reach)

    async def lock(self, session: AsyncSession, row: DocumentRow) -> None:
        # Always in this order, or transactions deadlock: the document, then its instance.
        current = await repository.lock(session, document_id=row.document.id)
        await workflow.lock(session, entity_type=self.rules.entity_type, entity_ids=[str(current)])

    async def facts(self, session: AsyncSession, rows: Sequence[DocumentRow], *, zone: ZoneInfo) -> Facts:
        recipients = (
            await repository.recipients(session, document_ids=[row.document.id for row in rows]) if rows else {}
        )
        contexts = await subject_contexts(session, [(SubjectRow.of(row), recipients[row.document.id]) for row in rows])
        return {key: facts_in(self.rules, context, zone=zone) for key, context in contexts.items()}

    async def summaries(
        self,
        ctx: RequestContext,
        session: AsyncSession,
        rows: Sequence[DocumentRow],
        facts: Facts,
        envelopes: Mapping[str, Envelope],
    ) -> Sequence[DocumentSummary]:
        extras = await self.in_list(session, rows, reach(ctx.caller))
        today, summaries = local_date(ctx.now, ctx.zone), []
        for row in rows:
            recipients, envelope = recipients_in(facts[row.entity_id]), envelopes.get(row.entity_id)
            fields = summary_fields(self.rules, row, recipients, envelope, today, ctx.zone)
            summaries.append(self.summary(**(fields | dict(extras.get(row.revision.id, {})))))
        return summaries

    async def parts(
        self, ctx: RequestContext, session: AsyncSession, row: DocumentRow, rows: Sequence[DocumentRow], facts: Facts
    ) -> DocumentParts:
        extras = await self.in_full(session, rows, reach(ctx.caller))
        return await read_parts(ctx, session, row, rows, recipients_in(facts[row.entity_id]), extras)

    def answer(self, ctx: RequestContext, row: DocumentRow, parts: DocumentParts, envelope: Envelope | None) -> Schema:
        today = local_date(ctx.now, ctx.zone)
        fields = summary_fields(self.rules, row, parts.recipients, envelope, today, ctx.zone)
        return self.full(**(fields | full_fields(row, parts, ctx.zone) | dict(parts.own.get(row.revision.id, {}))))

    def require_edit(self, ctx: RequestContext, row: DocumentRow) -> None:
        drafts.require_edit(ctx, self.rules, row.document)

    async def change(
        self, ctx: RequestContext, session: AsyncSession, row: DocumentRow, envelope: Envelope | None, *, changes: Any
    ) -> dict[str, dict[str, Any]]:
        """:raises NumberAlreadyIssued, DocumentAlreadyIssued:"""
        check_printed(changes)
        if envelope is None or not envelope.can_edit or not row.revision.is_current:
            raise NotADraft
        values = draft_values(changes, row, ctx.now, ctx.zone)
        related = {
            **await change_relations(ctx, session, row=row, changes=changes),
            **await self.change_own(ctx, session, row, changes),
        }
        value_changes = audited_changes(changes, values, row, ctx.zone) | field_changes(
            {name: before for name, (before, _) in related.items()},
            {name: after for name, (_, after) in related.items()},
        )
        await change_files(ctx, session, row, changes)
        values["updated_by"] = ctx.caller.user_id
        await repository.change_revision(session, revision_id=row.revision.id, values=values)
        if related:
            await repository.raise_versions(session, document_id=row.document.id)
            fresh = await self.find(ctx, session, public_id=row.public_id)
            facts = (await self.facts(session, [fresh], zone=ctx.zone))[row.entity_id]
            await workflow.renew_pending(session, entity_type=self.rules.entity_type, facts=facts, now=ctx.now)
        if IN_REACH & (values.keys() | related.keys()):
            await self.renew_reach(session, document_id=row.document.id)
        return value_changes

    async def check_cancel(
        self, ctx: RequestContext, session: AsyncSession, row: DocumentRow, envelope: Envelope | None
    ) -> None:
        """
        :raises WithdrawRevisionFirst, Forbidden:
        :raises CancelOnlyDraft: for a submitted document of a kind that only its workflow ends
        """
        in_draft = envelope is not None and envelope.current_state == DRAFT
        never_issued = in_draft and not await repository.ever_issued(session, document_id=row.document.id)
        # A caller without the right gets Forbidden, not an error that reveals the state.
        if never_issued or (in_draft and row.revision.issued_date is None) or not self.rules.cancel_after_issue:
            drafts.require_edit(ctx, self.rules, row.document)
        if never_issued:
            return
        if in_draft and row.revision.issued_date is None:
            raise WithdrawRevisionFirst
        if not self.rules.cancel_after_issue:
            raise CancelOnlyDraft
        drafts.require_withdraw(ctx, row.document)

    async def mark_cancelled(
        self, ctx: RequestContext, session: AsyncSession, row: DocumentRow, *, reason: str
    ) -> Sequence[UUID]:
        values = {"cancelled_at": ctx.now, "cancelled_by": ctx.caller.user_id, "cancel_reason": reason}
        await repository.change_head(session, document_id=row.document.id, values=values)
        await self.show_cancelled(ctx, session, row)
        return ()

    async def show_cancelled(self, ctx: RequestContext, session: AsyncSession, row: DocumentRow) -> None:
        """Set the status columns. Recipients keep an issued revision."""
        status = repository.status_key(self.rules.status_code(CANCELLED, None))
        await repository.change_revision(
            session, revision_id=row.revision.id, values={"correspondence_status_id": status}
        )
        await self.own_statuses(session, row.revision.id, ReachedState(CANCELLED, local_date(ctx.now, ctx.zone)))
        await self.index.renew(session, documents=[row.document.id])

    def event_fields(self, entity_id: str, notify: Sequence[UUID]) -> dict[str, object]:
        return {}

    async def number_request(self, session: AsyncSession, row: DocumentRow) -> numbering.NumberRequest:
        recipients = (await repository.recipients(session, document_ids=[row.document.id]))[row.document.id]
        main = next(recipient.organization for recipient in recipients if recipient.recipient_type == "TO")
        assert row.document.number_uuid is not None  # `renumber` has checked it
        return numbering.NumberRequest(
            project_public_id=row.project.public_id,
            correspondence_type_code=row.type_code,
            originator_organization_public_id=row.originator.public_id,
            recipient_organization_public_id=main.public_id,
            contract_public_id=row.contract.public_id if row.contract else None,
            sub_type_code=row.sub_type.sub_type_code if row.sub_type else None,
            rfa_type_code=await numbering.rfa_type_of(session, number=row.document.number_uuid),
            discipline_code=row.discipline.discipline_code if row.discipline else None,
            revision=row.revision.revision_label,
        )

    async def change_number(
        self,
        session: AsyncSession,
        row: DocumentRow,
        issued: numbering.Issued,
        *,
        now: datetime,
    ) -> None:
        number = {"correspondence_number": issued.number}
        printed = number | {"number_sort": sort_key(issued.number)}
        await repository.change_revision(session, revision_id=row.revision.id, values=printed)
        await repository.change_head(
            session, document_id=row.document.id, values={**number, "number_uuid": issued.public_id}
        )
        await self.renew_reach(session, document_id=row.document.id)
