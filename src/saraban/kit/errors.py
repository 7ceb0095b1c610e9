"""
Outcomes a caller must expect.

No HTTP here: `kit.problem` gives a kind its status, the command line its exit code, and the worker its
verdict. An error class stands beside the function that raises it and carries its words in both languages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar
from uuid import UUID


class ErrorKind(StrEnum):
    """What sort of outcome it is; each door translates it in its own way."""

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
    """A text in Thai and in English."""

    th: str
    en: str

    def say(self, language: str, values: Mapping[str, object] | None = None) -> str:
        """Return the text in one language, with its `{name}` places filled."""
        text = self.th if language == "th" else self.en
        for name, value in (values or {}).items():
            text = text.replace("{" + name + "}", str(value))
        return text


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """
    One fault of one input field, or one doubt about it that does not keep it from being saved.

    :param pointer: JSON pointer into the request body (`/recipients/0`), or `query:name`, `header:name`, `path:name`
    :param public_id: of what the text of a doubt names, which the caller may see
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
    An expected outcome. Subclasses set `kind`, `code` and `says`; `docs/errors.md` has a heading for every code.

    :param detail: for developers and logs, English, may name internals but never an integer key
    :param words: say more exactly than `says` what is the matter this time
    :param values: fill the `{name}` places of the words and of `recovery`
    :param retry_after: seconds after which trying again makes sense
    """

    kind: ClassVar[ErrorKind]
    code: ClassVar[str]
    says: ClassVar[Text]
    recovery: ClassVar[tuple[Text, ...]] = ()
    # Set by a log of its own (numbering keeps every refusal), so that a door further out does not keep it again.
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
    """The payload is not acceptable; `fields` name what and why."""

    kind, code = ErrorKind.INVALID, "VALIDATION_ERROR"
    says = Text("ข้อมูลที่กรอกไม่ถูกต้อง กรุณาตรวจสอบและลองใหม่", "Some of the information entered is not valid.")
    recovery = (CHECK_INPUT, Text("แก้ไขข้อมูลที่ผิดพลาด", "Correct the fields shown."))


class NotFound(DomainError):
    """It is not there, or the caller may not know that it is."""

    kind, code = ErrorKind.NOT_FOUND, "NOT_FOUND"
    says = Text("ไม่พบข้อมูลที่ค้นหา", "The item was not found.")
    recovery = (Text("ตรวจสอบลิงก์หรือเลขที่", "Check the link or the number."),)


class Forbidden(DomainError):
    """The caller may know of the thing, and may not do this with it."""

    kind, code = ErrorKind.FORBIDDEN, "PERMISSION_DENIED"
    says = Text("คุณไม่มีสิทธิ์ดำเนินการนี้", "You do not have permission to do this.")
    recovery = (Text("ขอสิทธิ์จากผู้ดูแลโครงการ", "Ask the project administrator for the permission."),)


class DiskFull(DomainError):
    """
    There is no room left where the database, the uploaded files or temporary files are kept. Nothing of what was asked for was
    written. Make room: the server goes on by itself, and `/health/ready` says when.
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


# The one wording for a value that is missing, wherever it is asked for.
REQUIRED = Text("จำเป็นต้องระบุ", "Required")
# Of rows of a spreadsheet.
NO_FORMULA = Text("ห้ามใช้สูตร ให้วางเป็นค่า", "This is a formula: paste the value instead.")
SAID_TWICE = Text("ซ้ำกับแถว {line}", "Row {line} says the same.")


def required(pointer: str) -> Invalid:
    """Return the `Invalid` for a field that was left empty."""
    return invalid(pointer, "required", REQUIRED.th, REQUIRED.en)


def unknown(pointer: str, what: str) -> Invalid:
    """Return the `Invalid` for a code or id that names nothing the caller may use here."""
    return invalid(pointer, "unknown", "ไม่พบ “{value}” ในโครงการนี้", "“{value}” was not found.", value=what)
