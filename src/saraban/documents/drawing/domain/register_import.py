"""Columns and rules of drawing register files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from saraban.documents.drawing.domain import DrawingKind
from saraban.imports.domain import READY, REFUSED, THERE
from saraban.kit.errors import DomainError, FieldProblem, Text
from saraban.kit.sheet_columns import CellKind, SheetColumn
from saraban.kit.text import normal_form
from saraban.projects.domain.revision_scheme import RevisionScheme

# fmt: off
_TITLES: Final = ("Title", "Drawing Title", "Document Title", "Doc Title", "Sheet Title", "Sheet Name", "Drawing Name", "ชื่อแบบ")
_NUMBER: Final = SheetColumn("drawing_number", Text("เลขที่แบบ", "Drawing number"),
    Text("ตามที่พิมพ์บนแบบ", "As printed on the sheet."), 100, is_required=True, example="A-101",
    synonyms=("Drawing No", "Dwg No", "Drawing", "Document No", "Document Number", "Doc No", "Sheet No", "Sheet Number",
        "หมายเลขแบบ", "เลขแบบ", "แบบเลขที่", "เลขที่แบบก่อสร้าง", "Number"))
_TITLE: Final = SheetColumn("title", Text("ชื่อแบบ", "Title"), Text("ชื่อแบบภาษาไทย", "The Thai title."), is_required=True,
    synonyms=(*_TITLES, "รายการแบบ", "ชื่อแบบก่อสร้าง", *(f"{title} {language}"
        for language in ("Thai", "TH", "ไทย", "ภาษาไทย", "English", "EN", "อังกฤษ") for title in _TITLES), "รายการ", "Description"),
    example="ตัวอย่าง: แปลนชั้น 1")
_SUB: Final = SheetColumn("sub_category", Text("หมวดย่อย", "Sub category"), Text("รหัสหมวดย่อย", "Code of the sub category."), 50,
    synonyms=("Subcategory",))
_REVISIONS: Final = (
    SheetColumn("revision", Text("ฉบับแก้ไข", "Revision"), Text("เว้นว่างคือฉบับแรก", "The first one if empty."), 10, example="0",
        synonyms=("Rev", "Rev No", "Revision No", "Revision Number", "Current Revision", "แก้ไขครั้งที่", "ครั้งที่แก้ไข", "ครั้งที่", "เลขที่แก้ไข")),
    SheetColumn("revision_date", Text("วันที่แบบ", "Revision date"),
        Text("เช่น 31/12/2569 หรือ 2026-12-31", "As 31/12/2026 or 2026-12-31."), kind=CellKind.DAY, example="2026-12-31",
        synonyms=("Rev Date", "Current Revision Date", "Drawing Date", "Issue Date", "Issuance Date", "วันที่แก้ไข", "ลงวันที่", "Date", "วันที่")),
)
_OPTIONAL: Final = (
    SheetColumn("contract", Text("สัญญา", "Contract"), Text("รหัสสัญญา", "Code of the contract."), 50,
        synonyms=("Contract No", "เลขที่สัญญา")),
    SheetColumn("originator", Text("ผู้จัดทำ", "Originator"),
        Text("รหัสหน่วยงานผู้จัดทำแบบ", "Code of the organization that drew it."), 50),
    SheetColumn("discipline", Text("สาขางาน", "Discipline"), Text("รหัสสาขางาน", "Code of the discipline."), 50,
        synonyms=("Trade", "สาขา")),
    SheetColumn("scale", Text("มาตราส่วน", "Scale"), Text("เช่น 1:100", "As 1:100."), 50),
    SheetColumn("sheet_size", Text("ขนาดกระดาษ", "Sheet size"), Text("เช่น A1", "As A1."), 20, synonyms=("Paper size", "Size")),
    SheetColumn("title_en", Text("ชื่อแบบภาษาอังกฤษ", "Title in English"), Text("ถ้ามี", "If there is one."),
        synonyms=("English title", *(f"{title} {english}" for title in _TITLES for english in ("English", "EN", "อังกฤษ")))),
    SheetColumn("zone", Text("โซน", "Zone"), Text("เช่น โซน 2", "As Zone 2."), 100, synonyms=("Area", "พื้นที่")),
    SheetColumn("status_code", Text("รหัสสถานะ", "Status code"),
        Text("รหัสสถานะการใช้งานแบบ เช่น S2", "Suitability code, as S2."), 20, synonyms=("Suitability", "Suitability code")),
    SheetColumn("legacy_number", Text("เลขที่แบบเดิม", "Former number"),
        Text("เลขที่บนแบบฉบับเก่า", "The number on an older sheet."), 100,
        synonyms=("Old number", "Old drawing number", "Previous number", "เลขที่เดิม")),
)
_CONTRACT: Final = (
    _NUMBER, _TITLE,
    SheetColumn("volume", Text("เล่ม", "Volume"), Text("รหัสเล่ม", "Code of the volume."), 50),
    SheetColumn("page", Text("หน้า", "Page"), Text("หน้าในเล่ม", "Page in the volume."), 10, kind=CellKind.NUMBER),
    SheetColumn("category", Text("หมวด", "Category"), Text("รหัสหมวด", "Code of the category."), 50),
    _SUB, *_OPTIONAL, *_REVISIONS,
)
_SHOP: Final = (
    _NUMBER,
    SheetColumn("main_category", Text("หมวดหลัก", "Main category"), Text("รหัสหมวดหลัก", "Code of the main category."), 50),
    _SUB, *_REVISIONS, _TITLE, *_OPTIONAL,
)
# fmt: on


def columns_of(kind: DrawingKind) -> tuple[SheetColumn, ...]:
    return _CONTRACT if kind.whole else _SHOP


@dataclass(frozen=True, slots=True)
class RevisionEntry:
    """
    :param line: row number in the file; 0 for a registered revision
    :param more: optional columns; None for an empty cell
    """

    label: str
    title: str
    date: date | None
    line: int = 0
    more: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedEntry:
    entry: RevisionEntry
    state: str
    faults: tuple[FieldProblem, ...] = ()


_DIFFERS: Final = Text(
    "ทะเบียนมีฉบับแก้ไข {label} ของแบบนี้แล้ว เป็น “{value}”", "The register has revision {label} of this drawing as “{value}”."
)
LISTS: Final = ("volume", "category", "sub_category")
_KEPT: Final = Text(
    "ทะเบียนเป็น “{value}” และคงไว้ตามเดิม แก้ได้ด้วยปุ่มจัดหมวดในหน้าแบบ",
    "The register has “{value}”, which stays: Classify on the page of the drawing changes it.",
)
_DISAGREE: Final = Text("แถวของแบบใหม่เลขที่นี้ระบุไม่ตรงกัน: {values}", "The rows of this new drawing do not agree: {values}.")
_TWICE: Final = Text("แถว {line} มีเลขที่และฉบับแก้ไขเดียวกัน", "Row {line} has the same number and revision.")
_NO_ADDENDA: Final = Text(
    "โครงการนี้ไม่รับฉบับแก้ไขของแบบคู่สัญญา", "The contract drawings of this project take no addenda as revisions."
)


@dataclass(slots=True)
class MissingCodes:
    codes: dict[str, dict[str, None]] = field(default_factory=lambda: {name: {} for name in LISTS})
    pairs: dict[tuple[str, str], None] = field(default_factory=dict)

    def report(self) -> dict[str, object]:
        return {
            "volumes": list(self.codes["volume"]),
            "categories": list(self.codes["category"]),
            "subCategories": list(self.codes["sub_category"]),
            "pairs": [list(pair) for pair in self.pairs],
        }


def judge_agreement(
    stated: Mapping[str, Sequence[str | None]],
) -> tuple[Mapping[str, str], list[FieldProblem]]:
    """Return the code of each column of a new drawing, and faults of columns with several codes."""
    codes_by_column = {name: list(dict.fromkeys(filter(None, cells))) for name, cells in stated.items()}
    faults = [
        FieldProblem(f"/{name}", "disagree", _DISAGREE, {"values": ", ".join(codes)})
        for name, codes in codes_by_column.items()
        if len(codes) > 1
    ]
    return {name: codes[0] for name, codes in codes_by_column.items() if codes}, faults


def registered_differences(registered: Mapping[str, object], stated: Mapping[str, object]) -> list[FieldProblem]:
    """:param stated: cells by column; None for an empty cell"""
    return [
        FieldProblem(f"/{name}", "differs", _KEPT, {"value": was or "-"})
        for name, was in registered.items()
        if stated[name] is not None and normal_form(str(stated[name])) != normal_form(str(was))
    ]


def judge_history(
    scheme: RevisionScheme, there: Sequence[RevisionEntry], stated: Sequence[RevisionEntry], *, takes_more: bool = True
) -> list[JudgedEntry]:
    """
    Judge lines in the order of the revision scheme.

    :param takes_more: the register accepts revisions after the first
    """
    registered: Mapping[str, RevisionEntry] = {entry.label: entry for entry in there}
    newest = scheme.latest(registered)
    lines: dict[str, int] = {}
    judged = []
    for entry in sorted(stated, key=lambda entry: (scheme.place(entry.label) or (-1, 0), entry.line)):
        faults = _entry_faults(scheme, registered, entry, newest=newest, takes_more=takes_more)
        first_line = lines.setdefault(entry.label, entry.line)
        if first_line != entry.line:
            faults = [FieldProblem("/revision", "twice", _TWICE, {"line": first_line})]
        if faults:
            judged.append(JudgedEntry(entry, REFUSED, tuple(faults)))
        elif entry.label in registered:
            judged.append(JudgedEntry(entry, THERE))
        else:
            judged.append(JudgedEntry(entry, READY))
            newest = entry.label
    return judged


def _entry_faults(
    scheme: RevisionScheme,
    registered: Mapping[str, RevisionEntry],
    entry: RevisionEntry,
    *,
    newest: str | None,
    takes_more: bool,
) -> list[FieldProblem]:
    if (same := registered.get(entry.label)) is not None:
        optional = {name: (same.more[name], text) for name, text in entry.more.items() if text is not None}
        pairs = {"title": (same.title, entry.title), "revision_date": (same.date, entry.date), **optional}
        return [
            FieldProblem(f"/{name}", "differs", _DIFFERS, {"label": entry.label, "value": before or "-"})
            for name, (before, after) in pairs.items()
            if before != after
        ]
    if (registered or newest is not None) and not takes_more:
        return [FieldProblem("/revision", "no_addenda", _NO_ADDENDA)]
    try:
        scheme.require_next(entry.label, after=newest, pointer="/revision")
    except DomainError as refused:
        return list(refused.fields)
    return []
