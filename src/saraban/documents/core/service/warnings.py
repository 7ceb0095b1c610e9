"""What is doubtful in a request about a document; it can be saved all the same."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import is_far_due, may_be_same_letter, reach
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.documents import SenderNumberQuery
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import InputWarning, Text

_FAR_DUE: Final = Text("กำหนดนี้อยู่หลังวันนี้เกิน 5 ปี กรุณาตรวจสอบปี", "The due date is more than 5 years away. Check the year.")
_SAME_FILE: Final = Text(
    "ไฟล์ “{file}” เป็นไฟล์เดียวกับไฟล์ของฉบับที่ (Rev.) {revision}", "“{file}” is the same file as in revision {revision}."
)
_SAME_NUMBER: Final = Text(
    "เลขที่ของผู้ส่ง “{number}” ลงทะเบียนไว้แล้วเป็น {document} “{subject}”",
    "The sender's number “{number}” is already registered as {document}, “{subject}”.",
)


def due_date_warnings(due_dates: Mapping[str, date | None], *, today: date) -> list[InputWarning]:
    """
    :param due_dates: by the pointers of their fields
    """
    far = (pointer for pointer, due in due_dates.items() if due is not None and is_far_due(due, today=today))
    return [InputWarning(pointer, "DUE_DATE_FAR", _FAR_DUE) for pointer in far]


async def sender_number_warnings(
    ctx: RequestContext, session: AsyncSession, wanted: SenderNumberQuery, sent: date | None
) -> list[InputWarning]:
    """Name the first document with the same sender's number that the caller may see."""
    entries = await repository.documents_by_sender_number(session, wanted)
    same = [public_id for public_id, day in entries if may_be_same_letter(sent, day)]
    seen = await repository.visible(session, reach=reach(ctx.caller), public_ids=same)
    first = next((seen[one] for one in same if one in seen), None)
    if first is None:
        return []
    values: dict[str, object] = {
        "number": wanted.number,
        "document": first.revision.correspondence_number,
        "subject": first.revision.subject,
    }
    return [InputWarning("/senderNumber", "SENDER_NUMBER_REPEATED", _SAME_NUMBER, values, first.public_id)]


async def file_warnings(session: AsyncSession, files: Mapping[UUID, str], linked: sa.Subquery) -> list[InputWarning]:
    """
    Name the newest revision that has the same content as a file.

    :param files: pointers of the fields, by the public ids of uploads
    :param linked: the files of the earlier revisions, as `repository.repeated_files` takes them
    """
    found = {row.file: row for row in await repository.repeated_files(session, list(files), linked)} if files else {}
    return [
        InputWarning(
            pointer, "FILE_REPEATED", _SAME_FILE, {"file": row.name, "revision": row.label or "–"}, row.revision
        )
        for file, pointer in files.items()
        if (row := found.get(file))
    ]


def file_pointers(asked: Any) -> dict[UUID, str]:
    """Return the uploads that a request names, with the pointers of their places."""
    return {
        public_id: f"/{pointer}/{place}"
        for name, pointer in _FILES.items()
        for place, public_id in enumerate(getattr(asked, name, ()))
    }


_FILES: Final = {
    "attachment_public_ids": "attachmentPublicIds",
    "add_attachment_public_ids": "addAttachmentPublicIds",
}
