"""Extract text in a limited child process, so that a bad file harms nothing else."""

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

CLOCK_FACTOR = 3  # wall-clock seconds for each CPU second: the machine has other work
_MAX_OUTPUT_BYTES = 4 * MOST_TEXT + 1024  # bytes
_NO_MEMORY = 3
_PROBLEM_BY_EXIT = {
    1: TextProblem.DAMAGED,  # an unexpected exception
    _NO_MEMORY: TextProblem.OUT_OF_MEMORY,
    -signal.SIGKILL: TextProblem.OUT_OF_MEMORY,  # killed by the kernel without free memory
    -signal.SIGXCPU: TextProblem.TIMED_OUT,
    -signal.SIGALRM: TextProblem.TIMED_OUT,
}


class TextReader:
    """
    :param seconds: of CPU for one file
    :param memory: MB of address space
    """

    def __init__(self, *, seconds: int, memory: int) -> None:
        self._seconds, self._memory = seconds, memory
        self.longest = seconds * CLOCK_FACTOR

    async def read(self, chunks: AsyncIterator[bytes], mime_type: str) -> FileText:
        with TemporaryFile() as source, TemporaryFile() as output:
            async for chunk in chunks:
                await asyncio.to_thread(source.write, chunk)
            source.seek(0)
            code = await self._run(source, output, mime_type)
            if code:
                return FileText(problem=_PROBLEM_BY_EXIT.get(code, TextProblem.CRASHED))
            output.seek(0)
            problem, _, text = output.read(_MAX_OUTPUT_BYTES).decode(errors="ignore").partition("\n")
        return FileText(text, TextProblem(problem) if problem else None)

    async def _run(self, source: BinaryIO, output: BinaryIO, mime_type: str) -> int:
        arguments = [mime_type, str(self._seconds), str(self.longest), str(self._memory << 20)]
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-s", "-m", __name__, *arguments),
            stdin=source,
            stdout=output,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PYTHONPATH": str(Path(saraban.__file__).parents[1])},
        )
        try:
            return await asyncio.wait_for(child.wait(), self.longest + 5)  # after its own alarm
        except TimeoutError:
            return -signal.SIGALRM
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()


# Code of the child process.


def _main(mime_type: str, seconds: int, longest: int, memory: int) -> None:
    signal.alarm(longest)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # the soft limit sends SIGXCPU
    for limit, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, _MAX_OUTPUT_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))
    try:
        result = _read(sys.stdin.buffer, mime_type)
    except MemoryError:
        sys.exit(_NO_MEMORY)
    sys.stdout.buffer.write(f"{result.problem or ''}\n{result.text}".encode())


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
    text, problem = _gather(readers[BY_MIME_TYPE[mime_type].code](file))
    text = searchable_text(text)[:MOST_TEXT]
    return FileText(text, problem if text or problem else TextProblem.NO_TEXT)


def _gather(pieces: Iterable[str]) -> tuple[str, TextProblem | None]:
    """Return the text up to the limit, and why it is incomplete."""
    texts, remaining = [], MOST_TEXT
    try:
        for piece in pieces:
            texts.append(piece[:remaining])
            remaining -= len(piece)
            if remaining < 0:
                return "".join(texts), TextProblem.CUT
    except UnreadableFile as error:
        return "".join(texts), error.problem
    return "".join(texts), None


if __name__ == "__main__":
    _main(sys.argv[1], *map(int, sys.argv[2:]))
