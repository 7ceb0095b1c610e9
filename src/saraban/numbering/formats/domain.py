"""
Drafts, parsing for an editor, and collisions of formats.

Each template becomes an automaton over characters; two formats collide when both accept some text (REQ-FMT-11).
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self
from uuid import UUID

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text, invalid
from saraban.kit.etags import Stale
from saraban.kit.text import fold
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.states import OverflowRule
from saraban.numbering.series.domain.template import (
    Narrowing,
    Template,
    TemplateInvalid,
    TemplateText,
    TemplateToken,
    parse_part,
    part_spans,
)

_DIGIT = "\0digit"
_LETTER = "\0letter"
_DIGITS = frozenset("0123456789")
_DIGITS_OF = {tokens.YY_BE: 2, tokens.YY_AD: 2, tokens.MONTH: 2}
_MOST_PAIRS = 200_000
TOKEN_MEANINGS: Final[dict[str, tuple[Text, str]]] = {
    tokens.PROJECT: (Text("รหัสโครงการ", "Project code"), "LCBP3-C2"),
    tokens.ORIGINATOR: (Text("รหัสองค์กรผู้ส่ง", "Originator code"), "คคง."),
    tokens.RECIPIENT: (Text("รหัสองค์กรผู้รับหลัก", "Main recipient code"), "สคฉ.3"),
    tokens.CORR_TYPE: (Text("รหัสประเภทเอกสาร", "Document type code"), "RFA"),
    tokens.SUB_TYPE: (Text("หมายเลขประเภทย่อย", "Sub type number"), "21"),
    tokens.RFA_TYPE: (Text("รหัสประเภท RFA", "RFA type code"), "RPT"),
    tokens.DISCIPLINE: (Text("รหัสสาขางาน (GEN เมื่อไม่มี)", "Discipline code (GEN if none)"), "TER"),
    tokens.CATEGORY: (Text("รหัสหมวดแบบ เฉพาะแบบก่อสร้าง", "Drawing category code; drawing formats only"), "DRW"),
    tokens.SEQ: (Text("เลขลำดับ n คือจำนวนหลักอย่างน้อย", "Sequence; n is the minimum number of digits"), "0001"),
    tokens.REV: (Text("ฉบับที่ (Rev.)", "Revision"), "A"),
    tokens.YEAR_BE: (Text("ปี พ.ศ.", "Year, Buddhist era"), "2569"),
    tokens.YEAR_AD: (Text("ปี ค.ศ.", "Year, A.D."), "2026"),
    tokens.YY_BE: (Text("ปี พ.ศ. สองหลัก", "Year, Buddhist era, two digits"), "69"),
    tokens.YY_AD: (Text("ปี ค.ศ. สองหลัก", "Year, A.D., two digits"), "26"),
    tokens.MONTH: (Text("เดือน สองหลัก", "Month, two digits"), "11"),
    tokens.FISCAL_BE: (
        Text("ปีงบประมาณ พ.ศ. เริ่ม 1 ตุลาคม", "Thai fiscal year, Buddhist era; starts on 1 October"),
        "2570",
    ),
}


SHIPPED: dict[str | None, tuple[str, str]] = {
    None: ("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}", "หนังสือและเอกสารทั่วไป / Letters and everything else"),
    "TRANSMITTAL": ("{ORIGINATOR}-{RECIPIENT}-{SUB_TYPE}-{SEQ:4}-{YEAR:B.E.}", "ใบนำส่ง / Transmittals"),
    "RFA": ("{PROJECT}-{CORR_TYPE}-{DISCIPLINE}-{RFA_TYPE}-{SEQ:4}-{REV}", "คำขออนุมัติ (RFA) / Requests for approval"),
    "CIRCULATION": ("{ORIGINATOR}-CIR-{SEQ:4}-{YEAR:B.E.}", "ใบเวียน / Circulation sheets"),
    "DRAWING": ("{PROJECT}-{DISCIPLINE}-{CATEGORY}-{SEQ:4}-{REV}", "แบบก่อสร้าง / Drawings"),
}


class FormatStale(Stale):
    """Another user has changed the format since it was read."""

    code = "NUMBER_FORMAT_STALE"
    says = Text("รูปแบบเลขที่ถูกแก้ไขโดยผู้อื่นแล้ว", "Somebody else has changed this number format.")
    recovery = (Text("รีเฟรชหน้าแล้วแก้ไขใหม่", "Refresh the page and make the change again."),)


class FormatInUse(DomainError):
    """Issued numbers have this format, which explains them."""

    kind, code = ErrorKind.CONFLICT, "FORMAT_IN_USE"
    says = Text(
        "ลบรูปแบบนี้ไม่ได้ เพราะมีเลขที่ออกด้วยรูปแบบนี้แล้ว เช่น “{number}”",
        "Numbers were issued with this format, such as “{number}”, so it cannot be deleted.",
    )
    recovery = (Text("เปลี่ยนรูปแบบแทนการลบ", "Change the format instead."),)


class FormatTarget(NamedTuple):
    """Without a type, the project's default."""

    project_public_id: UUID
    type_code: str | None = None
    narrowing: Narrowing = Narrowing()


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatDraft:
    """:param resets: None: true if the template prints a period"""

    template: str
    description: str | None = None
    resets: bool | None = None
    overflow: OverflowRule = OverflowRule.WIDEN
    reason: str | None = None


def checked_template(wanted: FormatDraft, *, drawing: bool) -> Template:
    """
    :raises TemplateInvalid: naming the position
    :raises Invalid: for a reset that would repeat numbers
    """
    template = Template.parse(wanted.template, drawing=drawing)
    if wanted.resets and not template.prints_period:
        raise invalid(
            "/resetSequenceYearly",
            "no_period",
            "รูปแบบนี้ไม่มีปี เดือน หรือปีงบประมาณ จึงเริ่มนับใหม่ไม่ได้ (เลขเดิมจะซ้ำ)",
            "The format has no year, month or fiscal year, so restarting would repeat old numbers.",
        )
    if wanted.resets is not False and template.repeats_its_period:
        raise invalid(
            "/template",
            "month_without_year",
            "รูปแบบนี้มีเดือนโดยไม่มีปี เลขของเดือนเดียวกันในปีถัดไปจะซ้ำ ให้เพิ่มปี หรือให้นับต่อเนื่อง",
            "The format has the month without a year, so the same month of the next year would repeat its numbers: add the year, or continue numbering across periods.",
        )
    return template


@dataclass(frozen=True, slots=True)
class PrintRule:
    template: Template
    resets: bool
    refuses: bool


@dataclass(frozen=True, slots=True)
class SeriesPrinter:
    template: Template
    values: Mapping[str, str]
    revision: str

    def number(self, sequence: int) -> str:
        return self.template.render(self.values, sequence=sequence, revision=self.revision)

    def base(self, sequence: int) -> str:
        return self.template.base(self.values, sequence=sequence)


@dataclass(frozen=True, slots=True)
class TemplatePiece:
    """`start` is inclusive, `end` exclusive; `token` is None for literal text and invalid tokens."""

    start: int
    end: int
    text: str
    token: str | None = None
    fault: FieldProblem | None = None


@dataclass(frozen=True, slots=True)
class ParsedTemplate:
    """:param text: the folded template, which positions refer to"""

    text: str
    pieces: tuple[TemplatePiece, ...]
    template: Template | None
    faults: tuple[FieldProblem, ...]


def parse_template(text: str, *, drawing: bool = False, pointer: str = "/template") -> ParsedTemplate:
    """Raise nothing; faults are part of the result."""
    folded = fold(text)
    pieces = tuple(_piece(folded, span, drawing=drawing, pointer=pointer) for span in part_spans(folded))
    faults = tuple(piece.fault for piece in pieces if piece.fault is not None)
    template = None
    if not faults:
        try:
            template = Template.parse(folded, drawing=drawing, pointer=pointer)
        except TemplateInvalid as fault:
            faults = tuple(fault.fields)
    return ParsedTemplate(folded, pieces, template, faults)


def _piece(text: str, span: tuple[int, int], *, drawing: bool, pointer: str) -> TemplatePiece:
    piece = TemplatePiece(*span, text[slice(*span)])
    try:
        part = parse_part(text, span, drawing=drawing, pointer=pointer)
    except TemplateInvalid as fault:
        return replace(piece, fault=fault.fields[0])
    return replace(piece, token=part.name) if isinstance(part, TemplateToken) else piece


@dataclass(frozen=True, slots=True)
class TemplateShape:
    """:param codes: codes that each token may print"""

    template: Template
    codes: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls,
        template: Template,
        target: tuple[str | None, Narrowing],
        codes: Mapping[str, frozenset[str]],
        numbers: Mapping[tuple[str, str], frozenset[str]],
    ) -> Self:
        """
        :param target: type and narrowing of the format
        :param numbers: printed numbers by type and sub type
        """
        token_codes, (type_code, narrowing) = dict(codes), target
        if type_code is not None:
            token_codes[tokens.CORR_TYPE] = frozenset({type_code})
            if narrowing.sub_type:
                token_codes[tokens.SUB_TYPE] = numbers.get((type_code, narrowing.sub_type), frozenset())
        if narrowing.rfa_type:
            token_codes[tokens.RFA_TYPE] = frozenset({narrowing.rfa_type})
        if narrowing.discipline:
            token_codes[tokens.DISCIPLINE] = frozenset({narrowing.discipline})
        return cls(template, token_codes)


class _Automaton:
    """`edges[state]` lists (character class, next state); the last state accepts."""

    def __init__(self, shape: TemplateShape) -> None:
        self.edges: list[list[tuple[str, int]]] = [[]]
        for part in shape.template.parts:
            self._append(part, shape.codes)

    @property
    def accepting(self) -> int:
        return len(self.edges) - 1

    def _append(self, part: TemplateText | TemplateToken, codes: Mapping[str, frozenset[str]]) -> None:
        if isinstance(part, TemplateText):
            self._add_words([part.text])
        elif part.name == tokens.SEQ:
            self._add_repetition(_DIGIT, least=part.width)
        elif part.name in tokens.PERIODS:
            self._add_repetition(_DIGIT, least=_DIGITS_OF.get(part.name, 4), loops=False)
        elif part.name == tokens.REV:
            self._add_repetition(_LETTER, least=1)
        else:
            self._add_words(codes.get(part.name) or [""])

    def _add_words(self, words: Iterable[str]) -> None:
        start, ends = self.accepting, []
        for word in words:
            state = start
            for character in word:
                self.edges.append([])
                self.edges[state].append((character, len(self.edges) - 1))
                state = len(self.edges) - 1
            ends.append(state)
        self.edges.append([])
        for end in ends:
            self.edges[end].append(("", self.accepting))

    def _add_repetition(self, character: str, *, least: int, loops: bool = True) -> None:
        for _ in range(least):
            self.edges[self.accepting].append((character, len(self.edges)))
            self.edges.append([])
        if loops:
            self.edges[self.accepting].append((character, self.accepting))


def can_collide(left_shape: TemplateShape, right_shape: TemplateShape) -> bool:
    """Return True also for formats too large to compare."""
    left, right = _Automaton(left_shape), _Automaton(right_shape)
    seen = {(0, 0)}
    queue = deque(seen)
    while queue:
        a, b = queue.popleft()
        if a == left.accepting and b == right.accepting:
            return True
        for pair in _moves(left.edges[a], right.edges[b], a, b):
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
        if len(seen) > _MOST_PAIRS:
            return True
    return False


def _moves(left: list[tuple[str, int]], right: list[tuple[str, int]], a: int, b: int) -> Iterable[tuple[int, int]]:
    for x, to in left:
        if x == "":
            yield to, b
    for y, to in right:
        if y == "":
            yield a, to
    for x, to_a in left:
        for y, to_b in right:
            if x and y and _overlap(x, y):
                yield to_a, to_b


def _overlap(x: str, y: str) -> bool:
    if x == y:
        return True
    if _DIGIT in {x, y}:
        other = y if x == _DIGIT else x
        return other in _DIGITS
    if _LETTER in {x, y}:
        other = y if x == _LETTER else x
        return "A" <= other <= "Z"
    return False
