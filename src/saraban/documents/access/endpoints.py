"""`/access`: why somebody may, or may not."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from saraban.documents.access import service
from saraban.documents.access.domain import SAYS
from saraban.documents.access.schemas import AccessOut, DecidingRole, PersonOut
from saraban.documents.access.service import AccessQuestion, Answer
from saraban.identity.dependencies import Context
from saraban.identity.domain.access import HeldRole
from saraban.identity.domain.context import RequestContext
from saraban.identity.domain.period import RolePeriod
from saraban.identity.schemas import Words
from saraban.kit.http import ReadSession
from saraban.kit.schema import SingleLine

router = APIRouter(tags=["roles"])

Name = Annotated[str, SingleLine(100)]


@router.get("/access", summary="Why somebody may, or may not")
async def access(
    ctx: Context,
    session: ReadSession,
    person: Annotated[UUID | None, Query(alias="userPublicId", description="Yourself, if left out.")] = None,
    permission: Annotated[Name | None, Query(examples=["workflow.action_review"])] = None,
    action: Annotated[
        Name | None, Query(description="`view`, `edit`, or an action of the document's workflow.", examples=["approve"])
    ] = None,
    document: Annotated[UUID | None, Query(alias="documentPublicId")] = None,
    organization: Annotated[UUID | None, Query(alias="organizationPublicId")] = None,
    project: Annotated[UUID | None, Query(alias="projectPublicId")] = None,
    contract: Annotated[UUID | None, Query(alias="contractPublicId")] = None,
) -> AccessOut:
    """
    A permission or an action, of a document; or a permission in a place, everywhere if none is named. About yourself you
    may always ask, about others if you may see their accounts; what you may not know of is not found.
    """
    places = (("Contract", contract), ("Project", project), ("Organization", organization))
    level, place = next(((level, key) for level, key in places if key is not None), (None, None))
    asked = AccessQuestion(person, action, permission, document, level, place)
    return shown(ctx, await service.explain(ctx, session, asked))


def shown(ctx: RequestContext, answer: Answer) -> AccessOut:
    found, subject = answer.explanation, answer.subject
    words = SAYS[found.reason]
    return AccessOut(
        allowed=found.allowed,
        user=PersonOut(public_id=subject.public_id, display_name=subject.display_name),
        document=answer.document,
        reason=found.reason,
        says=Words(th=words.th, en=words.en),
        roles=[_role(ctx, one) for one in found.roles],
        missing=list(found.missing),
        role_names=list(found.role_names),
        givers=[PersonOut.model_validate(one) for one in found.givers],
        on_behalf_of=[PersonOut.model_validate(one) for one in found.on_behalf_of],
        asked=list(found.asked),
    )


def _role(ctx: RequestContext, one: HeldRole) -> DecidingRole:
    period = RolePeriod(one.starts, one.ends)
    facts = {
        "public_id": one.public_id,
        "role": one.grant.role,
        "called": Words(th=one.called.th, en=one.called.en),
        "level": one.level,
        "place": one.place,
        "standing": one.standing.value,
        "from": period.first_day(ctx.zone),
        "until": period.last_day(ctx.zone),
        "given_by": one.given_by,
        "given_at": one.given_at,
    }
    return DecidingRole.model_validate(facts)
