"""A document's workflow taken out of its course in the browser: forced on, ended, or given to another person."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from saraban.kit.errors import NotFound
from saraban.kit.http import Db, Now
from saraban.web.creating import patiently
from saraban.web.document import done, version_in
from saraban.web.forms import filled, order_from, text
from saraban.web.page import ThisPage
from saraban.web.shelf import Shelf
from saraban.web.shelves import shelf_at
from saraban.web.visit import PageRoute
from saraban.workflow.dependencies import RegisteredSubjects
from saraban.workflow.schemas.steering import ForceIn, ReassignmentIn, TerminationIn
from saraban.workflow.service import Command, Subjects, steering
from saraban.workflow.service.perform import Asking

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.post("/{path}/{public_id}/force")
async def force(
    path: str, public_id: UUID, page: ThisPage, db: Db, subjects: RegisteredSubjects, clock: Now, request: Request
) -> Response:
    """An action of somebody else's, or another state; the form names both in one choice, as `approve:` or `:approved`."""
    shelf, form = shelf_at(path), await filled(request)

    async def work() -> None:
        action, _, to = (text(form, "way") or "").partition(":")
        order: ForceIn = order_from(request, ForceIn, _said(form) | {"action": action or None, "to": to or None})
        command = _command(order.action or steering.FORCE, order)
        asking = await _asking(page, db, shelf, subjects, public_id, clock, form, command)
        await patiently(lambda: steering.force(db, asking, action=order.action, to=order.to, address=page.address))

    return await done(work, page, db, shelf, subjects, public_id, clock, form, "force")


@router.post("/{path}/{public_id}/terminate")
async def terminate(
    path: str, public_id: UUID, page: ThisPage, db: Db, subjects: RegisteredSubjects, clock: Now, request: Request
) -> Response:
    """The end of the workflow without an outcome."""
    shelf, form = shelf_at(path), await filled(request)

    async def work() -> None:
        order: TerminationIn = order_from(request, TerminationIn, _said(form))
        command = _command(steering.TERMINATE, order)
        asking = await _asking(page, db, shelf, subjects, public_id, clock, form, command)
        await patiently(lambda: steering.terminate(db, asking, address=page.address))

    return await done(work, page, db, shelf, subjects, public_id, clock, form, "terminate")


@router.post("/{path}/{public_id}/reassign")
async def reassign(
    path: str, public_id: UUID, page: ThisPage, db: Db, subjects: RegisteredSubjects, clock: Now, request: Request
) -> Response:
    """The present state given to one person."""
    shelf, form = shelf_at(path), await filled(request)

    async def work() -> None:
        said = _said(form) | {"userPublicId": text(form, "userPublicId") or ""}
        order: ReassignmentIn = order_from(request, ReassignmentIn, said)
        command = _command(steering.REASSIGN, order)
        asking = await _asking(page, db, shelf, subjects, public_id, clock, form, command)
        await patiently(
            lambda: steering.reassign(db, asking, user_public_id=order.user_public_id, address=page.address)
        )

    return await done(work, page, db, shelf, subjects, public_id, clock, form, "reassign")


def _said(form: Any) -> dict[str, Any]:
    return {"reason": text(form, "reason") or "", "clientVersionNo": version_in(form)}


def _command(action: str, order: ForceIn | TerminationIn | ReassignmentIn) -> Command:
    return Command(action, order.reason, client_version_no=order.client_version_no)


async def _asking(
    page: Any, db: Any, shelf: Shelf, subjects: Subjects, public_id: UUID, clock: Any, form: Any, command: Command
) -> Asking:
    async with db.reading() as session:
        document = await shelf.read(session, caller=page.caller, public_id=public_id, clock=clock)
    if document.workflow is None:
        raise NotFound("No workflow runs for this document.")
    instance = document.workflow.instance_public_id
    # The key stands for this one form, so that what else it says need not be compared.
    return Asking(page.caller, subjects, instance, command, clock.now(), text(form, "key"), {"form": _kept(form)})


def _kept(form: Any) -> dict[str, str | None]:
    return {name: text(form, name) for name in ("way", "userPublicId")}
