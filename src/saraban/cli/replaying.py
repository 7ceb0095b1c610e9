"""`saraban workflow replay`: finished documents held against another version of their workflow; nothing is kept."""

from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.output import language, say, with_system

if TYPE_CHECKING:
    from saraban.bootstrap import System
    from saraban.workflow.administration.service.simulation import DifferingInstance, ReplayReport

DIFFERS = 6
_AT_ONCE = 500

Code = Annotated[str, typer.Argument(metavar="CODE", help="Code of the workflow, as `saraban workflow list` shows it.")]


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
            system, code, version, _AT_ONCE if limit is None else min(_AT_ONCE, limit - looked_at), after
        )
        looked_at, same = looked_at + found.looked_at, same + found.same
        unknown, differing = unknown + found.unknown, differing + len(found.differing)
        for one in found.differing:
            typer.echo(_told(one))
        after = found.next_after
        if after is None or (limit is not None and looked_at >= limit):
            return looked_at, same, unknown, differing, found.left_out


async def _batch(system: "System", code: str, version: int, limit: int, after: str | None) -> "ReplayReport":
    from saraban.workflow import service as workflow

    async with system.db.reading() as session:
        return await workflow.replay(
            session, subjects=system.subjects, code=code, version=version, limit=limit, after=after
        )


def _told(one: "DifferingInstance") -> str:
    part = one.parting
    faults = "; ".join(f"{fault.pointer}: {fault.text.say(language(), fault.values)}" for fault in part.faults)
    step = say(f"ขั้นที่ {part.step}", f"step {part.step}")
    where = f"{one.number or one.instance_public_id} ({step}, {part.state}, {part.action})"
    return f"{where}: {part.says.say(language())}" + (f" {faults}" if faults else "")
