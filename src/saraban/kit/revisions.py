"""Migration scripts and their revisions, without Alembic, which takes 12 MB of memory."""

from pathlib import Path

from saraban.kit.errors import DomainError, ErrorKind, Text


class DatabaseNewer(DomainError):
    """A newer version of Saraban has migrated the database. This one does not know its tables."""

    kind, code = ErrorKind.CONFLICT, "DATABASE_NEWER"
    says = Text(
        "ฐานข้อมูลใหม่กว่าโปรแกรมนี้ (อยู่ที่รุ่น {revision} โปรแกรมนี้รู้จักถึงรุ่น {newest}) ติดตั้งโปรแกรมรุ่นใหม่กว่า",
        "The database is newer than this program (revision {revision}; this program knows up to {newest}). "
        "Install the newer version.",
    )
    recovery = (Text("ติดตั้ง Saraban รุ่นที่ใช้ล่าสุด", "Install the version that this database was last used with."),)


class DatabaseBeforeRelease(DomainError):
    """The database is at a revision between 0005 and 0071.

    Version 1.0 has one migration instead of these.
    """

    kind, code = ErrorKind.CONFLICT, "DATABASE_BEFORE_RELEASE"
    says = Text(
        "ฐานข้อมูลอยู่ที่รุ่น {revision} ของโปรแกรมก่อนรุ่น 1.0 ปรับรุ่นด้วยโปรแกรมที่แท็ก pre-1.0 ก่อน",
        "This database is at revision {revision} of a version before 1.0. Upgrade it with the version tagged pre-1.0 first.",
    )
    recovery = (Text("ใช้แท็ก pre-1.0 ก่อน แล้วจึงใช้รุ่นนี้", "Migrate with the tag pre-1.0, then with this version."),)


def scripts() -> Path:
    package = Path(__file__).resolve().parents[1]
    packed = package / "migrations"
    return packed if packed.is_dir() else package.parents[1] / "migrations"


def newest() -> str:
    return max(_script_revisions())


def refuse_unknown(revision: str | None) -> None:
    """:raises DatabaseNewer, DatabaseBeforeRelease:"""
    if revision is None or revision in _script_revisions():
        return
    problem = DatabaseBeforeRelease if "0005" <= revision <= "0071" else DatabaseNewer
    raise problem(values={"revision": revision, "newest": newest()})


def _script_revisions() -> set[str]:
    return {script.name.partition("_")[0] for script in (scripts() / "versions").glob("[0-9]*.py")}
