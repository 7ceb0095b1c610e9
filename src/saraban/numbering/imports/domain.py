"""
A line of a register that was kept before Saraban: its columns, and what can be said of it without asking anybody.

Text in, faults out. Which codes exist and which numbers are taken is asked by the floors above.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import NamedTuple

from saraban.kit.errors import REQUIRED, DomainError, ErrorKind, FieldProblem, Text
from saraban.kit.text import control_character, fold
from saraban.numbering.series.domain.counter import LARGEST_STATED, ad_year
from saraban.numbering.series.domain.template import LONGEST_NUMBER, Template


class ImportNotChecked(DomainError):
    """Numbers are imported after the dry run, once: before it, or after it was told to go on, there is nothing to say."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_IMPORT_NOT_CHECKED"
    says = Text("ไฟล์นี้ยังตรวจไม่เสร็จ หรือสั่งนำเข้าไปแล้ว", "This file is not checked yet, or its import has already started.")
    recovery = (Text("เปิดหน้านำเข้าใหม่เพื่อดูสถานะล่าสุด", "Open the import again to see its status."),)


class ImportResultMissing(DomainError):
    """The result workbook is written at the end of the dry run, and again at the end of the import."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_IMPORT_UNDER_WAY"
    says = Text("ยังไม่มีไฟล์ผลการตรวจ", "There is no result file yet.")
    recovery = (Text("รอให้ตรวจไฟล์เสร็จ แล้วดาวน์โหลดอีกครั้ง", "Wait until the file is checked, then download it."),)


class ImportInterrupted(DomainError):
    """
    Twice the worker at this import was not heard of any more: it was killed, or the file ends whatever works on it.
    What had been imported stays; the same file, sent again, goes on after it.
    """

    kind, code = ErrorKind.BROKEN, "NUMBER_IMPORT_INTERRUPTED"
    says = Text(
        "ระบบหยุดทำงานระหว่างประมวลผลไฟล์นี้สองครั้ง จึงไม่ดำเนินการต่อ",
        "The system stopped twice while processing this file, so processing has been stopped.",
    )
    recovery = (
        Text("ตรวจสอบไฟล์ แล้วอัปโหลดอีกครั้ง", "Check the file, then upload it again."),
        Text("หากเกิดซ้ำ ติดต่อผู้ดูแลระบบ", "If it happens again, contact the administrator."),
    )


class RegisterColumn(NamedTuple):
    """A column of the sheet; its heading may be the key, the Thai or the English name, or both names."""

    key: str
    heading: Text
    longest: int
    needed: bool
    about: Text

    @property
    def title(self) -> str:
        return f"{self.heading.th} / {self.heading.en}"


def _column(key: str, th: str, en: str, about_th: str, about_en: str, *, longest: int = 50) -> RegisterColumn:
    return RegisterColumn(key, Text(th, en), longest, key in {"number", "type", "originator"}, Text(about_th, about_en))


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
        "ค.ศ. แบบ 2024-05-31 ใช้หาปีและเดือนในเลขที่",
        "A.D., as 2024-05-31; decides the year and month that the number prints.",
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


def row_problem(column: str, code: str, th: str, en: str, **values: object) -> FieldProblem:
    return FieldProblem(f"/{column}", code, Text(th, en), values)


def parse_row(cells: Sequence[object]) -> LegacyRow | list[FieldProblem]:
    """
    Read a line.

    :param cells: in the order of `COLUMNS`, as a sheet has them: texts, figures, dates, None
    :returns: the line, or everything that is wrong with it
    """
    padded: list[object] = [*cells[: len(COLUMNS)]]
    padded += [None] * (len(COLUMNS) - len(padded))
    head, *rest = padded
    number = _text(head)
    # A register repeats itself: what stands beside the number is looked at once for many lines.
    found = _beside(tuple(rest), tuple(map(type, rest)))
    faults = _wrong(COLUMNS[0], number)
    if isinstance(found, tuple) and not faults:
        return LegacyRow(number, *found)
    return faults + (found if isinstance(found, list) else [])


@lru_cache(maxsize=4096)
def _beside(
    cells: tuple[object, ...],
    _types: tuple[type, ...],  # 1, 1.0 and TRUE are equal, and three things in a sheet
) -> tuple[RowCodes, date | None, int | None, int | None] | list[FieldProblem]:
    texts = [_text(cell) for cell in cells]
    faults = [one for column, text in zip(COLUMNS[1:], texts, strict=True) for one in _wrong(column, text)]
    if faults:
        return faults
    issued, year, sequence = _date(texts[9], faults), _year(texts[10], faults), _sequence(texts[11], faults)
    return faults or (RowCodes(*texts[:9]), issued, year, sequence)


def _wrong(column: RegisterColumn, text: str) -> list[FieldProblem]:
    if column.needed and not text:
        return [row_problem(column.key, "required", REQUIRED.th, REQUIRED.en)]
    if len(text) > column.longest:
        return [
            row_problem(
                column.key,
                "too_long",
                "ยาวเกิน {most} ตัวอักษร",
                "Longer than {most} characters.",
                most=column.longest,
            )
        ]
    if not text.isprintable() and control_character(text) is not None:
        return [row_problem(column.key, "character", "มีอักขระที่ใช้ไม่ได้", "It has a character that is not allowed.")]
    return []


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return fold(cell).strip()
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _date(text: str, faults: list[FieldProblem]) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
        if ad_year(day.year) == day.year:
            return day
    except (ValueError, DomainError):
        pass
    faults.append(
        row_problem("issued", "malformed", "วันที่ต้องเป็น ค.ศ. แบบ 2024-05-31", "Write the day as 2024-05-31, A.D.")
    )
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
