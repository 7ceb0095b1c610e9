"""Kinds of search entries."""

from enum import IntEnum
from typing import Final


class SearchKind(IntEnum):
    """Up to `CIRCULATION` as in `document_reach`. Values are never reused."""

    CORRESPONDENCE = 1
    RFA = 2
    TRANSMITTAL = 3
    CIRCULATION = 4
    CONTRACT_DRAWING = 11
    SHOP_DRAWING = 12
    ASBUILT_DRAWING = 13

    @property
    def path(self) -> str:
        """Path of pages and API, and value of `kind=`."""
        return _PATHS[self]


class NameOf(IntEnum):
    """Renamed parties in the queue; disjoint from `SearchKind`."""

    ORGANIZATION = 21
    PERSON = 22


_PATHS: Final = {
    SearchKind.CORRESPONDENCE: "correspondences",
    SearchKind.RFA: "rfas",
    SearchKind.TRANSMITTAL: "transmittals",
    SearchKind.CIRCULATION: "circulations",
    SearchKind.CONTRACT_DRAWING: "drawings/contract",
    SearchKind.SHOP_DRAWING: "drawings/shop",
    SearchKind.ASBUILT_DRAWING: "drawings/asbuilt",
}
DRAWINGS: Final = frozenset({SearchKind.CONTRACT_DRAWING, SearchKind.SHOP_DRAWING, SearchKind.ASBUILT_DRAWING})
