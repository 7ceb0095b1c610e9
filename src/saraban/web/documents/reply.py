"""A reply to what was received: whether the reader may write one, and the form of it with the parties turned round."""

from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import Text

CREATE: Final = "correspondence.create"
_BEGINS: Final = Text("อ้างถึง ", "Re: ")
_LONGEST: Final = 500


async def sender(ctx: RequestContext, session: AsyncSession, document: Any) -> UUID | None:
    """Give the organization that would reply: the first that received it and for which the reader writes."""
    issued = getattr(document, "issued_at", None) is not None and document.cancelled_at is None
    if not issued or not ctx.caller.may_anywhere(CREATE):
        return None
    profile = await identity.profile(ctx, session)
    mine = {one.public_id for one in profile.organizations}
    return next((one.public_id for one in document.recipients if one.public_id in mine), None)


def form_of(document: Any, sender: UUID, language: str) -> list[tuple[str, str]]:
    """Give the fields of a new letter that answers a document."""
    found = [
        ("projectPublicId", str(document.project.public_id)),
        ("contractPublicId", str(document.contract.public_id) if document.contract else ""),
        ("originatorOrganizationPublicId", str(sender)),
        ("to", str(document.originator.public_id)),
        ("correspondenceTypeCode", "MEMO" if document.document_type == "MEMO" else "LETTER"),
        ("subject", subject_of(document.subject, language)),
        ("reference", str(document.public_id)),
        ("referenceLabel", f"{document.document_number} {document.subject}"),
    ]
    return found + ([("disciplineCode", document.discipline.code)] if document.discipline else [])


def subject_of(subject: str, language: str) -> str:
    """Say once what it refers to, in the language of the writer; an answer to an answer says it no second time."""
    known = subject.startswith((_BEGINS.th, _BEGINS.en))
    return (subject if known else _BEGINS.say(language) + subject)[:_LONGEST]
