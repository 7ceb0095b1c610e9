"""Explains why a person may or may not do something."""

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
    Explains whether a person has a permission in a place, by default everywhere.

    With a document, it explains a permission or an action on it. You can always ask about yourself, and about others if
    you may see their accounts. Anything you cannot see is not found.
    """
    return shown(ctx, await service.explain(ctx, session, asked.question))


def shown(ctx: RequestContext, answer: Answer) -> AccessOut:
    explanation, subject = answer.explanation, answer.subject
    return AccessOut(
        allowed=explanation.allowed,
        user=PersonRef.model_validate(subject),
        document=answer.document,
        reason=explanation.reason,
        says=SAYS[explanation.reason],
        roles=[_role(ctx, role) for role in explanation.roles],
        missing=list(explanation.missing),
        role_names=list(explanation.role_names),
        carriers=[
            CarryingRoleOut(
                role=carrier.name,
                called=carrier.called,
                level=carrier.level,
                places=list(carrier.places),
            )
            for carrier in explanation.carriers
        ],
        givers=list(explanation.givers),
        on_behalf_of=list(explanation.on_behalf_of),
        asked=list(explanation.asked),
    )


def _role(ctx: RequestContext, role: GivenRole) -> DecidingRole:
    period = RolePeriod(role.starts, role.ends)
    facts = {
        "public_id": role.public_id,
        "role": role.grant.role,
        "called": role.called,
        "level": role.level,
        "place": role.place,
        "standing": role.standing.value,
        "from": period.first_day(ctx.zone),
        "until": period.last_day(ctx.zone),
        "given_by": role.given_by,
        "given_at": role.given_at,
    }
    return DecidingRole.model_validate(facts)
