"""What can be found."""

from enum import IntEnum
from typing import Final


class SearchKind(IntEnum):
    """As rows of the index name them: those up to `CIRCULATION` as `document_reach` does; a value is never given to another one."""

    CORRESPONDENCE = 1
    RFA = 2
    TRANSMITTAL = 3
    CIRCULATION = 4
    CONTRACT_DRAWING = 11
    SHOP_DRAWING = 12
    ASBUILT_DRAWING = 13

    @property
    def path(self) -> str:
        """Where its pages and its part of the API are, and what `kind=` takes."""
        return _PATHS[self]


class NameOf(IntEnum):
    """Whose names are in the texts of what bears them, as rows of the queue name it: no value of `SearchKind`."""

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
