"""Responses from rows of documents."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import text_problem
from saraban.attachments.models import Attachment
from saraban.documents.core.domain import Correspondents, KindRules, day_of, is_overdue, is_reply, reach
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.documents import LinkedFile, RecipientRow
from saraban.documents.core.repository.rows import DocumentRow
from saraban.documents.core.schemas import (
    CodeAnswer,
    DocumentFileAnswer,
    RecipientAnswer,
    ReferenceAnswer,
    RevisionAnswer,
)
from saraban.documents.core.service.kind import OwnFields
from saraban.identity.domain.context import RequestContext
from saraban.identity.models import UserName
from saraban.identity.schemas import PersonRef
from saraban.identity.service.callers import display_name
from saraban.kit.db import AnyRow
from saraban.numbering import service as numbering
from saraban.workflow.language.subject import Envelope

References = dict[str, list[ReferenceAnswer]]
DOWNLOAD = "/api/v1/attachments/{public_id}/content"


def person(user: AnyRow | UserName) -> PersonRef:
    return PersonRef(public_id=user.public_id, display_name=display_name(user))


def revision_answer(row: DocumentRow) -> RevisionAnswer:
    return RevisionAnswer(
        public_id=row.revision.public_id,
        revision_label=row.revision.revision_label,
        revision_number=row.revision.revision_number,
        document_number=row.revision.correspondence_number,
        is_current=row.revision.is_current,
    )


def file_answer(row: Attachment | LinkedFile, *, is_main: bool) -> DocumentFileAnswer:
    return DocumentFileAnswer(
        public_id=row.public_id,
        file_name=row.original_filename,
        mime_type=row.mime_type,
        size=row.file_size,
        checksum=row.checksum,
        is_main=is_main,
        download_url=DOWNLOAD.format(public_id=row.public_id),
        text_problem=text_problem(row.mime_type, row.text_problem),
    )


def file_answers(files: Sequence[repository.LinkedFile]) -> list[DocumentFileAnswer]:
    return [file_answer(file, is_main=file.is_main) for file in files]


def _recipient_answer(recipient: RecipientRow) -> RecipientAnswer:
    _, public_id, code, name, english = recipient.organization
    return RecipientAnswer(
        public_id=public_id,
        organization_code=code,
        organization_name=name,
        organization_name_en=english,
        recipient_type=recipient.recipient_type,
    )


def coded(code: str, english: str | None, thai: str | None) -> CodeAnswer:
    return CodeAnswer(code=code, name=english or thai, name_th=thai)


def status_answer(row: DocumentRow) -> CodeAnswer:
    status = row.status
    return coded(status.status_code, status.status_name_en, status.status_name)


def summary_fields(
    rules: KindRules,
    row: DocumentRow,
    recipients: Sequence[RecipientRow],
    envelope: Envelope | None,
    today: date,
    zone: ZoneInfo,
) -> dict[str, Any]:
    due = day_of(row.revision.due_date, zone)
    discipline, sub_type = row.discipline, row.sub_type
    has_answer = envelope is not None and (envelope.terminal or envelope.current_state in rules.answered)
    return {
        "public_id": row.document.public_id,
        "document_number": row.revision.correspondence_number,
        "document_type": row.type_code,
        "kind": rules.name,
        "project": row.project,
        "contract": row.contract,
        "originator": row.originator,
        "recipients": list(map(_recipient_answer, recipients)),
        "subject": row.revision.subject,
        "priority": row.revision.priority,
        "document_date": row.revision.document_date,
        "due_date": due,
        "is_overdue": is_overdue(due, today=today, closed=has_answer or row.document.cancelled_at is not None),
        "status": status_answer(row),
        "discipline": discipline
        and coded(discipline.discipline_code, discipline.code_name_en, discipline.code_name_th),
        "sub_type": sub_type and coded(sub_type.sub_type_code, sub_type.sub_type_name_en, sub_type.sub_type_name),
        "revision": revision_answer(row),
        "created_at": row.document.created_at,
        "created_by": person(row.author),
        "cancelled_at": row.document.cancelled_at,
    }


class DocumentParts(NamedTuple):
    """:param files: by revision id, like `own`, the fields of the subtype"""

    recipients: Sequence[RecipientRow]
    files: Mapping[int, Sequence[LinkedFile]]
    own: OwnFields
    references: References


async def read_parts(
    ctx: RequestContext,
    session: AsyncSession,
    row: DocumentRow,
    rows: Sequence[DocumentRow],
    recipients: Sequence[RecipientRow],
    own: OwnFields,
) -> DocumentParts:
    return DocumentParts(
        recipients,
        await repository.files(session, revision_ids=[row.revision.id for row in rows if row.texts.has_files]),
        own,
        await _references(ctx, session, row=row),
    )


def full_fields(row: DocumentRow, parts: DocumentParts, zone: ZoneInfo) -> dict[str, Any]:
    texts = row.texts
    return {
        **parts.references,
        "body": texts.body,
        "description": texts.description,
        "remarks": texts.remarks,
        "sender_number": texts.sender_number,
        "sender_date": texts.sender_date,
        "received_date": day_of(texts.received_date, zone),
        "issued_at": row.revision.issued_date,
        "cancel_reason": texts.cancel_reason,
        "cancelled_by": person(texts.canceller) if texts.canceller else None,
        "number_format": texts.number_format
        and numbering.FormatChoice.of_ledger(row.type_code, *texts.number_format).shown(),
        "attachments": file_answers(parts.files[row.revision.id]),
        "version": row.version,
    }


async def _references(ctx: RequestContext, session: AsyncSession, *, row: DocumentRow) -> References:
    if not row.texts.has_references:
        return {"references": [], "referenced_by": []}
    outgoing, incoming = await repository.referenced(session, document_id=row.document.id)
    rows = await repository.visible(session, reach=reach(ctx.caller), public_ids={*outgoing, *incoming})
    parties = await _parties(session, [row, *rows.values()])
    here = parties[row.document.id]
    return {
        "references": [
            reference(target, is_reply=_is_effective(row) and is_reply(here, parties[target.document.id]))
            for target in (rows[key] for key in outgoing if key in rows)
        ],
        "referenced_by": [
            reference(source, is_reply=_is_effective(source) and is_reply(parties[source.document.id], here))
            for source in (rows[key] for key in incoming if key in rows)
        ],
    }


async def _parties(session: AsyncSession, rows: Sequence[DocumentRow]) -> dict[int, Correspondents]:
    recipients = await repository.recipients(session, document_ids=[row.document.id for row in rows])
    return {
        row.document.id: Correspondents(
            row.document.originator_id, {recipient.organization.id for recipient in recipients[row.document.id]}
        )
        for row in rows
    }


def _is_effective(row: DocumentRow) -> bool:
    return row.revision.issued_date is not None and row.document.cancelled_at is None


def reference(row: DocumentRow, *, is_reply: bool = False) -> ReferenceAnswer:
    return ReferenceAnswer(
        public_id=row.document.public_id,
        document_number=row.revision.correspondence_number,
        document_type=row.type_code,
        subject=row.revision.subject,
        is_cancelled=row.document.cancelled_at is not None,
        is_reply=is_reply,
    )
