"""Rules of the house that a linter does not know: who commits, how long a file is, which words are no names."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from saraban import config
from tests import conftest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "saraban"
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "data", "info", "misc"}
# The database's own transactions, and the allocator's shared one (two named exceptions of the house).
MAY_COMMIT = {
    "kit/db.py",
    "kit/idempotency.py",
    "numbering/issue/service/allocator.py",
    "search_index/service/writing.py",  # of the index, which is no database
}
IMPORTED = re.compile(r"^\s*from (tests\.[\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)
STATEMENTS = {f"sa.{verb}" for verb in ("select", "insert", "update", "delete", "text")}
# What the migrations know of the database, and the partitions of its tables, are nobody's rows.
BUILD_STATEMENTS = {"ops/health.py", "worker/partitions.py"}
DOORS = (
    *("cli/", "worker/", "ops/", "app.py", "bootstrap.py", "web/"),
    *("kit/db.py", "kit/http.py", "kit/idempotency.py"),
    # Whatever goes wrong in what is shared is handed to the callers who wait for it.
    "kit/batching.py",
    *("numbering/issue/service/allocator.py", "workflow/runtime/service/transitions.py"),
)


def modules() -> Iterator[Path]:
    yield from sorted(SOURCE.rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a module; no expression is looked into, of which most of it consists."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())


def place(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_nobody_commits_but_the_door() -> None:
    guilty = [place(path) for path in modules() if ".commit(" in text_of(path) and place(path) not in MAY_COMMIT]

    assert guilty == []


def test_a_file_has_at_most_500_lines() -> None:
    long = {place(path): lines for path in modules() if (lines := len(text_of(path).splitlines())) > 500}

    assert long == {}


def test_a_function_is_not_long() -> None:
    # 30 is the aim; the formatter breaks a call with many keywords into a line each, so 40 is what fails.
    long = [
        f"{place(path)}:{node.lineno} {node.name} has {length}"
        for path in modules()
        for node in functions(ast.parse(text_of(path)))  # not kept: a million nodes keep the collector busy
        if (length := length_of(node)) > 40
    ]

    assert long == []


def length_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement to the last, without the docstring and without what is nested."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    if not body:
        return 0
    nested = sum(
        (inner.end_lineno or 0) - inner.lineno
        for statement in body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 - nested


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = [place(path) for path in modules() if {path.stem, *path.relative_to(SOURCE).parts[:-1]} & NO_NAMES]

    assert empty == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [place(path) for path in modules() if not text_of(path).startswith('"""')]

    assert [name for name in silent if not name.endswith("__init__.py")] == []


def test_only_repositories_build_statements() -> None:
    """Services open a session, pass what a repository gives them, and send it."""
    guilty = [
        f"{place(path)}:{call.lineno}"
        for path in modules()
        if not {"kit", "repository", "repository.py", "models.py"} & set(path.relative_to(SOURCE).parts)
        and place(path) not in BUILD_STATEMENTS
        and any(f"{statement}(" in text_of(path) for statement in STATEMENTS)
        for call in ast.walk(parsed(path))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in STATEMENTS
    ]

    assert guilty == []


def test_only_the_doors_catch_everything() -> None:
    guilty = [
        f"{place(path)}:{handler.lineno}"
        for path in modules()
        if not place(path).startswith(DOORS) and re.search(r"\b(Base)?Exception\b|except:", text_of(path))
        for handler in ast.walk(parsed(path))
        if isinstance(handler, ast.ExceptHandler) and catches_everything(handler) and not raises_again(handler)
    ]

    assert guilty == []


def catches_everything(handler: ast.ExceptHandler) -> bool:
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"}) for name in names
    )


def raises_again(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


def test_only_the_doors_read_the_settings() -> None:
    reading = [
        place(path)
        for path in modules()
        if "saraban.config" in text_of(path) or re.search(r"from saraban import .*\bconfig\b", text_of(path))
    ]

    assert [name for name in reading if not name.startswith(("cli/", "app.py", "bootstrap.py", "worker/"))] == []


def test_every_setting_says_what_it_does() -> None:
    assert [name for name, field in config.Settings.model_fields.items() if not field.description] == []


def test_no_lock_names_a_host() -> None:
    locks = [*ROOT.glob("requirements*.txt"), ROOT / "package-lock.json"]

    assert [path.name for path in locks if "://" in path.read_text("utf-8")] == []


def test_test_files_do_not_import_from_one_another() -> None:
    """What several of them need stands in `tests/*.py`, `tests/factories` or a conftest."""
    imports = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for module, names in IMPORTED.findall(text_of(path))
        if any(part.startswith("test_") for part in [*module.split("."), *re.findall(r"\w+", names)])
    ]

    assert imports == []


def test_files_that_begin_are_there() -> None:
    """A renamed file would silently begin late."""
    assert [named for named in conftest.LONG if not (ROOT / named).exists()] == []
