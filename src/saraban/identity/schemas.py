"""Requests and answers about sessions, the caller and organizations."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.schema import Schema, SingleLine

_TOKEN_EXAMPLE = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9…"  # noqa: S105
_REFRESH_EXAMPLE = "2JcQ1g8pXkq3m0…"


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class LogIn(Schema):
    model_config = _example(username="dc.contractor", password="saraban-demo")  # noqa: S106  the demo tells everybody

    username: Annotated[str, SingleLine(50)]
    # Taken as it is typed: folding or trimming would change what somebody chose.
    password: str = Field(min_length=1, max_length=128, description="At most 128 characters.")


class RefreshRequest(Schema):
    model_config = _example(refreshToken=_REFRESH_EXAMPLE)

    refresh_token: str = Field(min_length=1, max_length=200, description="The token that log-in or refresh gave last.")


class TokenPair(Schema):
    model_config = _example(accessToken=_TOKEN_EXAMPLE, refreshToken=_REFRESH_EXAMPLE, expiresIn=900)

    access_token: str = Field(description="Sent as `Authorization: Bearer …`.")
    refresh_token: str = Field(description="Good for one exchange; used twice, it ends its session.")
    expires_in: int = Field(description="Seconds until the access token expires.")


class PasswordChange(Schema):
    model_config = _example(
        currentPassword="Old-Harbour-61", newPassword="New-Harbour-62", refreshToken=_REFRESH_EXAMPLE
    )

    # Taken as they are typed, like the password of a log-in.
    current_password: str = Field(min_length=1, max_length=128, description="The present one.")
    new_password: str = Field(
        min_length=1,
        max_length=128,
        description="8 to 128 characters, upper and lower case and a digit, without the user name.",
    )
    refresh_token: str = Field("", max_length=200, description="Of the session that goes on; the others end.")


class OrganizationSummary(Schema):
    model_config = _example(
        publicId="01930b5e-0000-7000-8000-00000000000a",
        organizationCode="ผรม.2",
        organizationName="ผู้รับเหมางานก่อสร้าง",
        role="CONTRACTOR",
        isActive=True,
    )

    public_id: UUID
    organization_code: str
    organization_name: str
    organization_name_en: str | None = None
    role: PartyRole = Field(description="Its role where nothing else is said; a contract may give it another one.")
    is_active: bool


class OrganizationSearch(Schema):
    model_config = ConfigDict(extra="ignore")  # the place in the list is asked for beside it

    search: Annotated[str, SingleLine(100)] | None = Field(
        None, description="Part of the code or the name.", examples=["ผรม"]
    )
    role: PartyRole | None = Field(None, description="Their role.")


class OrganizationPage(Schema):
    items: list[OrganizationSummary]
    next_cursor: str | None = Field(description="Cursor of the next page, null on the last one.")


class HeldRoleScope(Schema):
    """What a role is limited to."""

    public_id: UUID
    code: str


class HeldRole(Schema):
    role: str
    level: Literal["Global", "Organization", "Project", "Contract"]
    place: HeldRoleScope | None = Field(description="Null for a role that counts everywhere.")


class Profile(Schema):
    model_config = _example(
        publicId="01930b5e-0000-7000-8000-0000000000f1",
        username="dc.contractor",
        displayName="ดวงใจ เอกสารครบ",
        organization={
            "publicId": "01930b5e-0000-7000-8000-00000000000a",
            "organizationCode": "ผรม.2",
            "organizationName": "ผู้รับเหมางานก่อสร้าง",
            "role": "CONTRACTOR",
            "isActive": True,
        },
        organizations=[],
        roles=[
            {
                "role": "Document Control",
                "level": "Organization",
                "place": {"publicId": "01930b5e-0000-7000-8000-00000000000a", "code": "ผรม.2"},
            }
        ],
        permissions=["document.view", "rfa.create"],
        language="th",
        isService=False,
    )

    public_id: UUID
    username: str
    display_name: str
    organization: OrganizationSummary | None = Field(description="Whom the user mainly works for.")
    organizations: list[OrganizationSummary] = Field(description="Each organization the user may act for.")
    roles: list[HeldRole]
    permissions: list[str] = Field(description="Permissions held in any scope; the server checks the scope each time.")
    language: Literal["th", "en"]
    is_service: bool


Level = Literal["Global", "Organization", "Project", "Contract"]
PermissionName = Annotated[str, SingleLine(100)]


class NewRole(Schema):
    model_config = _example(
        name="ผู้ตรวจแบบ", nameEn="Drawing checker", level="Contract", copyOf="Contract Admin", projectPublicId=None
    )

    name: Annotated[str, SingleLine(100)] = Field(description="By which it is given; no other role has it.")
    name_en: Annotated[str, SingleLine(100)] | None = Field(None, description="What English pages call it.")
    level: Level | None = Field(None, description="Where it is given; that of `copyOf`, or `Global`, if left out.")
    copy_of: Annotated[str, SingleLine(100)] | None = Field(
        None, description="Name or `publicId` of a role: what it has and you hold, the new one has."
    )
    permissions: Annotated[list[PermissionName], Field(max_length=200)] | None = Field(
        None, description="In the place of what `copyOf` has. You must hold each of them."
    )
    project_public_id: UUID | None = Field(None, description="The one project in which it can be given.")
    description: Annotated[str, SingleLine(500)] | None = None


class RoleChanges(Schema):
    """What is left out stays."""

    model_config = _example(permissions=["document.view", "workflow.action_review"])

    name: Annotated[str, SingleLine(100)] | None = None
    name_en: Annotated[str, SingleLine(100)] | None = None
    description: Annotated[str, SingleLine(500)] | None = None
    permissions: Annotated[list[PermissionName], Field(max_length=200)] | None = Field(
        None, description="All that it has from now on. You must hold what is new, and what is taken away."
    )


class Words(Schema):
    th: str = Field(examples=["ผู้ดูแลสัญญา"])
    en: str = Field(examples=["Contract Admin"])


class RoleOut(Schema):
    """A role: what it is called, where it is given, and what it lets people do."""

    public_id: UUID
    name: str = Field(examples=["Contract Admin"])
    called: Words
    level: str = Field(examples=["Contract"])
    is_shipped: bool = Field(description="Shipped roles stay as they are; copy one to change it.")
    is_active: bool = Field(description="A closed role gives nothing to those who hold it.")
    project_public_id: UUID | None = Field(description="The one project in which it can be given; null for any.")
    project_code: str | None = Field(examples=["LCBP3-C2"])
    description: str | None
    permissions: list[str] = Field(examples=[["document.view", "workflow.action_review"]])
    holders: int = Field(description="How many people hold it, in all places.", examples=[3])


class PermissionOut(Schema):
    """One thing that may be done, and what it is about."""

    name: str = Field(examples=["workflow.action_review"])
    module: str = Field(examples=["workflow"])
    module_says: Words
    says: Words


class RolePage(Schema):
    items: list[RoleOut]
    next_cursor: str | None
    permissions: list[PermissionOut] = Field(description="Every permission there is, in the order of the matrix.")
