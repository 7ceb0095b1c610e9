"""
Derives which errors an operation of the API can raise, from what its functions refer to.

The walk begins at the endpoint and its dependencies. From a function it goes on to the functions of `saraban` that its code
names: through its globals, modules and closure, and to the methods of the classes in its annotations. A kind of documents in
the closure stands for its base class. Errors are the classes that the code names outside `except`, and those after
`:raises` in a docstring.
"""

import dis
import functools
import inspect
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from saraban.kit.errors import DomainError, NotFound
from saraban.ops.error_catalogue import OF_FORM, every_error
from saraban.setup.domain.master_kinds import MasterKind, Owner

Function = types.FunctionType
Node = tuple[Function, type | None]

_NAMED = {"LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST"}
_BEFORE_MATCH = {"LOAD_GLOBAL", "LOAD_ATTR", "BUILD_TUPLE", "CACHE"}
_BEGINS = ("__init__", "__post_init__", "__call__", "__aenter__", "__enter__")
# Raised for text that a request contains. Stored text was checked when it was saved.
_OF_REQUEST_TEXT = {
    "INVALID_WORKFLOW_DSL": ("workflow_publish_", "workflow_activate_", "projects_apply"),
    "NUMBER_TEMPLATE_INVALID": ("document_numbering_", "projects_"),
}


def operation_errors(app: FastAPI) -> dict[str, list[str]]:
    """Return the codes of each operation, without those that `error_catalogue` derives from the operation's form."""
    by_name = {error.__name__: error for error in every_error()}
    paths, walks = app.openapi()["paths"], {}
    for context in iter_route_contexts(app.routes):
        if not isinstance(context.original_route, APIRoute):
            continue
        for method in context.methods or ():
            if operation := paths.get(context.path_format, {}).get(method.lower()):
                codes = Walk(list(_calls(context.dependant)), by_name).codes()
                walks[operation["operationId"]] = codes - _impossible(context.original_route.endpoint)
    return {name: sorted(_own(name, codes)) for name, codes in sorted(walks.items()) if _own(name, codes)}


def _own(operation: str, codes: set[str]) -> set[str]:
    foreign = {code for code, prefixes in _OF_REQUEST_TEXT.items() if not operation.startswith(prefixes)}
    return codes - (OF_FORM - {NotFound.code}) - foreign


def _impossible(endpoint: Any) -> set[str]:
    """Return the errors of master data that the data of the kind excludes."""
    kind = next((value for value in closure(endpoint) if isinstance(value, MasterKind)), None)
    if kind is None:
        return set()
    occurs = {
        "MASTER_CODE_OF_THE_PRODUCT": bool(kind.written),
        "PRINTED_CODE_CHANGES": bool(kind.printed),
        "MASTER_PLACE_CLOSED": kind.owner is not Owner.INSTALLATION,
    }
    return {code for code, does_occur in occurs.items() if not does_occur}


def _calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for below in dependant.dependencies:
        yield from _calls(below)


class Walk:
    """What the functions of one operation reach."""

    def __init__(self, calls: list[Any], by_name: dict[str, type[DomainError]]) -> None:
        self._by_name = by_name
        functions = [function for call in calls if (function := function_of(call))]
        self._kinds = frozenset(
            type(value) for function in functions for value in closure(function) if is_ours(type(value))
        )
        self._functions: list[Node] = [(function, None) for function in functions]

    def codes(self) -> set[str]:
        seen, errors = set(self._functions), set[type[DomainError]]()
        while self._functions:
            nodes, raised = step(self._functions.pop(), self._kinds)
            errors |= raised | self._declared(nodes)
            self._functions += nodes - seen
            seen |= nodes
        errors |= self._declared(seen)
        return {error.code for error in errors if hasattr(error, "code")}

    def _declared(self, nodes: set[Node] | frozenset[Node]) -> set[type[DomainError]]:
        lists = [names for function, _ in nodes for names in re.findall(r":raises ([\w, ]+):", function.__doc__ or "")]
        names = {name for names in lists for name in names.split(", ")}
        return {self._by_name[name] for name in names if name in self._by_name}


@functools.cache
def step(node: Node, kinds: frozenset[type]) -> tuple[frozenset[Node], frozenset[type[DomainError]]]:
    """Return the functions to which a function refers, and the errors."""
    function, owner = node
    names, scope = names_in(function.__code__), function.__globals__
    modules = [(scope[name], attribute) for name, attribute in names.attributes if inspect.ismodule(scope.get(name))]
    values = [scope[name] for name in names.all if name in scope] + closure(function)
    values += [getattr(module, name, None) for module, name in modules if module.__name__.startswith("saraban.")]
    reached = Reached(names.all, kinds)
    reached.add_types(function.__annotations__)
    if owner is not None:
        reached.add_type(owner)
    for value in values:
        reached.add_value(value)
    reached.follow_types()
    return frozenset(reached.functions), frozenset(reached.errors)


class Reached:
    def __init__(self, names: frozenset[str], kinds: frozenset[type]) -> None:
        self.functions: set[Node] = set()
        self.errors: set[type[DomainError]] = set()
        self._names, self._kinds = names, kinds
        self._types: list[type] = []
        self._known: set[type] = set()

    def add_value(self, value: Any) -> None:
        if isinstance(value, type) and issubclass(value, DomainError):
            self.errors.add(value)
        elif isinstance(value, type):
            if is_ours(value):
                self.add_type(value)
                self.functions |= {(begin, value) for name in _BEGINS if (begin := function_of(vars(value).get(name)))}
        elif called := function_of(value):
            self.functions.add((called, None))
            self.add_types({"return": called.__annotations__.get("return")})
        elif is_ours(type(value)):
            self.add_type(type(value))
        elif isinstance(value, tuple | list | dict):
            for part in value.values() if isinstance(value, dict) else value:
                self.add_value(part)

    def add_type(self, kind: type) -> None:
        self._types += [other for other in self._kinds if kind in other.__mro__] or [kind]

    def add_types(self, annotations: dict[str, Any]) -> None:
        for annotation in annotations.values():
            for kind in types_in(annotation):
                self.add_type(kind)

    def follow_types(self) -> None:
        """Add the methods that the code names, and the types of the fields and results that it names."""
        while self._types:
            kind = self._types.pop()
            if kind in self._known:
                continue
            self._known.add(kind)
            found = members(kind)
            for name in self._names & found.keys():
                member = found[name]
                if isinstance(member, Function):
                    self.functions.add((member, kind))
                    self.add_types({"return": member.__annotations__.get("return")})
                elif isinstance(member, type) and issubclass(member, DomainError):
                    self.errors.add(member)
                else:
                    self.add_types({name: member})


@functools.cache
def members(kind: type) -> dict[str, Any]:
    """Return the methods of a class, its errors, and the annotations of its fields."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        found |= vars(base).get("__annotations__", {})
        found |= {name: function for name, value in vars(base).items() if (function := function_of(value))}
        found |= {name: value for name, value in vars(base).items() if isinstance(value, type)}
    return found


def function_of(value: Any) -> Function | None:
    """Return the function behind a method, property or decorator, if it is one of `saraban`."""
    while True:
        if isinstance(value, staticmethod | classmethod | types.MethodType):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        elif isinstance(value, functools.cached_property | functools.partial):
            value = value.func
        elif hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        else:
            return value if isinstance(value, Function) and is_ours(value) else None


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("saraban.")


def closure(function: Function) -> list[Any]:
    return [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if cell != types.CellType()]


def types_in(annotation: Any) -> Iterator[type]:
    origin = typing.get_origin(annotation) or annotation
    if isinstance(origin, typing.TypeVar):
        yield from types_in(origin.__bound__)
    elif isinstance(origin, type) and is_ours(origin):
        yield origin
    for argument in typing.get_args(annotation):
        yield from types_in(argument)


class Names(typing.NamedTuple):
    """
    What code loads, except the classes of an `except` clause.

    :param attributes: with the global name of which each is an attribute
    """

    all: frozenset[str]
    attributes: frozenset[tuple[str, str]]


@functools.cache
def names_in(code: types.CodeType) -> Names:
    names, attributes, pending, before = set[str](), set[tuple[str, str]](), list[str](), ""
    for one in dis.get_instructions(code):
        if one.opname == "CHECK_EXC_MATCH":
            pending.clear()
        elif one.opname not in _BEFORE_MATCH:
            names.update(pending)
            pending.clear()
        if one.opname in _NAMED:
            pending.append(str(one.argval))
            if before and one.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
                attributes.add((before, str(one.argval)))
        before = str(one.argval) if one.opname in {"LOAD_GLOBAL", "LOAD_DEREF"} else ""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = names_in(constant)
            names |= inner.all
            attributes |= inner.attributes
    return Names(frozenset(names.union(pending)), frozenset(attributes))
