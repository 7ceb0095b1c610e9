"""
Reading a register, decided without a database: by which keys of `document_reach` somebody reads, along which of its indexes,
and how the rows of several keys become one page.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, NamedTuple

from saraban.documents.core.domain import Reach, ReaderKind
from saraban.search_index.domain.reach import DOCUMENT, SearchReach, reach_key, written_key

FEW: Final = 2_000  # so many rows are read and sorted, rather than looked for along another order
COUNTED: Final = 10_000  # documents are counted up to here


class ReaderKey(NamedTuple):
    """
    One key under which rows of `document_reach` are open to a reader.

    :param reader: 0 for a project
    :param written_in: only what the organization itself wrote in this contract
    """

    project: int
    kind: ReaderKind
    reader: int = 0
    written_in: int | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """
    Where documents may be that a register is asked for.

    :param contracts: the project of each contract for which the reader holds a grant, or one of whose parties is theirs
    """

    projects: Collection[int]
    contracts: Mapping[int, int]


def keys_of(reach: Reach, places: Places) -> list[ReaderKey]:
    """
    Return the keys of a reader of documents. Each of them alone gives only what `may_see` allows.

    Who is at home in a whole project reads by that one key. Everybody else reads what their organizations wrote or received
    and what was issued in their contracts; where they hold a grant at a contract, also the drafts that organizations of
    theirs wrote in it, but not what these received.
    """
    keys = []
    for project in sorted(places.projects):
        if reach.everything or project in reach.projects:
            keys.append(ReaderKey(project, ReaderKind.PROJECT))
            continue
        contracts = sorted(contract for contract, where in places.contracts.items() if where == project)
        keys += [ReaderKey(project, ReaderKind.ORGANIZATION, one) for one in sorted(reach.organizations)]
        keys += [ReaderKey(project, ReaderKind.CONTRACT, one) for one in contracts]
        keys += [
            ReaderKey(project, ReaderKind.ORGANIZATION, member, contract)
            for contract in contracts
            if contract in reach.contracts
            for member in sorted(reach.member_of - reach.organizations)
        ]
    return keys


def register_reach(keys: Iterable[ReaderKey], home: Mapping[str, Sequence[int]], what: str = DOCUMENT) -> SearchReach:
    """
    Return the same for the index of search.

    :param home: the organizations and contracts in which a reader is shown drafts; empty for who sees everything
    """
    found = {
        written_key(key.project, key.reader, key.written_in)
        if key.written_in is not None
        else reach_key(what, key.project, int(key.kind), key.reader)
        for key in keys
    }
    hidden = {f"o{one}" for one in home.get("home_organizations", ())}
    hidden |= {f"c{one}.{by}" for one in home.get("home_contracts", ()) for by in home["home_member_of"]}
    return SearchReach(frozenset(found), frozenset(hidden))


class Sort(StrEnum):
    CREATED = "created"
    NUMBER = "number"
    DATE = "date"
    DUE = "due"
    STATUS = "status"


class Order(NamedTuple):
    """By what a register is sorted; equal ones by when they were created, in the same direction."""

    sort: Sort
    descending: bool

    @classmethod
    def of(cls, text: str) -> "Order":
        return cls(Sort(text.removeprefix("-")), text.startswith("-"))


class Index(StrEnum):
    """
    The indexes of `document_reach` that begin with a reader's key, and what they lead to.

    The last six are no indexes of it: what they find are documents, which are then looked up one by one.
    """

    CREATED = "created"
    STATUS = "status"
    TYPE = "type"
    DISCIPLINE = "discipline"
    DUE = "due"
    DATE = "date"
    NUMBER = "number"
    PERSON = "person"
    MINE = "mine"
    PARTY = "party"
    PENDING = "pending"
    ABOUT = "about"
    TEXT = "text"

    @property
    def looks_up(self) -> bool:
        return self in _LOOKED_UP

    @property
    def of_others(self) -> bool:
        """Whether the documents that it finds may be hidden from the reader, who must not measure how many there are."""
        return self in {Index.PERSON, Index.PARTY}


_LOOKED_UP = frozenset({Index.PERSON, Index.MINE, Index.PARTY, Index.PENDING, Index.ABOUT, Index.TEXT})
# Where one value of theirs is asked for, these are in the order of creation.
_BY_VALUE = frozenset({Index.STATUS, Index.TYPE, Index.DISCIPLINE})


def sized(order: Order, given: Collection[Index]) -> frozenset[Index]:
    """Return the filters whose rows have to be counted before the index can be chosen."""
    along = {Index(order.sort)}
    if order.sort is Sort.CREATED:
        along |= _BY_VALUE
    filters = frozenset(given)
    other = filters - along
    if not other and len(filters - {Index.CREATED}) <= 1:
        return frozenset()
    return filters


def choose(order: Order, given: Collection[Index], sizes: Mapping[Index, int]) -> Index:
    """
    Return the index to read: that of a filter with few rows, which are then sorted, or else one in the order asked for.

    :param given: the filters
    :param sizes: the rows of those that `sized` named, counted up to `FEW` and one
    """
    few = [one for one in given if sizes.get(one, FEW + 1) <= FEW]
    if few:
        return min(few, key=lambda one: (sizes[one], one))
    if order.sort is not Sort.CREATED:
        return Index(order.sort)
    return min(_BY_VALUE.intersection(given), default=Index.CREATED, key=list(Index).index)


class NarrowRow(NamedTuple):
    """
    A document as `document_reach` has it.

    :param value: what it is sorted by before its creation; None for that itself
    """

    document_id: int
    revision_id: int
    created_at: datetime
    value: str | int | date | None = None


def merged(rows: Iterable[NarrowRow], *, descending: bool, limit: int) -> list[NarrowRow]:
    """Return the first documents of rows, each once."""
    found: dict[int, NarrowRow] = {}
    for row in sorted(rows, key=_place, reverse=descending):
        found.setdefault(row.document_id, row)
    return list(found.values())[:limit]


def _place(row: NarrowRow) -> tuple[object, ...]:
    return (row.created_at, row.document_id) if row.value is None else (row.value, row.created_at, row.document_id)
