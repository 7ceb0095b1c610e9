"""
Reads the text of a file in a child process with limits: what exhausts, crashes or deceives a reader takes nothing else with it.

The child gets the file and a place for what it finds as unnamed files, so that nothing is left behind by whatever is killed. Its
environment is empty. It ends by itself when its time is over, though whoever started it is gone.
"""

import asyncio
import resource
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import saraban
from saraban.attachments.domain import MOST_TEXT, FileText, TextProblem, UnreadableFile, searchable_text
from saraban.attachments.domain.kinds import BY_MIME_TYPE

PATIENCE = 3  # times as long by the clock: the machine has other work
_MOST_FOUND = 4 * MOST_TEXT + 1024  # bytes
_NO_MEMORY = 3
_ENDS = {
    1: TextProblem.DAMAGED,  # the reader has an exception that nobody expected
    _NO_MEMORY: TextProblem.OUT_OF_MEMORY,
    -signal.SIGKILL: TextProblem.OUT_OF_MEMORY,  # by the kernel, which had none left
    -signal.SIGXCPU: TextProblem.TIMED_OUT,
    -signal.SIGALRM: TextProblem.TIMED_OUT,
}


class TextReader:
    """
    :param seconds: of processor time for one file; a million Thai letters, each drawn by itself, take 7
    :param memory: MB of address space for one file
    """

    def __init__(self, *, seconds: int, memory: int) -> None:
        self._seconds, self._memory = seconds, memory
        self.longest = seconds * PATIENCE

    async def read(self, chunks: AsyncIterator[bytes], mime_type: str) -> FileText:
        """Return the text of a file of one of the kinds that are read, or why there is none."""
        with TemporaryFile() as source, TemporaryFile() as found:
            async for chunk in chunks:
                await asyncio.to_thread(source.write, chunk)
            source.seek(0)
            code = await self._run(source, found, mime_type)
            if code:
                return FileText(problem=_ENDS.get(code, TextProblem.CRASHED))
            found.seek(0)
            problem, _, text = found.read(_MOST_FOUND).decode(errors="ignore").partition("\n")
        return FileText(text, TextProblem(problem) if problem else None)

    async def _run(self, source: BinaryIO, found: BinaryIO, mime_type: str) -> int:
        arguments = [mime_type, str(self._seconds), str(self.longest), str(self._memory << 20)]
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-s", "-m", __name__, *arguments),
            stdin=source,
            stdout=found,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PYTHONPATH": str(Path(saraban.__file__).parents[1])},
        )
        try:
            return await asyncio.wait_for(child.wait(), self.longest + 5)  # its own alarm comes first
        except TimeoutError:
            return -signal.SIGALRM
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()


# What follows runs in the child.


def _main(mime_type: str, seconds: int, longest: int, memory: int) -> None:
    signal.alarm(longest)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # at the first it is told why it ends
    for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, _MOST_FOUND), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    try:
        found = _read(sys.stdin.buffer, mime_type)
    except MemoryError:
        sys.exit(_NO_MEMORY)
    sys.stdout.buffer.write(f"{found.problem or ''}\n{found.text}".encode())


def _read(file: BinaryIO, mime_type: str) -> FileText:
    from saraban.attachments.adapters import office_text, text_files
    from saraban.attachments.adapters.pdf_text import pdf_text

    readers: dict[str, Callable[[BinaryIO], Iterable[str]]] = {
        "PDF": pdf_text,
        "DOCX": office_text.docx_text,
        "XLSX": office_text.xlsx_text,
        "PPTX": office_text.pptx_text,
        **dict.fromkeys(("ODT", "ODS", "ODP"), office_text.open_document_text),
        **dict.fromkeys(("TXT", "CSV"), text_files.plain_text),
        "RTF": text_files.rtf_text,
        "EML": text_files.mail_text,
        "MSG": text_files.msg_text,
        "XLS": text_files.xls_text,
    }
    found, problem = _gather(readers[BY_MIME_TYPE[mime_type].code](file))
    text = searchable_text(found)[:MOST_TEXT]
    return FileText(text, problem if text or problem else TextProblem.NO_TEXT)


def _gather(pieces: Iterable[str]) -> tuple[str, TextProblem | None]:
    """Return what can be read of a file and searched, and why that is not all of it."""
    found, left = [], MOST_TEXT
    try:
        for piece in pieces:
            found.append(piece[:left])
            left -= len(piece)
            if left < 0:
                return "".join(found), TextProblem.CUT
    except UnreadableFile as error:
        return "".join(found), error.problem
    return "".join(found), None


if __name__ == "__main__":
    _main(sys.argv[1], *map(int, sys.argv[2:]))
