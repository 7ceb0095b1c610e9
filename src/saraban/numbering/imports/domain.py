"""
A line of a register that was kept before Saraban: its columns, and what can be said of it without asking anybody.

Text in, faults out. Which codes exist and which numbers are taken is asked by the floors above.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from saraban.imports.domain import SheetColumn, cell_faults, cell_text, row_problem
from saraban.kit.dates import read_date
from saraban.kit.errors import DomainError, FieldProblem, Invalid, Text
from saraban.numbering.series.domain.counter import LARGEST_STATED, ad_year
from saraban.numbering.series.domain.template import LONGEST_NUMBER, Template


def _column(key: str, th: str, en: str, about_th: str, about_en: str, *, longest: int = 50) -> SheetColumn:
    return SheetColumn(key, Text(th, en), longest, key in {"number", "type", "originator"}, Text(about_th, about_en))


COLUMNS = (
    _column(
        "number",
        "เลขที่เอกสาร",
        "Document number",
        "เลขที่ตามที่พิมพ์บนเอกสารเดิม",
        "The number as printed on the existing document.",
        longest=LONGEST_NUMBER,
    ),
    _column("type", "ประเภท", "Type", "รหัสประเภทเอกสาร เช่น LETTER, RFA", "Document type code: LETTER, RFA, …"),
    _column("originator", "ผู้ส่ง", "Originator", "รหัสองค์กรผู้ออกเอกสาร", "Originator code."),
    _column("recipient", "ผู้รับ", "Recipient", "รหัสองค์กรผู้รับหลัก", "Main recipient code."),
    _column("contract", "สัญญา", "Contract", "รหัสสัญญา", "Contract code."),
    _column("subType", "ประเภทย่อย", "Sub type", "รหัสประเภทย่อย", "Sub type code."),
    _column("rfaType", "ประเภท RFA", "RFA type", "รหัสประเภท RFA", "RFA type code."),
    _column("discipline", "สาขางาน", "Discipline", "รหัสสาขางาน", "Discipline code."),
    _column("category", "หมวดแบบ", "Category", "หมวดของแบบก่อสร้าง", "Drawing category."),
    _column("revision", "ฉบับแก้ไข", "Revision", "A ถ้าเว้นว่าง", "A if empty."),
    _column(
        "issued",
        "วันที่ออก",
        "Issued on",
        "เช่น 31/05/2567 ใช้หาปีและเดือนในเลขที่",
        "Such as 2024-05-31; decides the year and month that the number prints.",
    ),
    _column("year", "ปี", "Year", "พ.ศ. หรือ ค.ศ. ถ้าไม่มีวันที่", "B.E. or A.D., if there is no date."),
    _column(
        "sequence",
        "ลำดับ",
        "Sequence",
        "กรอกเมื่อเลขที่ไม่ตรงกับรูปแบบปัจจุบัน: เลขลำดับที่อยู่ในเลขที่",
        "Only if the number does not follow the current format: the sequence within the number.",
    ),
)
COLUMN_KEYS = tuple(column.key for column in COLUMNS)
_RUN = re.compile(r"[0-9]+")


class RowCodes(NamedTuple):
    """What a line has in common with many others; all that decides which series it belongs to."""

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
    """A line that is well formed. `year` is A.D."""

    number: str
    codes: RowCodes
    issued: date | None
    year: int | None
    sequence: int | None


def parse_row(cells: Sequence[object]) -> LegacyRow | list[FieldProblem]:
    """
    Read a line.

    :param cells: in the order of `COLUMNS`, as a sheet has them: texts, figures, dates, None
    :returns: the line, or everything that is wrong with it
    """
    padded: list[object] = [*cells[: len(COLUMNS)]]
    padded += [None] * (len(COLUMNS) - len(padded))
    head, *rest = padded
    number = cell_text(head)
    # A register repeats itself: what stands beside the number is looked at once for many lines.
    found = _beside(tuple(rest), tuple(map(type, rest)))
    faults = cell_faults(COLUMNS[0], number)
    if isinstance(found, tuple) and not faults:
        return LegacyRow(number, *found)
    return faults + (found if isinstance(found, list) else [])


@lru_cache(maxsize=4096)
def _beside(
    cells: tuple[object, ...],
    _types: tuple[type, ...],  # 1, 1.0 and TRUE are equal, and three things in a sheet
) -> tuple[RowCodes, date | None, int | None, int | None] | list[FieldProblem]:
    texts = [cell_text(cell) for cell in cells]
    faults = [one for column, text in zip(COLUMNS[1:], texts, strict=True) for one in cell_faults(column, text)]
    if faults:
        return faults
    issued, year, sequence = _date(texts[9], faults), _year(texts[10], faults), _sequence(texts[11], faults)
    return faults or (RowCodes(*texts[:9]), issued, year, sequence)


def _date(text: str, faults: list[FieldProblem]) -> date | None:
    if not text:
        return None
    try:
        return read_date(text)
    except Invalid as fault:
        (problem,) = fault.fields
        faults.append(row_problem("issued", problem.code, problem.text.th, problem.text.en))
        return None


def _year(text: str, faults: list[FieldProblem]) -> int | None:
    if not text:
        return None
    try:
        return ad_year(int(text))
    except (ValueError, DomainError):
        faults.append(row_problem("year", "out_of_range", "ปีไม่ถูกต้อง", "The year is not valid."))
        return None


def _sequence(text: str, faults: list[FieldProblem]) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_STATED)) and int(text) >= 1):
        faults.append(
            row_problem(
                "sequence", "malformed", "ลำดับต้องเป็นจำนวนเต็มตั้งแต่ 1", "The sequence must be a whole number from 1."
            )
        )
        return None
    return int(text)


def literal_template(number: str, sequence: int) -> Template | None:
    """
    Return the format that prints exactly this number: all of it literal but the last figure that is the sequence.

    :returns: None where no figure of the number is the sequence
    :raises TemplateInvalid: for a character that cannot stand in a number
    """
    runs = [run for run in _RUN.finditer(number) if len(run[0]) <= 9 and int(run[0]) == sequence]
    if not runs:
        return None
    start, end = runs[-1].span()
    return Template.parse(f"{number[:start]}{{SEQ:{end - start}}}{number[end:]}", drawing=True, pointer="/number")
