"""Brings the Thai catalogue of the pages up to date with the texts in the templates; says which still need a translation."""

from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "src" / "saraban" / "web"
PAGES = WEB / "locale" / "th" / "LC_MESSAGES" / "web.po"
METHODS = [("**/templates/**.html", "jinja2")]
OPTIONS = {"**/templates/**.html": {"trimmed": "true", "silent": "false"}}

# Without dates and names, so that the file changes only when a text does.
HEADER = rb"""# Thai texts of Saraban's pages. `python scripts/messages.py` brings the list up to date.
msgid ""
msgstr ""
"Language: th\n"
"Plural-Forms: nplurals=1; plural=0;\n"
"Content-Type: text/plain; charset=utf-8\n"
"Content-Transfer-Encoding: 8bit\n"

"""


def extracted() -> Catalog:
    """Return a catalogue of every text in the templates, without lines: they change with every edit."""
    found = Catalog(locale="th", domain="web", project="Saraban", charset="utf-8", fuzzy=False)
    for name, _, message, comments, context in extract_from_dir(str(WEB), METHODS, OPTIONS):
        found.add(message, locations=[(name, None)], auto_comments=comments, context=context)
    return found


def current() -> Catalog:
    if not PAGES.exists():
        return Catalog(locale="th")
    return read_po(BytesIO(PAGES.read_bytes()), locale="th")


def untranslated(catalogue: Catalog) -> list[str]:
    empty = [
        one.id
        for one in catalogue
        if one.id and not (one.string if isinstance(one.string, str) else any(one.string or ()))
    ]
    return [text if isinstance(text, str) else text[0] for text in empty]


def merged() -> Catalog:
    known = {one.id: one.string for one in current() if one.id}
    found = extracted()
    for one in found:
        if one.id and one.id in known:
            one.string = known[one.id]
    return found


def main() -> None:
    catalogue = merged()
    PAGES.parent.mkdir(parents=True, exist_ok=True)
    with PAGES.open("wb") as file:
        file.write(HEADER)
        write_po(file, catalogue, width=0, sort_output=True, include_lineno=False, omit_header=True)
    for text in untranslated(catalogue):
        print(f"needs a translation: {text}")


if __name__ == "__main__":
    main()
