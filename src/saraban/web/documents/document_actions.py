"""Actions on the page of a document."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends
from starlette.responses import RedirectResponse, Response

from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.domain import RoutingStatus
from saraban.documents.circulation.schemas import AssigneeResponse
from saraban.documents.core import service as core
from saraban.documents.core.dependencies import Documents
from saraban.documents.core.schemas import Cancellation, NewRevision
from saraban.kit.errors import CHECK_INPUT, ErrorKind, FieldProblem, Invalid, NotFound, Text
from saraban.notifications import service as notifications
from saraban.web.documents.document_page import needs_files, show_document
from saraban.web.documents.registers import DocumentRegister, register_at
from saraban.web.documents.rfa_items import answers_of
from saraban.web.documents.step_form import step_order, version_in
from saraban.web.shell import labels
from saraban.web.shell.forms import CurrentForm, SentForm, texts
from saraban.web.shell.page import CurrentPage
from saraban.web.shell.session import PageRoute
from saraban.workflow.administration.schemas import ForceIn, ReassignmentIn, TerminationIn
from saraban.workflow.administration.service import interventions
from saraban.workflow.runtime.dependencies import InstanceTransitions, RegisteredSubjects
from saraban.workflow.runtime.domain.interventions import FORCE, REASSIGN, TERMINATE
from saraban.workflow.runtime.schemas import BranchAnswerIn
from saraban.workflow.runtime.service import review
from saraban.workflow.runtime.service.step_data import step_data_of
from saraban.workflow.service import Command, Subjects, Transitions

router = APIRouter(include_in_schema=False, route_class=PageRoute)

InterventionOrder = TypeVar("InterventionOrder", ForceIn, TerminationIn, ReassignmentIn)

# Paths of the forms. A GET of one redirects to the document.
FORM_PATHS: Final = ("actions", "cancel", "revisions", "files", "responses", "force", "terminate", "reassign")

# No branch has this version, so a form without one is refused as outdated.
_NO_VERSION: Final = 2**31 - 1

# These actions settle the reader's notifications; the worker settles those of others.
_SETTLES_NOTIFICATIONS: Final = {"act", "branch", "respond", "cancel"}


class NothingAttached(Invalid):
    """The RFA has no attachment. Attach a file, or confirm that it is submitted without one."""

    kind, code = ErrorKind.INVALID, "RFA_WITHOUT_FILES"
    says = Text("RFA นี้ยังไม่มีไฟล์แนบ", "No file is attached to this RFA.")
    recovery = (
        CHECK_INPUT,
        Text("แนบไฟล์ หรือยืนยันว่าส่งโดยไม่มีไฟล์แนบ", "Attach a file, or confirm that it is submitted without one."),
    )


@dataclass(frozen=True, slots=True)
class DocumentForm(SentForm):
    register: DocumentRegister
    public_id: UUID
    services: core.DocumentServices
    subjects: Subjects
    transitions: Transitions

    async def read(self) -> Any:
        """:raises NotFound:"""
        async with self.db.reading() as session:
            return await core.read(self.context, session, self.register.kind, public_id=self.public_id)

    def intervention(self, schema: type[InterventionOrder], **more: Any) -> InterventionOrder:
        shared = {"reason": self.text("reason") or "", "clientVersionNo": version_in(self.values)}
        return self.order(schema, shared | more)

    @asynccontextmanager
    async def dialog(self, dialog: str) -> AsyncIterator[None]:
        """If the block is refused, show the document with the error in the dialog."""
        async with self.show_on_refusal(show_document, self.register, self.subjects, self.public_id, dialog=dialog):
            yield

    async def to_document(self, action: str) -> Response:
        if action in _SETTLES_NOTIFICATIONS:
            await self.transact(notifications.settle, entity_id=str(self.public_id))
        query = f"?done={action}" if action in labels.DONE else ""
        return RedirectResponse(f"{self.register.web.url}/{self.public_id}{query}", status_code=303)


async def document_form(
    path: str,
    public_id: UUID,
    form: CurrentForm,
    services: Documents,
    subjects: RegisteredSubjects,
    transitions: InstanceTransitions,
) -> DocumentForm:
    return DocumentForm(form.page, form.db, form.values, register_at(path), public_id, services, subjects, transitions)


CurrentDocumentForm = Annotated[DocumentForm, Depends(document_form)]


def instance_of(document: Any) -> UUID:
    """:raises NotFound: when no workflow runs for the document"""
    if document.workflow is None:
        raise NotFound("No workflow runs for this document.")
    instance: UUID = document.workflow.instance_public_id
    return instance


async def back(path: str, public_id: UUID, _page: CurrentPage) -> Response:
    """Redirect a GET of a form's address, such as a reload after a refusal."""
    return RedirectResponse(f"{register_at(path).web.url}/{public_id}", status_code=303)


for _action_path in (*FORM_PATHS, "branches/{branch_id}"):
    router.add_api_route(f"/{{path}}/{{public_id}}/{_action_path}", back, methods=["GET"])


@router.post("/{path}/{public_id}/actions")
async def act(form: CurrentDocumentForm) -> Response:
    async with form.dialog(f"act-{form.text('action')}"):
        document, files = await form.read(), texts(form.values, "attachment")
        instance = instance_of(document)
        async with form.db.reading() as session:
            values = await step_data_of(session, public_id=instance)
        if needs_files(form.register.web, document.data, document.workflow) and not (
            form.text("withoutFiles") or files
        ):
            raise NothingAttached(fields=[FieldProblem("/withoutFiles", "required", NothingAttached.says)])
        command = Command.of(step_order(form, values, items=answers_of(form.values)))
        await form.once(form.transitions.take, public_id=instance, command=command)
    return await form.to_document("act")


@router.post("/{path}/{public_id}/branches/{branch_id}")
async def answer(branch_id: UUID, form: CurrentDocumentForm) -> Response:
    """Answer a branch of a parallel review, by the branch's version that the reader saw."""
    async with form.dialog(f"branch-{form.text('branch')}"):
        instance = instance_of(await form.read())
        payload = {
            "answer": form.text("answer") or "",
            "comment": form.text("comment"),
            "attachmentPublicIds": texts(form.values, "attachment"),
            "clientVersionNo": version_in(form.values) or _NO_VERSION,
            "onBehalfOf": form.text("onBehalfOf"),
            "payload": {"itemResults": answers_of(form.values)},
        }
        command = Command.answering(form.order(BranchAnswerIn, payload))
        await form.once(
            review.answer, form.transitions, public_id=instance, branch_public_id=branch_id, command=command
        )
    return await form.to_document("branch")


@router.post("/{path}/{public_id}/cancel")
async def cancel(form: CurrentDocumentForm) -> Response:
    async with form.dialog("cancel"):
        order = form.order(Cancellation, {"reason": form.text("reason") or ""})
        await form.once(core.cancel, form.services, form.register.kind, form.public_id, order.reason)
    return await form.to_document("cancel")


@router.post("/{path}/{public_id}/revisions")
async def revise(form: CurrentDocumentForm) -> Response:
    async with form.dialog("revise"):
        kind = form.register.kind
        if not isinstance(kind, core.RevisionedKind):
            raise NotFound("A circulation sheet has no revisions.")
        typed = form.filled("subject", "body", "dueDate")
        order = form.order(NewRevision, {**typed, "attachmentPublicIds": texts(form.values, "attachment")})
        await form.confirm(kind.warnings, asked=order, public_id=form.public_id)
        await form.once(core.revise, form.services, kind, form.public_id, order)
    return await form.to_document("revise")


@router.post("/{path}/{public_id}/files")
async def add_files(form: CurrentDocumentForm) -> Response:
    async with form.dialog(""):
        kind = form.register.kind
        files = {"addAttachmentPublicIds": "attachment", "removeAttachmentPublicIds": "remove"}
        changes = form.order(kind.changes, {name: texts(form.values, field) for name, field in files.items()})
        await form.confirm(kind.warnings, asked=changes, public_id=form.public_id)
        await core.edit(form.context, form.services, kind, form.public_id, changes)
    return await form.to_document("")


@router.post("/{path}/{public_id}/responses")
async def respond(form: CurrentDocumentForm) -> Response:
    async with form.dialog("respond"):
        if not form.register.web.is_sheet:
            raise NotFound("Only circulation sheets ask for responses.")
        payload = {
            "status": form.text("status") or RoutingStatus.COMPLETED,
            "comment": form.text("comment"),
            "onBehalfOf": form.text("onBehalfOf"),
        }
        order = form.order(AssigneeResponse, payload)
        await form.once(circulations.respond, form.services, form.public_id, order)
    return await form.to_document("respond")


def _command(action: str, order: ForceIn | TerminationIn | ReassignmentIn) -> Command:
    return Command(action, order.reason, client_version_no=order.client_version_no)


@router.post("/{path}/{public_id}/force")
async def force(form: CurrentDocumentForm) -> Response:
    """Override a step; `way` is `approve:` for an action or `:approved` for a state."""
    async with form.dialog("force"):
        action, _, to = (form.text("way") or "").partition(":")
        order = form.intervention(ForceIn, action=action or None, to=to or None)
        command, instance = _command(order.action or FORCE, order), instance_of(await form.read())
        await form.once(
            interventions.force,
            form.transitions,
            public_id=instance,
            command=command,
            action=order.action,
            to=order.to,
        )
    return await form.to_document("force")


@router.post("/{path}/{public_id}/terminate")
async def terminate(form: CurrentDocumentForm) -> Response:
    async with form.dialog("terminate"):
        command = _command(TERMINATE, form.intervention(TerminationIn))
        instance = instance_of(await form.read())
        await form.once(interventions.terminate, form.transitions, public_id=instance, command=command)
    return await form.to_document("terminate")


@router.post("/{path}/{public_id}/reassign")
async def reassign(form: CurrentDocumentForm) -> Response:
    async with form.dialog("reassign"):
        order = form.intervention(ReassignmentIn, userPublicId=form.text("userPublicId") or "")
        command, instance = _command(REASSIGN, order), instance_of(await form.read())
        reassignment = interventions.Reassignment(order.user_public_id)
        await form.once(
            interventions.reassign,
            form.transitions,
            public_id=instance,
            command=command,
            reassignment=reassignment,
        )
    return await form.to_document("reassign")
