"""Where the migration scripts lie and which is the newest, for those who only ask: Alembic takes 12 MB to say the same."""

from pathlib import Path


def scripts() -> Path:
    """Return the folder of the migration scripts: inside the wheel, or in the source tree."""
    package = Path(__file__).resolve().parents[1]
    packed = package / "migrations"
    return packed if packed.is_dir() else package.parents[1] / "migrations"


def newest() -> str:
    """Return the newest revision, by which the name of its script begins."""
    return max(script.name for script in (scripts() / "versions").glob("[0-9]*.py")).partition("_")[0]
