"""The kinds of master data: their names, tables, fields and permissions. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, get_args

from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.errors import Text
from saraban.projects.domain import master_data as shipped
from saraban.projects.domain.master_data import MasterCode, RfaItemsRule


class Owner(StrEnum):
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
    """:param absent: value for a row without a reference"""

    table: str
    code: str
    absent: str | None = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """A table of pairs; the field contains the codes of the other list, separated by commas."""

    table: str
    own: str
    other: str
    list: str
    code: str


@dataclass(frozen=True, slots=True)
class MasterField:
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
    pairs: Pairs | None = None


@dataclass(frozen=True, slots=True)
class MasterKind:
    """
    :param fields: the first field is the code
    :param within: field that distinguishes rows with the same code
    :param unique: further field whose values are unique within an owner
    :param create: permission; `change` covers reordering, and `close` covers reopening
    :param written: codes that the product writes; rows with them cannot be closed
    :param known: codes that the product refers to; they cannot be renamed
    :param counter: columns of number counters that refer to its rows
    :param called: name of the list, unless it is the plural of `singular`
    """

    name: str
    path: str
    table: str
    singular: Text
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
    called: Text | None = None

    @property
    def plural(self) -> Text:
        if self.called is not None:
            return self.called
        noun = self.singular.en
        return Text(
            self.singular.th, f"{noun[:-1]}ies" if noun[-1] == "y" else f"{noun}es" if noun[-1] == "s" else f"{noun}s"
        )

    @property
    def code(self) -> MasterField:
        return self.fields[0]

    def field(self, name: str) -> MasterField:
        return next(field for field in self.fields if field.name == name)

    @property
    def owner_column(self) -> str | None:
        return None if self.owner is Owner.INSTALLATION else f"{self.owner.value}_id"

    @property
    def printed(self) -> tuple[MasterField, ...]:
        return tuple(field for field in self.fields if field.printed)


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


def _code_and_names(
    code: tuple[str, int],
    name: tuple[str, int],
    examples: tuple[str, str, str],
    *,
    entity: str = "",
    english: str = "",
    printed: bool = False,
    both: bool = False,
) -> tuple[MasterField, MasterField, MasterField]:
    """
    :param english: column of the English name, if it is not the Thai column with `_en`
    :param both: whether the English name is required
    """
    names = (f"{entity}Code", f"{entity}Name", f"{entity}NameEn") if entity else ("code", "nameTh", "nameEn")
    return (
        MasterField(names[0], code[0], CODE, code[1], examples[0], required=True, printed=printed),
        MasterField(names[1], name[0], THAI_NAME, name[1], examples[1], required=True),
        MasterField(names[2], english or f"{name[0]}_en", ENGLISH_NAME, name[1], examples[2], required=both),
    )


ORGANIZATION: Final = MasterKind(
    *("organization", "organizations", "organizations"),
    Text("องค์กร", "organization"),
    Owner.INSTALLATION,
    (
        *_code_and_names(
            ("organization_code", 20),
            ("organization_name", 255),
            ("ผรม.9", "ผู้รับเหมางานระบบไฟฟ้า", "Electrical contractor"),
            entity="organization",
            printed=True,
        ),
        MasterField(
            *("role", "role_id", Text("บทบาทปกติ", "Usual role"), 20, "CONTRACTOR"),
            form=FieldForm.CHOICE,
            choices=tuple(PartyRole),
            default=PartyRole.OTHER,
            reference=Reference("organization_roles", "role_name", absent=PartyRole.OTHER),
        ),
    ),
    *("organization.create", "organization.edit", "organization.delete"),
    has_public_id=True,
    ordered=False,
    counter=("originator_organization_id", "recipient_organization_id"),
)
PROJECT: Final = MasterKind(
    *("project", "projects", "projects"),
    Text("โครงการ", "project"),
    Owner.INSTALLATION,
    (
        *_code_and_names(
            ("project_code", 50),
            ("project_name", 255),
            ("LCBP4", "ท่าเรือแหลมฉบัง ระยะที่ 3", "Laem Chabang Port Phase 3"),
            entity="project",
            printed=True,
        ),
        MasterField("fileKinds", "file_kinds", Text("ชนิดไฟล์ที่รับ", "File kinds"), 255, "pdf, dwg, xlsx"),
    ),
    *("project.create", "project.edit", "project.delete"),
    has_public_id=True,
    ordered=False,
    counter=("project_id",),
)
CONTRACT: Final = MasterKind(
    *("contract", "contracts", "contracts"),
    Text("สัญญา", "contract"),
    Owner.PROJECT,
    (
        *_code_and_names(
            ("contract_code", 50),
            ("contract_name", 255),
            ("LCBP3-C3", "สัญญางานระบบไฟฟ้า", "Electrical works"),
            entity="contract",
        ),
        DESCRIPTION,
        MasterField("startDate", "start_date", Text("วันเริ่มสัญญา", "Start date"), 10, "2026-01-05", form=FieldForm.DAY),
        MasterField("endDate", "end_date", Text("วันสิ้นสุดสัญญา", "End date"), 10, "2028-12-29", form=FieldForm.DAY),
    ),
    *("contract.create", "contract.edit", "contract.delete"),
    has_public_id=True,
    ordered=False,
)

DISCIPLINE: Final = MasterKind(
    *("discipline", "disciplines", "disciplines"),
    Text("สาขางาน", "discipline"),
    Owner.CONTRACT,
    _code_and_names(
        ("discipline_code", 10),
        ("code_name_th", 255),
        ("ELE", "ไฟฟ้า", "Electrical"),
        english="code_name_en",
        printed=True,
        both=True,
    ),
    *("master_data.discipline.manage",) * 3,
    counter=("discipline_id",),
)
RFA_TYPE: Final = MasterKind(
    *("rfa_type", "rfa-types", "rfa_types"),
    Text("ประเภท RFA", "RFA type"),
    Owner.CONTRACT,
    (
        *_code_and_names(
            ("type_code", 20),
            ("type_name_th", 100),
            ("MTR", "ขออนุมัติวัสดุ", "Material approval"),
            english="type_name_en",
            printed=True,
            both=True,
        ),
        MasterField(
            *("items", "items", Text("รายการแบบและเอกสาร", "Drawings and documents"), 10, "optional"),
            form=FieldForm.CHOICE,
            choices=get_args(RfaItemsRule),
            default="optional",
        ),
    ),
    *("master_data.discipline.manage",) * 3,
    counter=("rfa_type_id",),
)
SUB_TYPE: Final = MasterKind(
    *("sub_type", "sub-types", "correspondence_sub_types"),
    Text("ประเภทย่อย", "sub type"),
    Owner.CONTRACT,
    (
        *_code_and_names(("sub_type_code", 20), ("sub_type_name", 255), ("BLK", "แบบขยาย", "Shop drawings")),
        MasterField("number", "sub_type_number", Text("หมายเลขที่พิมพ์", "Printed number"), 10, "22", printed=True),
        MasterField(
            *("typeCode", "correspondence_type_id", Text("ประเภทเอกสาร", "Document type"), 50, "TRANSMITTAL"),
            default="TRANSMITTAL",
            reference=Reference("correspondence_types", "type_code"),
        ),
    ),
    *("master_data.discipline.manage",) * 3,
    within="typeCode",
    counter=("sub_type_id",),
)
CORRESPONDENCE_TYPE: Final = MasterKind(
    *("correspondence_type", "correspondence-types", "correspondence_types"),
    Text("ประเภทเอกสาร", "document type"),
    Owner.INSTALLATION,
    _code_and_names(
        ("type_code", 50), ("type_name", 255), ("MINUTES", "รายงานการประชุม", "Minutes of meeting"), printed=True
    ),
    *("master_data.correspondence_type.manage",) * 3,
    written=frozenset({"LETTER", "RFA", "TRANSMITTAL", "CIRCULATION"}),
    known=_codes(shipped.CORRESPONDENCE_TYPES),
    counter=("correspondence_type_id",),
)


def _status_kind(
    names: tuple[str, str, str],
    singular: Text,
    code: tuple[str, int],
    name: tuple[str, int],
    offers: tuple[MasterCode, ...],
) -> MasterKind:
    return MasterKind(
        *names,
        singular,
        Owner.INSTALLATION,
        _code_and_names(code, name, ("HOLD", "พักเรื่อง", "On hold")),
        *("master_data.document_status.manage",) * 3,
        written=_codes(offers),
        known=_codes(offers),
    )


CORRESPONDENCE_STATUS: Final = _status_kind(
    ("correspondence_status", "correspondence-statuses", "correspondence_status"),
    Text("สถานะเอกสาร", "document status"),
    ("status_code", 50),
    ("status_name", 255),
    shipped.CORRESPONDENCE_STATUSES,
)
RFA_STATUS: Final = _status_kind(
    ("rfa_status", "rfa-statuses", "rfa_status_codes"),
    Text("สถานะ RFA", "RFA status"),
    ("status_code", 20),
    ("status_name", 100),
    shipped.RFA_STATUSES,
)
RFA_APPROVE_CODE: Final = _status_kind(
    ("rfa_approve_code", "rfa-approve-codes", "rfa_approve_codes"),
    Text("รหัสผลการอนุมัติ", "RFA approve code"),
    ("approve_code", 20),
    ("approve_name", 100),
    shipped.RFA_APPROVE_CODES,
)
CIRCULATION_STATUS: Final = _status_kind(
    ("circulation_status", "circulation-statuses", "circulation_status_codes"),
    Text("สถานะใบเวียน", "circulation status"),
    ("code", 20),
    ("description", 50),
    shipped.CIRCULATION_STATUSES,
)
TAG: Final = MasterKind(
    *("tag", "tags", "tags"),
    Text("ป้ายกำกับ", "tag"),
    Owner.PROJECT,
    (
        *_code_and_names(("tag_code", 50), ("tag_name", 100), ("URGENT", "เร่งด่วน", "Urgent")),
        MasterField(
            *("color", "color_code", Text("สี", "Colour"), 30, "red"),
            form=FieldForm.CHOICE,
            choices=tuple(TAG_COLORS),
            default="default",
        ),
        DESCRIPTION,
    ),
    *("master_data.tag.manage",) * 3,
    unique="nameTh",
)


def _drawing_category(
    names: tuple[str, str, str], singular: Text, column: str, examples: tuple[str, str, str], *extra_fields: MasterField
) -> MasterKind:
    name, path, table = names
    return MasterKind(
        *(name, f"drawing-categories/{path}", table),
        singular,
        Owner.PROJECT,
        (*_code_and_names((f"{column}_code", 50), (f"{column}_name", 255), examples), DESCRIPTION, *extra_fields),
        *("master_data.drawing_category.manage",) * 3,
    )


DRAWING_CATEGORIES: Final = (
    _drawing_category(
        ("contract_drawing_volume", "contract-volumes", "contract_drawing_volumes"),
        Text("เล่มแบบคู่สัญญา", "contract drawing volume"),
        "volume",
        ("VOL-1", "เล่มที่ 1 งานทั่วไป", "Volume 1: general"),
    ),
    _drawing_category(
        ("contract_drawing_category", "contract-categories", "contract_drawing_cats"),
        Text("หมวดแบบคู่สัญญา", "contract drawing category"),
        "cat",
        ("ST", "งานโครงสร้าง", "Structural works"),
    ),
    _drawing_category(
        ("contract_drawing_sub_category", "contract-sub-categories", "contract_drawing_sub_cats"),
        Text("หมวดย่อยแบบคู่สัญญา", "contract drawing sub category"),
        "sub_cat",
        ("ST-PILE", "งานเสาเข็ม", "Piling"),
        MasterField(
            *("categories", "", Text("หมวดที่สังกัด (รหัส คั่นด้วยจุลภาค)", "Categories (codes, commas between)"), 1000, ""),
            pairs=Pairs(
                "contract_drawing_subcat_cat_maps", "sub_cat_id", "cat_id", "contract_drawing_cats", "cat_code"
            ),
        ),
    ),
    _drawing_category(
        ("shop_drawing_main_category", "shop-main-categories", "shop_drawing_main_categories"),
        Text("หมวดหลักแบบขยาย", "shop drawing main category"),
        "main_category",
        ("TER", "ท่าเทียบเรือ", "Terminal"),
    ),
    _drawing_category(
        ("shop_drawing_sub_category", "shop-sub-categories", "shop_drawing_sub_categories"),
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
# The lists of a project file whose order matters; the first three belong to contracts.
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
