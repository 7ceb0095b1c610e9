"""Which of a project's number formats numbers a document: of those that fit, the one that names most of it."""

from enum import StrEnum
from itertools import product
from typing import NamedTuple

from saraban.kit.errors import Text

_NAMED = {
    "sub_type": Text("ประเภทย่อย {code}", "sub type {code}"),
    "rfa_type": Text("ประเภท RFA {code}", "RFA type {code}"),
    "discipline": Text("สาขางาน {code}", "discipline {code}"),
}


class Narrowing(NamedTuple):
    """The codes that a format is narrowed to, or that a document has; empty where there is none. The order is the rank."""

    sub_type: str = ""
    rfa_type: str = ""
    discipline: str = ""

    def say(self, language: str) -> str:
        """Name the codes with what they are, such as `sub type MAT, discipline STR`."""
        return ", ".join(
            text.say(language, {"code": code}) for text, code in zip(_NAMED.values(), self, strict=True) if code
        )


class FormatKey(NamedTuple):
    """What a format is for, of which a project has one each; type 0 is the project's default."""

    type_id: int = 0
    narrowing: Narrowing = Narrowing()


class FormatReason(StrEnum):
    """Why a number has the format that it has."""

    NARROWED = "NARROWED"
    TYPE = "TYPE"
    DEFAULT = "DEFAULT"
    FALLBACK = "FALLBACK"
    STATED = "STATED"
    IMPORTED = "IMPORTED"
    NOT_RECORDED = "NOT_RECORDED"  # issued before the reason was kept


_REASONS = {
    FormatReason.TYPE: Text("รูปแบบของประเภท {type}", "format of the type {type}"),
    FormatReason.DEFAULT: Text("ค่าเริ่มต้นของโครงการ", "project's default"),
    FormatReason.FALLBACK: Text("รูปแบบสำรองของระบบ", "system fallback"),
    FormatReason.STATED: Text("บันทึกเลขที่ออกนอกระบบ", "registered as issued outside the system"),
    FormatReason.IMPORTED: Text("นำเข้าจากทะเบียนเดิม", "imported"),
    FormatReason.NOT_RECORDED: Text("ออกก่อนที่ระบบจะบันทึกเหตุผล", "issued before the reason was recorded"),
}


def reason_text(reason: FormatReason, *, type_code: str, narrowing: Narrowing) -> Text:
    """Say why a format numbered a document, such as `format of the sub type MAT`."""
    if reason is FormatReason.NARROWED:
        return Text(f"รูปแบบของ{narrowing.say('th')}", f"format of the {narrowing.say('en')}")
    text, values = _REASONS[reason], {"type": type_code}
    return Text(text.say("th", values), text.say("en", values))


DEFAULT_FORMAT = FormatKey()
# More codes before fewer, and of as many those with the sub type, then those with the RFA type.
_CHOICES = sorted(product((True, False), repeat=len(_NAMED)), key=lambda named: (sum(named), named), reverse=True)


def matching_format_keys(type_id: int, document: Narrowing) -> tuple[FormatKey, ...]:
    """Give the keys of the formats that fit a document, the best first; where none is saved the system's fallback holds."""
    narrowings = dict.fromkeys(
        Narrowing(*(code if named else "" for code, named in zip(document, choice, strict=True))) for choice in _CHOICES
    )
    return (*(FormatKey(type_id, narrowing) for narrowing in narrowings), DEFAULT_FORMAT)
