"""What ties a draft to others: what its number prints of them stays, further recipients and references can change."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import links, writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.schemas import DocumentChanges
from saraban.documents.core.schemas import Recipient as AskedRecipient
from saraban.documents.core.service.checks import recipients_of, references_of
from saraban.documents.core.service.presentation import reach
from saraban.identity.domain.caller import Caller
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text, invalid
from saraban.projects.service import ProjectRef

_PRINTED = (
    "project_public_id",
    "originator_organization_public_id",
    "correspondence_type_code",
    "discipline_code",
    "contract_public_id",
    "sub_type_code",
    "rfa_type_code",
)
_FIXED = Text("ส่วนนี้อยู่ในเลขที่เอกสารซึ่งออกไปแล้ว จึงแก้ไขไม่ได้", "This is part of the issued number and cannot be changed.")
_MAIN = Text(
    "ผู้รับหลักอยู่ในเลขที่เอกสารซึ่งออกไปแล้ว ต้องคงเป็นผู้รับ (TO) รายแรก",
    "The main recipient is part of the issued number and must stay the first TO recipient.",
)


class NumberAlreadyIssued(DomainError):
    """What a number prints cannot change once it is drawn."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_ALREADY_DRAWN"
    says = Text(
        "ออกเลขที่เอกสารแล้ว จึงเปลี่ยนคู่สัญญา ประเภท หรือสาขางานไม่ได้",
        "The number has been issued; parties, type and discipline can no longer be changed.",
    )
    recovery = (Text("ยกเลิกเอกสารนี้แล้วสร้างฉบับใหม่", "Cancel this document and create a new one."),)


class DocumentAlreadyIssued(DomainError):
    """A revision has been issued: who has read it keeps it, and what went with it stays what it was."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_ALREADY_ISSUED"
    says = Text(
        "เอกสารนี้ออกไปแล้ว จึงตัดผู้รับออกหรือเปลี่ยนรายการเอกสารที่นำส่งไม่ได้",
        "This document has been issued: recipients cannot be removed, and the transmitted documents cannot be changed.",
    )
    recovery = (Text("สร้างเอกสารฉบับใหม่", "Create a new document."),)


def check_printed(changes: DocumentChanges) -> None:
    """
    :raises NumberAlreadyDrawn: naming every field that the number prints
    """
    touched = [name for name in _PRINTED if name in changes.model_fields_set]
    if touched:
        raise NumberAlreadyIssued(
            fields=[FieldProblem(f"/{alias(name)}", "already_printed", _FIXED) for name in touched]
        )


def alias(name: str) -> str:
    return DocumentChanges.model_fields[name].alias or name


async def change_relations(
    session: AsyncSession, *, caller: Caller, row: DocumentRow, changes: DocumentChanges
) -> Mapping[str, tuple[Any, Any]]:
    """
    Replace recipients and references that are stated; give what was and what is by field, for the audit trail.

    :raises NumberAlreadyDrawn: when the main recipient would be another one
    :raises AlreadyIssued: when somebody who may have read it would not be a recipient any more
    """
    noted: dict[str, tuple[Any, Any]] = {}
    if "recipients" in changes.model_fields_set:
        noted["recipients"] = await _change_recipients(session, row, changes.recipients)
    if "reference_public_ids" in changes.model_fields_set:
        noted["referencePublicIds"] = await _change_references(session, caller, row, changes.reference_public_ids)
    return noted


async def _change_recipients(
    session: AsyncSession, row: DocumentRow, asked: Sequence[AskedRecipient] | None
) -> tuple[Any, Any]:
    if asked is None:
        raise invalid("/recipients", "required", "จำเป็นต้องระบุ", "Required")
    known = (await repository.recipients(session, document_ids=[row.head.id]))[row.head.id]
    before = [(one.organization.public_id, one.recipient_type) for one in known]
    after = [(one.organization_public_id, one.recipient_type) for one in asked]
    if before != after:
        found = await recipients_of(session, project=_project(row), originator_id=row.originator.id, asked=asked)
        if _main(after) != _main(before):
            raise NumberAlreadyIssued(fields=[FieldProblem("/recipients", "already_printed", _MAIN)])
        await _check_nobody_loses(session, row, {one for one, _ in before} - {one for one, _ in after})
        await writes.replace_recipients(
            session, document_id=row.head.id, recipients=[(organization.id, kind) for organization, kind in found]
        )
    return _said(before), _said(after)


def _main(recipients: Sequence[tuple[UUID, str]]) -> UUID | None:
    return next((one for one, kind in recipients if kind == "TO"), None)


def _said(recipients: Sequence[tuple[UUID, str]]) -> list[str]:
    return [f"{kind} {one}" for one, kind in recipients]


async def _check_nobody_loses(session: AsyncSession, row: DocumentRow, gone: set[UUID]) -> None:
    if gone and await repository.ever_issued(session, document_id=row.head.id):
        raise DocumentAlreadyIssued(fields=[FieldProblem("/recipients", "issued", DocumentAlreadyIssued.says)])


async def _change_references(
    session: AsyncSession, caller: Caller, row: DocumentRow, asked: Sequence[UUID]
) -> tuple[Any, Any]:
    """References that the caller may not see stay."""
    outgoing, _ = await links.referenced(session, document_id=row.head.id)
    seen = await repository.visible(session, reach=reach(caller), public_ids=outgoing)
    before = [one for one in outgoing if one in seen]
    if set(before) != set(asked) or len(asked) != len(before):
        if row.head.public_id in asked:
            pointer = f"/referencePublicIds/{list(asked).index(row.head.public_id)}"
            raise invalid(pointer, "self", "เอกสารอ้างอิงตัวเองไม่ได้", "A document cannot refer to itself.")
        targets = await references_of(session, caller=caller, project=_project(row), asked=asked)
        gone = [seen[one].head.id for one in before]
        await writes.replace_references(session, document_id=row.head.id, gone=gone, targets=targets)
    return sorted(map(str, before)), sorted(map(str, asked))


def _project(row: DocumentRow) -> ProjectRef:
    project = row.project
    return ProjectRef(project.id, project.public_id, project.project_code, project.project_name)
