"""`saraban file texts | retry`: whether the text inside the files has been read, and those whose text could not be."""

from typing import TYPE_CHECKING

import typer

from saraban.cli.output import say, tell
from saraban.cli.run import as_system, reading

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.context import RequestContext

group = typer.Typer(no_args_is_help=True, help="Files: the text inside them, which the search finds.")


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
