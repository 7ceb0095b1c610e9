"""Asks every route as every kind of caller, about things of the caller's own project and of another one."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from saraban.ops.openapi import operations
from tests.access_world import CALLERS, FOREIGN, FOREIGN_CODE, FOREIGN_WORD, OWN
from tests.features.api.demo_examples import JSON, replaced

# Without a caller's rights: probes, the log-in and what belongs to it, files of the pages.
OUTSIDE: Final = re.compile(
    r"/(static|openapi.json|health/.*|metrics|docs/errors|login|forgot-password|logout|language|setup|invitations/.*)$|/api/v1/auth/"
)
CODES: Final = {
    "code": "ACC",
    "day": "2099-01-05",
    "kind": "shop",
    "name": "shop",
    "version": "1",
    "action": "close",
    "branchPublicId": "01930b5e-0000-7000-8000-00000000000a",
    "branch_id": "01930b5e-0000-7000-8000-00000000000a",
}
LISTS: Final = {"/organizations": "organizations", "/master/{kind}": "correspondence-types"}
QUERY: Final = {
    "code": "CORRESPONDENCE_FLOW_V1",
    "before": "1",
    "after": "2",
    "reason": "A reason that is long enough.",
    "permission": "document.view",
    "q": "qzx",
    "kind": "correspondence",
    "dryRun": "true",
    "level": "project",
}
LETTERS: Final = {401: "U", 403: "F", 404: "N"}


class CommitReached(SQLAlchemyError):
    """A request was about to keep what it did: everything that could refuse it had been asked."""


@contextmanager
def without_commits() -> Iterator[tuple[list[int], set[str]]]:
    """Let every transaction fail where it would commit, and count it; not while the set that is yielded has a name."""
    reached: list[int] = []
    keeping: set[str] = set()

    def refuse(_session: Session) -> None:
        task = asyncio.current_task()
        if keeping or (task is not None and task.get_name() == "refusals"):  # what numbering keeps of a refused call
            return
        reached.append(1)
        raise CommitReached("This test keeps nothing.")

    sa.event.listen(Session, "before_commit", refuse)
    try:
        yield reached, keeping
    finally:
        sa.event.remove(Session, "before_commit", refuse)


@dataclass
class Matrix:
    """:param sides: the values of each project, as `Builder` makes them"""

    app: FastAPI
    clients: Mapping[str, httpx.AsyncClient]
    sides: Mapping[str, dict[str, Any]]
    reached: list[int]
    keeping: set[str]
    is_whole: bool = False
    turn: int = 0
    leaks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        document = self.app.openapi()
        self.described = {(method.upper(), path): one for path, method, one in operations(document)}

    def routes(self) -> Iterator[tuple[str, str]]:
        for context in iter_route_contexts(self.app.routes):
            path = str(context.path).replace(":path}", "}")
            for method in sorted((getattr(context, "methods", None) or {"GET"}) - {"HEAD"}):
                if not OUTSIDE.match(path):
                    yield from ((method, path.replace("{path}", room, 1)) for room in _rooms(path))

    async def learn_codes(self) -> None:
        """Look up a code of each list whose things are addressed by their codes."""
        for method, path in self.routes():
            base, _, rest = path.partition("/{code}")
            if method == "GET" and path.startswith("/api/") and not rest and base != path and "/workflow" not in path:
                for side, values in self.sides.items():
                    answer = await self.clients["super"].get(self._request("GET", base, side)["url"])
                    items = answer.json().get("items") if answer.status_code == 200 else None
                    values[f"code {base}"] = items[0]["code"] if items else None

    async def row(self, method: str, path: str) -> str:
        """
        Return a letter for each kind of caller, of what is the own and then of what is foreign; `-` without such a thing.

        Unless the matrix is whole, every ninth pair of caller and side is asked, beginning at another pair for each route;
        `?` is in the others' place.
        """
        own, foreign = (self._request(method, path, side) for side in (OWN, FOREIGN))
        asked = {OWN: "", FOREIGN: ""}
        self.turn += 1
        pairs = [(name, side) for name in CALLERS for side in asked if side == OWN or own != foreign]
        for place, (name, side) in enumerate(pairs, self.turn):
            is_asked = self.is_whole or place % 9 == 0
            asked[side] += await self._ask(name, side, own if side == OWN else foreign) if is_asked else "?"
        asked[FOREIGN] = asked[FOREIGN] or "-" * len(CALLERS)
        return f"{asked[OWN]} {asked[FOREIGN]}"

    def _request(self, method: str, path: str, side: str) -> dict[str, Any]:
        values = self.sides[side]
        room = path.split("/{publicId}", maxsplit=1)[0].split("/{public_id}", maxsplit=1)[0].removeprefix("/api/v1")
        here = {**values, **QUERY, "publicId": values.get(room), "public_id": values.get(room)}
        here["id"] = here["publicId"] = here["publicId"] or values["project"]

        def filled(match: re.Match[str]) -> str:
            name = match[1].partition(":")[0]
            if "/workflow" in path and name == "code":
                return "CORRESPONDENCE_FLOW_V1"
            known = CODES.get(name) if name in CODES else here.get(name)
            if name == "code":
                known = values.get(f"code {path.partition('/{code}')[0]}", known)
            if name == "kind":
                known = _kind(path)
            return str(known or values.get("/correspondences"))

        address = re.sub(r"\{([^}]+)\}", filled, path)
        described = self.described.get((method, path), {})
        sent: dict[str, Any] = {"method": method, "url": address}
        names = [one["name"] for one in described.get("parameters", []) if one["in"] == "query"]
        if path.startswith("/api/"):
            known = {"publicId": values[room]} if room in values else {}
            body = described.get("requestBody", {}).get("content", {})
            if JSON in body:
                sent["json"] = replaced(body[JSON].get("example", {}), values | known)
            elif body:
                sent["files"] = {"file": ("a.xlsx", b"PK\x03\x04", "application/octet-stream")}
                sent["data"] = {name: value for name, value in here.items() if name == "projectPublicId"}
            sent["params"] = {name: here[name] for name in names if here.get(name) is not None}
        else:
            fields = {"project": values["project"], "projectPublicId": values["project"], "reason": QUERY["reason"]}
            sent["params" if method == "GET" else "data"] = fields
        return sent

    async def _ask(self, name: str, side: str, request: Mapping[str, Any]) -> str:
        before = len(self.reached)
        if request["url"].endswith(
            "/transitions"
        ):  # several callers share its transaction, which commits for the others
            self.keeping.add(name)
        answer = await self.clients[name].request(**request)
        self.keeping.clear()
        where = f"{name} {side} {request['method']} {request['url']}"
        if len(self.reached) > before:
            return "A"
        if answer.status_code == 303 and answer.headers["location"].startswith("/login"):
            return "U"
        if answer.status_code >= 500:
            self.failures.append(f"{where}: {answer.status_code} {answer.text[:300]}")
        if answer.status_code < 400:
            if name not in {"super", "outsider"} and (FOREIGN_WORD in answer.text or FOREIGN_CODE in answer.text):
                self.leaks.append(where)
            return "A"
        return LETTERS.get(answer.status_code, "V")


def _rooms(path: str) -> tuple[str, ...]:
    return ("correspondences", "circulations") if path.startswith("/{path}") else ("",)


def _kind(path: str) -> str:
    if path.startswith("/master"):
        return "correspondence-types"
    if path.startswith("/projects/{project}/setup/contracts"):
        return "disciplines"
    return "tags" if path.startswith("/projects/{project}/setup") else "shop"
