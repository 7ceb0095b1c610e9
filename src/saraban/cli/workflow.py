"""`saraban workflow list | migrate | choices | choose | unchoose`: what runs on which version, and what starts on which."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli import workflow_choices
from saraban.cli.codes import account_context
from saraban.cli.options import As
from saraban.cli.output import language, option_names, say, with_system
from saraban.cli.replaying import replay

if TYPE_CHECKING:
    from saraban.bootstrap import System
    from saraban.kit.errors import FieldProblem
    from saraban.workflow.administration.domain.migration import MigrationOutcome
    from saraban.workflow.administration.service.migration import MigratedInstance, MigrationPlan, RunningInstances

LEFT = 6

Code = Annotated[str, typer.Argument(metavar="CODE", help="Code of the workflow, as `saraban workflow list` shows it.")]


def register(app: typer.Typer) -> None:
    noun = typer.Typer(no_args_is_help=True, help="Workflows: which version runs where, and moving to another one.")
    noun.callback()(lambda: None)
    noun.command("list")(list_)
    noun.command("replay")(replay)
    noun.command()(migrate)
    workflow_choices.register(noun)
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
