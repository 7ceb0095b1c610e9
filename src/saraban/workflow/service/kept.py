"""
Versions of definitions as people read them, kept in Redis for all servers: `wf:def:{code}:{version}` and `:active`.

For reading only. What an instance starts on, and what it runs on, comes from the database (ruling W5); no row is ever
locked and no session held while Redis is asked.
"""

from datetime import datetime
from uuid import UUID

import orjson

from saraban.kit.db import Database
from saraban.kit.shelf import Shelf, Taken
from saraban.workflow.domain import dsl
from saraban.workflow.service import definitions
from saraban.workflow.service.definitions import CHANGED, DefinitionView

NAME = "wf:def"
ACTIVE = "active"


class KeptDefinitions:
    """One for each process; it hears of every change that this process makes, whichever door made it."""

    def __init__(self, db: Database, shelf: Shelf) -> None:
        self._db, self._shelf = db, shelf
        db.hearers[CHANGED] = self._forget

    async def version(self, *, code: str, version: int) -> DefinitionView:
        """
        Return one version.

        :raises NotFound: when there is no such version
        """
        taken = await self._shelf.take(code, [str(version), ACTIVE])
        known = _kept(taken, version)
        if known is not None:
            return known
        async with self._db.reading() as session:
            view = await definitions.find(session, code=code, version=version)
        await self._keep(view, taken)
        return view

    async def active(self, *, code: str) -> DefinitionView:
        """
        Return the version that was active a moment ago.

        :raises NotFound: when none is
        """
        taken = await self._shelf.take(code, [ACTIVE])
        pointer = _pointer(taken)
        if pointer is not None:
            known = _kept(await self._shelf.take(code, [str(pointer), ACTIVE]), pointer)
            if known is not None and known.is_active:
                return known
        async with self._db.reading() as session:
            view = await definitions.find_active(session, code=code)
        await self._keep(view, taken)
        return view

    async def settled(self) -> None:
        """Wait until the other servers can have heard of a change, or Redis has shown that it does not answer."""
        await self._shelf.settled()

    async def close(self) -> None:
        await self._shelf.close()

    def _forget(self, word: str) -> None:
        code, _, version = word.rpartition(":")
        # A version never changes, but after a database was restored another one may have its number.
        self._shelf.forget(code, [ACTIVE, version])

    async def _keep(self, view: DefinitionView, taken: Taken) -> None:
        values = {str(view.version): _written(view)}
        if view.is_active:
            values[ACTIVE] = b"%d" % view.version
        await self._shelf.put(view.code, values, turn=taken.turn)


def _written(view: DefinitionView) -> bytes:
    return orjson.dumps([view.public_id, view.code, view.version, view.created_at, view.dsl])


def _kept(taken: Taken, version: int) -> DefinitionView | None:
    """What another version of this program has written in another way is no find."""
    pointer, text = _pointer(taken), taken.values.get(str(version))
    if pointer is None or text is None:
        return None
    try:
        public_id, code, number, created_at, raw = orjson.loads(text)
        view = DefinitionView(
            public_id=UUID(public_id),
            code=code,
            version=number,
            description=dsl.described(raw),
            is_active=number == pointer,
            created_at=datetime.fromisoformat(created_at),
            dsl=raw,
        )
    except (ValueError, TypeError, AttributeError):
        return None
    return view if view.version == version and isinstance(raw, dict) else None


def _pointer(taken: Taken) -> int | None:
    text = taken.values.get(ACTIVE, b"")
    return int(text) if text.isdigit() else None
