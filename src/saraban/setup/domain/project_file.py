"""The schema of project files; `docs/project.schema.json` is generated from it."""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from saraban.attachments.domain.kinds import KindList
from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.errors import Invalid
from saraban.kit.json import Json
from saraban.kit.schema import CodeLine, Day, Mailbox, Schema, SingleLine
from saraban.projects.domain.drawing_settings import CONTRACT_REGISTER
from saraban.projects.domain.master_data import RfaItemsRule
from saraban.projects.domain.revision_scheme import RevisionScheme
from saraban.setup.domain.master_kinds import TagColor
from saraban.setup.domain.master_rows import sorted_codes

Name = Annotated[str, SingleLine(255)]
OrganizationCode = Annotated[str, CodeLine(20)]
TypeCode = Annotated[str, CodeLine(50)]
DisciplineCode = Annotated[str, CodeLine(10)]
Username = Annotated[str, SingleLine(50, shortest=2), AfterValidator(str.casefold)]


def _to_upper(text: object) -> object:
    return text.upper() if isinstance(text, str) else text


def _normalize_scheme(text: str) -> str:
    """Return the stored form; saving refuses an invalid scheme with its line."""
    try:
        return str(RevisionScheme.parse(text))
    except Invalid:
        return text


Kind = Annotated[Literal["CORRESPONDENCE", "RFA", "TRANSMITTAL", "CIRCULATION"], BeforeValidator(_to_upper)]
WeekdayCode = Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
WEEK: Final[tuple[WeekdayCode, ...]] = get_args(WeekdayCode)


class FilePart(Schema):
    """Keys are spelled exactly as in the API."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=False, extra="forbid")


class OrganizationPart(FilePart):
    """An organization of the installation. A name that differs from the stored one is a conflict."""

    code: OrganizationCode
    name: Name
    name_en: Name | None = None


class TypePart(FilePart):
    """A document type in addition to the shipped ones. It belongs to the installation."""

    code: TypeCode
    name: Name
    name_en: Name | None = None


class ProjectPart(FilePart):
    code: Annotated[str, CodeLine(50)]
    name: Name
    name_en: Name | None = None
    file_kinds: KindList | None = Field(None, description="Extensions of the files that it takes, commas between.")


class MemberPart(FilePart):
    organization: OrganizationCode
    role: PartyRole = Field(description="Its role in this project.")


class NamedPart(FilePart):
    """A discipline."""

    code: DisciplineCode
    name_th: Name
    name_en: Name


class RfaTypePart(FilePart):
    code: Annotated[str, CodeLine(20)]
    name_th: Annotated[str, SingleLine(100)]
    name_en: Annotated[str, SingleLine(100)]
    items: RfaItemsRule | None = Field(
        None, description="Whether its RFAs carry drawings and documents; `optional` when left out."
    )


class SubTypePart(FilePart):
    type: TypeCode = Field(description="The document type that it divides.")
    code: Annotated[str, CodeLine(20)]
    number: Annotated[str, SingleLine(10)] = Field(description="What `{SUB_TYPE}` prints.")
    name_th: Name
    name_en: Name | None = None


class ContractPart(FilePart):
    code: Annotated[str, CodeLine(50)] = Field(description="Unique in the installation.")
    name: Name
    name_en: Name | None = None
    start_date: Day | None = None
    end_date: Day | None = None
    parties: list[MemberPart] | None = None
    disciplines: list[NamedPart] | None = None
    rfa_types: list[RfaTypePart] | None = None
    sub_types: list[SubTypePart] | None = None


class ListedPart(FilePart):
    """A volume or category of drawings."""

    code: Annotated[str, CodeLine(50)]
    name_th: Name
    name_en: Name | None = None
    description: Annotated[str, SingleLine(1000)] | None = None


class SubCategoryPart(ListedPart):
    """A sub category of contract drawings; `categories` lists codes, separated by commas."""

    categories: Annotated[str, SingleLine(1000), AfterValidator(sorted_codes)] | None = None


class TagPart(ListedPart):
    name_th: Annotated[str, SingleLine(100)]
    name_en: Annotated[str, SingleLine(100)] | None = None
    color: TagColor | None = None


class RegisterPart(FilePart):
    """
    The settings of a drawing register: revision labels and the pattern of its numbers. By
    default revisions are 0, 1, 2 and any number is accepted.
    """

    kind: Literal["contract", "shop", "asbuilt"]
    revision_scheme: Annotated[str, SingleLine(100), AfterValidator(_normalize_scheme)] | None = Field(
        None, description="The first label of each stage, commas between; `0` when left out.", examples=["P01, C01"]
    )
    number_pattern: Annotated[str, SingleLine(100)] | None = Field(
        None, description="`#` a figure, `@` a letter, `*` a text without dashes.", examples=["LP3-*-@@-###"]
    )
    takes_addenda: bool | None = Field(None, description="Of contract drawings: addenda are revisions of them.")
    approval: Literal["rfa", "workflow"] | None = Field(
        None, description="Of shop and as-built drawings: by RFAs, or a workflow of each revision."
    )

    @model_validator(mode="after")
    def _drop_fixed_settings(self) -> Self:
        if self.kind != CONTRACT_REGISTER and self.takes_addenda is False:
            return self.model_copy(update={"takes_addenda": None})
        if self.kind == CONTRACT_REGISTER and self.approval == "rfa":
            return self.model_copy(update={"approval": None})
        return self


class FormatPart(FilePart):
    """A number format. Without a type it is the default of the project."""

    type: TypeCode | None = None
    sub_type: Annotated[str, SingleLine(20)] | None = None
    rfa_type: Annotated[str, SingleLine(20)] | None = None
    discipline: DisciplineCode | None = None
    template: Annotated[str, SingleLine(255)] = Field(examples=["{PROJECT}-{CORR_TYPE}-{DISCIPLINE}-{SEQ:4}-{REV}"])
    description: Annotated[str, SingleLine(1000)] | None = None
    reset_yearly: bool | None = Field(
        None, description="Left out: true where the template prints a year, a month or a fiscal year."
    )
    overflow: Literal["widen", "refuse"] | None = None


class AssignmentPart(FilePart):
    """The workflow on which documents of a kind start."""

    workflow: Annotated[str, SingleLine(50)]
    kind: Kind
    type: TypeCode | None = Field(None, description="Only this document type; of RFAs, this RFA type.")


class DayPart(FilePart):
    date: Day
    kind: Literal["holiday", "working"]
    name: Annotated[str, SingleLine(200)]
    name_en: Annotated[str, SingleLine(200)] | None = None


def _sort_weekdays(days: list[WeekdayCode]) -> list[WeekdayCode]:
    return [day for day in WEEK if day in days]


class CalendarPart(FilePart):
    weekend: Annotated[list[WeekdayCode], AfterValidator(_sort_weekdays)] | None = Field(None, max_length=6)
    days: list[DayPart] | None = None


class SeatPart(FilePart):
    person: Username
    discipline: DisciplineCode | None = None
    role: Literal["REVIEWER", "LEAD"] | None = None


class TeamPart(FilePart):
    code: Annotated[str, Field(max_length=50, pattern="^[A-Z0-9][A-Z0-9_-]*$")]
    name: Annotated[str, SingleLine(200)]
    name_en: Annotated[str, SingleLine(200)] | None = None
    members: list[SeatPart] | None = None


class RolePart(FilePart):
    role: Annotated[str, SingleLine(100)]
    level: Literal["Global", "Organization", "Project", "Contract"]
    place: Annotated[str, SingleLine(50)] | None = Field(
        None, description="Code of the organization, project or contract."
    )


class PersonPart(FilePart):
    """A person. A new username gets an account without a password, and an invitation."""

    username: Username
    email: Mailbox
    first_name: Annotated[str, SingleLine(50, shortest=0)]
    last_name: Annotated[str, SingleLine(50, shortest=0)]
    organization: OrganizationCode | None = None
    roles: list[RolePart] | None = None


class ProjectFile(FilePart):
    """A project. Parts that are left out stay unchanged."""

    organizations: list[OrganizationPart] | None = None
    correspondence_types: list[TypePart] | None = None
    project: ProjectPart
    members: list[MemberPart] | None = None
    contracts: list[ContractPart] | None = None
    number_formats: list[FormatPart] | None = None
    assignments: list[AssignmentPart] | None = None
    calendar: CalendarPart | None = None
    tags: list[TagPart] | None = None
    contract_drawing_volumes: list[ListedPart] | None = None
    contract_drawing_categories: list[ListedPart] | None = None
    contract_drawing_sub_categories: list[SubCategoryPart] | None = None
    shop_drawing_main_categories: list[ListedPart] | None = None
    shop_drawing_sub_categories: list[ListedPart] | None = None
    drawing_registers: list[RegisterPart] | None = None
    review_teams: list[TeamPart] | None = None
    people: list[PersonPart] | None = None


def json_schema() -> dict[str, Json]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Saraban project file",
        **{name: part for name, part in ProjectFile.model_json_schema().items() if name != "title"},
    }
