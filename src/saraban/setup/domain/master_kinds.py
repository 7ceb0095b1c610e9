"""
The kinds of master data: what each is called, where its rows stand, what they say, and who may change them. Data, no rules.

Tables and columns stand here as text. What a kind is and no other (the dates of a contract, the colour of a tag) is a field of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal, get_args

from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.errors import Text
from saraban.projects.domain import master_data as shipped
from saraban.projects.domain.master_data import MasterCode


class Owner(StrEnum):
    """Whose rows of a kind are: its codes are unique there, and rights count there."""

    INSTALLATION = "installation"
    PROJECT = "project"
    CONTRACT = "contract"


class FieldForm(StrEnum):
    LINE = "line"
    TEXT = "text"
    DAY = "day"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class Reference:
    """A row of another table, named in the API by its code. What names no row there is `absent`, where that is allowed."""

    table: str
    code: str
    absent: str | None = None


@dataclass(frozen=True, slots=True)
class MasterField:
    """
    One value of a row.

    :param name: in the API, in workbooks and in the audit trail
    :param length: greatest number of characters
    :param printed: document numbers may print it
    :param default: what a new row says where nothing is said
    """

    name: str
    column: str
    label: Text
    length: int
    example: str
    required: bool = False
    printed: bool = False
    form: FieldForm = FieldForm.LINE
    choices: tuple[str, ...] = ()
    default: str | None = None
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class MasterKind:
    """
    A list of rows with a code and names.

    :param name: in the audit trail and in error messages
    :param path: of its rows below their owner
    :param fields: the code comes first
    :param within: a further field that tells rows of one code apart
    :param unique: a further field whose value one row of an owner has
    :param create: permission to add rows; `change` is to change and reorder them, `close` to close and reopen them
    :param has_public_id: its rows are addressed by it, the others by their code
    :param ordered: people give its rows an order; the others stand by their code
    :param written: codes that the product itself writes: they are not closed
    :param known: codes that the product knows by name: they are not renamed
    :param counter: the column of the counters of numbers that refers to its rows
    """

    name: str
    path: str
    table: str
    singular: Text
    plural: Text
    owner: Owner
    fields: tuple[MasterField, ...]
    create: str
    change: str
    close: str
    within: str | None = None
    unique: str | None = None
    has_public_id: bool = False
    ordered: bool = True
    written: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    counter: tuple[str, ...] = ()

    @property
    def code(self) -> MasterField:
        return self.fields[0]

    def field(self, name: str) -> MasterField:
        return next(one for one in self.fields if one.name == name)

    @property
    def owner_column(self) -> str | None:
        return None if self.owner is Owner.INSTALLATION else f"{self.owner.value}_id"

    @property
    def printed(self) -> tuple[MasterField, ...]:
        return tuple(one for one in self.fields if one.printed)


CODE: Final = Text("รหัส", "Code")
THAI_NAME: Final = Text("ชื่อภาษาไทย", "Name in Thai")
ENGLISH_NAME: Final = Text("ชื่อภาษาอังกฤษ", "Name in English")
DESCRIPTION: Final = MasterField(
    "description", "description", Text("คำอธิบาย", "Description"), 5000, "", form=FieldForm.TEXT
)
# fmt: off
TagColor = Literal[
    "default", "slate", "red", "orange", "amber", "yellow", "green", "teal", "blue", "indigo", "violet", "purple", "pink",
    "rose",
]
# fmt: on
_HEX: Final = (
    "#e2e8f0 #64748b #ef4444 #f97316 #f59e0b #eab308 #22c55e #14b8a6 #3b82f6 #6366f1 #8b5cf6 #a855f7 #ec4899 #f43f5e"
)
TAG_COLORS: Final[Mapping[TagColor, str]] = dict(zip(get_args(TagColor), _HEX.split(), strict=True))


def _codes(offers: tuple[MasterCode, ...]) -> frozenset[str]:
    return frozenset(offer.code for offer in offers)


def _code(column: str, length: int, example: str, *, printed: bool = False, name: str = "code") -> MasterField:
    return MasterField(name, column, CODE, length, example, required=True, printed=printed)


def _names(
    thai: str,
    english: str,
    length: int,
    examples: tuple[str, str],
    *,
    called: tuple[str, str] = ("nameTh", "nameEn"),
    both: bool = False,
) -> tuple[MasterField, MasterField]:
    """:param both: the English name is needed, too"""
    return (
        MasterField(called[0], thai, THAI_NAME, length, examples[0], required=True),
        MasterField(called[1], english, ENGLISH_NAME, length, examples[1], required=both),
    )


ORGANIZATION: Final = MasterKind(
    "organization",
    "organizations",
    "organizations",
    Text("องค์กร", "organization"),
    Text("องค์กร", "organizations"),
    Owner.INSTALLATION,
    (
        _code("organization_code", 20, "ผรม.9", printed=True, name="organizationCode"),
        *_names(
            "organization_name",
            "organization_name_en",
            255,
            ("ผู้รับเหมางานระบบไฟฟ้า", "Electrical contractor"),
            called=("organizationName", "organizationNameEn"),
        ),
        MasterField(
            "role",
            "role_id",
            Text("บทบาทปกติ", "Usual role"),
            20,
            "CONTRACTOR",
            form=FieldForm.CHOICE,
            choices=tuple(PartyRole),
            default=PartyRole.OTHER,
            reference=Reference("organization_roles", "role_name", absent=PartyRole.OTHER),
        ),
    ),
    "organization.create",
    "organization.edit",
    "organization.delete",
    has_public_id=True,
    ordered=False,
    counter=("originator_organization_id", "recipient_organization_id"),
)
PROJECT: Final = MasterKind(
    "project",
    "projects",
    "projects",
    Text("โครงการ", "project"),
    Text("โครงการ", "projects"),
    Owner.INSTALLATION,
    (
        _code("project_code", 50, "LCBP4", printed=True, name="projectCode"),
        *_names(
            "project_name",
            "project_name_en",
            255,
            ("ท่าเรือแหลมฉบัง ระยะที่ 3", "Laem Chabang Port Phase 3"),
            called=("projectName", "projectNameEn"),
        ),
    ),
    "project.create",
    "project.edit",
    "project.delete",
    has_public_id=True,
    ordered=False,
    counter=("project_id",),
)
CONTRACT: Final = MasterKind(
    "contract",
    "contracts",
    "contracts",
    Text("สัญญา", "contract"),
    Text("สัญญา", "contracts"),
    Owner.PROJECT,
    (
        _code("contract_code", 50, "LCBP3-C3", name="contractCode"),
        *_names(
            "contract_name",
            "contract_name_en",
            255,
            ("สัญญางานระบบไฟฟ้า", "Electrical works"),
            called=("contractName", "contractNameEn"),
        ),
        DESCRIPTION,
        MasterField("startDate", "start_date", Text("วันเริ่มสัญญา", "Start date"), 10, "2026-01-05", form=FieldForm.DAY),
        MasterField("endDate", "end_date", Text("วันสิ้นสุดสัญญา", "End date"), 10, "2028-12-29", form=FieldForm.DAY),
    ),
    "contract.create",
    "contract.edit",
    "contract.delete",
    has_public_id=True,
    ordered=False,
)

DISCIPLINE: Final = MasterKind(
    "discipline",
    "disciplines",
    "disciplines",
    Text("สาขางาน", "discipline"),
    Text("สาขางาน", "disciplines"),
    Owner.CONTRACT,
    (
        _code("discipline_code", 10, "ELE", printed=True),
        *_names("code_name_th", "code_name_en", 255, ("ไฟฟ้า", "Electrical"), both=True),
    ),
    *("master_data.discipline.manage",) * 3,
    counter=("discipline_id",),
)
RFA_TYPE: Final = MasterKind(
    "rfa_type",
    "rfa-types",
    "rfa_types",
    Text("ประเภท RFA", "RFA type"),
    Text("ประเภท RFA", "RFA types"),
    Owner.CONTRACT,
    (
        _code("type_code", 20, "MTR", printed=True),
        *_names("type_name_th", "type_name_en", 100, ("ขออนุมัติวัสดุ", "Material approval"), both=True),
    ),
    *("master_data.discipline.manage",) * 3,
    counter=("rfa_type_id",),
)
SUB_TYPE: Final = MasterKind(
    "sub_type",
    "sub-types",
    "correspondence_sub_types",
    Text("ประเภทย่อย", "sub type"),
    Text("ประเภทย่อย", "sub types"),
    Owner.CONTRACT,
    (
        _code("sub_type_code", 20, "BLK"),
        *_names("sub_type_name", "sub_type_name_en", 255, ("แบบขยาย", "Shop drawings")),
        MasterField(
            "number",
            "sub_type_number",
            Text("หมายเลขที่พิมพ์", "Printed number"),
            10,
            "22",
            printed=True,
        ),
        MasterField(
            "typeCode",
            "correspondence_type_id",
            Text("ประเภทเอกสาร", "Document type"),
            50,
            "TRANSMITTAL",
            default="TRANSMITTAL",
            reference=Reference("correspondence_types", "type_code"),
        ),
    ),
    *("master_data.discipline.manage",) * 3,
    within="typeCode",
    counter=("sub_type_id",),
)
CORRESPONDENCE_TYPE: Final = MasterKind(
    "correspondence_type",
    "correspondence-types",
    "correspondence_types",
    Text("ประเภทเอกสาร", "document type"),
    Text("ประเภทเอกสาร", "document types"),
    Owner.INSTALLATION,
    (
        _code("type_code", 50, "MINUTES", printed=True),
        *_names("type_name", "type_name_en", 255, ("รายงานการประชุม", "Minutes of meeting")),
    ),
    *("master_data.correspondence_type.manage",) * 3,
    written=frozenset({"LETTER", "RFA", "TRANSMITTAL", "CIRCULATION"}),
    known=_codes(shipped.CORRESPONDENCE_TYPES),
    counter=("correspondence_type_id",),
)


def _status(
    name: str,
    path: str,
    table: str,
    called: Text,
    columns: tuple[str, str, str],
    length: int,
    offers: tuple[MasterCode, ...],
) -> MasterKind:
    """:param columns: of the code and the two names; the names are as long as `length`"""
    code, thai, english = columns
    return MasterKind(
        name,
        path,
        table,
        called,
        replace(called, en=f"{called.en}es" if called.en.endswith("s") else f"{called.en}s"),
        Owner.INSTALLATION,
        (
            _code(code, 50 if name == "correspondence_status" else 20, "HOLD"),
            *_names(thai, english, length, ("พักเรื่อง", "On hold")),
        ),
        *("master_data.document_status.manage",) * 3,
        written=_codes(offers),
        known=_codes(offers),
    )


CORRESPONDENCE_STATUS: Final = _status(
    "correspondence_status",
    "correspondence-statuses",
    "correspondence_status",
    Text("สถานะเอกสาร", "document status"),
    ("status_code", "status_name", "status_name_en"),
    255,
    shipped.CORRESPONDENCE_STATUSES,
)
RFA_STATUS: Final = _status(
    "rfa_status",
    "rfa-statuses",
    "rfa_status_codes",
    Text("สถานะ RFA", "RFA status"),
    ("status_code", "status_name", "status_name_en"),
    100,
    shipped.RFA_STATUSES,
)
RFA_APPROVE_CODE: Final = _status(
    "rfa_approve_code",
    "rfa-approve-codes",
    "rfa_approve_codes",
    Text("รหัสผลการอนุมัติ", "RFA approve code"),
    ("approve_code", "approve_name", "approve_name_en"),
    100,
    shipped.RFA_APPROVE_CODES,
)
CIRCULATION_STATUS: Final = _status(
    "circulation_status",
    "circulation-statuses",
    "circulation_status_codes",
    Text("สถานะใบเวียน", "circulation status"),
    ("code", "description", "description_en"),
    50,
    shipped.CIRCULATION_STATUSES,
)
TAG: Final = MasterKind(
    "tag",
    "tags",
    "tags",
    Text("ป้ายกำกับ", "tag"),
    Text("ป้ายกำกับ", "tags"),
    Owner.PROJECT,
    (
        _code("tag_code", 50, "URGENT"),
        *_names("tag_name", "tag_name_en", 100, ("เร่งด่วน", "Urgent")),
        MasterField(
            "color",
            "color_code",
            Text("สี", "Colour"),
            30,
            "red",
            form=FieldForm.CHOICE,
            choices=tuple(TAG_COLORS),
            default="default",
        ),
        DESCRIPTION,
    ),
    *("master_data.tag.manage",) * 3,
    unique="nameTh",
)


def _category(name: str, path: str, table: str, called: Text, column: str, example: tuple[str, str, str]) -> MasterKind:
    """:param column: of the code, without `_code`"""
    return MasterKind(
        name,
        f"drawing-categories/{path}",
        table,
        called,
        replace(called, en=called.en.removesuffix("y") + "ies" if called.en.endswith("y") else called.en + "s"),
        Owner.PROJECT,
        (
            _code(f"{column}_code", 50, example[0]),
            *_names(f"{column}_name", f"{column}_name_en", 255, example[1:]),
            DESCRIPTION,
        ),
        *("master_data.drawing_category.manage",) * 3,
    )


DRAWING_CATEGORIES: Final = (
    _category(
        "contract_drawing_volume",
        "contract-volumes",
        "contract_drawing_volumes",
        Text("เล่มแบบคู่สัญญา", "contract drawing volume"),
        "volume",
        ("VOL-1", "เล่มที่ 1 งานทั่วไป", "Volume 1: general"),
    ),
    _category(
        "contract_drawing_category",
        "contract-categories",
        "contract_drawing_cats",
        Text("หมวดแบบคู่สัญญา", "contract drawing category"),
        "cat",
        ("ST", "งานโครงสร้าง", "Structural works"),
    ),
    _category(
        "contract_drawing_sub_category",
        "contract-sub-categories",
        "contract_drawing_sub_cats",
        Text("หมวดย่อยแบบคู่สัญญา", "contract drawing sub category"),
        "sub_cat",
        ("ST-PILE", "งานเสาเข็ม", "Piling"),
    ),
    _category(
        "shop_drawing_main_category",
        "shop-main-categories",
        "shop_drawing_main_categories",
        Text("หมวดหลักแบบขยาย", "shop drawing main category"),
        "main_category",
        ("TER", "ท่าเทียบเรือ", "Terminal"),
    ),
    _category(
        "shop_drawing_sub_category",
        "shop-sub-categories",
        "shop_drawing_sub_categories",
        Text("หมวดย่อยแบบขยาย", "shop drawing sub category"),
        "sub_category",
        ("TER-BEAM", "คานท่าเทียบเรือ", "Quay beams"),
    ),
)
KINDS: Final[tuple[MasterKind, ...]] = (
    *(ORGANIZATION, PROJECT, CONTRACT),
    *(DISCIPLINE, RFA_TYPE, SUB_TYPE),
    *(CORRESPONDENCE_TYPE, CORRESPONDENCE_STATUS, RFA_STATUS, RFA_APPROVE_CODE, CIRCULATION_STATUS),
    *(TAG, *DRAWING_CATEGORIES),
)
# The lists of a project file whose order counts, by their keys there; the first three are those of each contract.
FILE_LISTS: Final[Mapping[str, MasterKind]] = {
    "disciplines": DISCIPLINE,
    "rfaTypes": RFA_TYPE,
    "subTypes": SUB_TYPE,
    "tags": TAG,
    "contractDrawingVolumes": DRAWING_CATEGORIES[0],
    "contractDrawingCategories": DRAWING_CATEGORIES[1],
    "contractDrawingSubCategories": DRAWING_CATEGORIES[2],
    "shopDrawingMainCategories": DRAWING_CATEGORIES[3],
    "shopDrawingSubCategories": DRAWING_CATEGORIES[4],
}
