"""
What a kind of document brings to the shared verbs: its rules, its own rows and checks, and what its answers show. The verbs
never ask which kind they have in hand.
"""

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
    What the verbs read of a document of any kind.

    :param entity_id: what its workflow knows it by
    :param number_uuid: public id of its number in the ledger
    :param version: raised by every write to what is shown of it; steps of its workflow raise the instance's own
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
    """A new document with everything resolved and checked; only its number is missing."""

    plan: numbering.Plan
    starting: workflow.StartingWorkflow
    reservation_token: UUID | None
    public_id: UUID = field(default_factory=new_id)


# What a subtype adds to an answer, or says otherwise in it, by revision id.
OwnFields = Mapping[int, Mapping[str, Any]]
Facts = Mapping[str, SubjectFacts]  # by entity id
Row = TypeVar("Row", bound=DocumentHeader)
Draft = TypeVar("Draft", bound=UnnumberedDraft)


class DocumentKind(ABC, Generic[Row, Draft]):
    """
    :param new: what a new one is written with
    :param changes: what can be changed of a draft
    :param summary: the answer for one row of its register
    :param full: the answer for one document
    :param search: the query of its register
    :param reserved_fields: this kind's own names of the fields that a number is reserved for
    """

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
        """The rows of its register in the index of reach; whatever changes a document writes them anew behind it."""

    async def renew_reach(self, session: AsyncSession, *, document_id: int) -> None:
        """Write anew what readers find of a document, once its own rows stand as they are to be committed."""
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
        """
        Resolve and check everything that can be known before a number is issued.

        :raises Invalid: naming the field
        """

    def due_dates(self, asked: Any) -> Mapping[str, date | None]:
        """Return the due dates of a request, by the pointers of their fields."""
        return {"/dueDate": asked.due_date}

    async def warnings(
        self, ctx: RequestContext, session: AsyncSession, asked: Schema, public_id: UUID | None
    ) -> list[FieldProblem]:
        """
        Return what is doubtful in a request to create or change a document, before or after it is carried out.

        :param public_id: of the document that it changes, or has created
        """
        return due_date_warnings(self.due_dates(asked), today=local_date(ctx.now, ctx.zone))

    @abstractmethod
    async def insert(
        self, ctx: RequestContext, session: AsyncSession, draft: Draft, issued: numbering.Issued
    ) -> WrittenDocument:
        """Write the rows of the number's document; after a collision it runs again."""

    def conflict(self, error: IntegrityError) -> DomainError | None:
        """Return what is meant where a constraint refuses the rows of a new document; None where that is a fault of ours."""
        return None

    async def find(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Row:
        """
        :raises NotFound: also when the caller may not know of it
        """
        return self.newest(await self.seen(ctx, session, public_id))

    @abstractmethod
    async def find_written(self, session: AsyncSession, public_id: UUID) -> Row:
        """Return a document as it was first written, whoever asks."""

    @abstractmethod
    async def page(
        self, ctx: RequestContext, session: AsyncSession, *, search: RegisterQuery, counted: bool
    ) -> CountedPage[Row]: ...

    @abstractmethod
    async def lock(self, session: AsyncSession, row: Row) -> None:
        """Hold the document and its workflow instance until the end of the transaction."""

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
        """Return the rows of a register in the order of `rows`, with a fixed number of queries."""

    @abstractmethod
    async def seen(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Sequence[Row]:
        """Return what the caller may see of a document, newest first; none of what they may not know of."""

    @abstractmethod
    def newest(self, rows: Sequence[Row]) -> Row:
        """
        Return which of the rows that the caller may see is the document.

        :raises NotFound: also when the caller may not know of it
        """

    @abstractmethod
    async def parts(
        self, ctx: RequestContext, session: AsyncSession, row: Row, rows: Sequence[Row], facts: Facts
    ) -> Any:
        """
        Read what one document shows of the rows around its own.

        :param rows: of which it is one, where all of them are shown
        :param facts: of `rows`
        """

    @abstractmethod
    def answer(self, ctx: RequestContext, row: Row, parts: Any, envelope: Envelope | None) -> Schema: ...

    @abstractmethod
    def require_edit(self, ctx: RequestContext, row: Row) -> None:
        """
        :raises Forbidden: when the caller does not write this kind for the originator
        """

    @abstractmethod
    async def change(
        self, ctx: RequestContext, session: AsyncSession, row: Row, envelope: Envelope | None, *, changes: Any
    ) -> dict[str, dict[str, Any]]:
        """
        Change a draft, and return the old and the new value of each field for the audit trail.

        :raises NotADraft: once it has been submitted
        """

    @abstractmethod
    async def check_cancel(
        self, ctx: RequestContext, session: AsyncSession, row: Row, envelope: Envelope | None
    ) -> None:
        """
        :raises DomainError: when the caller may not cancel it as it stands now
        """

    @abstractmethod
    async def mark_cancelled(
        self, ctx: RequestContext, session: AsyncSession, row: Row, *, reason: str
    ) -> Sequence[UUID]:
        """Write the cancellation into the kind's own rows, and return who is notified of it beside the usual."""

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
        Return where the workflow of each stands, by entity id.

        :param facts: of the rows, where they have been read
        :param now: for what is to be shown: then the actions in the place of others are there too
        """
        return await workflow.states_of(
            ctx,
            session,
            entity_type=self.rules.entity_type,
            entity_ids=[row.entity_id for row in rows],
            facts=facts or await self.facts(session, rows, zone=ctx.zone),
            now=now,
        )

    async def envelopes(self, ctx: RequestContext, session: AsyncSession, rows: Sequence[Row]) -> dict[str, Envelope]:
        return await workflow.envelopes(ctx, session, await self.states(ctx, session, rows))

    @abstractmethod
    def event_fields(self, entity_id: str, notify: Sequence[UUID]) -> dict[str, object]:
        """Return what events say of this kind beside what they say of every one."""


AnyKind = DocumentKind[Any, Any]


class Follower(Protocol):
    """What ends together with a document, such as the circulations of it; `bootstrap` wires it."""

    async def document_cancelled(
        self, ctx: RequestContext, session: AsyncSession, *, document: UUID, reason: str
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """What documents are written with; `bootstrap` makes it once."""

    db: Database
    idempotency: Idempotency
    allocator: numbering.Allocator
    followers: Sequence[Follower]
