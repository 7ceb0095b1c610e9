"""What a register is to the pages: lines, documents, and the verbs that change them. Two kinds of shelf ship."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as core
from saraban.documents.core.schemas import NewRevision
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound
from saraban.kit.operation import Receipt
from saraban.kit.pagination import Page
from saraban.kit.schema import Schema
from saraban.web.shell.document_kinds import KINDS, WebKind
from saraban.workflow.language.definition import CANCELLED
from saraban.workflow.language.subject import Represented


@dataclass(frozen=True, slots=True)
class RegisterQuery:
    """What a reader asks a register for; a shelf leaves aside what its documents do not have."""

    text: str | None = None
    state: str | None = None
    type_code: str | None = None
    project: UUID | None = None
    mine: bool = False
    due_before: date | None = None


@dataclass(frozen=True, slots=True)
class DocumentSummaryRow:
    """A document as a row of a register."""

    public_id: UUID
    url: str
    number: str
    subject: str
    sender: str
    receivers: tuple[str, ...]
    state: str
    state_label: Any
    priority: str
    due_date: date | None
    is_overdue: bool
    created_at: datetime
    type_code: str
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class OpenActions:
    """What is open to the reader besides the workflow's actions."""

    edit: bool = False
    files: bool = False
    cancel: bool = False
    revise: bool = False
    respond: bool = False
    respond_own: bool = False
    respond_for: tuple[Represented, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentDetails:
    """What belongs to a document and is read beside it."""

    offers: OpenActions
    history: list[Any]
    revisions: list[Any] = field(default_factory=list)
    people: list[Any] = field(default_factory=list)


class DocumentPages(Protocol):
    """One register with its services; `order` and `changes` are the schemas of what is written."""

    @property
    def web(self) -> WebKind: ...

    @property
    def order(self) -> type[Schema]: ...

    @property
    def changes(self) -> type[Schema]: ...

    async def lines(
        self, ctx: RequestContext, session: AsyncSession, *, wanted: RegisterQuery, cursor: str | None, limit: int
    ) -> Page[DocumentSummaryRow]: ...

    async def read(self, ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> Any:
        """Give the document in its envelope."""
        ...

    async def around(self, ctx: RequestContext, session: AsyncSession, *, document: Any) -> DocumentDetails: ...

    def etag(self, found: Any) -> str: ...

    async def create(self, ctx: RequestContext, services: core.DocumentServices, new: Schema) -> Receipt: ...

    async def edit(
        self,
        ctx: RequestContext,
        services: core.DocumentServices,
        public_id: UUID,
        changes: Schema,
        if_match: str | None = None,
    ) -> None: ...

    async def cancel(
        self, ctx: RequestContext, services: core.DocumentServices, public_id: UUID, reason: str
    ) -> Receipt: ...

    async def revise(
        self, ctx: RequestContext, services: core.DocumentServices, public_id: UUID, order: NewRevision
    ) -> Receipt: ...


def state_of(found: Any) -> str:
    """Say the code of the state that a page shows: a cancelled document has no other one."""
    if found.data.cancelled_at is not None or found.workflow is None:
        return CANCELLED.name
    return str(found.workflow.current_state)


def register_row(web: WebKind, found: Any) -> DocumentSummaryRow:
    item, state = found.data, state_of(found)
    recipients = getattr(item, "recipients", ())
    return DocumentSummaryRow(
        public_id=item.public_id,
        url=f"{web.url}/{item.public_id}",
        number=item.document_number,
        subject=item.subject,
        sender=item.originator.organization_code,
        receivers=tuple(one.organization_code for one in recipients if one.recipient_type == "TO"),
        state=state,
        state_label=None if state == CANCELLED.name else found.workflow.state_label,
        priority=item.priority,
        due_date=item.due_date,
        is_overdue=item.is_overdue,
        created_at=item.created_at,
        type_code=item.document_type,
        outcome=found.workflow.outcome if found.workflow else None,
    )


@dataclass(frozen=True, slots=True)
class _KindPages:
    """The pages of a kind of documents, through the verbs of `documents.core`."""

    web: WebKind
    kind: core.AnyKind

    @property
    def order(self) -> type[Schema]:
        return self.kind.new

    @property
    def changes(self) -> type[Schema]:
        return self.kind.changes

    async def lines(
        self, ctx: RequestContext, session: AsyncSession, *, wanted: RegisterQuery, cursor: str | None, limit: int
    ) -> Page[DocumentSummaryRow]:
        page = await core.listing(
            ctx,
            session,
            self.kind,
            search=self.search(wanted),
            cursor=cursor,
            limit=limit,
        )
        return Page([register_row(self.web, item) for item in page.items], page.next_cursor)

    def search(self, wanted: RegisterQuery) -> core.DocumentSearch:
        return core.DocumentSearch(
            project=wanted.project,
            type_code=wanted.type_code,
            status=wanted.state,
            text=wanted.text,
            due_before=wanted.due_before,
            mine=wanted.mine,
        )

    async def read(self, ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> Any:
        return await core.read(ctx, session, self.kind, public_id=public_id)

    def etag(self, found: Any) -> str:
        return core.etag(found)

    async def create(self, ctx: RequestContext, services: core.DocumentServices, new: Schema) -> Receipt:
        return await core.create(ctx, services, self.kind, new)

    async def edit(
        self,
        ctx: RequestContext,
        services: core.DocumentServices,
        public_id: UUID,
        changes: Schema,
        if_match: str | None = None,
    ) -> None:
        await core.edit(ctx, services, self.kind, public_id, changes, if_match)

    async def cancel(
        self, ctx: RequestContext, services: core.DocumentServices, public_id: UUID, reason: str
    ) -> Receipt:
        return await core.cancel(ctx, services, self.kind, public_id, reason)


@dataclass(frozen=True, slots=True)
class RevisedDocumentPages(_KindPages):
    """A register of documents with revisions."""

    kind: core.RevisionedKind

    async def around(self, ctx: RequestContext, session: AsyncSession, *, document: Any) -> DocumentDetails:
        found = await core.permitted_actions(ctx, session, self.kind, public_id=document.public_id)
        revisions = await core.list_revisions(ctx, session, self.kind, public_id=document.public_id)
        history = await core.history(ctx, session, self.kind, public_id=document.public_id)
        return DocumentDetails(
            offers=OpenActions(edit=found.edit, files=found.edit, cancel=found.cancel, revise=found.revise),
            history=list(history.items),
            revisions=list(revisions.items),
        )

    async def revise(
        self, ctx: RequestContext, services: core.DocumentServices, public_id: UUID, order: NewRevision
    ) -> Receipt:
        return await core.revise(ctx, services, self.kind, public_id, order)


@dataclass(frozen=True, slots=True)
class CirculationPages(_KindPages):
    """The register of circulations: no revisions, and assignees in place of recipients."""

    async def around(self, ctx: RequestContext, session: AsyncSession, *, document: Any) -> DocumentDetails:
        found = await circulations.permitted_actions(ctx, session, public_id=document.public_id)
        history = await core.history(ctx, session, self.kind, public_id=document.public_id)
        return DocumentDetails(
            offers=OpenActions(
                edit=found.edit,
                cancel=found.cancel,
                respond=found.respond or bool(found.respond_for),
                respond_own=found.respond,
                respond_for=found.respond_for,
            ),
            history=list(history.items),
            people=list(document.assignees),
        )

    async def revise(
        self,
        ctx: RequestContext,  # noqa: ARG002
        services: core.DocumentServices,  # noqa: ARG002
        public_id: UUID,  # noqa: ARG002
        order: NewRevision,  # noqa: ARG002
    ) -> Receipt:
        raise NotFound("A circulation sheet has no revisions.")


PAGES_BY_PATH: dict[str, DocumentPages] = {
    "correspondences": RevisedDocumentPages(KINDS["correspondences"], CORRESPONDENCE),
    "rfas": RevisedDocumentPages(KINDS["rfas"], rfas.RFA),
    "transmittals": RevisedDocumentPages(KINDS["transmittals"], transmittals.TRANSMITTAL),
    "circulations": CirculationPages(KINDS["circulations"], circulations.CIRCULATION),
}


def pages_at(path: str) -> DocumentPages:
    """
    :raises NotFound: when there is no such register
    """
    found = PAGES_BY_PATH.get(path)
    if found is None:
        raise NotFound(f"There is no register {path}.")
    return found
