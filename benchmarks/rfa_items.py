"""
RFAs with 200 drawings, created and answered over HTTP by 16 clients at once, beside bare transactions that leave the same rows.

A turn is an RFA of each client of either side. What stands between creation and final answer is not timed, and the answer sets the
drawings free for the next turn.
"""

import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from benchmarks import http
from benchmarks.bench import Bench, Suite
from benchmarks.document_baselines import (
    CreationPattern,
    Insert,
    Keys,
    filled,
    inserts_of,
    marks_of,
    new_keys,
    new_rows,
    pattern_of,
    rows_of,
)
from benchmarks.drawings import REVISIONS, imported, lines_of
from benchmarks.number_baselines import Pool
from benchmarks.results import Row
from saraban.documents.drawing.models import ShopDrawingRevision
from saraban.kit.db import Database
from saraban.projects.models import Project, RfaApproveCode
from tests.conftest import PASSWORD

ITEMS: Final = 200
CLIENTS: Final = 16
CODES: Final = ("1A", "1C", "3R")
REVIEWER, OWNER = "reviewer.consultant", "approver.owner"
UNMEASURED: Final = 3  # turns before the first that counts, in which statements are made
_NAME = "drawings"
STEPS: Final = 3  # from the draft to the final answer
_CLOSED: Final = "(SELECT id FROM correspondence_status WHERE status_code = 'CLBOWN')"
_DONE: Final = "(SELECT id FROM rfa_status_codes WHERE status_code = 'FCO')"
_TOLD = ("workflow_histories", "outbox_events", "audit_logs")


def answers_of(turn: int) -> list[str]:
    """Return the code of each item, other ones each time."""
    return [CODES[(place + turn) % len(CODES)] for place in range(ITEMS)]


@dataclass
class Served:
    """One client of a running server, which knows 200 revisions of drawings."""

    site: http.Site
    client: http.Client
    drawings: Sequence[str]
    tokens: Mapping[str, str]
    made: dict[str, Any] = field(default_factory=dict)

    async def create(self) -> None:
        items = [{"drawingRevisionPublicId": one} for one in self.drawings]
        request = self.site.posting("/api/v1/rfas", self.site.draft("rfas") | {"items": items})
        self.made = orjson.loads(await self.client.send(request))

    async def endorse(self) -> None:
        """Submit it, and let the consultant endorse it."""
        await self._step({"action": "submit"})
        await self._step({"action": "approve"}, token=self.tokens[REVIEWER])

    async def answer(self, codes: Sequence[str]) -> None:
        """Let the owner answer it and each item."""
        said = [
            {"publicId": one, "responseCode": code, "comment": "ตรวจแล้ว"}
            for one, code in zip(self.drawings, codes, strict=True)
        ]
        payload = {"itemResults": said}
        await self._step({"action": "approve", "responseCode": CODES[0], "payload": payload}, token=self.tokens[OWNER])

    @property
    def instance(self) -> str:
        return str(self.made["workflow"]["instancePublicId"])

    async def _step(self, order: dict[str, Any], *, token: str = "") -> None:
        path = f"/api/v1/workflow/instances/{self.instance}/transitions"
        await self.client.send(self.site.posting(path, order, token=token))


@dataclass
class Bare:
    """
    The same by the bare driver, in a database of its own: rows like those that the server wrote, with other keys.

    :param told: what an answer inserts
    :param marks: for the public ids of these rows
    :param instance: the mark for the instance of a new RFA
    """

    pool: Pool
    creating: Callable[[], Awaitable[Keys]]
    told: Sequence[Insert]
    marks: Mapping[str, str]
    drawings: Sequence[int]
    codes: Mapping[str, int]
    instance: str
    keys: Keys = field(default_factory=dict)

    async def create(self) -> None:
        self.keys = await self.creating()

    async def answer(self, codes: Sequence[str]) -> None:
        """Lock the instance and write what an answer leaves: statements for many rows where many are alike."""
        keys = self.keys | new_keys(self.marks)
        instance, revision = keys[self.instance], keys["«correspondence_revisions»"]
        alike: dict[int, list[str]] = defaultdict(list)
        for drawing, code in zip(self.drawings, codes, strict=True):
            alike[self.codes[code]].append(str(drawing))
        statements = [
            f"SELECT version_no FROM workflow_instances WHERE id = '{instance}' FOR UPDATE",
            (
                "UPDATE workflow_instances SET current_state = 'approved', status = 'COMPLETED', "
                f"version_no = version_no + {STEPS}, "
                f"last_transition_at = NOW(6), updated_at = NOW(6) WHERE id = '{instance}' AND version_no = 1"
            ),
            f"DELETE FROM workflow_work_items WHERE instance_id = '{instance}'",
            *(filled(one.statement, keys) for one in self.told),
            (
                f"UPDATE correspondence_revisions SET correspondence_status_id = {_CLOSED}, "
                f"version = version + {STEPS} WHERE id = {revision}"
            ),
            (
                f"UPDATE rfa_revisions SET rfa_status_code_id = {_DONE}, approved_date = CURRENT_DATE, "
                f"rfa_approve_code_id = {self.codes[CODES[0]]} WHERE id = {revision}"
            ),
            f"UPDATE document_reach SET status = {_CLOSED}, is_open = 0 WHERE revision_id = {revision}",
        ]
        for code, named in alike.items():
            listed = ", ".join(named)
            statements += [
                (
                    f"UPDATE rfa_items SET rfa_approve_code_id = {code}, comment = 'ตรวจแล้ว' "
                    f"WHERE rfa_revision_id = {revision} AND shop_drawing_revision_id IN ({listed})"
                ),
                f"UPDATE shop_drawing_revisions SET rfa_approve_code_id = {code} WHERE id IN ({listed})",
            ]
        everything = ", ".join(map(str, self.drawings))
        statements += [
            (
                "UPDATE shop_drawings JOIN shop_drawing_revisions r ON r.shop_drawing_id = shop_drawings.id "
                f"SET version = version + 1 WHERE r.id IN ({everything})"
            ),
            f"DELETE FROM rfa_item_claims WHERE rfa_revision_id = {revision}",
        ]
        async with self.pool.transaction() as cursor:
            for statement in statements:
                await cursor.execute(statement)


@dataclass
class Turns:
    """Both sides, in turn, each with its clients at once; seconds of one RFA by what was done."""

    served: Sequence[Served]
    bare: Sequence[Bare]
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    async def take(self, turn: int) -> None:
        codes = answers_of(turn)
        await self._timed("create", [one.create() for one in self.served])
        await asyncio.gather(*(one.endorse() for one in self.served))
        await self._timed("answer", [one.answer(codes) for one in self.served])
        await self._timed("create: bare", [one.create() for one in self.bare])
        await self._timed("answer: bare", [one.answer(codes) for one in self.bare])

    async def _timed(self, what: str, done: Sequence[Coroutine[Any, Any, None]]) -> None:
        begun = time.perf_counter()
        await asyncio.gather(*done)
        self.times[what].append((time.perf_counter() - begun) / len(done))

    def milliseconds(self, what: str) -> float:
        return statistics.median(self.times[what]) * 1000

    def against(self, *done: str) -> float:
        """Return the time that the bare transactions took, as a share of ours."""
        return sum(self.milliseconds(f"{what}: bare") for what in done) / sum(map(self.milliseconds, done))


async def rfa_items(b: Bench) -> list[Row]:
    """RFAs with 200 drawings created and answered, in turn with the same rows by the bare driver."""
    b.say(f"an RFA with {ITEMS} drawings, beside the bare transactions")
    async with AsyncExitStack() as stack:
        turns = await turns_in(b, stack)
        for turn in range(UNMEASURED):
            await turns.take(turn)
        turns.times.clear()
        turn, until = UNMEASURED, time.perf_counter() + b.seconds * b.rounds
        while time.perf_counter() < until:
            await turns.take(turn)
            turn += 1
    of = f"an RFA with {ITEMS} drawings"
    rows = []
    for what in ("create", "answer"):
        rows += [
            Row(_NAME, f"{what} {of}", turns.milliseconds(what), "ms"),
            Row(_NAME, f"{what} {of}: bare transaction", turns.milliseconds(f"{what}: bare"), "ms"),
            Row(_NAME, f"{what} {of}, against the bare transaction", turns.against(what), "x"),
        ]
    both = Row(
        _NAME,
        f"create and answer {of}, against the bare transactions",
        turns.against("create", "answer"),
        "x",
        ">= 0.4",
    )
    return [*rows, both]


async def turns_in(b: Bench, stack: AsyncExitStack) -> Turns:
    """Serve the demo project with drawings of each client, and give both sides; the bare one learns from first RFAs of the other."""
    url = b.mariadb.create("rfa_items", statements=b.template)
    drawings, codes = await _known(url)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    site = await stack.enter_async_context(http.site_on(url, b.redis.url, folder))
    tokens = {name: await site.token_of(name, PASSWORD) for name in (REVIEWER, OWNER)}
    served, learned = [], []
    for place in range(CLIENTS):
        client = await http.Client.to(site.port)
        stack.callback(client.close)
        keys = list(drawings)[place * ITEMS : (place + 1) * ITEMS]
        served.append(Served(site, client, [drawings[key] for key in keys], tokens))
        learned.append((keys, *await _patterns(url, served[-1])))
    apart = b.mariadb.create("rfa_items_bare", statements=b.mariadb.dump("rfa_items"))
    pool = await stack.enter_async_context(Pool(make_url(apart), CLIENTS))
    numbers = count(1_000_000)
    bare = [
        Bare(pool, creation.creating(pool, numbers), told, marks, keys, codes, creation.marks[one.instance])
        for one, (keys, creation, told, marks) in zip(served, learned, strict=True)
    ]
    return Turns(served, bare)


async def _patterns(url: str, served: Served) -> tuple[CreationPattern, list[Insert], dict[str, str]]:
    """Have an RFA created and answered, and return what that wrote."""
    async with Pool(make_url(url), 1) as single:
        async with single.transaction() as cursor:
            before = await rows_of(cursor)
        await served.create()
        async with single.transaction() as cursor:
            creation = await pattern_of(cursor, before)
        await served.endorse()
        async with single.transaction() as cursor:
            before = await rows_of(cursor, _TOLD)
        await served.answer(answers_of(0))
        async with single.transaction() as cursor:
            new = await new_rows(cursor, before)
            marks = marks_of(new, named="answer")
            return creation, await inserts_of(cursor, new, marks | creation.marks), marks


async def _known(url: str) -> tuple[dict[int, str], dict[str, int]]:
    """Register drawings; return keys and public ids of their current revisions, and the keys of the codes."""
    db = Database(url)
    try:
        async with db.reading() as session:
            project = (await session.scalars(sa.select(Project).where(Project.project_code == "LCBP3-C2"))).one()
        await imported(db, project, lines_of(CLIENTS * ITEMS * REVISIONS, 0))
        revision, code = ShopDrawingRevision, RfaApproveCode
        async with db.reading() as session:
            current = sa.select(revision.id, revision.public_id).where(revision.is_current).order_by(revision.id)
            found = {key: str(public_id) for key, public_id in await session.execute(current.limit(CLIENTS * ITEMS))}
            codes = {one.approve_code: one.id for one in await session.scalars(sa.select(code))}
    finally:
        await db.close()
    return found, codes


SUITES: dict[str, Suite] = {"rfa-items": rfa_items}
