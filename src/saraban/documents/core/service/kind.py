"""The interface of a kind of documents."""

# ruff: noqa: ARG002

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import KindRules, WrittenDocument
from saraban.documents.core.repository.reach import ReachIndex
from saraban.documents.core.repository.rows import ProjectName
from saraban.documents.core.schemas import RegisterPageOut, RegisterQuery
from saraban.documents.core.service.registers import CountedPage
from saraban.documents.core.service.warnings import due_date_warnings
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, FieldProblem
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import new_id
from saraban.kit.schema import Schema
from saraban.numbering import service as numbering
from saraban.projects.models import Project
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Envelope, SubjectFacts
from saraban.workflow.runtime.schemas import WorkflowEnvelope, WorkflowItem


class DocumentHeader(Protocol):
    """
    :param entity_id: its id in the workflow
    :param number_uuid: public id of its row in the number register
    :param version: every write raises it; workflow steps do not
    """

    @property
    def public_id(self) -> UUID: ...

    @property
    def entity_id(self) -> str: ...

    @property
    def number(self) -> str: ...

    @property
    def number_uuid(self) -> UUID | None: ...

    @property
    def revision_label(self) -> str | None: ...

    @property
    def subject(self) -> str: ...

    @property
    def project(self) -> Project | ProjectName: ...

    @property
    def cancelled_at(self) -> datetime | None: ...

    @property
    def version(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnumberedDraft:
    """A new document, checked, without its number."""

    plan: numbering.Plan
    starting: workflow.StartingWorkflow
    reservation_token: UUID | None
    public_id: UUID = field(default_factory=new_id)


# Fields that a subtype adds to a response or overrides, by revision id.
OwnFields = Mapping[int, Mapping[str, Any]]
Facts = Mapping[str, SubjectFacts]  # by entity id
Row = TypeVar("Row", bound=DocumentHeader)
Draft = TypeVar("Draft", bound=UnnumberedDraft)


class DocumentKind(ABC, Generic[Row, Draft]):
    """:param reserved_fields: the kind's names of a reservation's fields"""

    rules: ClassVar[KindRules]
    new: ClassVar[type[Schema]]
    changes: ClassVar[type[Schema]]
    summary: ClassVar[type[Schema]]
    full: ClassVar[type[Schema]]
    search: ClassVar[type[RegisterQuery]] = RegisterQuery
    reserved_fields: ClassVar[Mapping[str, str]] = {}

    @property
    @abstractmethod
    def index(self) -> ReachIndex:
        """Rows in `document_reach`: renew them after every change."""

    async def renew_reach(self, session: AsyncSession, *, document_id: int) -> None:
        """Call it after all other changes of the document."""
        await self.index.renew(session, documents=[document_id])

    @property
    def envelope(self) -> type[WorkflowEnvelope[Any]]:
        return cast("type[WorkflowEnvelope[Any]]", WorkflowEnvelope.__class_getitem__(self.full))

    @property
    def register_page(self) -> type[Schema]:
        item: Any = WorkflowItem.__class_getitem__(self.summary)
        return cast("type[Schema]", RegisterPageOut.__class_getitem__(item))

    @abstractmethod
    async def check(self, ctx: RequestContext, session: AsyncSession, *, new: Any) -> Draft:
        """:raises Invalid:"""

    def due_dates(self, asked: Any) -> Mapping[str, date | None]:
        """Return due dates by pointer."""
        return {"/dueDate": asked.due_date}

    async def warnings(
        self, ctx: RequestContext, session: AsyncSession, asked: Schema, public_id: UUID | None
    ) -> list[FieldProblem]:
        """:param public_id: of the changed or created document; None before"""
        return due_date_warnings(self.due_dates(asked), today=local_date(ctx.now, ctx.zone))

    @abstractmethod
    async def insert(
        self, ctx: RequestContext, session: AsyncSession, draft: Draft, issued: numbering.Issued
    ) -> WrittenDocument:
        """It runs again after a collision of numbers."""

    def conflict(self, error: IntegrityError) -> DomainError | None:
        """Return the error of a violated constraint; None for a fault of Saraban."""
        return None

    async def find(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Row:
        """:raises NotFound:"""
        return self.newest(await self.seen(ctx, session, public_id))

    @abstractmethod
    async def find_written(self, session: AsyncSession, public_id: UUID) -> Row:
        """Return the first revision, without a check of the reader."""

    @abstractmethod
    async def page(
        self, ctx: RequestContext, session: AsyncSession, *, search: RegisterQuery, counted: bool
    ) -> CountedPage[Row]: ...

    @abstractmethod
    async def lock(self, session: AsyncSession, row: Row) -> None:
        """Lock the document, then its workflow instance."""

    @abstractmethod
    async def facts(self, session: AsyncSession, rows: Sequence[Row], *, zone: ZoneInfo) -> Facts: ...

    @abstractmethod
    async def summaries(
        self,
        ctx: RequestContext,
        session: AsyncSession,
        rows: Sequence[Row],
        facts: Facts,
        envelopes: Mapping[str, Envelope],
    ) -> Sequence[Schema]:
        """Use a fixed number of queries."""

    @abstractmethod
    async def seen(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Sequence[Row]:
        """Return the visible rows, newest first; none of a hidden document."""

    @abstractmethod
    def newest(self, rows: Sequence[Row]) -> Row:
        """:raises NotFound:"""

    @abstractmethod
    async def parts(
        self, ctx: RequestContext, session: AsyncSession, row: Row, rows: Sequence[Row], facts: Facts
    ) -> Any:
        """
        Read related rows for `answer`.

        :param rows: the revisions to show; contains `row`
        """

    @abstractmethod
    def answer(self, ctx: RequestContext, row: Row, parts: Any, envelope: Envelope | None) -> Schema: ...

    @abstractmethod
    def require_edit(self, ctx: RequestContext, row: Row) -> None:
        """:raises Forbidden:"""

    @abstractmethod
    async def change(
        self, ctx: RequestContext, session: AsyncSession, row: Row, envelope: Envelope | None, *, changes: Any
    ) -> dict[str, dict[str, Any]]:
        """
        Change a draft, and return old and new values for the audit trail.

        :raises NotADraft:
        """

    @abstractmethod
    async def check_cancel(
        self, ctx: RequestContext, session: AsyncSession, row: Row, envelope: Envelope | None
    ) -> None:
        """:raises DomainError:"""

    @abstractmethod
    async def mark_cancelled(
        self, ctx: RequestContext, session: AsyncSession, row: Row, *, reason: str
    ) -> Sequence[UUID]:
        """Return additional users to notify."""

    @abstractmethod
    async def number_request(self, session: AsyncSession, row: Row) -> numbering.NumberRequest: ...

    @abstractmethod
    async def change_number(
        self, session: AsyncSession, row: Row, issued: numbering.Issued, *, now: datetime
    ) -> None: ...

    async def states(
        self,
        ctx: RequestContext,
        session: AsyncSession,
        rows: Sequence[Row],
        *,
        facts: Facts | None = None,
        now: datetime | None = None,
    ) -> dict[str, workflow.InstanceState]:
        """
        :param facts: of the rows, if already read
        :param now: adds the actions that the caller may take as a delegate
        """
        return await workflow.states_of(
            ctx,
            session,
            entity_type=self.rules.entity_type,
            entity_ids=[row.entity_id for row in rows],
            facts=facts or await self.facts(session, rows, zone=ctx.zone),
            now=now,
        )

    @abstractmethod
    def event_fields(self, entity_id: str, notify: Sequence[UUID]) -> dict[str, object]: ...


AnyKind = DocumentKind[Any, Any]


class Follower(Protocol):
    """Ends with a document, like its circulations."""

    async def document_cancelled(
        self, ctx: RequestContext, session: AsyncSession, *, document: UUID, reason: str
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class DocumentServices:
    db: Database
    idempotency: Idempotency
    allocator: numbering.Allocator
    followers: Sequence[Follower]
