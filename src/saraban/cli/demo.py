"""`saraban demo`: the whole story of a document, told in the terminal."""

import os
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from saraban import config
from saraban.cli.migrate import prepare_folder
from saraban.cli.output import language, print_table, say, stop, tell, with_system
from saraban.config import Settings
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.workflow.language.outcome import past_tense

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from rich.console import Console
    from rich.table import Table

    from saraban.bootstrap import System
    from saraban.documents.demo.service import WalkthroughDocument


class DemoNotForProduction(DomainError):
    """The demo project was asked for with `SARABAN_ENV=production`; everybody knows the password of its accounts."""

    kind, code = ErrorKind.CONFLICT, "DEMO_NOT_FOR_PRODUCTION"
    says = Text(
        "โหลดโครงการสาธิตและบัญชีสาธิตในโหมด production ไม่ได้ ยังไม่มีสิ่งใดถูกสร้าง",
        "The demo project with its demo accounts is not for SARABAN_ENV=production; nothing was made.",
    )
    recovery = (
        Text("ละ --demo หรือเปลี่ยน SARABAN_ENV", "Leave --demo out, or choose another SARABAN_ENV."),
        Text("เตรียมฐานข้อมูลจริงด้วย `saraban migrate`", "Prepare a real database with `saraban migrate`."),
    )


class Language(StrEnum):
    TH = "th"
    EN = "en"


group = typer.Typer(invoke_without_command=True)


@group.callback()
def demo(
    ctx: typer.Context,
    lang: Annotated[Language | None, typer.Option(help="Language of the story; else SARABAN_LANG.")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Tell the whole story of a request for approval, and show what is kept of it.

    A contractor submits, the consultant reviews, the owner approves; a letter,
    a transmittal and a circulation sheet follow. The demo accounts play it on
    the configured database, through the same services as the API.

    Told again, it goes on with the next numbers: none is ever used twice.

    Examples:

        saraban demo
        saraban demo --lang th
        SARABAN_DATA_DIR=/tmp/try saraban demo --json
    """
    from rich.console import Console

    if lang is not None:
        os.environ["SARABAN_LANG"] = lang.value
    if ctx.invoked_subcommand is not None:
        return
    _prepare()
    chapters = with_system(_play, Console(stderr=True))
    if as_json:
        import orjson

        typer.echo(orjson.dumps(_as_json(chapters), option=orjson.OPT_INDENT_2).decode())
        return
    _print(Console(), chapters)


@group.command()
def generate(
    documents: Annotated[int, typer.Option(min=0, max=10_000_000, help="How many the project has afterwards.")] = 0,
    drawings: Annotated[
        int, typer.Option(min=0, max=10_000_000, help="How many the three registers of drawings have afterwards.")
    ] = 0,
    project: Annotated[str | None, typer.Option(metavar="CODE", help="Another project than the demo's.")] = None,
    revisions: Annotated[float, typer.Option(min=1, max=4, help="Of a document, on the average.")] = 1.4,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Fill another project than the demo's without being asked.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Fill a project with documents and drawings of the past six years.

    Letters, memos, notices, RFAs, transmittals and circulation sheets, with
    numbers, revisions, workflows, audit trail, and who may see what. A tenth
    is in progress. One organization sees six tenths, another hardly anything.

    N is how many the project has afterwards; what is there is kept, so it can
    be stopped and run again. Nothing takes generated documents away again:
    another project than the demo's is filled only after a question, and
    SARABAN_ENV=production is refused.

    Left out are letters of the types RFI, INSTRUCTION and MOM, circulation
    sheets about a document, references between documents, and files. A few
    hundred documents are written as people write them, and those concerned
    are told; the others are copies without events, receipts (of repeated
    requests) and notifications. The worker seals their audit trail.

    Drawings have revisions, categories, and what they were drawn from, but no
    files and no RFAs. A register that takes numbers of one form only refuses
    them.

    Examples:

        saraban demo generate --documents 20000
        saraban demo generate --drawings 5000
        saraban demo generate --documents 1000000 --project OURS --yes --json
    """
    from saraban.documents.demo.service import PROJECT

    refuse_production(config.load())
    if not documents and not drawings:
        raise typer.BadParameter(say("ระบุ --documents หรือ --drawings", "Say --documents or --drawings."))
    if project not in (None, PROJECT):
        _confirm(project, yes=yes)
    try:
        from saraban_tools.command import fill_project
    except ModuleNotFoundError as missing:
        raise stop(
            "คำสั่งนี้ต้องติดตั้งเครื่องมือพัฒนา (โฟลเดอร์ tools/) ด้วย `make check`",
            "This command needs the development tools (folder tools/): install them with `make check`.",
        ) from missing
    _prepare()
    done = with_system(fill_project, documents, drawings, project or PROJECT, revisions)
    if as_json:
        import orjson

        typer.echo(orjson.dumps(done, option=orjson.OPT_INDENT_2).decode())
        return
    written, drawn = done["written"], done["drawings"]
    if documents:
        tell(
            f"มีอยู่แล้ว {done['found']:,} ฉบับ สร้างเพิ่ม {written:,} ฉบับ",
            f"{done['found']:,} were there, {written:,} were written.",
        )
    if drawings:
        tell(
            f"มีแบบอยู่แล้ว {drawn['found']:,} แบบ สร้างเพิ่ม {drawn['written']:,} แบบ",
            f"{drawn['found']:,} drawings were there, {drawn['written']:,} were written.",
        )
    if written:
        rows = [(code, f"{count:,}", f"{count / written:.1%}") for code, count in done["seen"].items()]
        headings = (("องค์กร", "Organization"), ("เห็นเอกสาร", "Documents it sees"), ("สัดส่วน", "Share"))
        print_table(say("เอกสารที่สร้างขึ้น", "Generated documents"), headings, rows)


def _confirm(project: str, *, yes: bool) -> None:
    """Somebody agrees before a project of their own is filled."""
    words = say(
        f"เอกสารที่สร้างในโครงการ {project} จะลบออกภายหลังไม่ได้ ยืนยันหรือไม่",
        f"Documents generated in the project {project} cannot be removed again. Generate them?",
    )
    if not yes and not typer.confirm(words, err=True):
        raise stop("ยังไม่ได้ทำอะไร", "Nothing was done.")


def _prepare() -> None:
    from saraban.kit import migrations as history

    refuse_production(config.load())
    prepare_folder()
    history.upgrade(config.load().sqlalchemy_url)


def refuse_production(settings: Settings) -> None:
    """:raises DemoNotForProduction: before a folder, a key or a table is made"""
    if settings.env == "production":
        raise DemoNotForProduction


async def _play(system: "System", console: "Console") -> "list[WalkthroughDocument]":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from saraban import bootstrap
    from saraban.documents.demo.service import walk_through
    from saraban.documents.demo.service.scripts import demo_scripts

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=False) as progress:
        bar = progress.add_task(say("เตรียมโครงการสาธิต", "Preparing the demo project"), total=demo_scripts().steps + 1)
        await bootstrap.seed(system, demo=True)
        await system.demo.load_documents()
        progress.advance(bar)
        chapters = []
        async for scene in walk_through(system.demo.services, clock=system.clock):
            progress.console.print(f"  {scene.says.say(language())}", highlight=False, soft_wrap=True)
            progress.update(bar, advance=1, description=say("เล่าเรื่อง", "Running the demo story"))
            if scene.chapter is not None:
                chapters.append(scene.chapter)
    return chapters


def _print(console: "Console", chapters: "list[WalkthroughDocument]") -> None:
    zone = config.load().zone
    console.print(_documents(chapters))
    for chapter in chapters:
        console.print(_history(chapter, zone))
    console.print(_trail(chapters, zone))
    if _continues(chapters):
        console.print(
            say(
                "ชุดเลขเหล่านี้เคยใช้แล้ว จึงออกเลขลำดับถัดไป ไม่มีเลขใดใช้ซ้ำ",
                "These series were already in use, so the demo continued with their next numbers: none is used twice.",
            )
        )


def _table(title: str, headings: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> "Table":
    """
    Thai has no blanks between words, so a cell is shown whole, never broken inside a word.

    A narrow terminal takes its width from the last column, whose cells may be cut.
    """
    from rich.cells import cell_len
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    *whole, last = (say(th, en) for th, en in headings)
    for heading in whole:
        table.add_column(heading, no_wrap=True, overflow="ignore")
    table.add_column(last, overflow="ellipsis", min_width=6)
    for row in rows:
        table.add_row(*row)
    for column in table.columns[:-1]:
        column.min_width = max(map(cell_len, (str(column.header), *map(str, column.cells))))
    return table


def _documents(chapters: "list[WalkthroughDocument]") -> "Table":
    headings = (("เลขที่", "Number"), ("สถานะ", "Status"), ("ไฟล์", "Files"), ("เรื่อง", "Subject"))
    rows = (
        (
            chapter.document["data"]["documentNumber"],
            chapter.document["workflow"]["stateLabel"][language()],
            str(len(chapter.document["data"]["attachments"])),
            chapter.document["data"]["subject"],
        )
        for chapter in chapters
    )
    return _table(say("เอกสาร", "Documents"), headings, rows)


def _history(chapter: "WalkthroughDocument", zone: "ZoneInfo") -> "Table":
    number = chapter.document["data"]["documentNumber"]
    headings = (
        ("เวลา", "Time"),
        ("ผู้ดำเนินการ", "User"),
        ("การดำเนินการ → สถานะ", "Action → status"),
        ("ความเห็น", "Comment"),
    )
    spoken = language()
    rows = (
        (
            f"{step.created_at.astimezone(zone):%H:%M:%S}",
            step.actor.display_name if step.actor else "-",
            f"{past_tense(step.action_label).say(spoken)} → {step.to_label.say(spoken)}",
            step.comment or "",
        )
        for step in chapter.steps
    )
    return _table(say(f"ประวัติของ {number}", f"History of {number}"), headings, rows)


def _trail(chapters: "list[WalkthroughDocument]", zone: "ZoneInfo") -> "Table":
    headings = (("เวลา", "Time"), ("การดำเนินการ", "Action"), ("เลขที่", "Number"), ("ผู้ดำเนินการ", "User"))
    rows = (
        (
            f"{entry.created_at.astimezone(zone):%H:%M:%S}",
            entry.action,
            chapter.document["data"]["documentNumber"],
            _names(chapter).get(str(entry.actor_public_id), str(entry.actor_public_id or "-")),
        )
        for chapter in chapters
        for entry in chapter.trail
    )
    return _table(say("ประวัติการใช้งาน", "Audit trail"), headings, rows)


def _names(chapter: "WalkthroughDocument") -> dict[str, str]:
    author = chapter.document["data"]["createdBy"]
    others = {str(step.actor.public_id): step.actor.display_name for step in chapter.steps if step.actor}
    return others | {author["publicId"]: author["displayName"]}


def _continues(chapters: "list[WalkthroughDocument]") -> bool:
    return any("-0001" not in chapter.document["data"]["documentNumber"] for chapter in chapters)


def _as_json(chapters: "list[WalkthroughDocument]") -> dict[str, object]:
    return {"continued": _continues(chapters), "documents": [_chapter_as_json(chapter) for chapter in chapters]}


def _chapter_as_json(chapter: "WalkthroughDocument") -> dict[str, object]:
    return {
        "kind": chapter.script.where.value,
        "publicId": chapter.document["data"]["publicId"],
        "documentNumber": chapter.document["data"]["documentNumber"],
        "subject": chapter.document["data"]["subject"],
        "attachments": [file["fileName"] for file in chapter.document["data"]["attachments"]],
        "state": chapter.document["workflow"]["currentState"],
        "history": [
            {
                "at": step.created_at,
                "by": step.actor.display_name if step.actor else None,
                "action": step.action,
                "from": step.from_state,
                "to": step.to_state,
                "comment": step.comment,
            }
            for step in chapter.steps
        ],
        "audit": [
            {"at": entry.created_at, "action": entry.action, "actorPublicId": entry.actor_public_id}
            for entry in chapter.trail
        ],
    }
