"""Who may read a file: its uploader while it is temporary, afterwards whoever may read what it belongs to."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import repository
from saraban.attachments.domain.attachment import AttachmentRow
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text

AccessRule = Callable[[RequestContext, AsyncSession, int], Awaitable[bool]]


class AccessRules:
    """The features that hold files, asked in turn; wired in `bootstrap`. Without any, nobody reads a permanent file."""

    def __init__(self) -> None:
        self._rules: list[AccessRule] = []

    def add(self, rule: AccessRule) -> None:
        """
        :param rule: (context, session, integer key of the attachment) -> may the caller read it
        """
        self._rules.append(rule)

    async def allow(self, ctx: RequestContext, session: AsyncSession, *, attachment_id: int) -> bool:
        for rule in self._rules:
            if await rule(ctx, session, attachment_id):
                return True
        return False


class FileUnavailable(DomainError):
    """The row is there and the bytes are not: a restore from an incomplete backup, for example."""

    kind, code = ErrorKind.GONE, "FILE_UNAVAILABLE"
    says = Text("ไฟล์ไม่พร้อมใช้งาน", "The file is not available.")
    recovery = (Text("ติดต่อผู้ดูแลระบบ", "Contact the administrator."),)


async def find(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, rules: AccessRules) -> AttachmentRow:
    """
    :raises NotFound: when there is no such file, or none that the caller may know of
    """
    row = await repository.by_public_id(session, public_id)
    if row is None or row.checksum is None:
        raise NotFound(f"There is no attachment {public_id}.")
    if row.is_temporary:
        allowed = row.uploaded_by_user_id == ctx.caller.user_id
    else:
        allowed = await rules.allow(ctx, session, attachment_id=row.id)
    if not allowed:
        raise NotFound(f"There is no attachment {public_id}.")
    return repository.as_row(row)
