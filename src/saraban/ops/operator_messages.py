"""Messages of commands and server start, without a setting's value or an address."""

import errno
from typing import NamedTuple

from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from saraban.kit.db import DatabaseFault, database_fault
from saraban.kit.error_text import safe_message
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text
from saraban.kit.problem import field_problems


class OperatorMessage(NamedTuple):
    """`kind` decides the exit code; None means that the command is impossible now."""

    kind: ErrorKind | None
    lines: tuple[Text, ...]


_NO_SPACE = Text("ไม่มีพื้นที่ว่างในดิสก์ กรุณาเพิ่มพื้นที่แล้วสั่งใหม่", "There is no space left on the disk: make room, then try again")
_FOLDER = Text(
    "เขียนในโฟลเดอร์ข้อมูลไม่ได้ ให้สิทธิ์แก่บัญชีที่รัน Saraban หรือเปลี่ยน SARABAN_DATA_DIR",
    "The data folder cannot be written: give the account that runs Saraban the right to, or change SARABAN_DATA_DIR",
)
_BEHIND = Text(
    "ฐานข้อมูลยังไม่เป็นรุ่นล่าสุด กรุณาสั่ง `saraban migrate`", "The database is not at the newest revision: run `saraban migrate`"
)
_AWAY = Text(
    "ติดต่อฐานข้อมูลไม่ได้ ตรวจสอบว่าฐานข้อมูลทำงานอยู่และ SARABAN_DATABASE_URL ถูกต้อง",
    "The database does not answer: see that it runs and that SARABAN_DATABASE_URL is right",
)
_BUSY = Text("ฐานข้อมูลไม่ว่าง กรุณาสั่งใหม่ภายหลัง", "The database is busy: try again later")
_PASSWORD = Text(
    "ฐานข้อมูลไม่รับชื่อผู้ใช้หรือรหัสผ่าน แก้ SARABAN_DATABASE_URL โดยเขียนอักขระพิเศษในรหัสผ่านเป็น %40 %2F เป็นต้น",
    "The database refuses the user or the password: correct SARABAN_DATABASE_URL, where special characters of a password "
    "are written as %40, %2F, …",
)
_RIGHTS = Text(
    "บัญชีฐานข้อมูลมีสิทธิ์ไม่พอ สั่ง GRANT ALL ON ฐานข้อมูล.* TO บัญชี",
    "The account of the database lacks rights: GRANT ALL ON database.* TO account",
)
_NO_DATABASE = Text(
    "ไม่มีฐานข้อมูลชื่อนี้ สั่ง CREATE DATABASE ชื่อ CHARACTER SET utf8mb4 หรือแก้ SARABAN_DATABASE_URL",
    "There is no such database: CREATE DATABASE name CHARACTER SET utf8mb4, or correct SARABAN_DATABASE_URL",
)
_REVISION = Text(
    "Saraban รุ่นนี้ไม่มีรุ่นฐานข้อมูลดังกล่าว ตรวจสอบ --to หรือติดตั้ง Saraban รุ่นใหม่กว่า",
    "This Saraban has no such revision of the database: check --to, or install the newer Saraban that made it",
)
_BROKEN_FILE = Text(
    "ไฟล์ฐานข้อมูล SQLite เสียหายหรือไม่ใช่ฐานข้อมูล กู้คืนจากสำรอง หรือเปลี่ยน SARABAN_DATA_DIR",
    "The file of the SQLite database is damaged or none: restore a copy, or change SARABAN_DATA_DIR",
)
_READ_ONLY = Text(
    "ฐานข้อมูลเปิดแบบอ่านอย่างเดียว ปิด read_only หรือใช้เซิร์ฟเวอร์หลัก",
    "The database is read-only: switch read_only off, or use the primary server",
)
_FILE = Text(
    "ใช้ไฟล์หรือโฟลเดอร์นี้ไม่ได้ ตรวจสอบชื่อและสิทธิ์ (โฟลเดอร์ข้อมูลคือ SARABAN_DATA_DIR)",
    "A file or folder cannot be used: check its name and rights; the data folder is SARABAN_DATA_DIR",
)

_BY_NUMBER: tuple[tuple[tuple[int, ...], ErrorKind | None, Text], ...] = (
    ((1045, 1130, 1698), ErrorKind.UNAUTHENTICATED, _PASSWORD),
    ((1044, 1142, 1143, 1227, 1370), ErrorKind.FORBIDDEN, _RIGHTS),
    ((1049,), ErrorKind.NOT_FOUND, _NO_DATABASE),
    ((1054, 1146), None, _BEHIND),
    ((1021, 1114), ErrorKind.BROKEN, _NO_SPACE),
    ((1036, 1290), ErrorKind.BROKEN, _READ_ONLY),
)
_BY_WORDS: tuple[tuple[str, ErrorKind | None, Text], ...] = (
    ("no such table", None, _BEHIND),
    ("no such column", None, _BEHIND),
    ("unable to open database file", ErrorKind.FORBIDDEN, _FOLDER),
    ("readonly database", ErrorKind.FORBIDDEN, _FOLDER),
    ("disk is full", ErrorKind.BROKEN, _NO_SPACE),
    ("not a database", ErrorKind.BROKEN, _BROKEN_FILE),
    ("malformed", ErrorKind.BROKEN, _BROKEN_FILE),
)
_BY_FAULT = {
    DatabaseFault.CONNECTION: (ErrorKind.BROKEN, _AWAY),
    DatabaseFault.COMMIT: (ErrorKind.BROKEN, _AWAY),
    DatabaseFault.FULL: (ErrorKind.FULL, _NO_SPACE),
    DatabaseFault.POOL: (ErrorKind.BUSY, _BUSY),
    DatabaseFault.LOCK_WAIT: (ErrorKind.BUSY, _BUSY),
    DatabaseFault.COLLISION: (ErrorKind.BUSY, _BUSY),
}


def operator_message(error: BaseException) -> OperatorMessage | None:
    """Return None for a bug, which keeps its traceback."""
    if isinstance(error, DomainError):
        return OperatorMessage(error.kind, _domain_lines(error))
    if isinstance(error, ValidationError):
        return _settings_message(error) if error.title == "Settings" else None
    if isinstance(error, DBAPIError) and (message := _database_message(error)):
        return message
    if isinstance(error, OSError) and (error.filename or error.errno in {errno.ENOSPC, errno.EDQUOT}):
        return _file_message(error)
    if type(error).__name__ == "CommandError" and type(error).__module__.startswith("alembic."):
        return OperatorMessage(ErrorKind.INVALID, (_append_reason(_REVISION, _reason(error)),))
    fault = database_fault(error)
    if fault is None:
        return None
    kind, text = _BY_FAULT[fault]
    return OperatorMessage(kind, (_append_reason(text, _reason(error)),))


def printed(message: OperatorMessage, language: str) -> str:
    return "".join(f"saraban: {line.say(language)}\n" for line in message.lines)


def _domain_lines(error: DomainError) -> tuple[Text, ...]:
    if error.fields:
        return tuple(Text(_field_line(field, "th"), _field_line(field, "en")) for field in error.fields)
    words = Text(error.words.say("th", error.values), error.words.say("en", error.values))
    return (words if error.detail == words.en else _append_reason(words, error.detail, end=""),)


def _field_line(field: FieldProblem, language: str) -> str:
    name, message = field.pointer.lstrip("/"), field.text.say(language, field.values)
    return f"{name}: {message}" if name else message


def _settings_message(error: ValidationError) -> OperatorMessage:
    lines = []
    for fault in error.errors(include_input=False, include_url=False):
        field = str(fault["loc"][0]) if fault["loc"] else ""
        name = field if field.isupper() else f"SARABAN_{field.upper()}"
        text = field_problems([fault])[0]
        th, en = text.text.say("th", text.values), text.text.say("en", text.values)
        lines.append(
            Text(
                f"ค่า {name} ใช้ไม่ได้: {th} (แก้ตัวแปรนี้หรือไฟล์ .env)",
                f"The setting {name} cannot be used: {en} Correct the variable or the file .env.",
            )
        )
    return OperatorMessage(ErrorKind.INVALID, tuple(lines))


def _database_message(error: DBAPIError) -> OperatorMessage | None:
    arguments = error.orig.args if error.orig is not None else ()
    number, words = arguments[:1], str(error.orig).lower()
    matches = [(kind, text) for numbers, kind, text in _BY_NUMBER if number and number[0] in numbers]
    matches += [(kind, text) for part, kind, text in _BY_WORDS if part in words]
    return OperatorMessage(matches[0][0], (_append_reason(matches[0][1], _reason(error)),)) if matches else None


def _file_message(error: OSError) -> OperatorMessage:
    reason = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return OperatorMessage(ErrorKind.BROKEN, (_append_reason(_NO_SPACE, reason),))
    kind = ErrorKind.NOT_FOUND if error.errno == errno.ENOENT else ErrorKind.FORBIDDEN
    return OperatorMessage(kind, (_append_reason(_FILE, reason),))


def _reason(error: BaseException) -> str:
    """Return one line; it may name an account, never a password."""
    reason = error.args[1] if isinstance(error, OSError) and len(error.args) > 1 else safe_message(error)
    return str(reason).splitlines()[0][:200] if str(reason) else type(error).__name__


def _append_reason(text: Text, reason: str, *, end: str = ".") -> Text:
    return Text(f"{text.th} ({reason})", f"{text.en} ({reason}){end}")
