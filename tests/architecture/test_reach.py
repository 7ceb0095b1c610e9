"""Whoever writes what the index of reach is made of writes its rows too: a forgotten writer would hide a document, or show it."""

import ast
from collections.abc import Iterator
from pathlib import Path

DOCUMENTS = Path(__file__).resolve().parents[2] / "src/saraban/documents"
# Statements that change a document's own rows, by the names under which services call them.
WRITES = {
    f"repository.{name}"
    for name in (
        *("add", "create_document", "create_revision", "add_recipients"),
        *("change_revision", "change_head", "replace_recipients", "set_status"),
    )
}
WRITES_OF_SHEETS = {"repository.add", "repository.change"}
# What writes rows of the index, or queues that.
RENEWALS = {
    *(f"{index}.{name}" for index in ("self.index", "kind.index") for name in ("add", "renew", "follow")),
    *("self.renew_reach", "kind.renew_reach", "self._write_reach", "self.show_cancelled"),
}
# Writers behind which somebody else renews.
RENEWED_BY = {
    "core/service/draft_changes:_change_recipients": "core/service/revisioned_kind:change",
    "core/service/drafts:insert": "core/service/revisioned_kind:insert",
    "core/service/revisions:_next_revision": "core/service/revisions:_revise",
}
# Writers of what the index does not show.
UNSEEN = {"circulation/service/responses:_respond"}


def functions() -> Iterator[tuple[str, set[str]]]:
    """Give each function of the services by its file and name, with what it calls."""
    for path in sorted(DOCUMENTS.rglob("*.py")):
        file = path.relative_to(DOCUMENTS).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))) if "repository" not in file else ():
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef):
                called = (ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call))
                yield f"{file}:{node.name}", set(called)


def test_every_writer_of_a_document_renews_its_reach() -> None:
    known = dict(functions())
    renewing = {name for name, called in known.items() if called & RENEWALS}
    writers = {
        name
        for name, called in known.items()
        if called & {"core": WRITES, "circulation": WRITES_OF_SHEETS}.get(name.split("/")[0], set())
    }

    assert writers >= {*RENEWED_BY, *UNSEEN}, "one of the names above writes nothing any more"
    assert {RENEWED_BY.get(name, name) for name in writers - UNSEEN} - renewing == set()
