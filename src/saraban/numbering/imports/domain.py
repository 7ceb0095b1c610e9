"""Columns and rows of a legacy register."""

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from saraban.imports.domain import row_problem
from saraban.kit.errors import DomainError, FieldProblem, Text
from saraban.kit.sheet_columns import CellKind, SheetColumn, SheetRow
from saraban.numbering.series.domain.counter import LARGEST_STATED, ad_year
from saraban.numbering.series.domain.template import LONGEST_NUMBER, Template

# fmt: off
COLUMNS: Final = (
    SheetColumn("number", Text("เลขที่เอกสาร", "Document number"),
        Text("เลขที่ตามที่พิมพ์บนเอกสารเดิม", "The number as printed on the existing document."), LONGEST_NUMBER, is_required=True,
        synonyms=("Document No", "Doc No", "Letter No", "Reference No", "Number", "Mail No", "เลขที่", "เลขที่หนังสือ", "ที่"),
        example="ผรม.1-คคง.-0001-2567"),
    SheetColumn("type", Text("ประเภท", "Type"), Text("รหัสประเภทเอกสาร เช่น LETTER, RFA", "Document type code: LETTER, RFA, …"),
        50, is_required=True, synonyms=("Document Type", "Mail Type", "ประเภทเอกสาร", "ชนิด", "ชนิดเอกสาร"), example="LETTER"),
    SheetColumn("originator", Text("ผู้ส่ง", "Originator"), Text("รหัสองค์กรผู้ออกเอกสาร", "Originator code."), 50, is_required=True,
        synonyms=("From", "Sender", "จาก", "ผู้ออก"), example="ผรม.1"),
    SheetColumn("recipient", Text("ผู้รับ", "Recipient"), Text("รหัสองค์กรผู้รับหลัก", "Main recipient code."), 50,
        synonyms=("To", "ถึง", "เรียน")),
    SheetColumn("contract", Text("สัญญา", "Contract"), Text("รหัสสัญญา", "Contract code."), 50,
        synonyms=("Contract No", "เลขที่สัญญา")),
    SheetColumn("subType", Text("ประเภทย่อย", "Sub type"), Text("รหัสประเภทย่อย", "Sub type code."), 50),
    SheetColumn("rfaType", Text("ประเภท RFA", "RFA type"), Text("รหัสประเภท RFA", "RFA type code."), 50),
    SheetColumn("discipline", Text("สาขางาน", "Discipline"), Text("รหัสสาขางาน", "Discipline code."), 50, synonyms=("สาขา",)),
    SheetColumn("category", Text("หมวดแบบ", "Category"), Text("หมวดของแบบก่อสร้าง", "Drawing category."), 50),
    SheetColumn("revision", Text("ฉบับแก้ไข", "Revision"), Text("A ถ้าเว้นว่าง", "A if empty."), 50,
        synonyms=("Rev", "แก้ไขครั้งที่")),
    SheetColumn("issued", Text("วันที่ออก", "Issued on"), Text("เช่น 31/05/2567 ใช้หาปีและเดือนในเลขที่",
        "Such as 31/05/2024; decides the year and month that the number prints."), 50, kind=CellKind.DAY,
        synonyms=("Date", "Issue Date", "Document Date", "Date Sent", "วันที่", "ลงวันที่", "วันที่เอกสาร")),
    SheetColumn("year", Text("ปี", "Year"), Text("พ.ศ. หรือ ค.ศ. ถ้าไม่มีวันที่", "B.E. or A.D., if there is no date."), 50,
        kind=CellKind.NUMBER),
    SheetColumn("sequence", Text("เลขลำดับ", "Sequence"), Text("กรอกเมื่อเลขที่ไม่ตรงกับรูปแบบปัจจุบัน: เลขลำดับที่อยู่ในเลขที่",
        "Only if the number does not follow the current format: the sequence within the number."), 50, kind=CellKind.NUMBER),
)
# fmt: on
COLUMN_KEYS = tuple(column.key for column in COLUMNS)
_RUN = re.compile(r"[0-9]+")


class RowCodes(NamedTuple):
    """Shared by many rows; decides the series."""

    type: str
    originator: str
    recipient: str
    contract: str
    sub_type: str
    rfa_type: str
    discipline: str
    category: str
    revision: str


@dataclass(frozen=True, slots=True)
class LegacyRow:
    """`year` is A.D."""

    number: str
    codes: RowCodes
    issued: date | None
    year: int | None
    sequence: int | None


def parse_row(row: SheetRow) -> LegacyRow | list[FieldProblem]:
    texts = {fault.pointer[1:]: "" for fault in row.faults}
    cells = {**dict.fromkeys(COLUMN_KEYS, ""), **row.cells, **texts}
    # Rows of a register repeat the other cells, so their result is cached.
    result = _parse_other_cells(tuple(cells[key] for key in COLUMN_KEYS[1:]))
    if isinstance(result, tuple) and not row.faults:
        return LegacyRow(cells["number"], *result)
    return [*row.faults, *(result if isinstance(result, list) else [])]


@lru_cache(maxsize=4096)
def _parse_other_cells(
    texts: tuple[str, ...],
) -> tuple[RowCodes, date | None, int | None, int | None] | list[FieldProblem]:
    issued, year, sequence = texts[9:]
    faults: list[FieldProblem] = []
    ad = None
    try:
        ad = ad_year(int(year)) if year else None
    except (ValueError, DomainError):
        faults.append(row_problem("year", "out_of_range", "ปีไม่ถูกต้อง", "The year is not valid."))
    is_number = sequence.isascii() and sequence.isdigit() and len(sequence) <= len(str(LARGEST_STATED))
    if sequence and not (is_number and int(sequence)):
        th, en = "ลำดับต้องเป็นจำนวนเต็มตั้งแต่ 1", "The sequence must be a whole number from 1."
        faults.append(row_problem("sequence", "malformed", th, en))
    day = date.fromisoformat(issued) if issued else None
    return faults or (RowCodes(*texts[:9]), day, ad, int(sequence) if sequence else None)


def literal_template(number: str, sequence: int) -> Template | None:
    """
    Make the last figure that equals the sequence `{SEQ}`, all else literal; None without such a figure.

    :raises TemplateInvalid: for a character that a number cannot contain
    """
    matches = [match for match in _RUN.finditer(number) if len(match[0]) <= 9 and int(match[0]) == sequence]
    if not matches:
        return None
    start, end = matches[-1].span()
    return Template.parse(f"{number[:start]}{{SEQ:{end - start}}}{number[end:]}", drawing=True, pointer="/number")
