"""Request and response models of sessions, accounts, organizations and roles."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from saraban.identity.domain.account import UserState
from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.domain.period import PeriodState
from saraban.kit.errors import Text
from saraban.kit.schema import Day, Mailbox, Schema, SingleLine, WarningOut

RoleLevel = Literal["Global", "Organization", "Project", "Contract"]
_TOKEN_EXAMPLE = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9…"  # noqa: S105
_REFRESH_EXAMPLE = "2JcQ1g8pXkq3m0…"


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class PersonRef(Schema):
    public_id: UUID
    display_name: str = Field(examples=["ดวงใจ เอกสารครบ"])


class LogIn(Schema):
    model_config = _example(username="dc.contractor", password="saraban-demo")  # noqa: S106  the demo tells everybody

    username: Annotated[str, SingleLine(50)]
    # Not folded or trimmed: that would change the chosen password.
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

    # Not folded or trimmed.
    current_password: str = Field(min_length=1, max_length=128, description="The present one.")
    new_password: str = Field(
        min_length=1,
        max_length=128,
        description="12 to 128 characters; not common, no sequence or repetition, not the person's or project's name.",
    )
    refresh_token: str = Field("", max_length=200, description="Of the session that goes on; the others end.")


class SessionOut(Schema):
    """A sign-in that has not ended."""

    public_id: UUID
    device: str = Field(
        description="Browser and system, or the program; empty when unknown.", examples=["Chrome · Windows"]
    )
    ip_address: str | None = Field(description="Of the last refresh.")
    signed_in_at: datetime
    last_active_at: datetime | None = Field(description="The last refresh.")
    is_current: bool = Field(description="Whether this request belongs to it.")


class UserOrganization(Schema):
    """The organization that a person works for."""

    public_id: UUID
    organization_code: str
    organization_name: str


class UserIn(Schema):
    model_config = _example(
        username="somchai",
        email="somchai@example.org",
        firstName="สมชาย",
        lastName="ใจดี",
        organizationPublicId="01930b5e-0000-7000-8000-00000000000a",
        invite=True,
    )

    username: Annotated[str, SingleLine(50)] = Field(
        description="2 to 50 characters without blanks; kept in lower case."
    )
    email: Mailbox = Field(description="Each account has its own.")
    first_name: Annotated[str, SingleLine(50, 0)] = ""
    last_name: Annotated[str, SingleLine(50, 0)] = ""
    organization_public_id: UUID | None = Field(None, description="Whom the person works for.")
    # Not folded or trimmed.
    password: str | None = Field(
        None,
        min_length=1,
        max_length=128,
        description="The person has to change it first. Either this or `invite`.",
        repr=False,
    )
    invite: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="The person chooses the password, by a link that works once within 7 days."
    )
    is_service: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="An account for a program; without `password` one is made and told once."
    )


class UserChangeIn(Schema):
    model_config = _example(firstName="สมชาย", email="somchai@example.org")

    email: Mailbox | None = Field(None, description="Left out, it stays.")
    first_name: Annotated[str, SingleLine(50, 0)] | None = None
    last_name: Annotated[str, SingleLine(50, 0)] | None = None
    organization_public_id: UUID | None = Field(
        None,
        description="Move the person there, null for none; roles in other organizations end, those in projects stay.",
    )
    draws_per_minute: Annotated[int, Field(ge=0, le=1_000_000, strict=True)] | None = Field(
        None, description="Numbers a service account may draw in a minute: null is everybody's limit, 0 is none."
    )


class UserPasswordIn(Schema):
    model_config = _example(password="New-Harbour-62")  # noqa: S106

    password: str | None = Field(
        None, min_length=1, max_length=128, description="Left out for a service account: one is made and told once."
    )


class UserOut(Schema):
    public_id: UUID
    username: str
    email: str
    first_name: str
    last_name: str
    display_name: str
    organization: UserOrganization | None
    state: UserState = Field(
        description="`invited`: no password was chosen yet. `locked`: signing in has failed so often that it is delayed."
    )
    is_active: bool
    is_service: bool
    draws_per_minute: int | None
    last_login_at: datetime | None
    created_at: datetime
    updated_at: datetime


class UserChangedOut(UserOut):
    warnings: list[WarningOut] = Field(
        default_factory=list, description="What became of the roles with a move; told in the first answer only."
    )


class UserSecretOut(UserOut):
    """An account with secrets that only the first response contains."""

    invitation_url: str | None = Field(
        None, description="The one-time link, where it is not mailed to the person alone."
    )
    password: str | None = Field(None, description="The password that was made for a service account.")


class InvitedPersonOut(Schema):
    username: str
    display_name: str
    invitation_url: str | None = Field(
        description="The one-time link, where no e-mail is set up; null for a dry run. Told here, and nowhere again."
    )


class KnownPersonOut(Schema):
    """A person of the sheet who has an account already, which is not changed."""

    row: int = Field(description="Its row in the sheet.", examples=[3])
    username: str
    differs: list[str] = Field(description="The columns in which the sheet says something else.", examples=[["email"]])


class PeopleImportOut(Schema):
    applied: bool = Field(description="False for a dry run.")
    invited: list[InvitedPersonOut]
    known: list[KnownPersonOut]


class UserSearch(Schema):
    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)

    search: Annotated[str, SingleLine(100)] | None = Field(None, description="Part of a name, user name or e-mail.")
    organization_public_id: UUID | None = Field(None, description="Who works for it.")
    role: Annotated[str, SingleLine(100)] | None = Field(None, description="Who has this role somewhere now.")
    state: UserState | None = None
    is_service: bool | None = Field(None, description="Programs only, or people only.")
    sort: Literal["newest", "name"] = Field("newest", description="By user name, or the newest first.")


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
    model_config = ConfigDict(extra="ignore")  # cursor and limit are parameters beside it

    search: Annotated[str, SingleLine(100)] | None = Field(
        None, description="Part of the code or the name.", examples=["ผรม"]
    )
    role: PartyRole | None = Field(None, description="Their role.")
    include_closed: bool = Field(default=False, description="Those that are closed, too, where you may see them.")


class HeldRoleScope(Schema):
    """The organization, project or contract that a role is limited to."""

    public_id: UUID
    code: str


class HeldRole(Schema):
    role: str
    level: RoleLevel
    place: HeldRoleScope | None = Field(description="Null for a role that counts everywhere.")


class RoleGrantIn(Schema):
    model_config = _example(
        role="Document Control",
        level="Organization",
        placePublicId="01930b5e-0000-7000-8000-00000000000a",
        until="2026-12-31",
    )

    role: Annotated[str, SingleLine(100)]
    level: RoleLevel
    place_public_id: UUID | None = Field(None, description="Of the organization, project or contract; none for Global.")
    first: Day | None = Field(None, alias="from", description="The first day; left out, it counts at once.")
    last: Day | None = Field(None, alias="until", description="The last day on which it counts; left out, it stays.")


class HeldRoleOut(Schema):
    public_id: UUID
    role: str
    level: RoleLevel
    place: HeldRoleScope | None = Field(description="Null for a role that counts everywhere.")
    first: date | None = Field(alias="from")
    last: date | None = Field(alias="until", description="The last day.")
    state: PeriodState
    assigned_at: datetime
    assigned_by: str | None = Field(description="User name of who gave it.")


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


PermissionName = Annotated[str, SingleLine(100)]


class NewRole(Schema):
    model_config = _example(
        name="ผู้ตรวจแบบ", nameEn="Drawing checker", level="Contract", copyOf="Contract Admin", projectPublicId=None
    )

    name: Annotated[str, SingleLine(100)] = Field(description="By which it is given; no other role has it.")
    name_en: Annotated[str, SingleLine(100)] | None = Field(None, description="What English pages call it.")
    level: RoleLevel | None = Field(None, description="Where it is given; that of `copyOf`, or `Global`, if left out.")
    copy_of: Annotated[str, SingleLine(100)] | None = Field(
        None, description="Name or `publicId` of a role: what it has and you hold, the new one has."
    )
    permissions: Annotated[list[PermissionName], Field(max_length=200)] | None = Field(
        None, description="In the place of what `copyOf` has. You must hold each of them."
    )
    project_public_id: UUID | None = Field(None, description="The one project in which it can be given.")
    description: Annotated[str, SingleLine(500)] | None = None


class RoleChanges(Schema):
    """Fields that are left out stay."""

    model_config = _example(permissions=["document.view", "workflow.action_review"])

    name: Annotated[str, SingleLine(100)] | None = None
    name_en: Annotated[str, SingleLine(100)] | None = None
    description: Annotated[str, SingleLine(500)] | None = None
    permissions: Annotated[list[PermissionName], Field(max_length=200)] | None = Field(
        None, description="All that it has from now on. You must hold what is new, and what is taken away."
    )


class RoleOut(Schema):
    """A role: its names, its level and its permissions."""

    public_id: UUID
    name: str = Field(examples=["Contract Admin"])
    called: Text
    level: str = Field(examples=["Contract"])
    is_shipped: bool = Field(description="Shipped roles stay as they are; copy one to change it.")
    is_active: bool = Field(description="A closed role gives nothing to those who hold it.")
    project_public_id: UUID | None = Field(description="The one project in which it can be given; null for any.")
    project_code: str | None = Field(examples=["LCBP3-C2"])
    description: str | None
    permissions: list[str] = Field(examples=[["document.view", "workflow.action_review"]])
    holders: int = Field(description="How many people hold it, in all places.", examples=[3])


class PermissionOut(Schema):
    """A permission and its module."""

    name: str = Field(examples=["workflow.action_review"])
    module: str = Field(examples=["workflow"])
    module_says: Text
    says: Text


class RolePage(Schema):
    items: list[RoleOut]
    next_cursor: str | None
    permissions: list[PermissionOut] = Field(description="Every permission there is, in the order of the matrix.")
