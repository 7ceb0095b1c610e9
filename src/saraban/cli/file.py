"""`saraban file texts | retry | verify`: the text inside the files, and whether their bytes are what was uploaded."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.output import FAILED, progress_bar, say, tell, verification_failure, with_system
from saraban.cli.run import as_system, reading

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.attachments.service.verification import FileFinding
    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext

group = typer.Typer(no_args_is_help=True, help="Files: whether they are intact, and the text that the search finds.")


@group.command()
def texts() -> None:
    """Count the files whose text waits to be read, has been read, or could not be, by the reason.

    Example: `saraban file texts`
    """
    from saraban.attachments.service import extraction

    waiting, read, problems = reading(lambda _ctx, session: extraction.count_texts(session))
    typer.echo(f"{say('รออ่าน', 'waiting')}: {waiting}")
    typer.echo(f"{say('อ่านแล้ว', 'read')}: {read}")
    for problem, count in problems.items():
        typer.echo(f"{problem}: {count}")


@group.command()
def retry() -> None:
    """Have the files whose text could not be read wait again, after a limit was raised or files were restored.

    The worker reads them; `saraban worker --once` does so now.

    Example: `saraban file retry`
    """
    from saraban.attachments.service import extraction

    async def work(ctx: "RequestContext", session: "AsyncSession") -> int:
        return await extraction.retry_texts(session, now=ctx.now)

    count = as_system(work)
    tell(f"ไฟล์ที่รออ่านใหม่: {count}", f"Files that wait to be read again: {count}")


@group.command()
def verify(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print each finding as a line of JSON.")] = False
) -> None:
    """Compare each stored file with the checksum of its upload; people may work meanwhile.

    Exit code 0 when all files are intact, 1 when one is missing, altered or unreadable (each is named), 2 when it cannot tell.
    Files that nothing in the database names are listed as a note.

    Example: `saraban file verify --json`
    """

    async def work(system: "System") -> tuple[int, int]:
        from saraban.attachments.service import verification

        faults = files = 0
        with progress_bar("ไฟล์", "files") as bar:

            def progress(done: int, total: int) -> None:
                nonlocal files
                files = done
                bar(completed=done, total=total)

            async for finding in verification.verify_files(system.db, system.storage, progress=progress):
                faults += 1
                await _print_finding(system, finding, as_json=as_json)
        async for key in verification.unnamed_files(system.db, system.storage):
            line = json.dumps({"fault": "unnamed", "key": key}, ensure_ascii=False)
            tell(*((line, line) if as_json else (f"ไม่มีรายการในฐานข้อมูล: {key}", f"unnamed: {key}")))
        return faults, files

    with verification_failure():
        faults, files = with_system(work)
    if faults:
        tell(f"ไฟล์ที่ไม่ถูกต้อง {faults:,} จาก {files:,} ไฟล์", f"{faults:,} of {files:,} files are not intact.", err=True)
        raise typer.Exit(FAILED)
    tell(f"ตรวจ {files:,} ไฟล์ ถูกต้องทั้งหมด", f"{files:,} files verified; all are intact.", err=as_json)


_FAULTS = {"missing": "ไม่มีไฟล์", "altered": "เนื้อหาถูกเปลี่ยน", "unreadable": "อ่านไม่ได้"}


async def _print_finding(system: "System", finding: "FileFinding", *, as_json: bool) -> None:
    from saraban.search.service import indexing

    file, fault = finding
    async with system.db.reading() as session:
        holders = await indexing.holders_of_file(session, file.id)
    if as_json:
        documents = [{"kind": kind, "publicId": str(public_id)} for kind, public_id in holders]
        line = {"fault": fault, "publicId": str(file.public_id), "fileName": file.name, "key": file.key}
        typer.echo(json.dumps(line | {"documents": documents}, ensure_ascii=False))
        return
    where = ", ".join(f"{kind} {public_id}" for kind, public_id in holders)
    typer.echo(f"{say(_FAULTS[fault], fault)}: {file.public_id}  {file.name}  {file.key}  {where}".rstrip())
