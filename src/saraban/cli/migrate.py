"""`saraban migrate`: brings the database along its history."""

from typing import Annotated

import typer

from saraban import config
from saraban.cli.output import say, stop, tell, with_system
from saraban.kit.private_files import probe_folder, protect_folder
from saraban.kit.revisions import newest, refuse_unknown


def migrate(
    to: Annotated[str, typer.Option(help="Revision to stop at; an older one goes back, `base` to nothing.")] = "head",
    *,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 when the database is behind.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before going back, which drops columns and rows.")
    ] = False,
) -> None:
    """Bring the database to the newest revision, and the shipped master data with it.

    What is in the database stays. Run it after every upgrade, before the servers start.

    Examples:

        saraban migrate             to the newest revision
        saraban migrate --check     is it there already? (for scripts)
        saraban migrate --to 0003   to one revision, forward or back
    """
    from saraban.kit import migrations as history

    url = config.load().sqlalchemy_url
    prepare_folder()
    stands = history.current(url)
    refuse_unknown(stands)
    if check:
        _report(stands)
        return
    if to in {"head", newest()}:
        history.upgrade(url)
        _seed()
    elif stands is not None and (to == "base" or to < stands):
        if not yes:
            typer.confirm(
                say(f"ย้อนกลับไปที่ {to} ข้อมูลบางส่วนจะหายไป ดำเนินการต่อหรือไม่", f"Going back to {to} drops data. Go on?"),
                abort=True,
            )
        history.downgrade(url, to)
    else:
        history.upgrade(url, to)
    tell(f"ฐานข้อมูลอยู่ที่รุ่น {history.current(url)}", f"The database stands at {history.current(url)}.")


def prepare_folder() -> None:
    """End the command with one line when the data folder cannot be made or written."""
    folder = config.load().data_dir
    protect_folder(folder)
    probe_folder(folder)


def refuse_behind(url: str) -> None:
    """End the command with one line unless the database is at the newest revision."""
    from saraban.kit import migrations as history

    revision = history.current(url)
    refuse_unknown(revision)
    if revision != newest():
        raise stop(
            "ฐานข้อมูลยังไม่เป็นรุ่นล่าสุด กรุณาสั่ง `saraban migrate` ก่อน",
            "the database is not at the newest revision: run `saraban migrate` first.",
        )


def refuse_empty(url: str) -> None:
    """End the command with one line where nothing was ever set up."""
    from saraban.kit import migrations as history

    if history.current(url) is None:
        raise stop(
            "ฐานข้อมูลยังว่างอยู่ กรุณาสั่ง `saraban setup` ก่อน (ตรวจไฟล์โครงการได้ด้วย `saraban setup --project ไฟล์ --dry-run`)",
            "the database is empty: run `saraban setup` first; `saraban setup --project FILE --dry-run` checks a project file.",
        )


def _report(stands: str | None) -> None:
    if stands != newest():
        raise stop(
            f"ฐานข้อมูลอยู่ที่รุ่น {stands} แต่รุ่นล่าสุดคือ {newest()} กรุณาสั่ง `saraban migrate`",
            f"The database stands at {stands}, the newest revision is {newest()}: run `saraban migrate`.",
        )
    tell(f"ฐานข้อมูลเป็นรุ่นล่าสุดแล้ว ({newest()})", f"The database is at the newest revision ({newest()}).")


def _seed() -> None:
    from saraban.bootstrap import seed

    with_system(seed, demo=False)
