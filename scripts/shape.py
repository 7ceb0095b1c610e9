"""
The shape of the code in figures: `make shape` prints them, tests/architecture/test_shape.py holds their bounds.

Everything is read from the source, but for the two paths, which are traced while the demo's application answers.
"""

import ast
import asyncio
import gc
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Final

import grimp
import httpx
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.app import create_app
from saraban.bootstrap import closing, seed, wire
from saraban.config import Settings
from saraban.kit import migrations

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src"
SMALL: Final = 60  # lines
ENDPOINTS: Final = re.compile(r"^saraban\..*(\.endpoints\b|\.routes$)")  # where the functions of routes stand


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    lines: int
    tree: ast.Module


@cache
def modules() -> tuple[Module, ...]:
    found = []
    gc.disable()  # it would look at a million nodes again and again
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, len(text.splitlines()), ast.parse(text)))
    gc.enable()
    return tuple(found)


@cache
def nodes() -> tuple[tuple[Module, ast.AST], ...]:
    return tuple((module, node) for module in modules() for node in ast.walk(module.tree))


def lines() -> int:
    """Count the lines of Python in `src` and `tools`."""
    tools = sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / "tools").rglob("*.py"))
    return tools + sum(module.lines for module in modules())


def small_with_one_importer() -> list[str]:
    graph = grimp.build_graph("saraban", cache_dir=None)
    return [
        module.name
        for module in modules()
        if 0 < module.lines < SMALL and len(graph.find_modules_that_directly_import(module.name)) == 1
    ]


def classes_defined_twice() -> list[str]:
    names = Counter(node.name for _, node in nodes() if isinstance(node, ast.ClassDef))
    return sorted(name for name, times in names.items() if times > 1)


def docstrings_in_the_future() -> list[str]:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    texts = (ast.get_docstring(node) or "" for _, node in nodes() if isinstance(node, documented))
    return [text for text in texts if text.startswith("This will ")]


def parameters() -> list[tuple[int, str]]:
    """Return how many parameters each function takes, commands of the terminal apart, most first."""
    counted = []
    for module, node in nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not module.name.startswith("saraban.cli"):
            taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            own = [one for one in taken if one.arg not in {"self", "cls"}]
            counted.append((len(own), f"{module.name}.{node.name}"))
    return sorted(counted, reverse=True)


def forwarded_keywords() -> int:
    return sum(
        isinstance(node, ast.keyword) and isinstance(node.value, ast.Name) and node.value.id == node.arg
        for _, node in nodes()
    )


def untyped() -> int:
    return sum(isinstance(node, ast.Name) and node.id == "Any" for _, node in nodes())


def nested_functions() -> list[str]:
    """Return the functions that are defined inside other functions."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    outer = [(module, node) for module, node in nodes() if isinstance(node, functions)]
    inside = {
        f"{module.name}.{inner.name}:{inner.lineno}"
        for module, node in outer
        for inner in ast.walk(node)
        if inner is not node and isinstance(inner, functions)
    }
    return sorted(inside)


def partials() -> int:
    return sum(isinstance(node, ast.Call) and _called_name(node) == "partial" for _, node in nodes())


def _called_name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


class Trace:
    """The modules of ours that run between the first line of an endpoint and its last commit, or its end without one."""

    def __init__(self) -> None:
        self._around: set[str] | None = None  # what called the endpoint, and is entered again whenever it goes on
        self.since_commit: set[str] = set()
        self.modules: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        name = frame.f_globals.get("__name__", "")
        if self._around is None:
            if not ENDPOINTS.search(name):
                return
            self._around = {caller.f_globals.get("__name__", "") for caller in _callers(frame)}
        if name.startswith("saraban.") and name not in self._around:
            self.since_commit.add(name)
        elif frame.f_code is AsyncSession.commit.__code__:
            self.modules |= self.since_commit


def _callers(frame: FrameType) -> Iterator[FrameType]:
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


@dataclass(frozen=True, slots=True)
class Paths:
    create: frozenset[str]
    transition: frozenset[str]
    register: frozenset[str]


def paths(folder: Path) -> Paths:
    """
    Return the modules that the creation of an RFA and the submission of it pass.

    :param folder: a data folder, which may have the demo project
    """
    return asyncio.run(
        _paths(Settings(_env_file=None, env="test", data_dir=folder, run_worker=False, log_level="ERROR"))
    )


async def _paths(settings: Settings) -> Paths:
    if not (settings.data_dir / "saraban.db").exists():
        await asyncio.to_thread(migrations.upgrade, f"sqlite:///{settings.data_dir / 'saraban.db'}")
        async with closing(wire(settings)) as system:
            await seed(system, demo=True)
    app = create_app(settings)
    transport = httpx.ASGITransport(app)
    client = httpx.AsyncClient(transport=transport, base_url="http://saraban.test/api/v1")
    async with app.router.lifespan_context(app), client:
        account = {"username": "dc.contractor", "password": "saraban-demo"}
        tokens = (await client.post("/auth/login", json=account)).raise_for_status().json()
        client.headers["Authorization"] = f"Bearer {tokens['accessToken']}"
        body = await _rfa(client)
        for _ in range(2):  # the first request fills what is read once
            create, rfa = await _traced(client, "/rfas", body)
            instance = rfa["workflow"]["instancePublicId"]
            address = f"/workflow/instances/{instance}/transitions"
            transition, _answer = await _traced(client, address, {"action": "submit"})
            register, _answer = await _traced(client, "/rfas", None)
    return Paths(create, transition, register)


async def _rfa(client: httpx.AsyncClient) -> dict[str, Any]:
    projects = (await client.get("/projects")).json()["items"]
    organizations = (await client.get("/organizations")).json()["items"]
    owner = next(one["publicId"] for one in organizations if one["organizationCode"] == "คคง.")
    return {
        "projectPublicId": next(one["publicId"] for one in projects if one["projectCode"] == "LCBP3-C2"),
        "recipients": [{"organizationPublicId": owner, "recipientType": "TO"}],
        "subject": "รายงานผลการทดสอบเสาเข็ม",
        "rfaTypeCode": "RPT",
        "disciplineCode": "TER",
    }


async def _traced(
    client: httpx.AsyncClient, address: str, body: dict[str, Any] | None
) -> tuple[frozenset[str], dict[str, Any]]:
    trace = Trace()
    sys.setprofile(trace)
    try:
        answer = await (client.get(address) if body is None else client.post(address, json=body))
        answer.raise_for_status()
    finally:
        sys.setprofile(None)
    return frozenset(trace.modules or trace.since_commit), answer.json()


def figures(traced: Paths) -> dict[str, int]:
    counts = [count for count, _name in parameters()]
    return {
        "lines of Python in src": lines(),
        "modules in src": len(modules()),
        "modules with one importer and under 60 lines": len(small_with_one_importer()),
        "class names defined more than once": len(classes_defined_twice()),
        'docstrings that begin "This will"': len(docstrings_in_the_future()),
        "parameters of a function, largest": counts[0],
        "parameters of a function, 90th percentile": counts[len(counts) // 10],
        "keyword arguments that only forward": forwarded_keywords(),
        "`Any` in src": untyped(),
        "modules on the path of POST /rfas": len(traced.create),
        "modules on the path of a transition": len(traced.transition),
        "modules on the path of a register": len(traced.register),
        "functions inside functions": len(nested_functions()),
        "`partial(` in src": partials(),
    }


DETAILS: Final[dict[str, Callable[[Paths], list[str]]]] = {
    "small": lambda _: small_with_one_importer(),
    "classes": lambda _: classes_defined_twice(),
    "parameters": lambda _: [f"{count} {name}" for count, name in parameters()[:40]],
    "create": lambda traced: sorted(traced.create),
    "transition": lambda traced: sorted(traced.transition),
    "register": lambda traced: sorted(traced.register),
    "nested": lambda _: nested_functions(),
}


def main() -> None:
    with TemporaryDirectory() as folder:
        traced = paths(Path(folder))
    for name, figure in figures(traced).items():
        print(f"{name:55} {figure}")
    for asked in sys.argv[1:]:
        print(f"\n{asked}:", *DETAILS[asked](traced), sep="\n  ")


if __name__ == "__main__":
    main()
