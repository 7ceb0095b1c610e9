"""A draft changed in the browser, unless somebody else changed it since the form was opened."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from saraban.kit.errors import DomainError
from saraban.kit.http import Db, Now, ReadSession
from saraban.kit.problem import status_of
from saraban.web.document import TOLD_HERE
from saraban.web.forms import Faults, faults_of, filled, order_from, text
from saraban.web.page import ThisPage
from saraban.web.payloads import DATES
from saraban.web.shelf import Desk, Shelf
from saraban.web.shelves import shelf_at
from saraban.web.visit import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/{path}/{public_id}/edit")
async def edit_form(path: str, public_id: UUID, page: ThisPage, session: ReadSession, clock: Now) -> Response:
    shelf = shelf_at(path)
    found = await shelf.read(session, caller=page.caller, public_id=public_id, clock=clock)
    return page.show(
        "edit.html",
        kind=shelf.web,
        document=found.data,
        etag=shelf.etag(found),
        form=_values(shelf, found.data),
        faults=Faults(),
    )


def _values(shelf: Shelf, document: Any) -> dict[str, str]:
    found = {"subject": document.subject, "remarks": document.remarks or "", "priority": document.priority}
    found[shelf.web.due_field] = document.due_date.isoformat() if document.due_date else ""
    if shelf.web.is_sheet:
        return found
    dates = {"documentDate": document.document_date, "senderDate": document.sender_date}
    dates["receivedDate"] = document.received_date
    found |= {name: day.isoformat() if day else "" for name, day in dates.items()}
    return found | {"body": document.body or "", "senderNumber": document.sender_number or ""}


@router.post("/{path}/{public_id}/edit")
async def edit(path: str, public_id: UUID, page: ThisPage, db: Db, clock: Now, request: Request) -> Response:
    """Changes a draft, unless somebody else did since the form was opened."""
    shelf = shelf_at(path)
    form = await filled(request)
    desk = Desk(db, request, page.caller, clock, page.address, None)
    names = ["subject", "remarks", "priority", shelf.web.due_field, *([] if shelf.web.is_sheet else ["body", *DATES])]
    try:
        changes = order_from(request, shelf.changes, {name: text(form, name) for name in names})
        await shelf.edit(desk, public_id, changes, text(form, "version"))
    except DomainError as error:
        if error.kind not in TOLD_HERE:
            raise
        async with db.reading() as session:
            found = await shelf.read(session, caller=page.caller, public_id=public_id, clock=clock)
        return page.show(
            "edit.html",
            status=status_of(error),
            kind=shelf.web,
            document=found.data,
            etag=text(form, "version") or "",
            form=form,
            faults=faults_of(error, page.language),
        )
    return RedirectResponse(f"{shelf.web.url}/{public_id}", status_code=303)
