"""States, errors and row outcomes of imports."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text
from saraban.kit.sheet_columns import SheetRow


class ImportState(StrEnum):
    CHECKING = "CHECKING"
    CHECKED = "CHECKED"
    IMPORTING = "IMPORTING"
    DONE = "DONE"
    FAILED = "FAILED"


class ImportNotChecked(DomainError):
    """Only a checked file can be imported, and only once."""

    kind, code = ErrorKind.CONFLICT, "IMPORT_NOT_CHECKED"
    says = Text("ไฟล์นี้ยังตรวจไม่เสร็จ หรือสั่งนำเข้าไปแล้ว", "This file is not checked yet, or its import has already started.")
    recovery = (Text("เปิดหน้านำเข้าใหม่เพื่อดูสถานะล่าสุด", "Open the import again to see its status."),)


class ImportResultMissing(DomainError):
    """The result workbook is written at the end of the dry run and of the import."""

    kind, code = ErrorKind.CONFLICT, "IMPORT_UNDER_WAY"
    says = Text("ยังไม่มีไฟล์ผลการตรวจ", "There is no result file yet.")
    recovery = (Text("รอให้ตรวจไฟล์เสร็จ แล้วดาวน์โหลดอีกครั้ง", "Wait until the file is checked, then download it."),)


class ImportInterrupted(DomainError):
    """
    The worker stopped twice during this import: it was killed, or the file stops every worker.

    Imported lines stay. Upload the same file again to continue.
    """

    kind, code = ErrorKind.BROKEN, "IMPORT_INTERRUPTED"
    says = Text(
        "ระบบหยุดทำงานระหว่างประมวลผลไฟล์นี้สองครั้ง จึงไม่ดำเนินการต่อ",
        "The system stopped twice while processing this file, so processing has been stopped.",
    )
    recovery = (
        Text("ตรวจสอบไฟล์ แล้วอัปโหลดอีกครั้ง", "Check the file, then upload it again."),
        Text("หากเกิดซ้ำ ติดต่อผู้ดูแลระบบ", "If it happens again, contact the administrator."),
    )


# Outcomes of a line; `MISSING` waits for codes that the project does not have.
READY, THERE, MISSING, REFUSED, LEFT_OUT = "READY", "THERE", "MISSING", "REFUSED", "LEFT_OUT"
OUTCOMES = {
    READY: Text("นำเข้าได้", "can be imported"),
    THERE: Text("มีในทะเบียนแล้ว", "already registered"),
    MISSING: Text("ต้องเพิ่มรหัสในรายการของโครงการก่อน", "needs codes in the project's lists"),
    REFUSED: Text("ไม่ผ่าน", "rejected"),
    LEFT_OUT: Text("ข้าม", "left out"),
}
REPORTED = {"ready": READY, "there": THERE, "waiting": MISSING, "refused": REFUSED, "left_out": LEFT_OUT}
MOST_FAULTS = 200  # on a page or in a response; the result workbook has all
DONE_OUTCOMES = OUTCOMES | {READY: Text("นำเข้าแล้ว", "imported")}


class JudgedRow(NamedTuple):
    row: SheetRow
    verdict: str
    faults: Sequence[FieldProblem] = ()

    @property
    def state(self) -> str:
        return LEFT_OUT if self.row.is_left_out else self.verdict


def row_problem(column: str, code: str, th: str, en: str, **values: object) -> FieldProblem:
    return FieldProblem(f"/{column}", code, Text(th, en), values)


def shown_fault(line: int, fault: FieldProblem) -> dict[str, object]:
    texts = {language: fault.text.say(language, fault.values) for language in ("th", "en")}
    return {"line": line, "column": fault.pointer.rpartition("/")[2], "code": fault.code, **texts}
