"""What can be read in a PDF, whatever program made it and whichever way it draws its letters."""

from io import BytesIO
from pathlib import Path

import pytest

from saraban.attachments.adapters.pdf_text import pdf_text, read_old_thai
from saraban.attachments.domain import TextProblem, UnreadableFile, searchable_text
from saraban.search_index.domain.folding import fold
from tests.readable_files import line, pdf

PDFS = sorted((Path(__file__).parents[2] / "data" / "thai_pdfs").iterdir())
PHRASES = [
    "น้ำยาบ่มคอนกรีตและน้ำมันทาแบบ",
    "กำหนดส่งมอบงานงวดที่ ๓/๒๕๖๙",
    "สิ่งปลูกสร้างริมฝั่งแม่น้ำ",
    "คู่มือปฏิบัติงานผู้ควบคุมงาน",
    "หนังสือค้ำประกันซองเลขที่ คคง.๑๒/๒๕๖๙",
    "ปั้นจั่นและนั่งร้านเหล็ก",
    "เหล็กข้ออ้อย SD50 ขนาด 32 มม.",
    "กฎหมายว่าด้วยการก่อสร้างชั้นใต้ดิน",
    "ญาติผู้ใหญ่และบัญชีปริมาณงาน",
    "ฐานรากตอกเสาเข็มด้วยปั้นจั่น ๔๕ ตัน",
    "ทดสอบกำลังอัดที่อายุ ๗ วัน",
    "เครื่องสูบน้ำดับเพลิง P101 ชำรุด",
    "ติดตั้งท่อร้อยสายไฟฟ้าใต้ดิน",
    "ฟ้าผ่าฝ้าเพดานห้องเครื่องชั้นดาดฟ้า",
]
PICTURE = "q 600 0 0 800 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"
LETTER = line("A letter of more than a hundred letters. " * 4)


def read(content: bytes) -> tuple[str, TextProblem | None]:
    pieces = []
    try:
        pieces += pdf_text(BytesIO(content))
    except UnreadableFile as error:
        return searchable_text("".join(pieces)), error.problem
    return searchable_text("".join(pieces)), None


class TestThaiPdf:
    @pytest.mark.parametrize("file", PDFS, ids=[file.stem for file in PDFS])
    def test_has_every_phrase(self, file: Path) -> None:
        text, problem = read(file.read_bytes())

        assert [phrase for phrase in PHRASES if fold(phrase) not in fold(text)] == []
        assert problem is None


class TestPagesWithoutText:
    @pytest.mark.parametrize(
        ("pages", "problem"),
        [
            ((LETTER + PICTURE.replace("600 0 0 800", "90 0 0 90"),), None),
            ((PICTURE + LETTER,), None),
            ((PICTURE + line("Scanned with a telephone"),), TextProblem.NO_TEXT),
            ((PICTURE, LETTER, LETTER), None),
            ((PICTURE, PICTURE, LETTER), TextProblem.NO_TEXT),
            (("BT /T 12 Tf 50 700 Td <001000110012> Tj ET", LETTER, LETTER), None),
            (("BT /T 12 Tf 50 700 Td <001000110012> Tj ET",), TextProblem.NO_UNICODE),
            (("", LETTER), None),
        ],
    )
    def test_are_a_problem_when_they_are_most(self, pages: tuple[str, ...], problem: TextProblem | None) -> None:
        assert read(pdf(*pages, glyphs="ก"))[1] == problem


class TestAnnotations:
    @pytest.mark.parametrize(
        ("annotation", "text"),
        [
            ("/Subtype /FreeText /Contents (AS NOTED)", "AS NOTED PAGE"),
            ("/Subtype /Widget /FT /Tx /T (a) /V <FEFF0E070E320E19>", "งาน PAGE"),
            ("/Subtype /Widget /FT /Btn /T (a) /V /Yes", "PAGE"),
            ("/Subtype /Stamp /F 4 /AP << /N 6 0 R >>", "PAGE APPROVED"),
        ],
    )
    def test_are_read_with_the_page(self, annotation: str, text: str) -> None:
        look = "BT /F 12 Tf 5 5 Td (APPROVED) Tj ET"
        form = f"<< /Type /XObject /Subtype /Form /BBox [0 0 90 20] /Resources << /Font << /F 3 0 R >> >> /Length {len(look)} >>"
        content = pdf(line("PAGE"), objects=(f"{form}\nstream\n{look}\nendstream",))
        annotations = f"/Annots [<< /Type /Annot /Rect [50 50 140 70] {annotation} >>] /Type /Page /Parent".encode()

        assert read(content.replace(b"/Type /Page /Parent", annotations)) == (text, None)


class TestReadOldThai:
    @pytest.mark.parametrize("text", ["รายการคำนวณเสาเข็ม P101", "สัญญาจ้าง ที่ 25 ณ วันที่ ๓ หญ้า ใหญ่", "บัญชี ชำนาญ ปั๊มน้ำ 2-3"])
    def test_reads_windows_874(self, text: str) -> None:
        drawn = text.encode("cp874").decode("latin-1")

        assert read_old_thai(drawn) == text
        assert read_old_thai(drawn.replace("\u00ad", "-")) == text  # so PDFium has it
        assert read_old_thai("".join(chr(0xF000 + ord(one)) if one > "\xa0" else one for one in drawn)) == text

    @pytest.mark.parametrize(
        "text", ["Été à Orléans, naïf 25 °C ± 2", "Contents ········ 7", "งาน 25 °C", "P-101", "Çà où ¿qué?"]
    )
    def test_leaves_other_languages_alone(self, text: str) -> None:
        assert read_old_thai(text) == text
