"""
The registers behind the pages. Subtypes share the verbs of `documents.core`; the circulation sheet has its own.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.schemas import AssigneeResponse, CirculationChanges, NewCirculation
from saraban.documents.core import service as core
from saraban.documents.core.schemas import DocumentChanges, NewRevision
from saraban.documents.correspondence import service as correspondences
from saraban.documents.correspondence.schemas import NewCorrespondence
from saraban.documents.rfa import service as rfas
from saraban.documents.rfa.schemas import NewRfa
from saraban.documents.transmittal import service as transmittals
from saraban.documents.transmittal.schemas import NewTransmittal, TransmittalChanges
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import Clock
from saraban.kit.errors import NotFound
from saraban.kit.idempotency import OperationResult
from saraban.kit.pagination import Page
from saraban.web.documents.document_pages import (
    DocumentDetails,
    DocumentPages,
    OpenActions,
    RegisterQuery,
    RegisterRow,
    WriteContext,
    register_row,
)
from saraban.web.shell.document_kinds import KINDS, WebKind


@dataclass(frozen=True, slots=True)
class RevisedDocumentPages:
    """A register of documents with revisions."""

    web: WebKind
    register: core.DocumentKind
    order: type[BaseModel]
    creating: Callable[..., Awaitable[OperationResult]]
    changes: type[BaseModel] = DocumentChanges

    async def lines(
        self,
        session: AsyncSession,
        *,
        caller: Caller,
        wanted: RegisterQuery,
        cursor: str | None,
        limit: int,
        clock: Clock,
    ) -> Page[RegisterRow]:
        search = core.DocumentSearch(
            project=wanted.project,
            type_code=wanted.type_code,
            status=wanted.state,
            text=wanted.text,
            due_before=wanted.due_before,
            mine=wanted.mine,
        )
        page = await core.listing(
            session,
            self.register,
            caller=caller,
            search=search,
            cursor=cursor,
            limit=limit,
            now=clock.now(),
            zone=clock.zone,
        )
        return Page([register_row(self.web, item) for item in page.items], page.next_cursor)

    async def read(self, session: AsyncSession, *, caller: Caller, public_id: UUID, clock: Clock) -> Any:
        return await core.read(
            session, self.register, caller=caller, public_id=public_id, now=clock.now(), zone=clock.zone
        )

    async def around(self, session: AsyncSession, *, caller: Caller, document: Any, clock: Clock) -> DocumentDetails:
        which = {"caller": caller, "public_id": document.public_id}
        found = await core.permitted_actions(session, self.register, zone=clock.zone, **which)
        revisions = await core.revisions(session, self.register, zone=clock.zone, **which)
        history = await core.history(session, self.register, **which)
        return DocumentDetails(
            offers=OpenActions(edit=found.edit, files=found.edit, cancel=found.cancel, revise=found.revise),
            history=list(history.items),
            revisions=list(revisions.items),
        )

    def etag(self, found: Any) -> str:
        return core.etag(found)

    async def create(self, desk: WriteContext, order: Any) -> OperationResult:
        return await self.creating(desk.db, desk.request.app.state.allocator, order=order, key=desk.key, **desk.parts)

    async def edit(self, desk: WriteContext, public_id: UUID, changes: Any, if_match: str | None) -> None:
        await desk.db.transact(
            lambda session: core.edit(
                session, self.register, public_id=public_id, changes=changes, if_match=if_match, **desk.parts
            )
        )

    async def cancel(self, desk: WriteContext, public_id: UUID, reason: str) -> OperationResult:
        followers = desk.request.app.state.followers
        return await core.cancel(
            desk.db, self.register, followers, public_id=public_id, reason=reason, key=desk.key, **desk.parts
        )

    async def revise(self, desk: WriteContext, public_id: UUID, order: NewRevision) -> OperationResult:
        return await core.revise(desk.db, self.register, public_id=public_id, order=order, key=desk.key, **desk.parts)


@dataclass(frozen=True, slots=True)
class CirculationPages:
    """The register of circulation sheets: no revisions, no recipients, but people who are asked."""

    web: WebKind
    order: type[BaseModel] = NewCirculation
    changes: type[BaseModel] = CirculationChanges

    async def lines(
        self,
        session: AsyncSession,
        *,
        caller: Caller,
        wanted: RegisterQuery,
        cursor: str | None,
        limit: int,
        clock: Clock,
    ) -> Page[RegisterRow]:
        search = circulations.CirculationSearch(
            project=wanted.project, status=wanted.state, text=wanted.text, mine=wanted.mine
        )
        page = await circulations.listing(
            session, caller=caller, search=search, cursor=cursor, limit=limit, now=clock.now(), zone=clock.zone
        )
        return Page([register_row(self.web, item) for item in page.items], page.next_cursor)

    async def read(self, session: AsyncSession, *, caller: Caller, public_id: UUID, clock: Clock) -> Any:
        return await circulations.read(session, caller=caller, public_id=public_id, now=clock.now(), zone=clock.zone)

    async def around(self, session: AsyncSession, *, caller: Caller, document: Any, clock: Clock) -> DocumentDetails:
        found = await circulations.offers(session, caller=caller, public_id=document.public_id, now=clock.now())
        history = await circulations.history(session, caller=caller, public_id=document.public_id)
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

    def etag(self, found: Any) -> str:
        return circulations.etag(found)

    async def create(self, desk: WriteContext, order: Any) -> OperationResult:
        return await circulations.create(
            desk.db, desk.request.app.state.allocator, order=order, key=desk.key, **desk.parts
        )

    async def edit(self, desk: WriteContext, public_id: UUID, changes: Any, if_match: str | None) -> None:
        await desk.db.transact(
            lambda session: circulations.edit(
                session, public_id=public_id, changes=changes, if_match=if_match, **desk.parts
            )
        )

    async def cancel(self, desk: WriteContext, public_id: UUID, reason: str) -> OperationResult:
        return await circulations.cancel(desk.db, public_id=public_id, reason=reason, key=desk.key, **desk.parts)

    async def revise(self, desk: WriteContext, public_id: UUID, order: NewRevision) -> OperationResult:  # noqa: ARG002
        raise NotFound("A circulation sheet has no revisions.")

    async def respond(self, desk: WriteContext, public_id: UUID, answer: AssigneeResponse) -> OperationResult:
        return await circulations.respond(desk.db, public_id=public_id, response=answer, key=desk.key, **desk.parts)


CIRCULATIONS = CirculationPages(KINDS["circulations"])
PAGES_BY_PATH: dict[str, DocumentPages] = {
    "correspondences": RevisedDocumentPages(
        KINDS["correspondences"], correspondences.CORRESPONDENCE, NewCorrespondence, correspondences.create
    ),
    "rfas": RevisedDocumentPages(KINDS["rfas"], rfas.RFA, NewRfa, rfas.create),
    "transmittals": RevisedDocumentPages(
        KINDS["transmittals"], transmittals.TRANSMITTAL, NewTransmittal, transmittals.create, TransmittalChanges
    ),
    "circulations": CIRCULATIONS,
}


def pages_at(path: str) -> DocumentPages:
    """
    :raises NotFound: when there is no such register
    """
    found = PAGES_BY_PATH.get(path)
    if found is None:
        raise NotFound(f"There is no register {path}.")
    return found
