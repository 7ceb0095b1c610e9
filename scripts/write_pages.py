"""Writes what in docs/ is made from the code: `errors` from the error classes, `settings`, the `schema` of project files."""

import json
import sys
from pathlib import Path

from saraban.config import Settings
from saraban.ops import error_catalogue
from saraban.setup.domain.project_file import json_schema

DOCS = Path(__file__).resolve().parent.parent / "docs"

PREFACE = """# Settings

Read from environment variables, or from a file `.env` in the folder where Saraban starts; a variable wins over the file.
`make settings` writes this page from `src/saraban/config.py`; a test keeps the two the same. One more is for people:
`SARABAN_LANG` (`th` or `en`) is the language of the command line; without it the terminal's locale decides.
Every command refuses a `SARABAN_…` name that is close to one of these, and warns of other unknown ones.

| Variable | Default | What it does |
| --- | --- | --- |
"""


def errors() -> str:
    return error_catalogue.as_markdown(error_catalogue.every_error())


def settings() -> str:
    rows = []
    for name, field in Settings.model_fields.items():
        variable = field.alias or f"SARABAN_{name.upper()}"
        rows.append(f"| `{variable}` | {shown(field.get_default())} | {field.description} |\n")
    return PREFACE + "".join(rows)


def shown(default: object) -> str:
    text = default.get_secret_value() if hasattr(default, "get_secret_value") else str(default)  # type: ignore[attr-defined]
    if isinstance(default, bool):
        text = text.lower()
    return f"`{text}`" if text else "(empty)"


def schema() -> str:
    return json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n"


PAGES = {"errors": errors, "settings": settings, "schema": schema}
FILES = {name: DOCS / f"{name}.md" for name in PAGES} | {"schema": DOCS / "project.schema.json"}


def main() -> None:
    for name in sys.argv[1:] or PAGES:
        FILES[name].write_text(PAGES[name](), encoding="utf-8")


if __name__ == "__main__":
    main()
