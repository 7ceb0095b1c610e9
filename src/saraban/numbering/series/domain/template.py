"""
Number templates such as `{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}`.

Rendered in one pass, so a code that contains `{SEQ:4}` or `$&` prints as it is (REQ-FMT-06).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import NamedTuple, Self

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text
from saraban.kit.text import control_character, fold
from saraban.numbering.series.domain.tokens import (
    CATEGORY,
    DISCIPLINE,
    FISCAL_BE,
    KNOWN,
    MONTH,
    PERIODS,
    RECIPIENT,
    REV,
    RFA_TYPE,
    SEQ,
    SUB_TYPE,
    YEAR_AD,
    YEAR_BE,
    YY_AD,
    YY_BE,
)

LONGEST_NUMBER = 255
FALLBACK = "{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"
_ALIASES = {"YEAR:BE": YEAR_BE, "YEAR:AD": YEAR_AD, "YY:BE": YY_BE, "YY:AD": YY_AD, "FY:BE": FISCAL_BE}
_OBSOLETE_TOKENS = {
    "ORG": "{ORIGINATOR}",
    "TYPE": "{CORR_TYPE}",
    "YEAR": "{YEAR:B.E.}",
    "SEQ": "{SEQ:4}",
    "YY": "{YY:B.E.}",
}
_OBSOLETE_TOKENS["FY"] = "{FY:B.E.}"
_TOKEN = re.compile(r"\{([^{}]*)\}")
_SEQ = re.compile(r"SEQ:([1-9])\Z")
# Thai and Latin letters, digits, common separators, round brackets.
_LITERAL = re.compile(r"[A-Za-z0-9\u0E01-\u0E3A\u0E40-\u0E4E\u0E50-\u0E59\-_./ ()&]")


class TemplateInvalid(DomainError):
    """The template breaks the grammar; each field problem has position and token."""

    kind, code = ErrorKind.INVALID, "NUMBER_TEMPLATE_INVALID"
    says = Text("รูปแบบเลขที่เอกสารไม่ถูกต้อง", "The number format is not valid.")
    recovery = (Text("แก้ไขรูปแบบในตำแหน่งที่ระบุ", "Correct the format at the position shown."),)


class NumberUnprintable(DomainError):
    """A token of the template has no value, or the number would exceed 255 characters."""

    kind, code = ErrorKind.INVALID, "NUMBER_UNPRINTABLE"
    says = Text("สร้างเลขที่เอกสารจากข้อมูลนี้ไม่ได้", "No number can be produced from this information.")
    recovery = (Text("กรอกข้อมูลที่รูปแบบเลขที่ต้องใช้", "Fill in what the number format needs."),)


@dataclass(frozen=True, slots=True)
class TemplateText:
    text: str


@dataclass(frozen=True, slots=True)
class TemplateToken:
    """`width` is the minimum number of digits of `SEQ`, 0 for others."""

    name: str
    position: int
    width: int = 0

    def __str__(self) -> str:
        return "{SEQ:" + str(self.width) + "}" if self.name == SEQ else "{" + self.name + "}"


@dataclass(frozen=True, slots=True)
class Template:
    """`text` is the canonical spelling: folded, aliases replaced."""

    text: str
    parts: tuple[TemplateText | TemplateToken, ...]

    @classmethod
    def parse(cls, text: str, *, drawing: bool = False, pointer: str = "/template") -> Self:
        """
        :param drawing: only drawing formats may print `{CATEGORY}`
        :raises TemplateInvalid: naming position (from 1) and token
        """
        folded = fold(text)
        parts = tuple(parse_part(folded, span, drawing=drawing, pointer=pointer) for span in part_spans(folded))
        _check_template(folded, parts, pointer)
        return cls("".join(part.text if isinstance(part, TemplateText) else str(part) for part in parts), parts)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(part.name for part in self.parts if isinstance(part, TemplateToken))

    @property
    def width(self) -> int:
        return next(part.width for part in self.parts if isinstance(part, TemplateToken) and part.name == SEQ)

    @property
    def prints_period(self) -> bool:
        return bool(self.tokens & PERIODS.keys())

    @property
    def repeats_its_period(self) -> bool:
        """A month without a year repeats its numbers next year."""
        return self.tokens & PERIODS.keys() == {MONTH}

    def render(self, values: Mapping[str, str], *, sequence: int, revision: str) -> str:
        """:raises NumberUnprintable: for a token without a value, and past 255 characters"""
        return self._print(values, sequence=str(sequence).zfill(self.width), revision=revision, resets=True)

    def base(self, values: Mapping[str, str], *, sequence: int) -> str:
        """The number without `{REV}`, unique for the life of a document (REQ-NUM-02)."""
        return self._print(values, sequence=str(sequence).zfill(self.width), revision="", resets=True)

    def series(self, values: Mapping[str, str], *, resets: bool) -> str:
        """
        The printed text without sequence and revision (REQ-NUM-03).

        :param resets: False also removes the period, so that counting continues (REQ-FMT-09)
        """
        return self._print(values, sequence="{SEQ}", revision="", resets=resets)

    def overflows(self, sequence: int) -> bool:
        return len(str(sequence)) > self.width

    def _print(self, values: Mapping[str, str], *, sequence: str, revision: str, resets: bool) -> str:
        printed: list[str] = []
        for part in self.parts:
            if isinstance(part, TemplateText):
                printed.append(part.text)
            elif part.name == SEQ:
                printed.append(sequence)
            elif part.name == REV:
                printed.append(revision)
            elif not resets and part.name in PERIODS:
                printed.append(PERIODS[part.name])
            else:
                printed.append(values.get(part.name) or _refuse_missing(part))
        number = "".join(printed)
        if len(number) > LONGEST_NUMBER:
            raise NumberUnprintable(
                fields=[_problem("/", "too_long", "เลขที่ยาวเกิน 255 ตัวอักษร", "The number is longer than 255 characters.")]
            )
        return number


_FIELD_OF = {
    RECIPIENT: "/recipientOrganizationPublicId",
    SUB_TYPE: "/subTypeCode",
    RFA_TYPE: "/rfaTypeCode",
    CATEGORY: "/categoryCode",
    DISCIPLINE: "/disciplineCode",
}


def _refuse_missing(token: TemplateToken) -> str:
    raise NumberUnprintable(
        f"{token} at position {token.position + 1} has no value.",
        fields=[
            _problem(
                _FIELD_OF.get(token.name, "/"),
                "required",
                "รูปแบบเลขที่ต้องใช้ {token} (ตำแหน่ง {position}) แต่ไม่มีค่า",
                "The number format needs {token} (position {position}), which has no value.",
                token=str(token),
                position=token.position + 1,
            )
        ],
    )


def _problem(pointer: str, code: str, th: str, en: str, **values: object) -> FieldProblem:
    return FieldProblem(pointer, code, Text(th, en), values)


def _refuse(pointer: str, code: str, th: str, en: str, *, position: int, token: str = "") -> TemplateInvalid:
    problem = _problem(pointer, code, th, en, position=position + 1, token=token)
    return TemplateInvalid(problem.text.say("en", problem.values), fields=[problem])


def part_spans(text: str) -> Iterator[tuple[int, int]]:
    end = 0
    for match in _TOKEN.finditer(text):
        if match.start() > end:
            yield end, match.start()
        yield match.span()
        end = match.end()
    if end < len(text):
        yield end, len(text)


def parse_part(text: str, span: tuple[int, int], *, drawing: bool, pointer: str) -> TemplateText | TemplateToken:
    """:raises TemplateInvalid: naming position and token"""
    match = _TOKEN.fullmatch(text, *span)
    if match is None:
        return _parse_literal(text, *span, pointer)
    return _parse_token(match[1], match.start(), drawing=drawing, pointer=pointer)


def _parse_literal(text: str, start: int, end: int, pointer: str) -> TemplateText:
    for position in range(start, end):
        character = text[position]
        if character in "{}":
            raise _refuse(
                pointer,
                "unbalanced",
                "วงเล็บปีกกาไม่ครบคู่ที่ตำแหน่ง {position}",
                "The brace at position {position} has no match.",
                position=position,
            )
        if not _LITERAL.match(character) or control_character(character) is not None:
            raise _refuse(
                pointer,
                "character",
                "ใช้อักขระที่ตำแหน่ง {position} ในเลขที่เอกสารไม่ได้",
                "The character at position {position} is not allowed in a number.",
                position=position,
            )
    return TemplateText(text[start:end])


def _parse_token(name: str, position: int, *, drawing: bool, pointer: str) -> TemplateToken:
    name = _ALIASES.get(name, name)
    sequence = _SEQ.match(name)
    if sequence:
        return TemplateToken(SEQ, position, int(sequence[1]))
    if name in KNOWN and (name != CATEGORY or drawing):
        return TemplateToken(name, position)
    if name == CATEGORY:
        raise _refuse(
            pointer,
            "token_not_here",
            "{token} (ตำแหน่ง {position}) ใช้ได้เฉพาะรูปแบบเลขที่แบบก่อสร้าง",
            "{token} (position {position}) is for drawing formats only.",
            position=position,
            token="{CATEGORY}",  # noqa: S106  a token of a template
        )
    if name in _OBSOLETE_TOKENS:
        raise _refuse(
            pointer,
            "token_replaced",
            "{token} (ตำแหน่ง {position}) เลิกใช้แล้ว ให้ใช้ " + _OBSOLETE_TOKENS[name],
            "{token} (position {position}) is no longer used; write " + _OBSOLETE_TOKENS[name] + ".",
            position=position,
            token="{" + name + "}",
        )
    raise _refuse(
        pointer,
        "token_unknown",
        "ไม่รู้จัก {token} ที่ตำแหน่ง {position}",
        "{token} at position {position} is not a known field.",
        position=position,
        token="{" + name[:40] + "}",
    )


def _check_template(text: str, parts: tuple[TemplateText | TemplateToken, ...], pointer: str) -> None:
    if len(text) > LONGEST_NUMBER:
        raise _refuse(
            pointer,
            "too_long",
            "รูปแบบเลขที่ยาวเกิน 255 ตัวอักษร",
            "The format is longer than 255 characters.",
            position=LONGEST_NUMBER,
        )
    if text != text.strip():
        position = 0 if text[:1].isspace() else len(text) - 1
        raise _refuse(
            pointer,
            "outer_blank",
            "มีช่องว่างที่หัวหรือท้ายรูปแบบ (ตำแหน่ง {position})",
            "The format begins or ends with a space (position {position}).",
            position=position,
        )
    sequences = [part for part in parts if isinstance(part, TemplateToken) and part.name == SEQ]
    if len(sequences) != 1:
        raise _refuse(
            pointer,
            "sequence_count",
            "ต้องมี {SEQ:n} หนึ่งตัวพอดี (n คือ 1 ถึง 9)",
            "There must be exactly one {SEQ:n}, n from 1 to 9.",
            position=sequences[1].position if len(sequences) > 1 else 0,
            token="{SEQ:n}",  # noqa: S106
        )


@lru_cache(maxsize=1024)
def stored_template(text: str) -> Template:
    """For templates that were checked when they were saved."""
    return Template.parse(text, drawing=True)


_CODE_NAMES = {
    "sub_type": Text("ประเภทย่อย {code}", "sub type {code}"),
    "rfa_type": Text("ประเภท RFA {code}", "RFA type {code}"),
    "discipline": Text("สาขางาน {code}", "discipline {code}"),
}


class Narrowing(NamedTuple):
    """Codes of a format or a document, in order of rank; empty where there is none."""

    sub_type: str = ""
    rfa_type: str = ""
    discipline: str = ""

    def say(self, language: str) -> str:
        """Such as `sub type MAT, discipline STR`."""
        return ", ".join(
            text.say(language, {"code": code}) for text, code in zip(_CODE_NAMES.values(), self, strict=True) if code
        )


class FormatKey(NamedTuple):
    """Type 0 is the project's default."""

    type_id: int = 0
    narrowing: Narrowing = Narrowing()


class FormatReason(StrEnum):
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
    """Such as `format of the sub type MAT`."""
    if reason is FormatReason.NARROWED:
        return Text(f"รูปแบบของ{narrowing.say('th')}", f"format of the {narrowing.say('en')}")
    text, values = _REASONS[reason], {"type": type_code}
    return Text(text.say("th", values), text.say("en", values))


DEFAULT_FORMAT = FormatKey()
# More codes before fewer; for equal counts sub type first, then RFA type.
_CODE_CHOICES = sorted(
    product((True, False), repeat=len(_CODE_NAMES)), key=lambda named: (sum(named), named), reverse=True
)


def matching_format_keys(type_id: int, document: Narrowing) -> tuple[FormatKey, ...]:
    """Best first; without any, the system's fallback applies."""
    narrowings = dict.fromkeys(
        Narrowing(*(code if named else "" for code, named in zip(document, choice, strict=True)))
        for choice in _CODE_CHOICES
    )
    return (*(FormatKey(type_id, narrowing) for narrowing in narrowings), DEFAULT_FORMAT)
