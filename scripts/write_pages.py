"""
Writes what is made from the code: in docs/ `errors` from the error classes, `settings` and the `schema` of project files; beside
the description of the API the `operations` with their errors.
"""

import json
import sys
from pathlib import Path

from operation_errors import operation_errors

from saraban.app import create_app
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


def operations() -> str:
    """Return one operation in a line."""
    app = create_app(Settings(_env_file=None))
    lines = [f"{json.dumps(name)}: {json.dumps(codes)}" for name, codes in operation_errors(app).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


PAGES = {"errors": errors, "settings": settings, "schema": schema, "operations": operations}
FILES = {name: DOCS / f"{name}.md" for name in PAGES} | {
    "schema": DOCS / "project.schema.json",
    "operations": DOCS.parent / "src/saraban/ops/operation_errors.json",
}


def main() -> None:
    for name in sys.argv[1:] or PAGES:
        FILES[name].write_text(PAGES[name](), encoding="utf-8")


if __name__ == "__main__":
    main()
