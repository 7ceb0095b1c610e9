"""A document's workflow taken out of its course in the browser: forced on, ended, or given to another person."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import FormData
from starlette.responses import Response

from saraban.kit.db import Database
from saraban.kit.http import Db
from saraban.web.documents.document_page import instance_of, submit_on_page, version_in
from saraban.web.documents.document_pages import DocumentPages, pages_at
from saraban.web.shell.forms import await_first_answer, read_form, text, validated
from saraban.web.shell.page import CurrentPage, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.workflow.administration.schemas.interventions import ForceIn, ReassignmentIn, TerminationIn
from saraban.workflow.administration.service import interventions
from saraban.workflow.runtime.dependencies import RegisteredSubjects
from saraban.workflow.runtime.service.instance_requests import InstanceRequest
from saraban.workflow.service import Command, Subjects

InterventionOrder = TypeVar("InterventionOrder", ForceIn, TerminationIn, ReassignmentIn)

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@dataclass(frozen=True, slots=True)
class InterventionForm:
    """One of the three forms as it was sent: by whom, about which document, and what it says."""

    page: PageRequest
    db: Database
    shelf: DocumentPages
    subjects: Subjects
    public_id: UUID
    request: Request
    said: FormData

    def order(self, kind: type[InterventionOrder], **more: Any) -> InterventionOrder:
        """:raises Invalid: naming every field"""
        shared = {"reason": text(self.said, "reason") or "", "clientVersionNo": version_in(self.said)}
        order: InterventionOrder = validated(self.request, kind, shared | more)
        return order

    async def asking(self, action: str, order: ForceIn | TerminationIn | ReassignmentIn) -> InstanceRequest:
        """:raises NotFound: also for a document without a workflow"""
        async with self.db.reading() as session:
            instance = await instance_of(self.page, session, self.shelf, self.public_id)
        ctx = self.page.context.with_key(text(self.said, "key"))
        command = Command(action, order.reason, client_version_no=order.client_version_no)
        # The key stands for this one form, so that what else it says need not be compared.
        kept = {"form": {name: text(self.said, name) for name in ("way", "userPublicId")}}
        return InstanceRequest(ctx, self.subjects, instance, command, kept)

    async def done(self, work: Callable[[], Awaitable[None]], dialog: str) -> Response:
        return await submit_on_page(
            work, self.page, self.db, self.shelf, self.subjects, self.public_id, self.said, dialog
        )


async def _sent(
    path: str, public_id: UUID, page: CurrentPage, db: Db, subjects: RegisteredSubjects, request: Request
) -> InterventionForm:
    return InterventionForm(page, db, pages_at(path), subjects, public_id, request, await read_form(request))


CurrentIntervention = Annotated[InterventionForm, Depends(_sent)]


@router.post("/{path}/{public_id}/force")
async def force(form: CurrentIntervention) -> Response:
    """An action of somebody else's, or another state; the form names both in one choice, as `approve:` or `:approved`."""

    async def work() -> None:
        action, _, to = (text(form.said, "way") or "").partition(":")
        order = form.order(ForceIn, action=action or None, to=to or None)
        asking = await form.asking(order.action or interventions.FORCE, order)
        await await_first_answer(lambda: interventions.force(form.db, asking, action=order.action, to=order.to))

    return await form.done(work, "force")


@router.post("/{path}/{public_id}/terminate")
async def terminate(form: CurrentIntervention) -> Response:
    """The end of the workflow without an outcome."""

    async def work() -> None:
        asking = await form.asking(interventions.TERMINATE, form.order(TerminationIn))
        await await_first_answer(lambda: interventions.terminate(form.db, asking))

    return await form.done(work, "terminate")


@router.post("/{path}/{public_id}/reassign")
async def reassign(form: CurrentIntervention) -> Response:
    """The present state given to one person."""

    async def work() -> None:
        order = form.order(ReassignmentIn, userPublicId=text(form.said, "userPublicId") or "")
        asking = await form.asking(interventions.REASSIGN, order)
        await await_first_answer(lambda: interventions.reassign(form.db, asking, user_public_id=order.user_public_id))

    return await form.done(work, "reassign")
