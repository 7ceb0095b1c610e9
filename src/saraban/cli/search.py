"""
`saraban search verify | rebuild`: whether the index of search on this machine contains everything.

`verify` ends with 0 for in order, 1 for a difference, 2 for could not tell.
"""

import sys
from typing import TYPE_CHECKING

import typer

from saraban.cli.output import progress_bar, say, tell, verification_failure, with_system

if TYPE_CHECKING:
    from saraban.bootstrap import System

DIFFERS = 1

group = typer.Typer(no_args_is_help=True, help="The index of search: compare it with what was written, make it anew.")


@group.command()
def verify() -> None:
    """Compare the index of this machine with documents, circulations and drawings; people may work meanwhile.

    Exit code 0 when the index contains everything, 1 when it differs (each document is named) or is not built, 2 when it cannot tell.

    Example: `saraban search verify`
    """

    async def work(system: "System") -> int:
        from saraban.search.service.indexing import compare, is_built, waiting

        if not is_built(system.db):
            return -1
        found = 0
        async for one in compare(system.db):
            found += 1
            path = one.kind.path
            sys.stderr.write(say(f"saraban: ดัชนีของ {one.number} ไม่ตรง\n", f"saraban: {path} {one.number}: differs\n"))
        async with system.db.reading() as session:
            if waits := len(await waiting(session)):
                tell(f"มีการแก้ไขรอโปรแกรมเบื้องหลัง {waits:,} รายการ", f"Changes that wait for the worker: {waits:,}.")
        return found

    with verification_failure():
        found = with_system(work)
    if found < 0:
        tell(
            "ดัชนีค้นหายังสร้างไม่เสร็จ โปรแกรมเบื้องหลังหรือ `saraban search rebuild` จะสร้างให้",
            "The index of search is not built yet. The worker or `saraban search rebuild` builds it.",
        )
        raise typer.Exit(DIFFERS)
    if found:
        tell(
            f"ดัชนีค้นหาไม่ตรง {found:,} รายการ แก้ด้วย `saraban search rebuild`",
            f"The index of search differs from {found:,} of them. `saraban search rebuild` mends it.",
        )
        raise typer.Exit(DIFFERS)
    tell("ดัชนีค้นหาตรงกันทั้งหมด", "The index of search agrees with everything.")


@group.command()
def rebuild() -> None:
    """Build the index of search of this machine anew.

    People may work meanwhile, and find less until it is done. Where a server runs, the server builds it in the background.

    Example: `saraban search rebuild`
    """

    async def work(system: "System") -> bool:
        from saraban.search.service import indexing

        with progress_bar("รายการ", "entries") as bar:
            return await indexing.rebuild(system.db, progress=lambda done, total: bar(completed=done, total=total))

    if with_system(work):
        tell("สร้างดัชนีค้นหาใหม่แล้ว", "The index of search has been built.")
    else:
        tell("โปรแกรมที่กำลังทำงานจะสร้างดัชนีค้นหาใหม่", "The running server builds the index of search in the background.")
