"""What a register is to the pages: lines, documents, and the verbs that change them. Two kinds of shelf ship."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol
from uuid import UUID

from fastapi import Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.schemas import NewRevision
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult
from saraban.kit.pagination import Page
from saraban.web.shell.document_kinds import WebKind
from saraban.workflow.domain.subject import Represented


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
class RegisterRow:
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


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Whatever a writing service needs of this request and this application."""

    db: Database
    request: Request
    caller: Caller
    clock: Clock
    address: str
    key: str | None

    @property
    def parts(self) -> dict[str, Any]:
        return {
            "caller": self.caller,
            "now": self.clock.now(),
            "zone": self.clock.zone,
            "address": self.address,
        }


class DocumentPages(Protocol):
    """One register with its services; `order` and `changes` are the schemas of what is written."""

    @property
    def web(self) -> WebKind: ...

    @property
    def order(self) -> type[BaseModel]: ...

    @property
    def changes(self) -> type[BaseModel]: ...

    async def lines(
        self,
        session: AsyncSession,
        *,
        caller: Caller,
        wanted: RegisterQuery,
        cursor: str | None,
        limit: int,
        clock: Clock,
    ) -> Page[RegisterRow]: ...

    async def read(self, session: AsyncSession, *, caller: Caller, public_id: UUID, clock: Clock) -> Any:
        """Give the document in its envelope."""
        ...

    async def around(
        self, session: AsyncSession, *, caller: Caller, document: Any, clock: Clock
    ) -> DocumentDetails: ...

    def etag(self, found: Any) -> str: ...

    async def create(self, desk: WriteContext, order: Any) -> OperationResult: ...

    async def edit(self, desk: WriteContext, public_id: UUID, changes: Any, if_match: str | None) -> None: ...

    async def cancel(self, desk: WriteContext, public_id: UUID, reason: str) -> OperationResult: ...

    async def revise(self, desk: WriteContext, public_id: UUID, order: NewRevision) -> OperationResult: ...


def state_of(found: Any) -> str:
    """Say the code of the state that a page shows: a cancelled document has no other one."""
    if found.data.cancelled_at is not None or found.workflow is None:
        return "cancelled"
    return str(found.workflow.current_state)


def register_row(web: WebKind, found: Any) -> RegisterRow:
    item, state = found.data, state_of(found)
    recipients = getattr(item, "recipients", ())
    return RegisterRow(
        public_id=item.public_id,
        url=f"{web.url}/{item.public_id}",
        number=item.document_number,
        subject=item.subject,
        sender=item.originator.organization_code,
        receivers=tuple(one.organization_code for one in recipients if one.recipient_type == "TO"),
        state=state,
        state_label=None if state == "cancelled" else found.workflow.state_label,
        priority=item.priority,
        due_date=item.due_date,
        is_overdue=item.is_overdue,
        created_at=item.created_at,
        type_code=item.document_type,
        outcome=found.workflow.outcome if found.workflow else None,
    )
