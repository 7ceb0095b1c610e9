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
    :param path: its name in URLs, settings and the audit trail
    :param derives_from: path of the register to which its revisions refer
    :param whole: other registers refer to its drawings, not to revisions
    :param searched_as: its kind in the search index; never reuse a value
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
    """Stored values; never reuse a value."""

    PROJECT = 1
    CONTRACT = 2
    ORGANIZATION = 3


Audience = tuple[AudienceKind, int]


def drawing_reach(project: int, audiences: Iterable[Audience] | None) -> SearchReach:
    """:param audiences: None for a reader of every drawing of the project"""
    if audiences is None:
        return SearchReach(frozenset({drawing_key(project)}))
    return SearchReach(frozenset(audience_key(project, int(kind), key) for kind, key in audiences))


def audience_of(*, contract: int | None, originator: int | None) -> Audience:
    """Return who sees a drawing: parties of its contract, else its originator, else the project."""
    if contract is not None:
        return AudienceKind.CONTRACT, contract
    if originator is not None:
        return AudienceKind.ORGANIZATION, originator
    return AudienceKind.PROJECT, 0


@dataclass(frozen=True, slots=True)
class CurrentPeriod:
    """A half-open period."""

    since: datetime
    until: datetime | None = None

    def holds(self, moment: datetime) -> bool:
        return self.since <= moment and (self.until is None or moment < self.until)


def next_period(before: CurrentPeriod | None, *, at: datetime) -> CurrentPeriod:
    """Return the next revision's period, never before the period that it ends."""
    return CurrentPeriod(at if before is None else max(at, before.since))


# Suitability codes of ISO 19650-2 (UK annex) and PAS 1192-2.
SUITABILITY: Final = re.compile("S[0-7]|D[1-4]|[AB][0-9]|CR|AB")
UNKNOWN_SUITABILITY: Final = Text(
    "ไม่มีรหัสสถานะ “{value}” ใช้ได้: S0–S7, D1–D4, A0–A9, B0–B9, CR, AB",
    "There is no suitability code “{value}”. Known: S0–S7, D1–D4, A0–A9, B0–B9, CR, AB.",
)
