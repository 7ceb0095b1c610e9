"""Take a template apart for an editor: every piece with its place, what each token means, and what is wrong where."""

from dataclasses import dataclass
from typing import Final

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.text import fold
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.template import Template, TemplateInvalid, parse_part, token_spans

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


@dataclass(frozen=True, slots=True)
class TemplatePiece:
    """
    A piece of the template.

    :param start: of its first character, from 0; `end` is after its last
    :param token: the token's name, None for literal text and for what is no token
    """

    start: int
    end: int
    text: str
    token: str | None = None
    fault: FieldProblem | None = None


@dataclass(frozen=True, slots=True)
class ParsedTemplate:
    """
    :param text: the template as it is read, with one spelling for each character: places refer to it
    :param template: None while something is wrong
    :param faults: of the pieces, and of the whole when every piece is in order
    """

    text: str
    pieces: tuple[TemplatePiece, ...]
    template: Template | None
    faults: tuple[FieldProblem, ...]


def parse_template(text: str, *, drawing: bool = False, pointer: str = "/template") -> ParsedTemplate:
    """Take a template apart, whatever is wrong with it; nothing is raised."""
    folded = fold(text)
    pieces: list[TemplatePiece] = []
    end = 0
    for start, stop in token_spans(folded):
        if start > end:
            pieces.append(_piece(folded, end, start, drawing=drawing, pointer=pointer))
        pieces.append(_piece(folded, start, stop, drawing=drawing, pointer=pointer))
        end = stop
    if end < len(folded):
        pieces.append(_piece(folded, end, len(folded), drawing=drawing, pointer=pointer))
    faults = tuple(piece.fault for piece in pieces if piece.fault is not None)
    if faults:
        return ParsedTemplate(folded, tuple(pieces), None, faults)
    try:
        template = Template.parse(folded, drawing=drawing, pointer=pointer)
    except TemplateInvalid as fault:
        return ParsedTemplate(folded, tuple(pieces), None, tuple(fault.fields))
    return ParsedTemplate(folded, tuple(pieces), template, ())


def _piece(text: str, start: int, end: int, *, drawing: bool, pointer: str) -> TemplatePiece:
    try:
        part = parse_part(text, start, end, drawing=drawing, pointer=pointer)
    except TemplateInvalid as fault:
        return TemplatePiece(start, end, text[start:end], fault=fault.fields[0])
    return TemplatePiece(start, end, text[start:end], token=getattr(part, "name", None))
