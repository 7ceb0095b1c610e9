"""
`saraban document reach verify | rebuild`: whether the lists show each document to those who may see it.

`verify` ends with 0 for in order, 1 for a difference, 2 for could not tell.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.output import CountedRows, progress_bar, say, tell, verification_failure, with_system
from saraban.cli.run import project_named

if TYPE_CHECKING:
    from saraban.bootstrap import System

DIFFERS = 1
OneProject = Annotated[str | None, typer.Option("--project", help="Code of a project; all when left out.")]

group = typer.Typer(no_args_is_help=True, help="Documents: the index that their lists are read from.")
reach = typer.Typer(
    no_args_is_help=True, help="The index of who finds which document: compare it with the documents, mend it."
)
group.add_typer(reach, name="reach")


@reach.command()
def verify(project: OneProject = None) -> None:
    """Compare the index that lists are read from with the documents; people may work meanwhile.

    Exit code 0 when everything agrees, 1 when something does not (each document is named), 2 when it cannot tell.

    Examples:

        saraban document reach verify
        saraban document reach verify --project LCBP3-C2
    """
    with verification_failure():
        found, compared = with_system(_compare, project, mend=False)
    if found:
        tell(
            f"ดัชนีไม่ตรงกับเอกสาร {found:,} ฉบับ แก้ด้วย `saraban document reach rebuild`",
            f"The index differs from {found:,} documents. `saraban document reach rebuild` mends it.",
        )
        raise typer.Exit(DIFFERS)
    tell(f"เทียบเอกสาร {compared:,} ฉบับ ตรงกันทั้งหมด", f"{compared:,} documents compared; everything agrees.")


@reach.command()
def rebuild(project: OneProject = None) -> None:
    """Write the index that lists are read from anew wherever it differs from the documents.

    People may work meanwhile, and lists are right document by document. It may be broken off: what was written stays, and
    the next time it goes on with the rest.

    Examples:

        saraban document reach rebuild
        saraban document reach rebuild --project LCBP3-C2
    """
    found, compared = with_system(_compare, project, mend=True)
    tell(
        f"เทียบเอกสาร {compared:,} ฉบับ แก้ดัชนี {found:,} ฉบับ",
        f"{compared:,} documents compared; the index of {found:,} was mended.",
    )


async def _compare(system: "System", code: str | None, *, mend: bool) -> tuple[int, int]:
    """Return how many documents differed, and how many were looked at; without mending, each is named."""
    from saraban.bootstrap import document_kinds
    from saraban.documents.core.service import compare_reach

    found, project = 0, None
    if code is not None:
        async with system.db.reading() as session:
            project = await project_named(session, code)
    with progress_bar("ฉบับ", "documents") as bar:
        compared = CountedRows(bar)
        async for one in compare_reach(system.db, document_kinds(), project=project, mend=mend, progress=compared):
            found += 1
            if not mend:
                sys.stderr.write(
                    say(f"saraban: ดัชนีของ {one.number} ไม่ตรง\n", f"saraban: {one.kind} {one.number}: differs\n")
                )
    return found, compared.done
