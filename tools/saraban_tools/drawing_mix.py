"""
Which drawings a generated project has: in which register, whose, how often revised, and drawn from which other.

Ten that follow each other belong together: three that were signed, five drawn from them, and what was built of two of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from saraban_tools.mix import Choices, GeneratedContract, contract_shares

REGISTERS: Final = ("contract",) * 3 + ("shop",) * 5 + ("asbuilt",) * 2
# How many drawings of a real project have so many revisions beyond their first label; some lack the sheet of that first one.
_REVISED: Final = ((0, 437), (1, 53), (2, 103), (3, 48))
_BEGUN_LATE: Final = 0.25
# In which part of the time the revisions of a register became current.
_TIMES: Final[Mapping[str, tuple[float, float]]] = {"contract": (0.0, 0.3), "shop": (0.1, 0.9), "asbuilt": (0.7, 1.0)}
_WHOLE_PROJECT: Final = 0.7  # of what belongs to no contract; the rest is its contractor's alone
# Where a project has no lists of its own.
VOLUMES: Final = ("VOL-1", "VOL-2", "VOL-3")
CATEGORIES: Final = ("BLD", "ROAD", "BRIDGE", "DRAIN", "WATER", "POWER", "QUAY", "YARD")
SUB_CATEGORIES: Final = ("ARC", "STR", "MEC", "ELE", "SAN")
_SHEETS: Final = (
    ("แปลนฐานราก", "Foundation plan"),
    ("แปลนคานและพื้น", "Beams and slabs"),
    ("รูปด้าน", "Elevations"),
    ("รูปตัด", "Sections"),
    ("รายละเอียดเหล็กเสริม", "Rebar details"),
    ("แนวท่อระบายน้ำ", "Drainage layout"),
    ("ผังไฟฟ้าแสงสว่าง", "Lighting layout"),
    ("ผังระบบดับเพลิง", "Fire protection layout"),
    ("แนวและระดับ", "Alignment and levels"),
    ("รายละเอียดรอยต่อ", "Joint details"),
)
_SCALES: Final = ("1:20", "1:50", "1:100", "1:200")


@dataclass(frozen=True, slots=True)
class DrawingLists:
    """
    The codes that drawings of one register can be classified by.

    :param pairs: of category and sub category
    """

    pairs: tuple[tuple[str | None, str | None], ...] = ((None, None),)
    volumes: tuple[str | None, ...] = (None,)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedDrawing:
    """
    :param moments: shares of the past at which its revisions became current, one after the other
    :param begins: how many labels of the scheme come before its first one
    :param drawn_from: place of what it derives from
    """

    register: str
    number: str
    title: str
    title_en: str
    contract: str | None
    originator: str | None
    discipline: str | None
    pair: tuple[str | None, str | None]
    volume: str | None
    scale: str
    moments: tuple[float, ...]
    begins: int = 0
    drawn_from: int | None = None


def generated_drawing(
    place: int, contracts: Sequence[GeneratedContract], lists: Mapping[str, DrawingLists], *, addenda: bool
) -> GeneratedDrawing:
    """
    Return what stands at a place; the same for the same place.

    :param contracts: the one with the most parties first
    :param addenda: contract drawings are revised, too
    """
    block, step = divmod(place, len(REGISTERS))
    register, alike, own = REGISTERS[step], Choices(block), Choices(1 << 32 | place)
    contract, is_within = _contract(contracts, alike)
    everybodys = not is_within and alike.share() < _WHOLE_PROJECT
    drawn_by = contract.consultant if register == "contract" else contract.contractor
    discipline = alike.one_of(contract.disciplines or (None,))
    drawn_from = {"contract": None, "shop": place - step + step % 3, "asbuilt": place - 5}[register]
    numbered = place - 5 if register == "asbuilt" else place  # what was built keeps the number it was drawn under
    thai, english = own.one_of(_SHEETS)
    revisions, begins = _history(own) if register != "contract" or addenda else (1, 0)
    first, last = _TIMES[register]
    return GeneratedDrawing(
        register=register,
        number=f"{contract.code}-{discipline or 'GEN'}-{numbered:06d}",
        title=f"{thai} โซน {place % 40 + 1}",
        title_en=f"{english}, zone {place % 40 + 1}",
        contract=contract.code if is_within else None,
        originator=None if everybodys else drawn_by,
        discipline=discipline if is_within else None,
        pair=alike.one_of(lists[register].pairs),
        volume=alike.one_of(lists[register].volumes),
        scale=own.one_of(_SCALES),
        moments=tuple(sorted(first + (last - first) * own.share() for _ in range(revisions))),
        begins=begins,
        drawn_from=drawn_from,
    )


def _contract(contracts: Sequence[GeneratedContract], chance: Choices) -> tuple[GeneratedContract, bool]:
    """Return a contract as often as documents have it, and whether the drawing is of it, or of none."""
    totals = list(accumulate(contract_shares(len(contracts))))
    if (share := chance.share()) < totals[-1]:
        return next(one for one, total in zip(contracts, totals, strict=True) if share < total), True
    return contracts[0], False


def _history(chance: Choices) -> tuple[int, int]:
    """Return how many revisions there are, and how many labels come before the first of them."""
    values, weights = zip(*_REVISED, strict=True)
    beyond = chance.weighed(values, list(accumulate(weights)))
    begins = 1 if beyond and chance.share() < _BEGUN_LATE else 0
    return beyond + 1 - begins, begins
