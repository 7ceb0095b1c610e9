"""The counter key of a series or a number as the audit keeps it: one shape for every operation (ruling N15)."""

from collections.abc import Mapping
from typing import NamedTuple

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.models import LedgerEntry, NumberCounter
from saraban.numbering.repository import codes

_SHAPE = ("project", "originator", "recipient", "type", "contract", "subType", "rfaType", "discipline", "category")


class RecordedKey(NamedTuple):
    """
    :param text: the key in codes, as JSON; the same fields in the same order whatever the operation
    """

    type: str | None
    text: str


async def key_of_counter(session: AsyncSession, counter: NumberCounter) -> RecordedKey:
    return _key(await codes.of_counter(session, counter), counter.current_year)


async def key_of_number(session: AsyncSession, entry: LedgerEntry) -> RecordedKey:
    """Return what the number was issued for."""
    found = await codes.of_issue(session, entry.public_id)
    return RecordedKey(*found) if found is not None else _key(await codes.of_entry(session, entry), entry.issue_year)


def _key(known: Mapping[str, object], year: int) -> RecordedKey:
    told = {name: known.get(name) for name in _SHAPE}
    kind = told["type"]
    return RecordedKey(str(kind) if kind is not None else None, orjson.dumps({**told, "year": year}).decode())
