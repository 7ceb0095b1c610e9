"""Reading documents: the pages of a register, one document, and who may read the files of them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.service import AccessRule
from saraban.documents.core.domain import KindRules, Reach, reach, start_of_day
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.documents import DocumentFilters, DocumentRow
from saraban.documents.core.service.kind import AnyKind
from saraban.documents.core.service.presentation import full, summaries
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.errors import NotFound, invalid
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.workflow import service as workflow
from saraban.workflow.runtime.schemas import WorkflowEnvelope, WorkflowItem
from saraban.workflow.service import Subjects


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
    correspondence: UUID | None = None


async def listing(
    ctx: RequestContext, session: AsyncSession, kind: AnyKind, *, search: DocumentSearch, cursor: str | None, limit: int
) -> Page[WorkflowItem[Any]]:
    """Return a page of what the caller may see, newest first."""
    page = await kind.page(ctx, session, search=search, cursor=cursor, limit=limit)
    items = await summaries(ctx, session, kind, rows=page.items)
    return Page(items, page.next_cursor)


async def read(ctx: RequestContext, session: AsyncSession, kind: AnyKind, *, public_id: UUID) -> WorkflowEnvelope[Any]:
    """
    :raises NotFound: also when the caller may not know of the document
    """
    row = await kind.find(ctx, session, public_id=public_id)
    return await full(ctx, session, kind, row=row)


def document_filters(ctx: RequestContext, rules: KindRules, search: DocumentSearch) -> DocumentFilters:
    return DocumentFilters(
        type_codes=_types(rules, search.type_code),
        finished=rules.finished_codes,
        project=search.project,
        status_codes=_statuses(rules, search.status),
        originator=search.originator,
        recipient=search.recipient,
        text=fold(search.text).strip() if search.text else None,
        due_before=start_of_day(search.due_before, ctx.zone),
        overdue_at=start_of_day(local_date(ctx.now, ctx.zone), ctx.zone) if search.overdue else None,
        created_from=start_of_day(search.created_from, ctx.zone),
        created_before=start_of_day(search.created_to and search.created_to + timedelta(days=1), ctx.zone),
        author=ctx.caller.user_id if search.mine else None,
    )


def _types(rules: KindRules, code: str | None) -> frozenset[str]:
    if code is None:
        return rules.type_codes
    if code not in rules.type_codes:
        raise not_in_list("query:correspondenceTypeCode", sorted(rules.type_codes))
    return frozenset({code})


def _statuses(rules: KindRules, state: str | None) -> frozenset[str] | None:
    if state is None:
        return None
    if state not in rules.statuses:
        raise not_in_list("query:status", sorted(rules.statuses))
    return rules.status_codes(state)


def not_in_list(pointer: str, expected: list[str]) -> Exception:
    return invalid(
        pointer,
        "not_in_list",
        "ต้องเป็นค่าใดค่าหนึ่งต่อไปนี้: {expected}",
        "This must be one of: {expected}.",
        expected=", ".join(expected),
    )


async def find_document(
    ctx: RequestContext, session: AsyncSession, rules: KindRules, *, public_id: UUID
) -> DocumentRow:
    """
    Return a document at the newest revision that the caller may see.

    :raises NotFound: also when the caller may not know of it
    """
    rows = await repository.visible(
        session, reach=reach(ctx.caller), public_ids=[public_id], type_codes=rules.type_codes
    )
    if public_id not in rows:
        raise NotFound(f"There is no such {rules.name}.")
    return rows[public_id]


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
    if person is None:
        return found
    return found | set(await repository.visible(session, reach=reach(person), public_ids=hidden))


async def visible(
    ctx: RequestContext, session: AsyncSession, *, public_ids: Collection[UUID]
) -> dict[UUID, DocumentRow]:
    """Return the documents of any kind among `public_ids` that the caller may see."""
    return await repository.visible(session, reach=reach(ctx.caller), public_ids=public_ids)


async def document_files(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Return whether a file hangs on a revision that the caller may see."""
    return await repository.reaches_file(session, reach=reach(ctx.caller), attachment_id=attachment_id)


def step_files(subjects: Subjects) -> AccessRule:
    """Return the rule for files that came with a workflow step: whoever sees its subject may read them."""
    return partial(workflow.may_read_step_file, subjects=subjects)
