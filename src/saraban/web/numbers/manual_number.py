"""Pages to register an issued number, with a preview, and to reset a counter."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, Forbidden, NotFound
from saraban.kit.http import Idempotent, ReadSession
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt
from saraban.kit.problem import checked_values
from saraban.kit.schema import SingleLine
from saraban.numbering import service as numbering
from saraban.numbering.issue.dependencies import limit_issuing, limit_reading
from saraban.numbering.issue.schemas import ManualNumberIn, ResetIn
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary, ProjectDetail, SubTypeSummary, TypeSummary
from saraban.projects.service import ProjectRef
from saraban.web.numbers.register import OVERRIDE
from saraban.web.shell.form_state import NO_ERRORS, FormState, FormValues, form_errors
from saraban.web.shell.forms import CurrentForm, Shown, form_with, number_or_text, text
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

_REQUEST = set(numbering.NumberRequest.__dataclass_fields__)
_TEXTS = (
    *("projectPublicId", "correspondenceTypeCode", "originatorOrganizationPublicId", "contractPublicId"),
    *("disciplineCode", "rfaTypeCode", "subTypeCode", "register", "categoryCode", "revision"),
    *("documentNumber", "issuedOn", "reason"),
)


class ManualNumberDraft(ManualNumberIn):
    """For the preview, which needs no reason."""

    reason: Annotated[str, SingleLine(500, shortest=0)] = ""


class ManualNumberEffectFragment(PageModel, template="numbers/parts/manual_number_effect.html"):
    effect: numbering.ManualNumberEffect | None


class ManualNumberPage(PageModel, template="numbers/manual_number.html"):
    place: ProjectRef
    detail: ProjectDetail
    types: Sequence[TypeSummary]
    disciplines: Sequence[CodeSummary]
    rfa_types: Sequence[CodeSummary]
    sub_types: Sequence[SubTypeSummary]
    effect: numbering.ManualNumberEffect | None
    key: str


@router.post("/numbers/by-hand/check")
async def check(form: CurrentForm) -> Response:
    """Preview the effect; incomplete input is no error."""
    page = form.page
    page.caller.require_somewhere(OVERRIDE)
    await limit_reading(page.request)
    effect, faults = None, NO_ERRORS
    if form.text("documentNumber") or form.text("sequence"):
        try:
            async with form.db.reading() as session:
                effect = await _effect(page, session, form.values)
        except DomainError as error:
            faults = form_errors(error, page.language)
    return page.show(ManualNumberEffectFragment(effect=effect, faults=faults), status=200)


@router.post("/numbers/by-hand")
async def state(form: CurrentForm, once: Idempotent) -> Response:
    form.page.caller.require_somewhere(OVERRIDE)
    async with form.show_on_refusal(show):
        order = form.order(ManualNumberIn, _payload(form.values))
        await limit_issuing(form.page.request)
        receipt = await form.once(_register, once, order)
    return RedirectResponse(f"/numbers/{receipt.public_id}?done=stated", status_code=303)


async def _register(ctx: RequestContext, once: Idempotency, order: ManualNumberIn) -> Receipt:
    operation = Operation.of(ctx, "PAGE /numbers/by-hand", order)
    return await once.run(operation, _issue, ctx, order, operation.token)


async def _issue(ctx: RequestContext, session: AsyncSession, order: ManualNumberIn, token: UUID) -> Receipt:
    issued = await numbering.issue_manually(
        ctx,
        session,
        plan=await _plan(ctx, session, order),
        statement=numbering.ManualNumber(order.document_number, order.sequence),
        reason=order.reason,
        moves_counter=order.move_counter,
        confirmed_jump=order.confirmed_jump,
        token=token,
    )
    return issued.receipt()


async def _plan(ctx: RequestContext, session: AsyncSession, order: ManualNumberIn) -> numbering.Plan:
    request = numbering.NumberRequest(**order.model_dump(include=_REQUEST))
    return await numbering.plan_on(ctx, session, request=request, issued_on=order.issued_on)


async def _effect(page: PageRequest, session: AsyncSession, form: FormValues) -> numbering.ManualNumberEffect:
    order = checked_values(ManualNumberDraft, _payload(form))
    plan = await _plan(page.context, session, order)
    statement = numbering.ManualNumber(order.document_number, order.sequence)
    return await numbering.manual_number_effect(page.context, session, plan=plan, statement=statement)


def _payload(form: FormValues) -> dict[str, object]:
    """Omit empty fields."""
    payload: dict[str, object] = {name: typed for name in _TEXTS if (typed := text(form, name))}
    payload |= {name: number_or_text(typed) for name in ("sequence", "confirmedJump") if (typed := text(form, name))}
    if recipient := text(form, "to"):
        payload["recipientOrganizationPublicId"] = recipient
    return payload | {"moveCounter": text(form, "moveCounter") == "1"}


@router.get("/numbers/by-hand")
async def show(
    page: CurrentPage, session: ReadSession, state: Shown, project: Annotated[UUID | None, Query()] = None
) -> Response:
    page.caller.require_somewhere(OVERRIDE)
    wanted_project = id_of(text(state.form, "projectPublicId")) or project
    place = (await page.choose_project(session, wanted_project, OVERRIDE)).place
    ctx, project_id = page.context, place.public_id
    return page.show(
        ManualNumberPage(
            state=state,
            place=place,
            detail=await projects.read_project(ctx, session, public_id=project_id),
            types=await projects.correspondence_types(session),
            disciplines=await projects.disciplines(ctx, session, project_public_id=project_id),
            rfa_types=await projects.rfa_types(ctx, session, project_public_id=project_id),
            sub_types=await projects.sub_types(ctx, session, project_public_id=project_id),
            effect=await _effect_again(page, session, state.form) if state.error else None,
            key=str(new_id()),
        )
    )


async def _effect_again(
    page: PageRequest, session: AsyncSession, form: FormValues
) -> numbering.ManualNumberEffect | None:
    """Without scripts, the reader confirms the jump that the refused form shows."""
    try:
        return await _effect(page, session, form)
    except DomainError:
        return None


class CounterResetPage(PageModel, template="numbers/counter_reset.html"):
    account: numbering.SeriesLedger
    place: UUID


@router.get("/numbers/reset")
async def show_reset(
    page: CurrentPage, session: ReadSession, project: UUID, series: Annotated[str, Query(max_length=255)]
) -> Response:
    return await _show_reset(page, session, FormState(form_with(projectPublicId=str(project), series=series)))


@router.post("/numbers/reset")
async def reset(form: CurrentForm) -> Response:
    async with form.show_on_refusal(_show_reset):
        last = number_or_text(form.text("lastNumber") or "")  # must be present: the default is 0
        order = form.order(ResetIn, {**form.filled("projectPublicId", "series", "reason"), "lastNumber": last})
        await form.transact(
            numbering.reset_counter,
            project_public_id=order.project_public_id,
            series=order.series,
            to=order.last_number,
            reason=order.reason,
        )
    series = urlencode({"project": order.project_public_id, "series": order.series})
    return RedirectResponse(f"/numbers/account?{series}", 303)


async def _show_reset(page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    if not numbering.may_reset_counter(page.context):
        raise Forbidden("Only a Super Admin resets a counter.")
    project, series = id_of(text(state.form, "projectPublicId")), text(state.form, "series") or ""
    if project is None:
        raise NotFound("There is no such project.")
    ledger = await numbering.series_ledger(page.context, session, project_public_id=project, series=series, limit=1)
    return page.show(CounterResetPage(account=ledger, place=project, state=state))
