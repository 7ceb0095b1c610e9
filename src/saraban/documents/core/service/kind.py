"""
What a subtype brings to the shared verbs: its data, its answers and its own columns. `core` calls these, and never
asks which subtype it has in hand.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol, cast

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import KindRules
from saraban.documents.core.domain.visibility import Reach
from saraban.documents.core.models import DocumentRevision
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.schemas import (
    DocumentAnswer,
    DocumentChanges,
    DocumentSummary,
    RevisionDetail,
    RevisionList,
)
from saraban.identity.domain.caller import Caller
from saraban.kit.pipeline import SqlStatement
from saraban.workflow.domain.outcome import NOTHING, Meaning
from saraban.workflow.runtime.schemas import WorkflowEnvelope

Extras = Callable[[AsyncSession, Sequence[DocumentRow], Reach], Awaitable[Mapping[int, Mapping[str, Any]]]]
Revised = Callable[[AsyncSession, DocumentRevision], Awaitable[None]]
Edited = Callable[[AsyncSession, Caller, DocumentRow, DocumentChanges], Awaitable[Mapping[str, tuple[Any, Any]]]]
TypeCode = Callable[[AsyncSession, DocumentRow], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ReachedState:
    """
    A workflow state that revisions have come to, and how.

    :param response_code: what was answered with the step that led there
    :param automatic: the engine took that step, which says nothing of its own
    :param ended: it is an end
    :param issued: they left their draft with this step, for the first time
    :param meaning: what the definition says of it
    """

    state: str
    day: date
    response_code: str | None = None
    automatic: bool = False
    ended: bool = False
    meaning: Meaning = NOTHING
    issued: bool = False


Moved = Callable[[AsyncSession, Collection[int], ReachedState], Awaitable[Sequence[SqlStatement]]]


async def nothing_more(
    _session: AsyncSession, _rows: Sequence[DocumentRow], _reach: Reach
) -> Mapping[int, Mapping[str, Any]]:
    return {}


async def no_own_status(
    _session: AsyncSession, _revision_ids: Collection[int], _reached: ReachedState
) -> Sequence[SqlStatement]:
    return ()


async def document_type(_session: AsyncSession, row: DocumentRow) -> str:
    return row.type.type_code


async def nothing_else(
    _session: AsyncSession, _caller: Caller, _row: DocumentRow, _changes: DocumentChanges
) -> Mapping[str, tuple[Any, Any]]:
    return {}


async def no_own_row(_session: AsyncSession, _revision: DocumentRevision) -> None:
    return None


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """
    :param in_list: fields that the subtype adds to, or says otherwise in, the rows of a list, by revision id
    :param in_full: the same for one document and its revisions
    :param moved: sets the subtype's own status columns of revisions for a workflow state that they have reached
    :param revised: adds the subtype's own row for a new revision
    :param changes: what can be changed of a draft
    :param edited: changes what is the subtype's own, and gives what was and what is by field
    :param type_code: by which of its documents differ in the workflow they start on: the document type, or one of its own
    """

    kind: KindRules
    summary: type[DocumentSummary] = DocumentSummary
    answer: type[DocumentAnswer] = DocumentAnswer
    revision: type[RevisionDetail] = RevisionDetail
    revisions: type[RevisionList] = RevisionList
    in_list: Extras = nothing_more
    in_full: Extras = nothing_more
    moved: Moved = no_own_status
    revised: Revised = no_own_row
    type_code: TypeCode = document_type
    changes: type[DocumentChanges] = DocumentChanges
    edited: Edited = nothing_else

    @property
    def envelope(self) -> type[WorkflowEnvelope[DocumentAnswer]]:
        return cast("type[WorkflowEnvelope[DocumentAnswer]]", WorkflowEnvelope.__class_getitem__(self.answer))


class Follower(Protocol):
    """What ends together with a document, such as the circulation sheets about it; `bootstrap` wires it."""

    async def document_cancelled(
        self, session: AsyncSession, *, caller: Caller, document_id: int, reason: str, address: str, now: datetime
    ) -> None: ...
