"""Project files that are shipped: templates to begin one's own with, and the demo project."""

from pathlib import Path
from typing import Final

from saraban.kit.errors import unknown

NAMES: Final = ("thai-public-works", "building", "iso19650")
_FOLDER: Final = Path(__file__).parents[1] / "templates"


def template(name: str) -> str:
    """
    Give the text of a template.

    :raises Invalid: when there is none of this name
    """
    if name not in NAMES:
        raise unknown("/NAME", name)
    return _text(name)


def demo() -> bytes:
    """Give the file of the demo project."""
    return _text("demo").encode()


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.yaml").read_text("utf-8")
