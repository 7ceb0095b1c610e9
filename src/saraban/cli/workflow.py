"""`saraban workflow …`: what runs on which version and what starts on which, migration, and the back-test of a version."""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.options import As
from saraban.cli.output import language, option_names, print_list, progress_bar, say, tell, with_system
from saraban.cli.run import account_context, as_account, project_named, reading, reading_as

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.kit.errors import FieldProblem
    from saraban.workflow.administration.domain.migration import MigrationOutcome
    from saraban.workflow.administration.schemas import WorkflowAssignmentOut
    from saraban.workflow.administration.service.migration import MigratedInstance, MigrationPlan, RunningInstances
    from saraban.workflow.administration.service.simulation import DifferingInstance, ReplayReport
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


group = typer.Typer(no_args_is_help=True, help="Workflows: which version runs where, and moving to another one.")


@group.command("list")
def list_(code: Annotated[str | None, typer.Argument(metavar="CODE", help="Of this workflow alone.")] = None) -> None:
    """List the versions of workflows with the documents in progress on each, by status.

    Of a version in force it says, on stderr, what publishing would refuse today: checks have grown stricter since.

    Examples:

        saraban workflow list
        saraban workflow list RFA_APPROVAL
    """

    from saraban.workflow import service
    from saraban.workflow.administration.service import migration

    async def step(
        _ctx: "RequestContext", session: "AsyncSession"
    ) -> "list[tuple[RunningInstances, Sequence[FieldProblem]]]":
        return [
            (one, await service.refused_today(session, code=one.code, version=one.version) if one.is_active else ())
            for one in await migration.running_instances(session, code=code)
        ]

    found = reading(step)
    for one, refused in found:
        states = ", ".join(f"{state} {count:,}" for state, count in one.states.items())
        mark = say("ใช้อยู่", "active") if one.is_active else ""
        typer.echo(f"{one.code:<28} {one.version:>4}  {mark:<7} {states or '–'}")
        for fault in refused:
            words = say("หากเผยแพร่วันนี้จะไม่ผ่านการตรวจสอบ", "would not pass today's publishing checks")
            sys.stderr.write(f"saraban: {one.code} {one.version}: {words}: {_fault(fault)}\n")
    if not found:
        tell("ยังไม่มีกระบวนงาน", "There are no workflows.")


@group.command()
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
    counts = with_system(_migrate, account, plan)
    for outcome, count in counts.items():
        typer.echo(f"{count:>8,}  {_says(outcome)}")
    if not counts:
        tell("ไม่มีเอกสารที่ต้องย้าย", "There is nothing to migrate.")
    elif dry_run:
        tell("ยังไม่ได้ย้าย", "Nothing was migrated.")
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


async def _migrate(system: "System", account: str, plan: "MigrationPlan") -> "Counter[MigrationOutcome]":
    from saraban.workflow.administration.service import migration

    counts: Counter[MigrationOutcome] = Counter()
    async with system.db.reading() as session:
        ctx = await account_context(session, system.clock, account)
    total = await migration.remaining(system.db, plan=plan)
    with progress_bar("เอกสาร", "documents", total=total) as bar, option_names({"/mapping/": "--map"}):
        async for batch in migration.migrate(ctx, system.db, subjects=system.subjects, plan=plan):
            for line in batch.lines:
                counts[line.found.outcome] += 1
                if line.found.outcome.stands_still:
                    sys.stderr.write(f"saraban: {_told(line)}\n")
            bar(advance=batch.looked_at)
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


@group.command()
def choices(account: As, project: Project = None) -> None:
    """List which workflows are assigned to which documents; where none is, the standard workflow of the kind counts.

    Examples:

        saraban workflow choices --as admin
        saraban workflow choices --project LCBP3-C2 --as admin
    """

    from saraban.workflow.administration.service import workflow_assignment

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "tuple[WorkflowAssignmentOut, ...]":
        place = await project_named(session, project) if project else None
        return await workflow_assignment.listing(ctx, session, project_public_id=place)

    print_list(map(_choice_line, reading_as(account, step)), "ยังไม่ได้กำหนดกระบวนงานใด", "Nothing is assigned.")


def _choice_line(one: "WorkflowAssignmentOut") -> str:
    where = one.project.project_code if one.project else say("ทุกโครงการ", "all projects")
    mark = "" if one.is_in_force else say("ไม่มีเวอร์ชันที่ใช้งานอยู่", "no active version")
    return f"{one.kind:<15} {one.type_code or '–':<12} {where:<14} {one.workflow_code} {mark}".rstrip()


@group.command()
def choose(code: WorkflowCode, kind: Kind, account: As, type_code: TypeCode = None, project: Project = None) -> None:
    """Assign a workflow to documents, from the next one on; an earlier assignment is replaced.

    For a type before for a kind, for a project before for the whole installation: the most specific choice counts.

    Examples:

        saraban workflow choose MEMO_TWO_STEPS --kind correspondence --type MEMO --project LCBP3-C2 --as padmin
        saraban workflow choose RFA_APPROVAL --kind rfa --as admin
    """

    from saraban.workflow.administration.service import workflow_assignment

    with option_names(_TYPED):
        as_account(account, _at_target, (kind, type_code, project), workflow_assignment.assign, workflow_code=code)
    tell(f"เอกสารใหม่จะเริ่มด้วย {code}", f"New documents start on {code}.")


@group.command()
def unchoose(kind: Kind, account: As, type_code: TypeCode = None, project: Project = None) -> None:
    """Remove an assignment, so that the next less specific one counts again.

    Examples:

        saraban workflow unchoose --kind correspondence --type MEMO --project LCBP3-C2 --as padmin
    """

    from saraban.workflow.administration.service import workflow_assignment

    with option_names(_TYPED):
        as_account(account, _at_target, (kind, type_code, project), workflow_assignment.unassign)
    tell("ยกเลิกการกำหนดแล้ว", "Assignment removed.")


async def _at_target(
    ctx: "RequestContext",
    session: "AsyncSession",
    target: tuple[str, str | None, str | None],
    verb: Callable[..., Awaitable[object]],
    /,
    **more: object,
) -> None:
    from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget

    kind, type_code, project = target
    place = AssignmentTarget(kind, type_code, await project_named(session, project) if project else None)
    await verb(ctx, session, place=place, **more)


@group.command()
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
    total = with_system(_replay, code, version, limit)
    typer.echo(f"{total.same:>8,}  {say('เหมือนเดิม', 'take the same path')}")
    typer.echo(f"{len(total.differing):>8,}  {say('ต่างไป', 'differ')}")
    if total.unknown:
        typer.echo(f"{total.unknown:>8,}  {say('อ่านเอกสารไม่ได้แล้ว', 'can no longer be read')}")
    if total.left_out:
        typer.echo(f"{total.left_out:>8,}  {say('เสร็จสิ้นก่อนหน้านั้น ยังไม่ได้ทดสอบ', 'closed earlier, not tested')}")
    if not total.looked_at:
        tell("ยังไม่มีเอกสารที่เสร็จสิ้น", "No closed documents yet.")
    if total.differing:
        raise typer.Exit(DIFFERS)


async def _replay(system: "System", code: str, version: int, limit: int | None) -> "ReplayReport":
    """In batches, each read for itself, so that no session is held while thousands are played."""
    from saraban.workflow.administration.service.simulation import ReplayReport, replay

    total = ReplayReport(0, 0, 0, [])
    while True:
        size = _REPLAY_BATCH if limit is None else min(_REPLAY_BATCH, limit - total.looked_at)
        async with system.db.reading() as session:
            found = await replay(
                session, subjects=system.subjects, code=code, version=version, limit=size, after=total.next_after
            )
        for one in found.differing:
            typer.echo(_differing_line(one))
        total = ReplayReport(
            total.looked_at + found.looked_at,
            total.same + found.same,
            total.unknown + found.unknown,
            total.differing + found.differing,
            found.left_out,
            found.next_after,
        )
        if found.next_after is None or total.looked_at == limit:
            return total


def _differing_line(one: "DifferingInstance") -> str:
    part = one.parting
    faults = "; ".join(map(_fault, part.reason.faults))
    step = say(f"ขั้นที่ {part.step}", f"step {part.step}")
    where = f"{one.number or one.instance_public_id} ({step}, {part.state}, {part.action})"
    return f"{where}: {part.reason.says.say(language())}" + (f" {faults}" if faults else "")
