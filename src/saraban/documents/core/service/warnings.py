"""Warnings about requests, which do not prevent saving."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.models import Attachment
from saraban.documents.core.domain import reach
from saraban.documents.core.repository import documents as repository
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import FieldProblem, Text
from saraban.kit.schema import Schema

UPLOADS: Final = {"attachment_public_ids": "attachmentPublicIds", "add_attachment_public_ids": "addAttachmentPublicIds"}
_FAR_DUE: Final = Text("กำหนดนี้ไกลเกิน 5 ปี กรุณาตรวจสอบปี", "The due date is more than 5 years away. Check the year.")
_SAME_FILE: Final = Text(
    "ไฟล์ “{file}” เป็นไฟล์เดียวกับไฟล์ของฉบับที่ (Rev.) {revision}", "“{file}” is the same file as in revision {revision}."
)
_SAME_NUMBER: Final = Text(
    "เลขที่ของผู้ส่ง “{number}” ลงทะเบียนไว้แล้วเป็น {document} “{subject}”",
    "The sender's number “{number}” is already registered as {document}, “{subject}”.",
)


def due_date_warnings(due_dates: Mapping[str, date | None], *, today: date) -> list[FieldProblem]:
    """:param due_dates: by pointer"""
    latest = (today.year + 5, today.month, today.day)
    far = [pointer for pointer, due in due_dates.items() if due and (due.year, due.month, due.day) > latest]
    return [FieldProblem(pointer, "DUE_DATE_FAR", _FAR_DUE) for pointer in far]


async def sender_number_warnings(
    ctx: RequestContext, session: AsyncSession, number: str, sent: date | None, entries: Mapping[UUID, date | None]
) -> list[FieldProblem]:
    """
    Warn of the first visible document with a sender's date in the same year.

    :param entries: sender's dates by public id
    """
    same_year = [key for key, day in entries.items() if sent is None or day is None or sent.year == day.year]
    visible = await repository.visible(session, reach=reach(ctx.caller), public_ids=same_year)
    first = [visible[public_id] for public_id in same_year if public_id in visible][:1]
    return [
        FieldProblem(
            "/senderNumber",
            "SENDER_NUMBER_REPEATED",
            _SAME_NUMBER,
            {"number": number, "document": document.number, "subject": document.revision.subject},
            document.public_id,
        )
        for document in first
    ]


async def file_warnings(
    session: AsyncSession, request: Schema, earlier: Iterable[tuple[UUID, str, repository.LinkedFile | Attachment]]
) -> list[FieldProblem]:
    """:param earlier: public id, label and file of earlier revisions; the last of equal files counts"""
    uploads = {
        upload: f"/{field}/{place}"
        for name, field in UPLOADS.items()
        for place, upload in enumerate(getattr(request, name, ()))
    }
    revisions = {file.checksum: (revision, label) for revision, label, file in earlier if file.public_id not in uploads}
    warnings = []
    for file in await repository.uploads(session, uploads, revisions):
        revision, label = revisions[file.checksum]
        values = {"file": file.original_filename, "revision": label}
        warnings.append(FieldProblem(uploads[file.public_id], "FILE_REPEATED", _SAME_FILE, values, revision))
    return warnings
