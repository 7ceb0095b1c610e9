"""`saraban file texts | retry | verify`: the text inside the files, and whether their bytes are those of the upload."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.output import FAILED, say, tell, verification_failure, with_system
from saraban.cli.run import as_system, reading

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

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
def retry(
    *, all_files: Annotated[bool, typer.Option("--all", help="Read those too whose text was read before.")] = False
) -> None:
    """Have the files whose text could not be read wait again, after a limit was raised or files were restored.

    The worker reads them; `saraban worker --once` does so now. With `--all` it reads each file again, as a newer release does.

    Example: `saraban file retry`
    """
    from saraban.attachments.service import extraction

    async def work(ctx: "RequestContext", session: "AsyncSession") -> int:
        return await extraction.retry_texts(session, now=ctx.now, all_files=all_files)

    count = as_system(work)
    tell(f"ไฟล์ที่รออ่านใหม่: {count}", f"Files that wait to be read again: {count}")


@group.command()
def verify(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print each finding as a line of JSON.")] = False
) -> None:
    """Compare each file with the checksum of its upload; note files that no row names. People may work meanwhile.

    Exit code 0 when all are intact, 1 when one is missing, altered or unreadable, 2 when it cannot tell.

    Example: `saraban file verify`
    """

    async def work(system: "System") -> tuple[int, int]:
        from saraban.attachments.service import verification
        from saraban.search.service import indexing

        def print_line(line: dict[str, str]) -> None:
            typer.echo(json.dumps(line, ensure_ascii=False) if as_json else "  ".join(line.values()).rstrip())

        files = faults = 0
        async for fault, file in verification.verify_files(system.db, system.storage):
            files += 1
            if fault is not None:
                faults += 1
                async with system.db.reading() as session:
                    holders = await indexing.holders(session, [file.id])
                documents = [f"{kind.name.lower()}/{one}" for kind, public_ids in holders.items() for one in public_ids]
                line = {"fault": fault, "publicId": str(file.public_id), "key": file.storage_key}
                print_line(line | {"documents": " ".join(documents)})
        async for key in verification.unnamed_files(system.db, system.settings.data_dir.resolve() / "files"):
            print_line({"fault": "unnamed", "key": key})
        return files, faults

    with verification_failure():
        files, faults = with_system(work)
    tell(f"ตรวจ {files:,} ไฟล์ ผิด {faults:,} ไฟล์", f"{files:,} files verified; {faults:,} not intact.", err=as_json)
    if faults:
        raise typer.Exit(FAILED)
