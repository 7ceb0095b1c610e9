"""
Expected errors.

Each error class is next to the function that raises it and has its message in both languages. `kit.problem` maps a
kind to an HTTP status, the command line to an exit code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar
from uuid import UUID


class ErrorKind(StrEnum):
    INVALID = "invalid"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    GONE = "gone"
    STALE = "stale"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    BEYOND = "beyond"
    TIMEOUT = "timeout"
    THROTTLED = "throttled"
    BUSY = "busy"
    BROKEN = "broken"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Text:
    th: str
    en: str

    def say(self, language: str, values: Mapping[str, object] | None = None) -> str:
        text = self.th if language == "th" else self.en
        for name, value in (values or {}).items():
            text = text.replace("{" + name + "}", str(value))
        return text


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """
    A problem of one input field, or a warning that does not prevent saving.
    :param pointer: JSON pointer (`/recipients/0`), or `query:name`, `header:name`, `path:name`
    :param public_id: of the item that a warning names, which the caller may see
    """

    pointer: str
    code: str
    text: Text
    values: Mapping[str, object] = field(default_factory=dict)
    public_id: UUID | None = None


RETRY = Text("ลองใหม่อีกครั้ง", "Try again.")
REFRESH = Text("รีเฟรชหน้าแล้วลองใหม่", "Refresh the page and try again.")
CHECK_INPUT = Text("ตรวจสอบข้อมูลที่กรอก", "Check the information entered.")
ASK_ADMIN = Text("ติดต่อผู้ดูแลระบบ", "Contact the administrator.")


class DomainError(Exception):
    """
    Subclasses set `kind`, `code` and `says`; `docs/errors.md` lists every code.
    :param detail: English, for developers; may name internals but no integer key
    :param words: replaces `says` for this occurrence
    :param values: fill the `{name}` fields of the message and of `recovery`
    """

    kind: ClassVar[ErrorKind]
    code: ClassVar[str]
    says: ClassVar[Text]
    recovery: ClassVar[tuple[Text, ...]] = ()
    # Set when a feature has logged the refusal (numbering logs each), so that the endpoint does not log it again.
    kept: bool = False

    def __init__(
        self,
        detail: str = "",
        *,
        fields: Sequence[FieldProblem] = (),
        words: Text | None = None,
        values: Mapping[str, object] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.words = words or self.says
        self.detail = detail or self.words.say("en", values)
        super().__init__(self.detail)
        self.fields = tuple(fields)
        self.values = dict(values or {})
        self.retry_after = retry_after


class Invalid(DomainError):
    """The input is not valid; `fields` contains each field with the reason."""

    kind, code = ErrorKind.INVALID, "VALIDATION_ERROR"
    says = Text("ข้อมูลที่กรอกไม่ถูกต้อง กรุณาตรวจสอบและลองใหม่", "Some of the information entered is not valid.")
    recovery = (CHECK_INPUT, Text("แก้ไขข้อมูลที่ผิดพลาด", "Correct the fields shown."))


class NotFound(DomainError):
    """The item does not exist, or the caller may not see it."""

    kind, code = ErrorKind.NOT_FOUND, "NOT_FOUND"
    says = Text("ไม่พบข้อมูลที่ค้นหา", "The item was not found.")
    recovery = (Text("ตรวจสอบลิงก์หรือเลขที่", "Check the link or the number."),)


class Forbidden(DomainError):
    """The caller can see the item but may not do this with it."""

    kind, code = ErrorKind.FORBIDDEN, "PERMISSION_DENIED"
    says = Text("คุณไม่มีสิทธิ์ดำเนินการนี้", "You do not have permission to do this.")
    recovery = (Text("ขอสิทธิ์จากผู้ดูแลโครงการ", "Ask the project administrator for the permission."),)


class DiskFull(DomainError):
    """
    The disk of the database, the uploaded files or temporary files is full.
    Nothing was written. Free some space: the server continues without a restart, and `/health/ready` reports it.
    """

    kind, code = ErrorKind.FULL, "DISK_FULL"
    says = Text(
        "พื้นที่จัดเก็บข้อมูลของระบบเต็ม จึงยังไม่ได้บันทึก",
        "The system's disk is full. Nothing was saved.",
    )
    recovery = (
        Text("แจ้งผู้ดูแลระบบให้เพิ่มพื้นที่จัดเก็บ", "Ask the administrator to free disk space."),
        Text("เมื่อมีพื้นที่แล้ว ให้ทำรายการอีกครั้ง", "Try again once there is space."),
    )


def invalid(pointer: str, code: str, th: str, en: str, **values: object) -> Invalid:
    problem = FieldProblem(pointer, code, Text(th, en), values)
    return Invalid(f"{pointer}: {problem.text.say('en', values)}", fields=[problem])


REQUIRED = Text("จำเป็นต้องระบุ", "Required")
NO_FORMULA = Text("ห้ามใช้สูตร ให้วางเป็นค่า", "This is a formula: paste the value instead.")
SAID_TWICE = Text("ซ้ำกับแถว {line}", "Row {line} says the same.")


def required(pointer: str) -> Invalid:
    return invalid(pointer, "required", REQUIRED.th, REQUIRED.en)


def unknown(pointer: str, what: str) -> Invalid:
    """For a code or id that does not exist, or that the caller may not use here."""
    return invalid(pointer, "unknown", "ไม่พบ “{value}” ในโครงการนี้", "“{value}” was not found.", value=what)
