"""The page that explains why a person may or may not do something."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from saraban.documents.access import service as access
from saraban.documents.access.domain import SAYS, AccessQuestion
from saraban.documents.access.service import Answer, OfferedAction
from saraban.identity.domain import catalogue
from saraban.identity.domain.access import GivenRole
from saraban.identity.domain.catalogue import PROJECT
from saraban.identity.domain.period import RolePeriod
from saraban.identity.schemas import PermissionOut, UserOut, UserSearch
from saraban.identity.service import people, roles
from saraban.kit.errors import Invalid, Text
from saraban.kit.http import ReadSession
from saraban.projects.service import ProjectRef
from saraban.web.shell.form_state import FormState
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/why")

MOST_PEOPLE = 100


@dataclass(frozen=True, slots=True)
class AskedRole:
    role: GivenRole
    period: RolePeriod


class WhyPage(PageModel, template="people/why.html"):
    answer: Answer | None
    says: Text | None
    roles: Sequence[AskedRole]
    missing: Sequence[Text]
    asked_roles: Sequence[Text]
    levels: dict[str, Text]
    document: UUID | None
    number: str | None
    actions: Sequence[OfferedAction]
    groups: Sequence[tuple[Text, Sequence[PermissionOut]]]
    people: Sequence[UserOut]
    places: Sequence[ProjectRef]
    person: str
    wanted: str
    asked: Text
    place: str
    code: str


@router.get("")
async def why(
    page: CurrentPage,
    session: ReadSession,
    person: Annotated[str, Query(max_length=40)] = "",
    wanted: Annotated[str, Query(max_length=100)] = "",
    document: Annotated[str, Query(max_length=40)] = "",
    project: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """The form, with the answer to a question. Everybody may ask about themselves."""
    document_id = id_of(document)
    number, actions = await access.offered_actions(page.context, session, document_id) if document_id else (None, [])
    answer, refusal = None, None
    if wanted:
        place = id_of(project) if document_id is None else None
        question = AccessQuestion(wanted, id_of(person), document_id, PROJECT if place else None, place)
        try:
            answer = await access.explain(page.context, session, question)
        except Invalid as error:
            refusal = error
    explanation = answer.explanation if answer else None
    all_permissions = await roles.list_permissions(session)
    return page.show(
        WhyPage(
            answer=answer,
            says=SAYS[explanation.reason] if explanation else None,
            roles=[AskedRole(item, RolePeriod(item.starts, item.ends)) for item in explanation.roles]
            if explanation
            else (),
            missing=[catalogue.permission_words(name) for name in explanation.missing] if explanation else (),
            asked_roles=[catalogue.role_words(name) for name in explanation.role_names] if explanation else (),
            levels=catalogue.LEVELS,
            document=document_id,
            number=number,
            actions=actions,
            groups=[
                (words, tuple(permissions))
                for words, permissions in groupby(all_permissions, key=lambda item: item.module_says)
            ],
            people=await _people(page, session),
            places=page.projects,
            person=person,
            wanted=wanted,
            asked=next((item.says for item in actions if item.code == wanted), catalogue.permission_words(wanted)),
            place=project if wanted else str(page.project or ""),
            code=next((item.code for item in page.projects if str(item.public_id) == project), ""),
            state=FormState(error=refusal),
        )
    )


async def _people(page: PageRequest, session: ReadSession) -> Sequence[UserOut]:
    """Return the first hundred visible people; callers without the permission ask about themselves."""
    if not any(map(page.caller.may_anywhere, (people.VIEW, people.GIVE))):
        return ()
    return (
        await people.list_people(page.context, session, UserSearch(sort="name"), cursor=None, limit=MOST_PEOPLE)
    ).items
