"""docs/requirements.md leads somewhere: every cited requirement is there, and the rooms and tests that it names exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "saraban"
PAGE = ROOT / "docs" / "requirements.md"
CITED = re.compile(r"\bREQ-[A-Z]+-\d+\b")
MOST = 255
NOT_MET = "not yet: "
TEXTS = {".py", ".md", ".html", ".yaml", ".yml", ".json", ".js", ".css", ".toml", ".sh"}
# What the product was begun from is no part of the repository; its names would lead nowhere.
OUTSIDE = re.compile(r"\b[Rr]ulings?\b|\bADR-\d+|\b[Ss]pecification 0\d+|\bdocument 00\d\b")
# The comments that the specification states for columns are in the schema word for word.
COLUMN_COMMENT = re.compile("UUID Public Identifier|Optimistic lock counter|UUID ของ User")

# id | requirement | where it is met | test that shows it
ROW = re.compile(r"^\| (REQ-[A-Z]+-\d{2}) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


@cache
def rows() -> list[tuple[str, ...]]:
    return ROW.findall(PAGE.read_text("utf-8"))


@cache
def texts() -> tuple[tuple[Path, str], ...]:
    return tuple(_texts())


def _texts() -> Iterator[tuple[Path, str]]:
    """Yield each text that may cite a requirement, with its path."""
    for folder in ("src", "tests", "docs", "benchmarks", "scripts", "migrations", "deploy"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in TEXTS and "node_modules" not in path.parts:
                yield path, path.read_text("utf-8")
    for path in (*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"):
        yield path, path.read_text("utf-8")


def named_tests(cell: str) -> list[str]:
    return re.findall(r"`(tests/[^`]+)`", cell)


def named_rooms(cell: str) -> list[str]:
    return re.findall(r"`([a-z_]+(?:/[a-z_]+)*)`", cell)


@cache
def names_in(path: str) -> set[str]:
    """Return what a file of tests has, each as `Class::test` or `test`, and the classes themselves."""
    found = set()
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
            found |= {f"{node.name}::{inner.name}" for inner in node.body if hasattr(inner, "name")}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


def exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return (ROOT / path).is_file() and (not name or name in names_in(path))


def is_room(name: str) -> bool:
    return any(path.exists() for path in (SOURCE / name / "__init__.py", SOURCE / f"{name}.py", ROOT / name))


def test_every_line_of_the_tables_is_read() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| REQ-")]

    assert len(lines) == len(rows())


def test_an_id_stands_once() -> None:
    ids = [row[0] for row in rows()]

    assert sorted(ids) == sorted(set(ids))
    assert 0 < len(ids) <= MOST


def test_every_cited_requirement_is_there() -> None:
    known = {row[0] for row in rows()}
    lost = [
        f"{path.relative_to(ROOT)}: {cited}"
        for path, text in texts()
        for cited in CITED.findall(text)
        if cited not in known
    ]

    assert lost == []


def test_every_room_that_is_named_is_there() -> None:
    lost = [f"{row[0]}: {name}" for row in rows() for name in named_rooms(row[2]) if not is_room(name)]

    assert lost == []


def test_every_module_that_the_index_of_the_docs_names_is_there() -> None:
    text = (ROOT / "docs" / "README.md").read_text("utf-8")
    named = re.findall(r"`([a-z_]+(?:/[a-z_.]+)+)`", text)
    lost = [name for name in named if not is_room(name) and not any((top / name).exists() for top in (SOURCE, ROOT))]

    assert len(named) > 20
    assert lost == []


def test_every_function_that_the_index_of_the_docs_names_is_in_its_module() -> None:
    text = (ROOT / "docs" / "README.md").read_text("utf-8")
    stops = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`: ((?:`[\w.]+`(?:, )?)+)", text)
    lost = [
        f"{module}: {name}"
        for module, names in stops
        for name in re.findall(r"`(?:\w+\.)?(\w+)`", names)
        if not any(re.search(rf"(?:def|class) {name}\b|^{name}\b", code, re.MULTILINE) for code in texts_of(module))
    ]

    assert len(stops) > 15
    assert lost == []


def texts_of(module: str) -> list[str]:
    path = SOURCE / module
    return [
        each.read_text("utf-8") for each in ([path.with_suffix(".py")] if not path.is_dir() else path.rglob("*.py"))
    ]


def test_every_requirement_names_a_test_that_exists_or_says_why_it_is_not_met() -> None:
    silent = [
        f"{row[0]}: {row[3]}"
        for row in rows()
        if not (named_tests(row[3]) or NOT_MET in row[3]) or not all(map(exists, named_tests(row[3])))
    ]

    assert silent == []


def test_nothing_cites_what_the_repository_does_not_have() -> None:
    cited = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        if path != Path(__file__)
        for number, line in enumerate(text.splitlines(), 1)
        if OUTSIDE.search(line) and not COLUMN_COMMENT.search(line)
    ]

    assert cited == []


def test_every_page_that_is_named_is_there() -> None:
    lost = [
        f"{path.relative_to(ROOT)}: {page}"
        for path, text in texts()
        for page in re.findall(r"(?<![\w/.])docs/[\w/-]+\.md\b", text)
        if not (ROOT / page).is_file()
    ]

    assert lost == []
