"""
Derives which errors an operation of the API can raise: what the functions on its path raise or declare after `:raises`.

The path begins at the endpoint and its dependencies, and goes on to each function of `saraban` that the code refers to. A method
is found by the type of what it is called on: annotations, assignments and results tell that. A call on a base class goes to
the subclasses of which the path makes objects, or of a kind of documents in the endpoint's closure. An error that a
caller catches without another one does not come further.
"""

import ast
import builtins
import functools
import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from saraban.kit.errors import DomainError, NotFound
from saraban.ops.error_catalogue import OF_FORM, every_error
from saraban.setup.domain.master_kinds import MasterKind, Owner

Function = types.FunctionType
_BEGINS = ("__init__", "__post_init__", "__call__", "__aenter__", "__enter__")
# Of which operations a request contains what an error is about: text (stored text was checked when it was saved), a code, a
# reservation. Others share the functions, and never come to the line.
_ONLY_OF = {
    "INVALID_WORKFLOW_DSL": r"workflow_(publish|activate)_|projects_apply$",
    "MASTER_CODE_TAKEN": r".*_(create|change|import)_|projects_apply$",
    "NUMBER_STATE_CONFLICT": r".*_renumber$|document_numbering_void",
    "NUMBER_TEMPLATE_INVALID": r"document_numbering_|projects_",
}
_OF_RESERVATIONS = {"NUMBER_STATE_CONFLICT", "RESERVATION_EXPIRED"}


def operation_errors(app: FastAPI) -> dict[str, list[str]]:
    """Return the codes of each operation, without those that `error_catalogue` derives from the operation's form."""
    by_name = {error.__name__: error for error in every_error()}
    description = app.openapi()
    paths, walks = description["paths"], {}
    for context in iter_route_contexts(app.routes):
        if not isinstance(context.original_route, APIRoute):
            continue
        for method in context.methods or ():
            if operation := paths.get(context.path_format, {}).get(method.lower()):
                codes = Walk(list(_calls(context.dependant)), by_name).codes()
                possible = codes - _impossible(context.original_route.endpoint)
                walks[operation["operationId"]] = possible - _foreign(operation, description["components"]["schemas"])
    return {name: sorted(codes) for name, codes in sorted(walks.items()) if codes}


def _foreign(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> set[str]:
    """Return the errors that a request of the operation cannot be about."""
    about = {code for code, pattern in _ONLY_OF.items() if re.match(pattern, operation["operationId"])}
    if "reservationToken" in _field_names(operation.get("requestBody"), schemas):
        about |= _OF_RESERVATIONS
    return (OF_FORM - {NotFound.code}) | ((_ONLY_OF.keys() | _OF_RESERVATIONS) - about)


def _field_names(body: Any, schemas: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    parts, followed = [body], set()
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            names.update(part.get("properties", ()))
            parts += part.values()
            if (reference := part.get("$ref")) and reference not in followed:
                followed.add(reference)
                parts.append(schemas[reference.rpartition("/")[2]])
        elif isinstance(part, list):
            parts += part
    return names


def _impossible(endpoint: Any) -> set[str]:
    """Return the errors of master data that the data of the kind excludes."""
    kind = next((value for value in closure(endpoint).values() if isinstance(value, MasterKind)), None)
    if kind is None:
        return set()
    occurs = {
        "MASTER_CODE_OF_THE_PRODUCT": bool(kind.written),
        "PRINTED_CODE_CHANGES": bool(kind.printed),
        "MASTER_PLACE_CLOSED": kind.owner is not Owner.INSTALLATION,
        "NOT_FOUND": kind.owner is not Owner.INSTALLATION,
    }
    return {code for code, does_occur in occurs.items() if not does_occur}


def _calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for below in dependant.dependencies:
        yield from _calls(below)


class Node(NamedTuple):
    """A function, as a method of the class of the object on which it is called."""

    function: Function
    owner: type | None


class Edge(NamedTuple):
    """
    :param target: a function, or the class and the name of a method
    :param caught: errors that do not come further
    """

    target: "Node | tuple[type, str]"
    caught: frozenset[type]


class Summary(NamedTuple):
    """What one function does."""

    edges: frozenset[Edge]
    raised: frozenset[type[DomainError]]
    made: frozenset[type]


class Walk:
    """What the functions of one operation reach."""

    def __init__(self, calls: list[Any], by_name: dict[str, type[DomainError]]) -> None:
        self._by_name = by_name
        self._starts = [Node(function, None) for call in calls if (function := function_of(call))]
        values = [value for start in self._starts for value in closure(start.function).values()]
        self._kinds = {type(value) for value in values if is_ours(type(value))}
        self._made = set(self._kinds)
        self._targets: dict[Node, dict[Edge, set[Node]]] = {}

    def codes(self) -> set[str]:
        known = 0
        while (size := len(self._targets) + len(self._made)) != known or not known:
            known = size
            self._follow()
        errors: dict[Node, set[type[DomainError]]] = {node: self._own(node) for node in self._targets}
        changed = True
        while changed:
            changed = False
            for node, edges in self._targets.items():
                raised = {
                    error
                    for edge, nodes in edges.items()
                    for below in nodes
                    for error in errors.get(below, ())
                    if not issubclass(error, tuple(edge.caught))
                }
                changed |= not raised <= errors[node]
                errors[node] |= raised
        return {error.code for start in self._starts for error in errors[start] if hasattr(error, "code")}

    def _own(self, node: Node) -> set[type[DomainError]]:
        lists = re.findall(r":raises ([\w, ]+):", node.function.__doc__ or "")
        declared = {self._by_name[name] for names in lists for name in names.split(", ") if name in self._by_name}
        return declared | summary_of(node).raised

    def _follow(self) -> None:
        pending, seen = list(self._starts), set[Node]()
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            summary = summary_of(node)
            self._made |= summary.made
            edges = self._targets.setdefault(node, {})
            for edge in summary.edges:
                edges[edge] = {edge.target} if isinstance(edge.target, Node) else self._methods(*edge.target)
                pending += edges[edge]

    def _methods(self, kind: type, name: str) -> set[Node]:
        """Return the methods that a call may mean: of a kind of the endpoint, of objects that the path makes, or of any subclass."""
        below = [other for other in self._kinds if kind in other.__mro__]
        below = below or [kind, *(other for other in self._made if is_a(other, kind))]
        if below == [kind] and (is_protocol(kind) or inspect.isabstract(kind)):  # its objects were made at the start
            below += [other for other in subclasses(object if is_protocol(kind) else kind) if is_a(other, kind)]
        return {Node(function, other) for other in below if (function := function_of(members(other).get(name)))}


def is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def is_a(kind: type, base: type) -> bool:
    if is_protocol(base):
        return {name for name in members(base) if not name.startswith("_")} <= members(kind).keys()
    return base in kind.__mro__


@functools.cache
def subclasses(kind: type) -> frozenset[type]:
    children = [child for child in type.__subclasses__(kind) if kind is not object or is_ours(child)]
    return frozenset(other for child in children for other in (child, *subclasses(child)))


class Instance(NamedTuple):
    """An object of a class, whose methods may be those of a subclass unless it stands for `super()`."""

    kind: type
    is_super: bool = False


class Method(NamedTuple):
    function: Function
    on: Instance


@functools.cache
def summary_of(node: Node) -> Summary:
    return Reader(node).read()


class Reader:
    """Reads the source of one function: what it refers to, raises and makes."""

    def __init__(self, node: Node) -> None:
        self._function, self._owner = node
        self._known = {**vars(builtins), **self._function.__globals__, **closure(self._function)}
        self._locals: dict[str, list[Any]] = {}
        self._edges, self._raised, self._made = set[Edge](), set[type[DomainError]](), set[type]()
        self._caught: frozenset[type] = frozenset()
        self.fields: dict[str, list[Any]] = {}

    def read(self) -> Summary:
        tree = tree_of(self._function)
        if tree is not None:
            arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
            for argument in arguments:
                annotation = self._function.__annotations__.get(argument.arg)
                self._add(argument.arg, instances(evaluated(annotation, self._known)))
            if self._owner is not None and arguments:
                self._add(arguments[0].arg, [self._owner if arguments[0].arg == "cls" else Instance(self._owner)])
            for _ in range(2):  # the second time for what is assigned behind its use, in a loop
                self._visit_all([*tree.body, *tree.args.defaults, *filter(None, tree.args.kw_defaults)])
        return Summary(frozenset(self._edges), frozenset(self._raised), frozenset(self._made))

    def _add(self, name: str, values: Iterable[Any]) -> None:
        known = self._locals.setdefault(name, [])
        known += [value for value in values if not any(is_same(value, other) for other in known)]

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.expr():
                self._values(node)
            case ast.Raise(exc=ast.expr()):
                self._add_errors(self._values(node.exc))
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                for name, value in zip(names, values, strict=True):
                    self._assign(name, self._values(value))
            case ast.Assign():
                for target in node.targets:
                    self._assign(target, self._values(node.value))
            case ast.AnnAssign():
                self._assign(node.target, self._annotated(node.annotation))
                self._visit_all(filter(None, [node.value]))
            case ast.For() | ast.AsyncFor():
                self._assign(node.target, self._values(node.iter))
                self._visit_all([*node.body, *node.orelse])
            case ast.withitem(optional_vars=ast.expr()):
                self._assign(node.optional_vars, self._values(node.context_expr))
            case ast.Try():
                self._visit_try(node)
            case ast.ImportFrom(module=str()):
                module = importlib.import_module(node.module)
                self._known |= {name.asname or name.name: getattr(module, name.name, None) for name in node.names}
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for argument in (*node.args.args, *node.args.kwonlyargs):
                    self._add(argument.arg, self._annotated(argument.annotation))
                self._visit_all(node.body)
            case _:
                self._visit_all(ast.iter_child_nodes(node))

    def _annotated(self, annotation: ast.expr | None) -> list[Any]:
        return instances(evaluated(ast.unparse(annotation), self._known)) if annotation is not None else []

    def _visit_try(self, node: ast.Try) -> None:
        caught = self._caught
        for handler in node.handlers:
            raises = any(isinstance(part, ast.Raise) for statement in handler.body for part in ast.walk(statement))
            if handler.type is not None and handler.name is None and not raises:
                values = self._values(handler.type, refers=False)
                self._caught |= {value for value in values if isinstance(value, type)}
        self._visit_all(node.body)
        self._caught = caught
        self._visit_all(statement for handler in node.handlers for statement in handler.body)
        self._visit_all([*node.orelse, *node.finalbody])

    def _assign(self, target: ast.AST, values: list[Any]) -> None:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self._add(part.id, values)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                self.fields.setdefault(part.attr, []).extend(values)

    def _values(self, node: ast.expr, *, refers: bool = True) -> list[Any]:
        """Return what an expression may be."""
        match node:
            case ast.Name():
                values = self._locals.get(node.id) or ([self._known[node.id]] if node.id in self._known else [])
            case ast.Attribute():
                values = [
                    part for value in self._values(node.value, refers=False) for part in self._part(value, node.attr)
                ]
            case ast.Call(func=ast.Name(id="super")):
                return [Instance(self._known["__class__"], is_super=True)]
            case ast.Call():
                return self._result(node)
            case ast.NamedExpr():
                values = self._values(node.value)
                self._assign(node.target, values)
            case ast.Lambda():
                return self._values(node.body)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for generator in node.generators:
                    self._assign(generator.target, self._values(generator.iter))
                    for condition in generator.ifs:
                        self._values(condition)
                parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                return [value for part in parts for value in self._values(part)]
            case ast.Compare():
                for part in (node.left, *node.comparators):
                    self._values(part, refers=False)
                return []
            case ast.Subscript():
                self._values(node.slice)
                values = self._values(node.value, refers=False)
            case _:
                parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                return [value for part in parts for value in self._values(part)]
        if refers:
            self._refer(values)
        return values

    def _result(self, node: ast.Call) -> list[Any]:
        called = self._values(node.func)
        is_test = isinstance(node.func, ast.Name) and node.func.id in {"isinstance", "issubclass"}
        given = [
            value
            for part in (*node.args, *(keyword.value for keyword in node.keywords))
            for value in self._values(part, refers=not is_test)
        ]
        if not is_test:
            self._add_errors(value for value in given if isinstance(value, type))
        results: list[Any] = []
        for value in called:
            if isinstance(value, type) and issubclass(value, DomainError):
                self._raised.add(value)
                results.append(Instance(value))
            elif isinstance(value, type):
                results.append(Instance(value))
            elif isinstance(value, Method) or (isinstance(value, Instance) and isinstance(node.func, ast.Attribute)):
                results += instances(returned(value.function)) if isinstance(value, Method) else [value]
            elif function := function_of(value):
                results += instances(returned(function))
        if not results:  # what a generic function returns is what it was given, or its result
            for value in given:
                function = value.function if isinstance(value, Method) else function_of(value)
                results += instances(returned(function)) if function else [value]
        return results

    def _part(self, value: Any, name: str) -> list[Any]:
        """Return what an attribute may be; of a container, its elements stand for its methods' results."""
        if isinstance(value, Instance):
            mro = value.kind.__mro__
            member = members(value.kind).get(name)
            if value.is_super:
                member = next((vars(base)[name] for base in mro[1:] if name in vars(base)), None)
            if member is None:
                return fields_of(value.kind).get(name, [value])
            raw = next((vars(base)[name] for base in mro if name in vars(base)), None)
            if isinstance(raw, property | functools.cached_property) and (function := function_of(raw)):
                self._refer([Method(function, value)])
                return instances(returned(function))
            if function := function_of(member):
                return [Method(function, value)]
            return member if isinstance(member, list) else [member]
        if inspect.ismodule(value) or isinstance(value, type):
            member = inspect.getattr_static(value, name, None)
            if isinstance(value, type) and is_ours(value) and (function := function_of(member)):
                return [Method(function, Instance(value))]
            return [] if member is None else [member]
        if is_ours(type(value)):
            return self._part(Instance(type(value)), name)
        return [value] if isinstance(value, dict | list | tuple | set | frozenset) else []

    def _refer(self, values: Iterable[Any]) -> None:
        """Follow the functions that the code names."""
        for value in values:
            if isinstance(value, Method):
                is_fixed = value.on.is_super
                target = Node(value.function, self._owner) if is_fixed else (value.on.kind, value.function.__name__)
                self._edges.add(Edge(target, self._caught))
            elif isinstance(value, type):
                if is_ours(value) and not issubclass(value, DomainError):
                    self._made.add(value)
                    begins = (members(value).get(name) for name in _BEGINS)
                    self._edges |= {
                        Edge(Node(begin, value), self._caught) for member in begins if (begin := function_of(member))
                    }
            elif isinstance(value, dict | list | tuple | set | frozenset):
                self._refer(value.values() if isinstance(value, dict) else value)
            elif function := function_of(value):
                self._edges.add(Edge(Node(function, None), self._caught))
            elif is_ours(type(value)) and not isinstance(value, Instance):
                self._made.add(type(value))

    def _add_errors(self, values: Iterable[Any]) -> None:
        kinds = (value.kind if isinstance(value, Instance) else value for value in values)
        self._raised |= {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, DomainError)}


def is_same(one: Any, other: Any) -> bool:
    return one == other if isinstance(one, Instance | Method) and type(one) is type(other) else one is other


@functools.cache
def members(kind: type) -> dict[str, Any]:
    """Return the methods of a class, the classes that it contains, and what its fields may be."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        scope = vars(sys.modules.get(base.__module__, builtins))
        found |= {name: instances(evaluated(value, scope)) for name, value in inspect.get_annotations(base).items()}
        found |= {name: value for name, value in vars(base).items() if isinstance(value, type)}
        found |= {name: value for name, value in vars(base).items() if function_of(value)}
    return found


_fields: dict[type, dict[str, list[Any]]] = {}


def fields_of(kind: type) -> dict[str, list[Any]]:
    """Return what `__init__` assigns to the fields of an object that the class does not annotate."""
    if kind not in _fields:
        found = _fields[kind] = {}
        for base in reversed(kind.__mro__):
            if begin := function_of(vars(base).get("__init__")):
                reader = Reader(Node(begin, kind))
                reader.read()
                found |= reader.fields
    return _fields[kind]


def returned(function: Function) -> Any:
    return evaluated(function.__annotations__.get("return"), {**function.__globals__, **closure(function)})


def evaluated(annotation: Any, scope: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**vars(builtins), **scope})  # noqa: S307  of our own source
    except (NameError, AttributeError, TypeError):
        return None


def instances(annotation: Any) -> list[Any]:
    return [Instance(kind) for kind in dict.fromkeys(types_in(annotation))]


@functools.cache
def functions_in(file: str) -> dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a file by their names and each line of their heads."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    firsts = [min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) for node in found]
    return {
        (node.name, line): node
        for node, first in zip(found, firsts, strict=True)
        for line in range(first, node.body[0].lineno + 1)
    }


def tree_of(function: Function) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    code = function.__code__
    if not code.co_filename.endswith(".py"):  # made by `dataclass`
        return None
    return functions_in(code.co_filename).get((code.co_name, code.co_firstlineno))


def function_of(value: Any) -> Function | None:
    """Return the function behind a method, property or decorator, if it is one of `saraban`."""
    while True:
        if isinstance(value, staticmethod | classmethod | types.MethodType):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        elif isinstance(value, functools.cached_property | functools.partial):
            value = value.func
        elif not isinstance(value, type) and inspect.isroutine(value) and hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        else:
            return value if isinstance(value, Function) and is_ours(value) else None


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("saraban.")


def closure(function: Function) -> dict[str, Any]:
    names, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    return {
        name: cell.cell_contents
        for name, cell in zip(names.co_freevars if names else (), cells, strict=False)
        if cell != types.CellType()
    }


def types_in(annotation: Any) -> Iterator[type]:
    origin = typing.get_origin(annotation) or annotation
    if isinstance(origin, typing.TypeVar):
        yield from types_in(origin.__bound__)
    elif isinstance(origin, type) and is_ours(origin):
        yield origin
    elif isinstance(annotation, typing.ForwardRef | str):
        return
    for argument in typing.get_args(annotation):
        yield from types_in(argument) if not isinstance(argument, list) else ()
