"""Reading: a register's pages, one document, its revisions and its history."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import KindRules
from saraban.documents.core.domain.visibility import Reach
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import links
from saraban.documents.core.repository.documents import DocumentFilters, DocumentRow
from saraban.documents.core.schemas import DocumentAnswer, DocumentSummary, RevisionList
from saraban.documents.core.service.kind import DocumentKind
from saraban.documents.core.service.presentation import (
    coded,
    day_of,
    envelopes,
    file_answers,
    full,
    person,
    reach,
    revision_answer,
    summaries,
)
from saraban.identity import service as identity
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import local_date
from saraban.kit.errors import NotFound, invalid
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.projects.domain.master_data import CORRESPONDENCE_STATUSES
from saraban.workflow.runtime.schemas import WorkflowEnvelope, WorkflowItem


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSearch:
    """What a person asks a register for; None asks for all."""

    project: UUID | None = None
    type_code: str | None = None
    status: str | None = None
    originator: UUID | None = None
    recipient: UUID | None = None
    text: str | None = None
    due_before: date | None = None
    overdue: bool = False
    created_from: date | None = None
    created_to: date | None = None
    mine: bool = False


async def listing(
    session: AsyncSession,
    register: DocumentKind,
    *,
    caller: Caller,
    search: DocumentSearch,
    cursor: str | None,
    limit: int,
    now: datetime,
    zone: ZoneInfo,
) -> Page[WorkflowItem[DocumentSummary]]:
    """Return a page of what the caller may see, newest first."""
    filters = _filters(register.kind, search, caller, now, zone)
    page = await repository.page(session, reach=reach(caller), filters=filters, cursor=cursor, limit=limit)
    items = await summaries(session, register, caller=caller, rows=page.items, now=now, zone=zone)
    return Page(items, page.next_cursor)


def _filters(kind: KindRules, search: DocumentSearch, caller: Caller, now: datetime, zone: ZoneInfo) -> DocumentFilters:
    return DocumentFilters(
        type_codes=_types(kind, search.type_code),
        finished=kind.finished_codes,
        project=search.project,
        status_codes=_statuses(kind, search.status),
        originator=search.originator,
        recipient=search.recipient,
        text=fold(search.text).strip() if search.text else None,
        due_before=_morning(search.due_before, zone),
        overdue_at=_morning(local_date(now, zone), zone) if search.overdue else None,
        created_from=_morning(search.created_from, zone),
        created_before=_morning(search.created_to and search.created_to + timedelta(days=1), zone),
        author=caller.user_id if search.mine else None,
    )


def _morning(day: date | None, zone: ZoneInfo) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), zone)


def _types(kind: KindRules, code: str | None) -> frozenset[str]:
    if code is None:
        return kind.type_codes
    if code not in kind.type_codes:
        raise _not_in_list("query:correspondenceTypeCode", sorted(kind.type_codes))
    return frozenset({code})


def _statuses(kind: KindRules, state: str | None) -> frozenset[str] | None:
    if state is None:
        return None
    if state not in kind.statuses:
        raise _not_in_list("query:status", sorted(kind.statuses))
    return kind.status_codes(state)


def _not_in_list(pointer: str, expected: list[str]) -> Exception:
    return invalid(
        pointer,
        "not_in_list",
        "ต้องเป็นค่าใดค่าหนึ่งต่อไปนี้: {expected}",
        "This must be one of: {expected}.",
        expected=", ".join(expected),
    )


async def find(session: AsyncSession, kind: KindRules, *, caller: Caller, public_id: UUID) -> DocumentRow:
    """
    Return a document at the newest revision that the caller may see.

    :raises NotFound: also when the caller may not know of it
    """
    rows = await repository.visible(session, reach=reach(caller), public_ids=[public_id], type_codes=kind.type_codes)
    if public_id not in rows:
        raise NotFound(f"There is no such {kind.name}.")
    return rows[public_id]


async def read(
    session: AsyncSession, register: DocumentKind, *, caller: Caller, public_id: UUID, now: datetime, zone: ZoneInfo
) -> WorkflowEnvelope[DocumentAnswer]:
    """
    :raises NotFound: also when the caller may not know of it
    """
    row = await find(session, register.kind, caller=caller, public_id=public_id)
    return await full(session, register, caller=caller, row=row, now=now, zone=zone)


async def revisions(
    session: AsyncSession, register: DocumentKind, *, caller: Caller, public_id: UUID, zone: ZoneInfo
) -> RevisionList:
    """
    Return the revisions that the caller may see, newest first, each with its own workflow and files.

    :raises NotFound: also when the caller may not know of the document
    """
    await find(session, register.kind, caller=caller, public_id=public_id)
    rows = await repository.revisions(session, reach=reach(caller), public_id=public_id)
    where = await envelopes(session, register, caller=caller, rows=rows, zone=zone)
    files = await links.files(session, revision_ids=[row.revision.id for row in rows])
    shown = register.revision.model_fields
    extras = await register.in_full(session, rows, reach(caller))
    items = []
    for row in rows:
        fields = revision_answer(row).model_dump() | {
            "subject": row.revision.subject,
            "due_date": day_of(row.revision.due_date, zone),
            "status": coded(CORRESPONDENCE_STATUSES, row.status.status_code, row.status.status_name),
            "created_at": row.revision.created_at,
            "created_by": person(row.reviser),
            "issued_at": row.revision.issued_date,
            "attachments": file_answers(files[row.revision.id]),
        }
        own = {name: value for name, value in extras.get(row.revision.id, {}).items() if name in shown}
        items.append(WorkflowItem.around(register.revision(**(fields | own)), where.get(str(row.revision.public_id))))
    return register.revisions(items=items)


async def known_to(
    session: AsyncSession, *, organization_id: int, author: UUID, public_ids: Collection[UUID]
) -> set[UUID]:
    """Say which documents are open to an organization, or to the person who writes for it."""
    nowhere, own = frozenset[int](), frozenset({organization_id})
    found = set(
        await repository.visible(
            session,
            reach=Reach(everything=False, projects=nowhere, contracts=nowhere, organizations=own, member_of=own),
            public_ids=public_ids,
        )
    )
    hidden = set(public_ids) - found
    person = (await identity.load_callers(session, [author])).get(author) if hidden else None
    return found | (set(await visible(session, caller=person, public_ids=hidden)) if person else set())


async def visible(session: AsyncSession, *, caller: Caller, public_ids: Collection[UUID]) -> dict[UUID, DocumentRow]:
    """Return the documents of any kind among `public_ids` that the caller may see."""
    return await repository.visible(session, reach=reach(caller), public_ids=public_ids)
