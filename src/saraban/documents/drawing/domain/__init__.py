"""
What a drawing is, decided without a database: its kinds, whom it concerns, and which revision was current when.

The three registers (contract, shop and as-built drawings) are one feature: what differs between them stands in `DrawingKind`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final

from saraban.kit.errors import Text
from saraban.search_index.domain.reach import SearchReach, audience_key, drawing_key

CREATE, REVISE = "drawing.create", "drawing.manage_revisions"


@dataclass(frozen=True, slots=True, eq=False)
class DrawingKind:
    """
    One register; there are three, compared by identity.

    :param path: its word in addresses, in settings and in the audit trail: `drawings/shop`
    :param derives_from: path of the register whose drawings or revisions a revision refers to
    :param whole: others refer to a drawing of it, and not to one of its revisions
    :param searched_as: the kind by which search knows it, never given to another one
    """

    path: str
    singular: Text
    plural: Text
    derives_from: str | None = None
    whole: bool = False
    searched_as: int = 11

    @property
    def entity_type(self) -> str:
        return f"{self.path}_drawing"


CONTRACT: Final = DrawingKind(
    "contract", Text("แบบคู่สัญญา", "contract drawing"), Text("แบบคู่สัญญา", "Contract drawings"), whole=True
)
SHOP: Final = DrawingKind(
    "shop", Text("แบบขยาย", "shop drawing"), Text("แบบขยาย", "Shop drawings"), "contract", searched_as=12
)
ASBUILT: Final = DrawingKind(
    "asbuilt",
    Text("แบบก่อสร้างจริง", "as-built drawing"),
    Text("แบบก่อสร้างจริง", "As-built drawings"),
    "shop",
    searched_as=13,
)
KINDS: Final[Mapping[str, DrawingKind]] = {kind.path: kind for kind in (CONTRACT, SHOP, ASBUILT)}


class AudienceKind(IntEnum):
    """Whom a drawing concerns, as its row says; a value is never given to another one."""

    PROJECT = 1
    CONTRACT = 2
    ORGANIZATION = 3


Audience = tuple[AudienceKind, int]


def drawing_reach(project: int, audiences: Iterable[Audience] | None) -> SearchReach:
    """
    Return what a reader of a project's drawings finds in the index of search.

    :param audiences: None for who reads the whole project
    """
    if audiences is None:
        return SearchReach(frozenset({drawing_key(project)}))
    return SearchReach(frozenset(audience_key(project, int(kind), key) for kind, key in audiences))


def audience_of(*, contract: int | None, originator: int | None) -> Audience:
    """
    Return who is shown a drawing beside those who read the whole project: the parties of its contract; without one its
    originator; without either everybody in the project.
    """
    if contract is not None:
        return AudienceKind.CONTRACT, contract
    if originator is not None:
        return AudienceKind.ORGANIZATION, originator
    return AudienceKind.PROJECT, 0


@dataclass(frozen=True, slots=True)
class CurrentPeriod:
    """From when until when a revision was the current one; without an end it still is."""

    since: datetime
    until: datetime | None = None

    def holds(self, moment: datetime) -> bool:
        return self.since <= moment and (self.until is None or moment < self.until)


def next_period(before: CurrentPeriod | None, *, at: datetime) -> CurrentPeriod:
    """
    Return from when the next revision of a drawing is current: never from before the one that it takes the place of, whose
    period ends there.
    """
    return CurrentPeriod(at if before is None else max(at, before.since))


# What a sheet is fit for: ISO 19650-2 (UK annex) and PAS 1192-2.
SUITABILITY: Final = re.compile("S[0-7]|D[1-4]|[AB][0-9]|CR|AB")
UNKNOWN_SUITABILITY: Final = Text(
    "ไม่มีรหัสสถานะ “{value}” ใช้ได้: S0–S7, D1–D4, A0–A9, B0–B9, CR, AB",
    "There is no suitability code “{value}”. Known: S0–S7, D1–D4, A0–A9, B0–B9, CR, AB.",
)
