"""Every action that the code writes into the audit trail has words in both languages, and so has every kind of thing."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import saraban
from saraban.documents.core.service import DocumentAct
from saraban.documents.drawing import domain as drawings
from saraban.ops.audit_words import ACTIONS, DOCUMENTS, KINDS, action_words
from saraban.setup.domain import master_kinds

SOURCE = Path(saraban.__file__).parent
# What stands there for an action that is no text: a kind of documents, or a thing that was done to one.
COMPUTED = {
    "name": DOCUMENTS,
    "kind.rules.name": DOCUMENTS,
    "act.value": tuple(act.value for act in DocumentAct),
    "kind.name": tuple(kind.name for kind in master_kinds.KINDS),
    "kind.entity_type": tuple(kind.entity_type for kind in drawings.KINDS.values()),
    "row.entity": ("number_import", "drawing_import"),
    "origin.action": ("project.apply",),  # the others are first arguments of `Origin`
    # Those that are not ordinary are first arguments of `StepRecord`.
    **dict.fromkeys(("taken.record.audited", "record.audited"), ("workflow.transition",)),
}
PLACES = {"AuditEntry": 0, "StepRecord": 0, "Origin": 0}  # where a call has its action


@cache
def texts() -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(texts()[path])


def calling(*names: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the modules that call something of these names; the others need not be parsed."""
    for path, text in texts().items():
        if any(f"{name}(" in text for name in names):
            yield path, parsed(path)


@cache
def calls(tree: ast.Module) -> dict[str, list[ast.Call]]:
    """Return the calls of a module by the name of what they call."""
    by_name: dict[str, list[ast.Call]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            by_name.setdefault(called(node), []).append(node)
    return by_name


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def argument(node: ast.Call, place: int, name: str) -> ast.expr | None:
    named = next((one.value for one in node.keywords if one.arg == name), None)
    return named or (node.args[place] if place < len(node.args) else None)


def enclosing(tree: ast.Module, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the innermost function around a node of the tree."""
    return next((one for one in reversed(functions(tree)) if one.lineno <= node.lineno <= one.end_lineno), None)  # type: ignore[attr-defined,operator]


@cache
def functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    found = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return sorted(found, key=lambda one: one.lineno)


def values(tree: ast.Module, path: Path, node: ast.expr, at: ast.AST) -> Iterator[str]:
    """Yield what an expression may be: a text, one of two, or whatever the callers of its function hand in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from values(tree, path, node.body, at)
        yield from values(tree, path, node.orelse, at)
    elif isinstance(node, ast.JoinedStr):
        texts = [""]
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            texts = [text + more for text in texts for more in values(tree, path, inner, at)]
        yield from texts
    elif ast.unparse(node) in COMPUTED:
        yield from COMPUTED[ast.unparse(node)]
    else:
        function = enclosing(tree, at)
        assert function is not None, f"{path}: what is {ast.unparse(node)}?"
        names = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
        here = [one.value for one in ast.walk(function) if isinstance(one, ast.Assign) and is_name(one, node)]
        if here:
            for one in here:
                yield from values(tree, path, one, at)
            return
        assert ast.unparse(node) in names, f"{path}: what is {ast.unparse(node)}?"
        yield from handed_in(path, function, names.index(ast.unparse(node)))


def is_name(assignment: ast.Assign, node: ast.expr) -> bool:
    return [ast.unparse(one) for one in assignment.targets] == [ast.unparse(node)]


def handed_in(path: Path, function: ast.FunctionDef | ast.AsyncFunctionDef, place: int) -> Iterator[str]:
    names = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    place_in_call = place - (names[0] == "self")
    private = function.name.startswith("_") or names[0] == "self"
    for other, tree in calling(function.name):
        if private and other != path:
            continue
        for node in calls(tree).get(function.name, ()):
            if not lower(node):
                given = argument(node, place_in_call, names[place])
                if given is not None and (other == path or isinstance(given, ast.Constant | ast.JoinedStr | ast.IfExp)):
                    yield from values(tree, other, given, node)


def lower(node: ast.Call) -> bool:
    """`audit.record` takes an entry, and `events.record` an event: features have functions of that name for an action."""
    return isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in {"audit", "events"}


def entries() -> Iterator[tuple[Path, ast.Module, ast.Call]]:
    for path, tree in calling(*PLACES):
        for name in PLACES:
            for node in calls(tree).get(name, ()):
                yield path, tree, node


def written_actions() -> set[str]:
    found: set[str] = set()
    for path, tree, node in entries():
        given = argument(node, 0, "action" if called(node) == "AuditEntry" else "audited")
        if given is not None:
            found |= {one for one in values(tree, path, given, node) if one == "logout" or "." in one}
    return found


def test_every_action_has_words() -> None:
    found = written_actions()

    assert {"rfa.edit", "user.grant_role", "workflow.force_proceed", "webhook.rotate"} <= found
    assert sorted(code for code in found if action_words(code).en == code) == []


def test_what_can_be_chosen_has_words() -> None:
    assert [code for code in ACTIONS if action_words(code).en == code] == []


def test_every_kind_of_thing_has_words() -> None:
    kinds = {
        value
        for path, tree, node in entries()
        if called(node) == "AuditEntry"
        and (given := argument(node, 1, "entity_type")) is not None
        and isinstance(given, ast.Constant)
        for value in values(tree, path, given, node)
    }

    assert sorted(kinds - set(KINDS)) == []
