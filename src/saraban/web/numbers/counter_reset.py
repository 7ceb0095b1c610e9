"""A counter set back in the browser, by a Super Admin who says why."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.kit.errors import DomainError, ErrorKind, Forbidden
from saraban.kit.http import Db, ReadSession
from saraban.numbering import service as numbering
from saraban.numbering.issue.schemas import ResetIn
from saraban.web.shell.forms import (
    EMPTY_FORM,
    FormValues,
    form_errors,
    id_of,
    number_or_text,
    read_form,
    text,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session_renewal import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/numbers/reset")

_TOLD_HERE = {ErrorKind.INVALID}


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterResetPage(PageModel):
    template: ClassVar[str] = "numbers/counter_reset.html"

    account: numbering.SeriesLedger
    place: UUID
    form: FormValues


@router.get("")
async def show(
    page: CurrentPage, session: ReadSession, project: UUID, series: Annotated[str, Query(max_length=255)]
) -> Response:
    return await _show(page, session, project, series)


@router.post("")
async def reset(page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)

    async def work(session: AsyncSession) -> ResetIn:
        order: ResetIn = validated(request, ResetIn, _payload(form))
        await numbering.reset_counter(
            page.context,
            session,
            project_public_id=order.project_public_id,
            series=order.series,
            to=order.last_number,
            reason=order.reason,
        )
        return order

    try:
        order = await db.transact(work)
    except DomainError as error:
        project = id_of(text(form, "projectPublicId"))
        if error.kind not in _TOLD_HERE or project is None:
            raise
        async with db.reading() as session:
            return await _show(page, session, project, text(form, "series") or "", form=form, error=error)
    where = urlencode({"project": order.project_public_id, "series": order.series})
    return RedirectResponse(f"/numbers/account?{where}", status_code=303)


def _payload(form: FormValues) -> dict[str, Any]:
    needed = {name: text(form, name) or "" for name in ("projectPublicId", "series", "reason")}
    return needed | {"lastNumber": number_or_text(text(form, "lastNumber") or "")}


async def _show(
    page: PageRequest,
    session: AsyncSession,
    project: UUID,
    series: str,
    *,
    form: FormValues = EMPTY_FORM,
    error: DomainError | None = None,
) -> Response:
    if not numbering.may_reset_counter(page.context):
        raise Forbidden("Only a Super Admin resets a counter.")
    found = await numbering.series_ledger(page.context, session, project_public_id=project, series=series, limit=1)
    return page.show(
        CounterResetPage(account=found, place=project, form=form, faults=form_errors(error, page.language))
    )
