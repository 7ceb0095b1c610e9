"""The text inside files, read by a child process; what is made to exhaust it ends with a reason, within its limits."""

import asyncio
import os
import signal
import sys
import zlib
from pathlib import Path

import pytest

from saraban.attachments.domain import MOST_TEXT, FileText, TextProblem
from saraban.attachments.domain.kinds import DOCX, PDF, XLSX, FileKind
from tests import readable_files as files
from tests.readable_files import docx, line, million_pages, paragraph, pdf, read, read_in_child, xlsx


class TestPdf:
    def test_is_read_page_by_page(self) -> None:
        content = pdf(line("Method statement"), line("Bored piles, P-101"))

        assert read(content, PDF) == FileText("Method statement Bored piles, P-101")

    def test_with_thai_marks_that_are_drawn_by_themselves_is_read_as_it_is_written(self) -> None:
        # A browser draws so: a mark behind the next letter's beginning, clusters said in full, a space without ink.
        page = (
            "BT /T 12 Tf 50 700 Td /Span << /ActualText <FEFF0E2A0E33> >> BDC <0001> Tj 6 0 Td <0002> Tj -1 0 Td <0003> Tj EMC "
            "7 0 Td <0004> Tj /Span << /ActualText <FEFF0E230E31> >> BDC 6 0 Td <0005> Tj 6.5 0 Td <0006> Tj EMC "
            "-.5 0 Td <0007> Tj 14 0 Td <0001> Tj -12 -20 Td <0005> Tj ET"
        )

        assert read(pdf(page, glyphs="สํ\u0e32หร\u0e31บ"), PDF) == FileText("สำหรับ สร")

    def test_is_read_on_where_a_number_or_a_word_goes_on_in_the_next_line(self) -> None:
        lines = ("No. LCBP3-C2-", "RFA-TER-", "0001-A, docu-", "mentation", "of works")
        page = f"BT /F 12 Tf 50 700 Td {' 0 -14 Td '.join(f'({one}) Tj' for one in lines)} ET"

        assert read(pdf(page), PDF) == FileText("No. LCBP3-C2-RFA-TER-0001-A, documentation of works")

    def test_that_is_turned_is_read_too(self) -> None:
        page = "BT /T 12 Tf 0 1 -1 0 300 50 Tm <000100020003> Tj ET"

        assert read(pdf(page, glyphs="งาน"), PDF) == FileText("งาน")

    def test_without_text_says_so(self) -> None:
        assert read(pdf("0 0 9 9 re f"), PDF) == FileText(problem=TextProblem.NO_TEXT)

    def test_with_a_damaged_page_gives_the_others(self) -> None:
        content = pdf(line("first"), line("second")).replace(b"/Type /Page /Parent", b"/Type /Oops /Parent", 1)

        assert "second" in read(content, PDF).text


class TestDocx:
    def test_is_read_with_what_stands_beside_the_text(self) -> None:
        body = (
            paragraph("ขอ", "อนุมัติ")
            + "<w:p><w:r><w:t>คคง</w:t><w:noBreakHyphen/><w:t>0001</w:t><w:tab/><w:t>ก</w:t></w:r><w:r><w:delText>gone</w:delText></w:r></w:p>"
            + '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice>'
            + f"{paragraph('box')}</mc:Choice><mc:Fallback>{paragraph('box')}</mc:Fallback></mc:AlternateContent>"
        )
        content = docx(body, word__header1=files.header("โครงการ"), word__settings="<a><t>no</t></a>")

        assert read(content, DOCX) == FileText("ขออนุมัติ คคง-0001 ก box โครงการ")

    def test_is_cut_where_it_is_longer_than_what_is_searched(self) -> None:
        found = read(docx(paragraph("ยาว" * 100) * 4000), DOCX)

        assert (len(found.text) <= MOST_TEXT, len(found.text) > MOST_TEXT - 400, found.problem) == (
            True,
            True,
            TextProblem.CUT,
        )


class TestXlsx:
    def test_is_read_row_by_row(self) -> None:
        content = xlsx([["รายการ", "จำนวน"], ["เสาเข็ม", 12.5], [None, "เสาเข็ม"]], [["สรุป"]])

        assert read(content, XLSX) == FileText("รายการ จำนวน เสาเข็ม 12.5 เสาเข็ม สรุป")

    async def test_with_a_billion_cells_costs_what_is_written_in_it(self) -> None:
        assert await read_in_child(files.far_cell(), XLSX, seconds=2, memory=128) == FileText("near 7")


class TestHostileFile:
    @pytest.mark.parametrize(
        ("kind", "content", "problem"),
        [
            (PDF, files.locked_pdf(), TextProblem.PASSWORD),
            (PDF, pdf(line("x" * 1000))[:300], TextProblem.DAMAGED),
            (PDF, b"%PDF-1.7\n", TextProblem.DAMAGED),
            (DOCX, docx(paragraph("x"))[:200], TextProblem.DAMAGED),
            (DOCX, files.packed(readme="<a/>"), TextProblem.DAMAGED),
            (DOCX, docx("<w:p><w:r>"), TextProblem.DAMAGED),
            (XLSX, docx(paragraph("x")), TextProblem.NO_TEXT),
            (XLSX, files.packed(xl__worksheets__sheet1='<c t="s"><v>7</v></c>'), TextProblem.DAMAGED),
        ],
    )
    def test_that_is_no_such_file_or_locked(self, kind: FileKind, content: bytes, problem: TextProblem) -> None:
        assert read(content, kind) == FileText(problem=problem)

    async def test_of_entities_that_expand_without_end(self) -> None:
        laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
        content = files.packed(word__document=f'<!DOCTYPE a [<!ENTITY l0 "ha">{laughs}]><a><t>&l9;</t></a>')

        assert await read_in_child(content, DOCX) == FileText(problem=TextProblem.DAMAGED)

    async def test_that_unpacks_to_more_than_is_taken(self) -> None:
        content = docx("", word__header1=b" " * (257 << 20))

        assert len(content) < 300_000
        assert await read_in_child(content, DOCX) == FileText(problem=TextProblem.TOO_LARGE)

    async def test_of_one_word_that_fills_the_memory(self) -> None:
        found = await read_in_child(docx(f"<w:p><w:r><w:t>{'ก' * (60 << 20)}</w:t></w:r></w:p>"), DOCX, memory=160)

        assert found == FileText(problem=TextProblem.OUT_OF_MEMORY)

    async def test_with_a_page_that_unpacks_to_gigabytes_ends_the_child_alone(self) -> None:
        content = zlib.compress(b"q " * (128 << 20))
        page = pdf("").replace(
            b"<< /Length 0 >>\nstream\n\nendstream",
            b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
        )

        assert await read_in_child(page, PDF, memory=128) == FileText(problem=TextProblem.CRASHED)

    async def test_with_a_million_pages_runs_out_of_time(self) -> None:
        assert await read_in_child(million_pages(), PDF, seconds=1) == FileText(problem=TextProblem.TIMED_OUT)


class TestChild:
    async def test_that_dies_of_a_fault_is_said_to_have(self) -> None:
        reading = asyncio.create_task(read_in_child(million_pages(), PDF))
        os.kill(await child_of(os.getpid()), signal.SIGSEGV)

        assert await reading == FileText(problem=TextProblem.CRASHED)

    async def test_ends_with_the_one_who_waits_for_it(self) -> None:
        reading = asyncio.create_task(read_in_child(million_pages(), PDF))
        child = await child_of(os.getpid())
        reading.cancel()

        with pytest.raises(asyncio.CancelledError):
            await reading
        assert not is_there(child)

    async def test_does_not_outlive_its_time_when_its_parent_is_killed(self, tmp_path: Path) -> None:
        content = tmp_path / "a.pdf"
        content.write_bytes(million_pages())
        parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, str(content))
        child = await child_of(parent.pid)
        parent.kill()
        await parent.wait()

        while is_there(child):  # noqa: ASYNC110  nobody tells when a stranger's child has ended
            await asyncio.sleep(0.05)


PARENT = """
import asyncio, sys
from pathlib import Path
from saraban.attachments.domain.kinds import PDF
from tests.readable_files import read_in_child
asyncio.run(read_in_child(Path(sys.argv[1]).read_bytes(), PDF, seconds=1))
"""


async def child_of(process: int) -> int:
    """Return the child that reads for a process, when there is one."""
    while (child := reader_of(process)) is None:  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0.01)
    return child


def reader_of(process: int) -> int | None:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    found = [child for task in tasks for child in task.read_text().split()]
    return next((int(child) for child in found if b"text_reader" in Path(f"/proc/{child}/cmdline").read_bytes()), None)


def is_there(process: int) -> bool:
    return Path(f"/proc/{process}").exists()
