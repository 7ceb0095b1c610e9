"""API schemas of access explanations."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.documents.access.domain import AccessQuestion
from saraban.identity.domain.access import Reason
from saraban.identity.domain.catalogue import CONTRACT, ORGANIZATION, PROJECT
from saraban.identity.schemas import PersonRef
from saraban.kit.errors import Text
from saraban.kit.schema import Schema, SingleLine


class AccessQuery(Schema):
    """The permission or action, the person, and the document or place."""

    permission: Annotated[str, SingleLine(100)] = Field(
        description="A permission; for a document also an action: `view`, `edit`, or an action of its workflow.",
        examples=["workflow.action_review"],
    )
    user_public_id: UUID | None = Field(None, description="Yourself, if left out.")
    document_public_id: UUID | None = None
    organization_public_id: UUID | None = None
    project_public_id: UUID | None = None
    contract_public_id: UUID | None = None

    @property
    def question(self) -> AccessQuestion:
        places = (
            (CONTRACT, self.contract_public_id),
            (PROJECT, self.project_public_id),
            (ORGANIZATION, self.organization_public_id),
        )
        level, place = next(((level, key) for level, key in places if key is not None), (None, None))
        return AccessQuestion(self.permission, self.user_public_id, self.document_public_id, level, place)


class DecidingRole(Schema):
    """A role that decides, or would decide at another place or time."""

    public_id: UUID = Field(description="Of the assignment.")
    role: str = Field(examples=["Contract Admin"])
    called: Text
    level: str = Field(examples=["Contract"])
    place: str | None = Field(description="Code of its place; null for everywhere.", examples=["LCBP3-C2"])
    standing: Literal["in_force", "upcoming", "ended", "role_closed"]
    first: date | None = Field(alias="from")
    last: date | None = Field(alias="until")
    given_by: str | None
    given_at: datetime


class CarryingRoleOut(Schema):
    role: str = Field(examples=["Project Manager"])
    called: Text
    level: str = Field(examples=["Project"])
    places: list[str] = Field(description="Codes; none for everywhere.", examples=[["LCBP3-C2"]])


class AccessOut(Schema):
    """The answer, and the roles and reasons that decide."""

    allowed: bool
    user: PersonRef
    document: str | None = Field(description="Number of the document.", examples=["คคง.-สคฉ.3-0001-2569"])
    reason: Reason
    says: Text = Field(description="The reason as a sentence.")
    roles: list[DecidingRole] = Field(description="Roles that decide, or would at another place or time or if open.")
    missing: list[str] = Field(description="Permissions of which one is needed.", examples=[["workflow.action_review"]])
    role_names: list[str] = Field(description="Roles of which the step requires one.")
    carriers: list[CarryingRoleOut] = Field(
        description="Roles with a missing permission, and the places where they would apply."
    )
    givers: list[PersonRef] = Field(
        description="People who can assign one of these roles, because they hold all its permissions there."
    )
    on_behalf_of: list[PersonRef] = Field(description="People for whom it is allowed by delegation.")
    asked: list[str] = Field(description="Current assignees of the step: organizations by code, then people.")
