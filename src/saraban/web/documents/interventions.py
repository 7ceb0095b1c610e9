"""A document's workflow taken out of its course in the browser: forced on, ended, or given to another person."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
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
from saraban.workflow.administration.schemas import ForceIn, ReassignmentIn, TerminationIn
from saraban.workflow.administration.service import interventions
from saraban.workflow.runtime.dependencies import InstanceTransitions, RegisteredSubjects
from saraban.workflow.service import Command, Subjects, Transitioned, Transitions

InterventionOrder = TypeVar("InterventionOrder", ForceIn, TerminationIn, ReassignmentIn)

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@dataclass(frozen=True, slots=True)
class InterventionForm:
    """One of the three forms as it was sent: by whom, about which document, and what it says."""

    page: PageRequest
    db: Database
    shelf: DocumentPages
    subjects: Subjects
    transitions: Transitions
    public_id: UUID
    request: Request
    said: FormData

    def order(self, kind: type[InterventionOrder], **more: Any) -> InterventionOrder:
        """:raises Invalid: naming every field"""
        shared = {"reason": text(self.said, "reason") or "", "clientVersionNo": version_in(self.said)}
        order: InterventionOrder = validated(self.request, kind, shared | more)
        return order

    async def take(self, wanted: Callable[..., Awaitable[Transitioned]], command: Command) -> None:
        """:raises NotFound: also for a document without a workflow"""
        async with self.db.reading() as session:
            instance = await instance_of(self.page, session, self.shelf, self.public_id)
        ctx = self.page.context.with_key(text(self.said, "key"))
        await await_first_answer(partial(wanted, ctx, self.transitions, public_id=instance, command=command))

    async def done(self, work: Callable[[], Awaitable[None]], dialog: str) -> Response:
        return await submit_on_page(
            work, self.page, self.db, self.shelf, self.subjects, self.public_id, self.said, dialog
        )


def _command(action: str, order: ForceIn | TerminationIn | ReassignmentIn) -> Command:
    return Command(action, order.reason, client_version_no=order.client_version_no)


async def _sent(
    path: str,
    public_id: UUID,
    page: CurrentPage,
    db: Db,
    subjects: RegisteredSubjects,
    transitions: InstanceTransitions,
    request: Request,
) -> InterventionForm:
    said = await read_form(request)
    return InterventionForm(page, db, pages_at(path), subjects, transitions, public_id, request, said)


CurrentIntervention = Annotated[InterventionForm, Depends(_sent)]


@router.post("/{path}/{public_id}/force")
async def force(form: CurrentIntervention) -> Response:
    """An action of somebody else's, or another state; the form names both in one choice, as `approve:` or `:approved`."""

    async def work() -> None:
        action, _, to = (text(form.said, "way") or "").partition(":")
        order = form.order(ForceIn, action=action or None, to=to or None)
        command = _command(order.action or interventions.FORCE, order)
        wanted = partial(interventions.force, action=order.action, to=order.to)
        await form.take(wanted, command)

    return await form.done(work, "force")


@router.post("/{path}/{public_id}/terminate")
async def terminate(form: CurrentIntervention) -> Response:
    """The end of the workflow without an outcome."""

    async def work() -> None:
        await form.take(interventions.terminate, _command(interventions.TERMINATE, form.order(TerminationIn)))

    return await form.done(work, "terminate")


@router.post("/{path}/{public_id}/reassign")
async def reassign(form: CurrentIntervention) -> Response:
    """The present state given to one person."""

    async def work() -> None:
        order = form.order(ReassignmentIn, userPublicId=text(form.said, "userPublicId") or "")
        wanted = partial(interventions.reassign, reassignment=interventions.Reassignment(order.user_public_id))
        await form.take(wanted, _command(interventions.REASSIGN, order))

    return await form.done(work, "reassign")
