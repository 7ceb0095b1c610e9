"""`saraban workflow choices | choose | unchoose`: which workflow the next documents start on."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saraban.cli.codes import account_context, project_named
from saraban.cli.options import As
from saraban.cli.output import option_names, say, with_system

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget, WorkflowAssignmentView

Code = Annotated[str, typer.Argument(metavar="CODE", help="Code of a workflow with an active version.")]
Kind = Annotated[str, typer.Option(help="correspondence, rfa, transmittal or circulation.")]
Type = Annotated[
    str | None, typer.Option("--type", help="Only this document type (LETTER, MEMO, …), of RFAs this RFA type.")
]
Project = Annotated[str | None, typer.Option(help="Code of the project; without it the whole installation.")]


_TYPED = {
    "/kind": "--kind",
    "/typeCode": "--type",
    "/project": "--project",
    "/projectPublicId": "--project",
    "/workflowCode": "CODE",
    "/as": "--as",
}


def register(noun: typer.Typer) -> None:
    noun.command("choices")(choices)
    noun.command("choose")(choose)
    noun.command("unchoose")(unchoose)


def choices(account: As, project: Project = None) -> None:
    """List which workflows are assigned to which documents; where none is, the standard workflow of the kind counts.

    Examples:

        saraban workflow choices --as admin
        saraban workflow choices --project LCBP3-C2 --as admin
    """

    async def work(system: "System") -> "tuple[WorkflowAssignmentView, ...]":
        from saraban.workflow.administration.service import workflow_assignment

        async with system.db.reading() as session:
            ctx = await account_context(session, system.clock, account)
            place = await project_named(session, project) if project else None
            return await workflow_assignment.listing(ctx, session, project_public_id=place)

    found = with_system(work)
    for one in found:
        where = one.project.project_code if one.project else say("ทุกโครงการ", "all projects")
        mark = "" if one.is_in_force else say("ไม่มีเวอร์ชันที่ใช้งานอยู่", "no active version")
        typer.echo(f"{one.kind:<15} {one.type_code or '–':<12} {where:<14} {one.workflow_code} {mark}".rstrip())
    if not found:
        typer.echo(say("ยังไม่ได้กำหนดกระบวนงานใด", "Nothing is assigned."))


def choose(code: Code, kind: Kind, account: As, type_code: Type = None, project: Project = None) -> None:
    """Assign a workflow to documents, from the next one on; an earlier assignment is replaced.

    For a type before for a kind, for a project before for the whole installation: the most specific choice counts.

    Examples:

        saraban workflow choose MEMO_TWO_STEPS --kind correspondence --type MEMO --project LCBP3-C2 --as padmin
        saraban workflow choose RFA_APPROVAL --kind rfa --as admin
    """

    async def work(ctx: "RequestContext", session: "AsyncSession", place: "AssignmentTarget") -> None:
        from saraban.workflow.administration.service import workflow_assignment

        await workflow_assignment.assign(ctx, session, place=place, workflow_code=code)

    with_system(lambda system: _changed(system, account, (kind, type_code, project), work))
    typer.echo(say(f"เอกสารใหม่จะเริ่มด้วย {code}", f"New documents start on {code}."))


def unchoose(kind: Kind, account: As, type_code: Type = None, project: Project = None) -> None:
    """Remove an assignment, so that the next less specific one counts again.

    Examples:

        saraban workflow unchoose --kind correspondence --type MEMO --project LCBP3-C2 --as padmin
    """

    async def work(ctx: "RequestContext", session: "AsyncSession", place: "AssignmentTarget") -> None:
        from saraban.workflow.administration.service import workflow_assignment

        await workflow_assignment.unassign(ctx, session, place=place)

    with_system(lambda system: _changed(system, account, (kind, type_code, project), work))
    typer.echo(say("ยกเลิกการกำหนดแล้ว", "Assignment removed."))


async def _changed(
    system: "System",
    account: str,
    place: tuple[str, str | None, str | None],
    work: "Callable[[RequestContext, AsyncSession, AssignmentTarget], Coroutine[Any, Any, None]]",
) -> None:
    from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget

    kind, type_code, project = place

    async def run(session: "AsyncSession") -> None:
        ctx = await account_context(session, system.clock, account)
        key = await project_named(session, project) if project else None
        await work(ctx, session, AssignmentTarget(kind, type_code, key))

    with option_names(_TYPED):
        await system.db.transact(run)
