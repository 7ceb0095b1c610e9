"""What a template reads, its page model has; nothing is asked whether it is there, and no line is too long to read."""

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache

import pytest
from jinja2 import StrictUndefined, meta, nodes

from saraban.web import pages
from saraban.web.shell.page import TEMPLATES, PageModel, environment

ENVIRONMENT = environment("en")
FILES = sorted(TEMPLATES.rglob("*.html"))
LONGEST_LINE = 140
# What `render` and the shell add to every page; `super` and `loop` are Jinja's own.
SHARED = frozenset({"request", "path", "zone", "trace", "uploads", "self", "super", "loop", *ENVIRONMENT.globals})
FORM = frozenset({"form", "done", "faults"})
SHELL = frozenset(
    {"caller", "unread", "may_create", "may_see_numbers", "may_see_formats", "administration", "sees_people"}
    | {"projects", "project"}
)
ASKS_WHETHER_IT_IS_THERE = re.compile(r"\bis\s+(not\s+)?(un)?defined\b|\|\s*default\b")

assert pages.ROUTERS  # every page model is imported with its routers


def models(parent: type[PageModel] = PageModel) -> Iterator[type[PageModel]]:
    for model in parent.__subclasses__():
        if model.template:  # others are what some pages share
            yield model
        yield from models(model)


MODELS = sorted(models(), key=lambda model: model.__name__)
SHOWN = [(model, name) for model in MODELS for name in (model.template, *model.fragments)]


@cache
def parsed(name: str) -> nodes.Template:
    loader = ENVIRONMENT.loader
    assert loader is not None
    return ENVIRONMENT.parse(loader.get_source(ENVIRONMENT, name)[0])


@cache
def parts(name: str) -> set[str]:
    """Name a template with all that it extends, includes and imports."""
    found, waiting = {name}, [name]
    while waiting:
        named = {one for one in meta.find_referenced_templates(parsed(waiting.pop())) if one is not None}
        waiting += named - found
        found |= named
    return found


@cache
def own_names(name: str) -> set[str]:
    """Name what a template sets itself; what it includes may read that."""
    template = parsed(name)
    stored = {one.name for one in template.find_all(nodes.Name) if one.ctx == "store"}
    imported = {one.target for one in template.find_all(nodes.Import)}
    taken = {
        one if isinstance(one, str) else one[1] for each in template.find_all(nodes.FromImport) for one in each.names
    }
    return stored | imported | taken | {one.name for one in template.find_all(nodes.Macro)}


def extended(name: str) -> Iterator[str]:
    for one in parsed(name).find_all(nodes.Extends):
        assert isinstance(one.template, nodes.Const)
        yield one.template.value
        yield from extended(one.template.value)


@cache
def read_names(name: str, given: frozenset[str] = frozenset()) -> set[str]:
    """Name what a template takes from its page model, with what it extends, includes and imports."""
    template = parsed(name)
    # A block sees what the page sets around it, and what the template sets that it extends.
    around = {one for each in (name, *extended(name)) for one in own_names(each)}
    seen = given | around
    found = meta.find_undeclared_variables(template) - seen
    for one in template.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
        assert isinstance(one.template, nodes.Const), f"{name} names a template that is not known before it is shown"
        found |= read_names(one.template.value, seen if isinstance(one, nodes.Extends | nodes.Include) else frozenset())
    return found


@pytest.mark.parametrize("language", ["th", "en"])
def test_a_name_that_is_missing_stops_the_page(language: str) -> None:
    assert environment(language).undefined is StrictUndefined


def test_every_template_belongs_to_a_page() -> None:
    shown = {part for _, name in SHOWN for part in parts(name)}

    assert sorted({path.relative_to(TEMPLATES).as_posix() for path in FILES} - shown) == []


def test_the_model_has_what_the_template_reads() -> None:
    lost = {
        (model.__qualname__, name): read_names(name) - {field.name for field in fields(model)} - SHARED - SHELL - FORM
        for model, name in SHOWN
    }

    assert {place: names for place, names in lost.items() if names} == {}


def test_the_template_reads_what_the_model_has() -> None:
    unread = {}
    for model in MODELS:
        read = {one for name in (model.template, *model.fragments) for one in read_names(name)}
        unread[model.__qualname__] = {field.name for field in fields(model)} - read - {"faults", "state"}

    assert {model: names for model, names in unread.items() if names} == {}


def test_the_model_hides_no_name_that_every_page_has() -> None:
    """
    A field named `version` or `may_create` would stand in the menu and the footer, which read these names too. `path` may be said
    otherwise: a document stands in the menu under its register, whatever its address.
    """
    shared = (SHARED | SHELL | FORM) - {"path", "faults"}

    assert [(model.__qualname__, one.name) for model in MODELS for one in fields(model) if one.name in shared] == []


class TestEveryTemplate:
    def test_has_lines_that_fit_on_a_screen(self) -> None:
        lines = [(path.name, *line) for path in FILES for line in enumerate(path.read_text("utf-8").splitlines(), 1)]

        assert [(name, number) for name, number, line in lines if len(line) > LONGEST_LINE] == []

    def test_does_not_ask_whether_a_name_is_there(self) -> None:
        assert [path.name for path in FILES if ASKS_WHETHER_IT_IS_THERE.search(path.read_text("utf-8"))] == []
