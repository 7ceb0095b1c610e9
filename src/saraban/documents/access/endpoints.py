"""`/access`: why somebody may, or may not."""

from typing import Annotated

from fastapi import APIRouter, Query

from saraban.documents.access import service
from saraban.documents.access.domain import SAYS
from saraban.documents.access.schemas import AccessOut, AccessQuery, CarryingRoleOut, DecidingRole
from saraban.documents.access.service import Answer
from saraban.identity.dependencies import Context
from saraban.identity.domain.access import GivenRole
from saraban.identity.domain.context import RequestContext
from saraban.identity.domain.period import RolePeriod
from saraban.identity.schemas import PersonRef
from saraban.kit.http import ReadSession

router = APIRouter(tags=["Roles"])


@router.get("/access", summary="Why somebody may, or may not")
async def access(ctx: Context, session: ReadSession, asked: Annotated[AccessQuery, Query()]) -> AccessOut:
    """
    A permission or an action, of a document; or a permission in a place, everywhere if none is named. About yourself you
    may always ask, about others if you may see their accounts; what you may not know of is not found.
    """
    return shown(ctx, await service.explain(ctx, session, asked.question))


def shown(ctx: RequestContext, answer: Answer) -> AccessOut:
    found, subject = answer.explanation, answer.subject
    return AccessOut(
        allowed=found.allowed,
        user=PersonRef.model_validate(subject),
        document=answer.document,
        reason=found.reason,
        says=SAYS[found.reason],
        roles=[_role(ctx, one) for one in found.roles],
        missing=list(found.missing),
        role_names=list(found.role_names),
        carriers=[
            CarryingRoleOut(
                role=one.name,
                called=one.called,
                level=one.level,
                places=list(one.places),
            )
            for one in found.carriers
        ],
        givers=list(found.givers),
        on_behalf_of=list(found.on_behalf_of),
        asked=list(found.asked),
    )


def _role(ctx: RequestContext, one: GivenRole) -> DecidingRole:
    period = RolePeriod(one.starts, one.ends)
    facts = {
        "public_id": one.public_id,
        "role": one.grant.role,
        "called": one.called,
        "level": one.level,
        "place": one.place,
        "standing": one.standing.value,
        "from": period.first_day(ctx.zone),
        "until": period.last_day(ctx.zone),
        "given_by": one.given_by,
        "given_at": one.given_at,
    }
    return DecidingRole.model_validate(facts)
