"""Request and response models of projects, contracts, parties and codes."""

from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.schema import Schema, SingleLine
from saraban.projects.domain.calendar import DayKind, DaySource, Weekday

_PROJECT = {
    "publicId": "01930b5e-0000-7000-8000-000000000001",
    "projectCode": "LCBP3-C2",
    "projectName": "ท่าเรือแหลมฉบัง ระยะที่ 3 ส่วนที่ 2",
}
_MEMBER = {
    "publicId": "01930b5e-0000-7000-8000-00000000000a",
    "organizationCode": "ผรม.2",
    "organizationName": "ผู้รับเหมางานก่อสร้าง",
    "role": "CONTRACTOR",
}
_OF_CONTRACT = {"contractPublicId": "01930b5e-0000-7000-8000-0000000000c2", "contractCode": "LCBP3-C2"}
_CONTRACT = {
    "publicId": "01930b5e-0000-7000-8000-0000000000c2",
    "contractCode": "LCBP3-C2",
    "contractName": "สัญญางานอาคารและท่าเทียบเรือ",
    "startDate": None,
    "endDate": None,
    "isActive": True,
    "organizations": [_MEMBER],
}


def _example(example: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


class ProjectCode(Schema):
    public_id: UUID
    project_code: str = Field(examples=["LCBP3-C2"])


class ProjectSummary(Schema):
    model_config = _example({**_PROJECT, "isActive": True})

    public_id: UUID
    project_code: str
    project_name: str
    project_name_en: str | None = None
    is_active: bool = Field(description="False once it is closed.")


class PartySummary(Schema):
    """An organization that takes part."""

    model_config = _example(_MEMBER)

    public_id: UUID
    organization_code: str
    organization_name: str
    organization_name_en: str | None = None
    role: PartyRole


class ContractSummary(Schema):
    model_config = _example(_CONTRACT)

    public_id: UUID
    contract_code: str
    contract_name: str
    contract_name_en: str | None = None
    start_date: date | None
    end_date: date | None
    is_active: bool = Field(description="False once it is closed.")
    organizations: list[PartySummary] = Field(description="Its parties, with the role each has in this contract.")


class ProjectDetail(ProjectSummary):
    model_config = _example({**_PROJECT, "isActive": True, "organizations": [_MEMBER], "contracts": [_CONTRACT]})

    file_kinds: str | None = Field(None, description="Extensions of the files it takes; null: every kind.")
    organizations: list[PartySummary]
    contracts: list[ContractSummary]


class CodeSummary(Schema):
    """A discipline or an RFA type; several contracts may have the same code."""

    model_config = _example({"code": "TER", "nameTh": "ท่าเทียบเรือ", "nameEn": "Terminal", **_OF_CONTRACT})

    code: str
    name_th: str | None
    name_en: str | None
    contract_public_id: UUID
    contract_code: str


class SubTypeSummary(Schema):
    model_config = _example(
        {"code": "GEN", "name": "General", "number": "21", "typeCode": "TRANSMITTAL", **_OF_CONTRACT}
    )

    code: str
    name: str | None
    name_en: str | None = None
    number: str | None = Field(description="What `{SUB_TYPE}` prints in a number.")
    type_code: str
    contract_public_id: UUID
    contract_code: str


class TypeSummary(Schema):
    model_config = _example({"code": "LETTER", "nameTh": "หนังสือ", "nameEn": "Letter"})

    code: str
    name_th: str
    name_en: str


_SUBSTITUTE = {
    "date": "2026-06-01",
    "kind": "HOLIDAY",
    "nameTh": "ชดเชยวันวิสาขบูชา",
    "nameEn": "Visakha Bucha (in lieu)",
}


class CalendarDay(Schema):
    """A holiday, or a working day that would be a holiday or weekend."""

    model_config = _example({**_SUBSTITUTE, "source": "PUBLIC"})

    date: date
    kind: DayKind = Field(description="WORKING: worked although it is a holiday or weekend.")
    name_th: str
    name_en: str
    source: DaySource = Field(description="PUBLIC: shipped; PROJECT: the project's own word.")


class CalendarYear(Schema):
    """One year of a project's working days."""

    model_config = _example(
        {
            "year": 2026,
            "isShipped": True,
            "weekend": ["SATURDAY", "SUNDAY"],
            "days": [{**_SUBSTITUTE, "source": "PUBLIC"}],
        }
    )

    year: int
    is_shipped: bool = Field(description="False: the public holidays of this year are not known yet; add them here.")
    weekend: list[Weekday]
    days: list[CalendarDay]


class NewCalendarDay(Schema):
    model_config = _example({name: value for name, value in _SUBSTITUTE.items() if name != "date"})

    kind: DayKind = DayKind.HOLIDAY
    name_th: Annotated[str, SingleLine(200)]
    name_en: Annotated[str, SingleLine(200)]


class WeekendIn(Schema):
    model_config = _example({"weekend": ["SUNDAY"]})

    weekend: list[Weekday] = Field(max_length=6, description="Weekdays that are not worked; one at least must be left.")


_SEAT = {"disciplineCode": "STR", "role": "REVIEWER"}
_TEAM = {"nameTh": "ทีมตรวจแบบ", "nameEn": "Design review", "isActive": True}


class ReviewTeamIn(Schema):
    model_config = _example(_TEAM)

    name_th: Annotated[str, SingleLine(200)]
    name_en: Annotated[str, SingleLine(200)]
    is_active: bool = Field(default=True, strict=True, description="A team that is not active is not asked.")


class TeamMemberIn(Schema):
    model_config = _example(_SEAT)

    discipline_code: Annotated[str, SingleLine(10)] | None = None
    role: Literal["REVIEWER", "LEAD"] = "REVIEWER"


class TeamMemberOut(Schema):
    model_config = _example({"userPublicId": _PROJECT["publicId"], "displayName": "สมชาย ตรวจดี", **_SEAT})

    user_public_id: UUID
    display_name: str
    discipline_code: str | None
    role: Literal["REVIEWER", "LEAD"]


class ReviewTeamOut(Schema):
    """People who review together; workflows name the team by its code."""

    model_config = _example(
        {
            "code": "DESIGN",
            **_TEAM,
            "members": [{"userPublicId": _PROJECT["publicId"], "displayName": "สมชาย ตรวจดี", **_SEAT}],
        }
    )

    code: str
    name_th: str
    name_en: str
    is_active: bool
    members: list[TeamMemberOut]


DrawingApproval = Literal["rfa", "workflow"]


class RegisterSettings(Schema):
    """The settings of one of the project's registers of drawings."""

    revision_scheme: Annotated[str, SingleLine(100)] = Field(
        description="The first label of each stage, commas between: `0` counts 0, 1, 2; `A` leaves I and O out, `A-Z` does not, and "
        "`A-HJ-NPRT-WY` names the letters; `P01, C01` goes over from P to C; `P01.01` counts up to P01, which shares it.",
        examples=["P01, C01"],
    )
    number_pattern: Annotated[str, SingleLine(100)] | None = Field(
        None,
        description="What numbers look like: `#` a figure, `@` a letter, `*` a text without dashes. None takes any number.",
        examples=["LP3-*-@@-###"],
    )
    takes_addenda: bool = Field(
        default=False, strict=True, description="Of contract drawings: addenda are revisions of them."
    )
    approval: DrawingApproval = Field(
        "rfa",
        description="Of shop and as-built drawings: revisions are carried by RFAs, or each goes through a workflow of its own.",
    )
