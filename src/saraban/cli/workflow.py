"""`saraban workflow …`: what runs on which version and what starts on which, migration, and the back-test of a version."""

import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.options import As
from saraban.cli.output import language, option_names, say, with_system
from saraban.cli.run import account_context, project_named

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.kit.errors import FieldProblem
    from saraban.workflow.administration.domain.migration import MigrationOutcome
    from saraban.workflow.administration.service.migration import MigratedInstance, MigrationPlan, RunningInstances
    from saraban.workflow.administration.service.simulation import DifferingInstance, ReplayReport
    from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget, WorkflowAssignmentView

LEFT = 6
DIFFERS = 6
_REPLAY_BATCH = 500


Code = Annotated[str, typer.Argument(metavar="CODE", help="Code of the workflow, as `saraban workflow list` shows it.")]
WorkflowCode = Annotated[str, typer.Argument(metavar="CODE", help="Code of a workflow with an active version.")]
Kind = Annotated[str, typer.Option(help="correspondence, rfa, transmittal or circulation.")]
TypeCode = Annotated[
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


def register(app: typer.Typer) -> None:
    noun = typer.Typer(no_args_is_help=True, help="Workflows: which version runs where, and moving to another one.")
    noun.callback()(lambda: None)
    noun.command("list")(list_)
    noun.command("replay")(replay)
    noun.command()(migrate)
    for verb in (choices, choose, unchoose):
        noun.command()(verb)
    app.add_typer(noun, name="workflow")


def list_(code: Annotated[str | None, typer.Argument(metavar="CODE", help="Of this workflow alone.")] = None) -> None:
    """List the versions of workflows with the documents in progress on each, by status.

    Of a version in force it says, on stderr, what publishing would refuse today: checks have grown stricter since.

    Examples:

        saraban workflow list
        saraban workflow list RFA_APPROVAL
    """

    async def work(system: "System") -> "list[tuple[RunningInstances, Sequence[FieldProblem]]]":
        from saraban.workflow import service
        from saraban.workflow.administration.service import migration

        async with system.db.reading() as session:
            return [
                (one, await service.refused_today(session, code=one.code, version=one.version) if one.is_active else ())
                for one in await migration.running_instances(session, code=code)
            ]

    found = with_system(work)
    for one, refused in found:
        states = ", ".join(f"{state} {count:,}" for state, count in one.states.items())
        mark = say("ใช้อยู่", "active") if one.is_active else ""
        typer.echo(f"{one.code:<28} {one.version:>4}  {mark:<7} {states or '–'}")
        for fault in refused:
            words = say("หากเผยแพร่วันนี้จะไม่ผ่านการตรวจสอบ", "would not pass today's publishing checks")
            sys.stderr.write(f"saraban: {one.code} {one.version}: {words}: {_fault(fault)}\n")
    if not found:
        typer.echo(say("ยังไม่มีกระบวนงาน", "There are no workflows."))


def migrate(
    code: Code,
    account: As,
    to: Annotated[int, typer.Option(min=1, help="The version that they shall run on.")],
    mapping: Annotated[
        list[str] | None, typer.Option("--map", metavar="OLD=NEW", help="State to state; several times.")
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of each document.")] = False,
) -> None:
    """Migrate the documents in progress to another version of their workflow; preview with --dry-run first.

    What cannot go on there (its state is gone, its context does not fit, nobody could act, a review has answers that would
    not stay what they are) is named and stays on its version. May be broken off and run again. Exit code 6 when something stayed.

    Examples:

        saraban workflow migrate RFA_APPROVAL --to 2 --dry-run --as admin
        saraban workflow migrate RFA_APPROVAL --to 2 --map in_review=pending_review --as admin
    """
    from saraban.workflow.administration.service.migration import MigrationPlan

    plan = MigrationPlan(code, to, _states(mapping or []), dry_run)
    counts = with_system(lambda system: _migrate(system, account, plan))
    for outcome, count in counts.items():
        typer.echo(f"{count:>8,}  {_says(outcome)}")
    if not counts:
        typer.echo(say("ไม่มีเอกสารที่ต้องย้าย", "There is nothing to migrate."))
    elif dry_run:
        typer.echo(say("ยังไม่ได้ย้าย", "Nothing was migrated."))
    if any(outcome.stands_still for outcome in counts):
        raise typer.Exit(LEFT)


def _states(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        old, is_pair, new = pair.partition("=")
        if not (is_pair and old and new):
            raise typer.BadParameter(say(f"ต้องเป็น OLD=NEW: {pair}", f"This must be OLD=NEW: {pair}"))
        if found.setdefault(old, new) != new:
            raise typer.BadParameter(say(f"ระบุ {old} ไว้สองทาง", f"{old} is mapped twice."))
    return found


async def _migrate(system: "System", account: str, plan: "MigrationPlan") -> "dict[MigrationOutcome, int]":
    from saraban.workflow.administration.service import migration

    counts: dict[MigrationOutcome, int] = {}
    async with system.db.reading() as session:
        ctx = await account_context(session, system.clock, account)
    total = await migration.remaining(system.db, plan=plan)
    with _bar(total) as done, option_names({"/mapping/": "--map"}):
        batches = migration.migrate(
            ctx,
            system.db,
            subjects=system.subjects,
            plan=plan,
        )
        async for batch in batches:
            for line in batch.lines:
                counts[line.found.outcome] = counts.get(line.found.outcome, 0) + 1
                if line.found.outcome.stands_still:
                    sys.stderr.write(f"saraban: {_told(line)}\n")
            done(batch.looked_at)
    return counts


def _told(line: "MigratedInstance") -> str:
    faults = "; ".join(_fault(one) for one in line.found.faults)
    where = f"{line.number or line.instance_public_id} ({line.from_version}, {line.state})"
    return f"{where}: {_says(line.found.outcome)}" + (f" {faults}" if faults else "")


def _fault(one: "FieldProblem") -> str:
    return f"{one.pointer}: {one.text.say(language(), one.values)}"


def _says(outcome: "MigrationOutcome") -> str:
    from saraban.workflow.administration.domain.migration import WORDS

    return WORDS[outcome].say(language())


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(say("เอกสาร", "documents"), total=total)
        yield lambda count: progress.update(task, advance=count)


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


def choose(code: WorkflowCode, kind: Kind, account: As, type_code: TypeCode = None, project: Project = None) -> None:
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


def unchoose(kind: Kind, account: As, type_code: TypeCode = None, project: Project = None) -> None:
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
    work: "Callable[[RequestContext, AsyncSession, AssignmentTarget], Awaitable[None]]",
) -> None:
    from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget

    kind, type_code, project = place

    async def run(session: "AsyncSession") -> None:
        ctx = await account_context(session, system.clock, account)
        key = await project_named(session, project) if project else None
        await work(ctx, session, AssignmentTarget(kind, type_code, key))

    with option_names(_TYPED):
        await system.db.transact(run)


def replay(
    code: Code,
    version: Annotated[int, typer.Option(min=1, help="The version that they are played through.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many, the latest first. All if left out.")] = None,
) -> None:
    """Back-test a version on closed documents, and name those that take a different path, from which step on.

    Of each step is asked again what its record knows: comments, codes, files, values, who acted and for which organizations.
    Roles and permissions of that day are not known and not asked. Exit code 6 when a document differs.

    Examples:

        saraban workflow replay RFA_APPROVAL --version 3
        saraban workflow replay RFA_APPROVAL --version 3 --limit 500
    """
    looked_at, same, unknown, differing, left_out = with_system(lambda system: _replay(system, code, version, limit))
    typer.echo(f"{same:>8,}  {say('เหมือนเดิม', 'take the same path')}")
    typer.echo(f"{differing:>8,}  {say('ต่างไป', 'differ')}")
    if unknown:
        typer.echo(f"{unknown:>8,}  {say('อ่านเอกสารไม่ได้แล้ว', 'can no longer be read')}")
    if left_out:
        typer.echo(f"{left_out:>8,}  {say('เสร็จสิ้นก่อนหน้านั้น ยังไม่ได้ทดสอบ', 'closed earlier, not tested')}")
    if not looked_at:
        typer.echo(say("ยังไม่มีเอกสารที่เสร็จสิ้น", "No closed documents yet."))
    if differing:
        raise typer.Exit(DIFFERS)


async def _replay(system: "System", code: str, version: int, limit: int | None) -> tuple[int, int, int, int, int]:
    """In batches, each read for itself, so that no session is held while thousands are played."""
    looked_at = same = unknown = differing = 0
    after: str | None = None
    while True:
        found = await _batch(
            system, code, version, _REPLAY_BATCH if limit is None else min(_REPLAY_BATCH, limit - looked_at), after
        )
        looked_at, same = looked_at + found.looked_at, same + found.same
        unknown, differing = unknown + found.unknown, differing + len(found.differing)
        for one in found.differing:
            typer.echo(_differing_line(one))
        after = found.next_after
        if after is None or (limit is not None and looked_at >= limit):
            return looked_at, same, unknown, differing, found.left_out


async def _batch(system: "System", code: str, version: int, limit: int, after: str | None) -> "ReplayReport":
    from saraban.workflow import service as workflow

    async with system.db.reading() as session:
        return await workflow.replay(
            session, subjects=system.subjects, code=code, version=version, limit=limit, after=after
        )


def _differing_line(one: "DifferingInstance") -> str:
    part = one.parting
    faults = "; ".join(f"{fault.pointer}: {fault.text.say(language(), fault.values)}" for fault in part.faults)
    step = say(f"ขั้นที่ {part.step}", f"step {part.step}")
    where = f"{one.number or one.instance_public_id} ({step}, {part.state}, {part.action})"
    return f"{where}: {part.says.say(language())}" + (f" {faults}" if faults else "")
