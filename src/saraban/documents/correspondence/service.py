"""Letters, memos, requests for information and the other general types: the shared verbs, and nothing beside."""

from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.correspondence.domain import CORRESPONDENCE_RULES
from saraban.documents.correspondence.schemas import NewCorrespondence
from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult
from saraban.numbering.service import Allocator

CORRESPONDENCE = core.DocumentKind(CORRESPONDENCE_RULES)


async def create(
    db: Database,
    allocator: Allocator,
    *,
    caller: Caller,
    order: NewCorrespondence,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None = None,
) -> OperationResult:
    """
    Write a draft with its number.

    :raises Invalid: naming the field; nothing has been written
    """

    async def prepare(session: AsyncSession) -> tuple[core.DocumentDraft, core.Complete]:
        sheet = await core.check(
            session,
            CORRESPONDENCE,
            caller=caller,
            order=order,
            type_code=order.correspondence_type_code,
            rfa_type_code=None,
            now=now,
            zone=zone,
        )
        await core.check_party(session, sheet)
        return sheet, _nothing_beside

    return await core.create(
        db,
        allocator,
        CORRESPONDENCE,
        caller=caller,
        payload=order.model_dump(mode="json", by_alias=True),
        prepare=prepare,
        now=now,
        zone=zone,
        address=address,
        key=key,
    )


async def _nothing_beside(_session: AsyncSession, _head: Document, _revision: DocumentRevision) -> None:
    return None


def subject(zone: ZoneInfo) -> core.DocumentSubject:
    """Return the port that `bootstrap` registers with the workflow."""
    return core.DocumentSubject(CORRESPONDENCE, zone)
