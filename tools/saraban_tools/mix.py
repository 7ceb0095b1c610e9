"""
What a generated project consists of: which documents, between whom, how far each has come, and when it was written.

Each `GeneratedScript` is played once as people do it; the many documents like it repeat its rows.
"""

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import chain
from typing import TypeVar
from zoneinfo import ZoneInfo

from saraban.documents.demo.domain import DemoAction, DemoDocument, DemoRegister

T = TypeVar("T")

YEARS = 6
SHORTEST_PAST = timedelta(days=3)  # so that whatever still runs had its steps
REVISIONS = (1, 2, 4, 8)
# Of a contract's documents, in percent; the rest are letters.
_RFA, _TRANSMITTAL = 60, 12
_TYPES = (("LETTER", 0.65), ("MEMO", 0.2), ("NOTICE", 0.15))
_WIDE, _NARROW = 0.6, 0.001
_CIRCULATIONS = 0.2  # of what does not belong to the two contracts
_RUNNING, _DRAFT, _CANCELLED = 0.10, 0.03, 0.01
_REVISED = (DemoRegister.RFA, DemoRegister.CORRESPONDENCE)
RECENT = 0.2  # what still runs was written in this last part of the time
_REPLY = 10  # days until a revision has its answer
# What a subject consists of, as it is written on a site of a port: what is asked, of which thing, where, and how much.
_OPENINGS: Mapping[str, Sequence[str]] = {
    "rfa": ("ขออนุมัติ", "ขอความเห็นชอบ", "ขออนุมัติใช้", "ขอส่งเพื่อพิจารณา"),
    "correspondence": ("แจ้ง", "ขอหารือเรื่อง", "ขอข้อมูลเพิ่มเติมเกี่ยวกับ", "ติดตาม", "ขอให้ดำเนินการแก้ไข", "รายงาน"),
    "transmittal": ("นำส่ง", "ส่งมอบ", "นำส่งเพิ่มเติม"),
    "circulation": ("เวียนเพื่อทราบ", "เวียนเพื่อดำเนินการ", "เวียนขอความเห็น"),
}
_WORK = (
    "แบบขยายเหล็กเสริมเสาเข็ม",
    "รายการคำนวณคานรางปั้นจั่น",
    "ผลทดสอบกำลังอัดคอนกรีต",
    "แผนงานเทคอนกรีตพื้นลาน",
    "รายงานผลเจาะสำรวจชั้นดิน",
    "การติดตั้งยางกันกระแทกเรือ",
    "แนวท่อระบายน้ำฝน",
    "วัสดุถมหลังท่า",
    "ตู้สวิตช์แรงสูง",
    "ระบบดับเพลิง",
    "งานปูแอสฟัลต์ผิวทาง",
    "ผลตรวจวัดคุณภาพอากาศ",
    "แผนจัดการจราจรระหว่างก่อสร้าง",
    "การเบิกจ่ายงวดงาน",
    "งานเปลี่ยนแปลงตามคำสั่ง",
    "ผลสำรวจระดับท้องทะเล",
)
# What an RFA is about agrees with its type.
_BY_TYPE: Mapping[str, Sequence[str]] = {
    "SDW": ("แบบขยายเหล็กเสริมเสาเข็ม", "แบบขยายคานทางเดินรางปั้นจั่น", "แบบขยายบ่อพักสายไฟฟ้า", "แบบขยายโครงหลังคาเหล็ก"),
    "MST": ("วิธีการตอกเสาเข็มท่อเหล็ก", "วิธีการเทคอนกรีตใต้น้ำ", "วิธีการติดตั้งคานสำเร็จรูป", "วิธีการบดอัดวัสดุถม"),
    "MAT": ("วัสดุเหล็กเสริม SD40", "วัสดุแผ่นใยสังเคราะห์", "วัสดุท่อ HDPE", "วัสดุยางกันกระแทกเรือ"),
}
_PLACES = (
    *(f"ลานวางตู้สินค้า {letter}" for letter in "ABCDEF"),
    *(f"คันหินกันคลื่น ช่วง กม. {km}+{metre:03}" for km in range(3) for metre in (0, 200, 500, 850)),
    *(f"หน้าท่าช่วงที่ {number}" for number in range(1, 9)),
    "อาคารสถานีไฟฟ้าย่อยที่ 2",
    "อาคารสำนักงานท่าเรือ",
    "ถนนทางเข้าท่าเรือ",
    "สะพานข้ามคลองระบายน้ำ",
)
_EXTENTS = ("ครั้งที่ {n}", "แผ่นที่ {n}", "ชุดที่ {n}", "งวดที่ {n}", "ตำแหน่งที่ {n}")


@dataclass(frozen=True, slots=True)
class GeneratedContract:
    """A contract by its codes; `disciplines` are what its documents may be numbered by."""

    code: str
    contractor: str
    consultant: str
    owner: str
    disciplines: tuple[str, ...] = ()
    rfa_types: tuple[str, ...] = ()
    sub_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GeneratedScript:
    """
    :param weight: how often there are documents like it
    :param running: nobody has ended it
    """

    weight: float
    script: DemoDocument
    running: bool
    disciplines: tuple[str | None, ...] = (None,)

    @property
    def days(self) -> int:
        """How long after it was written something was done with it."""
        return max((act.day for act in self.script.acts), default=0)


def scripts_of(
    contracts: Sequence[GeneratedContract], members: Mapping[str, str | None], *, revisions: float
) -> list[GeneratedScript]:
    """
    Return what there is to be in a project.

    :param contracts: the one with the most parties first
    :param members: the organizations above the contracts, each with one of its people, if there is any
    :param revisions: how many a document has on the average
    """
    once = _scripts(contracts, members, 1)
    # Only what is finished, and of a kind that is sent back, has more than one.
    may_have = sum(one.weight for one in once if not one.running and one.script.where in _REVISED)
    return once if revisions <= 1 or not may_have else _scripts(contracts, members, 1 + (revisions - 1) / may_have)


def _scripts(
    contracts: Sequence[GeneratedContract], members: Mapping[str, str | None], revisions: float
) -> list[GeneratedScript]:
    found = list(
        chain.from_iterable(
            _of_contract(one, share, revisions)
            for one, share in zip(contracts, contract_shares(len(contracts)), strict=True)
        )
    )
    rest = 1 - sum(one.weight for one in found)
    above = list(members)
    sheets = [(code, person) for code, person in members.items() if person is not None]
    for_sheets = rest * _CIRCULATIONS if sheets else 0.0
    for code, person in sheets:
        found += _circulations(code, person or "", for_sheets / len(sheets))
    pairs = [(one, other) for one in above for other in above if one != other]
    for one, other in pairs:
        found += _letters(one, other, None, (rest - for_sheets) / len(pairs), revisions)
    return [one for one in found if one.weight > 0]


def contract_shares(count: int) -> list[float]:
    """One contract has most, the last hardly any, the others share the rest unevenly; alone among two, none of the rest."""
    others = [1 / place for place in range(1, count - 1)]
    scale = (1 - _WIDE - _NARROW) * 0.9 / sum(others) if others else 0
    return [_WIDE, *(one * scale for one in others), *([_NARROW] if count > 1 else [])]


def _of_contract(contract: GeneratedContract, share: float, revisions: float) -> Iterator[GeneratedScript]:
    rfa = share * _RFA / 100 if contract.rfa_types else 0.0
    transmittals = share * _TRANSMITTAL / 100 if contract.sub_types and rfa else 0.0
    for rfa_type in contract.rfa_types[:3]:
        yield from _rfas(contract, rfa_type, rfa / len(contract.rfa_types[:3]), revisions)
    yield from _transmittals(contract, transmittals)
    letters = (share - rfa - transmittals) / 2
    yield from _letters(contract.contractor, contract.consultant, contract.code, letters, revisions)
    yield from _letters(contract.consultant, contract.contractor, contract.code, letters, revisions)


def _rfas(contract: GeneratedContract, rfa_type: str, share: float, revisions: float) -> Iterator[GeneratedScript]:
    base = DemoDocument(
        key="",
        where=DemoRegister.RFA,
        by="",
        originator=contract.contractor,
        to=(contract.consultant,),
        cc=(contract.owner,),
        subject=_SUBJECT,
        age=0,
        due=14,
        contract=contract.code,
        rfa_type=rfa_type,
    )
    ends = ((("approve", "approve"), 0.86), (("request-revision",), 0.07), (("reject",), 0.07))
    open_ends: tuple[tuple[str, ...], ...] = ((), ("approve",))
    for life in _lives(base, share, revisions, "submit", ends, open_ends, ("approve", "request-revision")):
        yield replace(life, disciplines=contract.disciplines or (None,))


def _letters(
    originator: str, to: str, contract: str | None, share: float, revisions: float
) -> Iterator[GeneratedScript]:
    base = DemoDocument(
        key="",
        where=DemoRegister.CORRESPONDENCE,
        by="",
        originator=originator,
        to=(to,),
        subject=_SUBJECT,
        age=0,
        due=7,
        contract=contract,
    )
    ends = ((("acknowledge",), 0.7), (("approve",), 0.25), (("reject",), 0.05))
    for code, part in _TYPES if contract else _TYPES[:1]:
        yield from _lives(
            replace(base, type=code),
            share * (part if contract else 1),
            revisions,
            "submit",
            ends,
            ((),),
            ("request-revision",),
        )


def _transmittals(contract: GeneratedContract, share: float) -> Iterator[GeneratedScript]:
    base = DemoDocument(
        key="",
        where=DemoRegister.TRANSMITTAL,
        by="",
        originator=contract.contractor,
        to=(contract.consultant,),
        subject=_SUBJECT,
        age=0,
        contract=contract.code,
        sub_type=contract.sub_types[0] if contract.sub_types else None,
        purpose="FOR_APPROVAL",
        about=(contract.code,),
    )
    yield from _lives(base, share, 1, "submit", ((("acknowledge",), 1.0),), ((),), ())


def _circulations(organization: str, person: str, share: float) -> Iterator[GeneratedScript]:
    base = DemoDocument(
        key="",
        where=DemoRegister.CIRCULATION,
        by=person,
        originator=organization,
        subject=_SUBJECT,
        age=0,
        due=14,
        assignees=(person,),
    )
    yield from _lives(base, share, 1, "start", ((("respond", "complete"), 1.0),), ((),), ())


_SUBJECT = "ต้นแบบของเอกสารที่สร้างขึ้น"


def _lives(
    base: DemoDocument,
    share: float,
    revisions: float,
    begins: str,
    ends: Sequence[tuple[tuple[str, ...], float]],
    open_ends: Sequence[tuple[str, ...]],
    sent_back: tuple[str, ...],
) -> Iterator[GeneratedScript]:
    """How far documents of one sort have come: finished after so many revisions, waiting, drafts, cancelled drafts."""
    finished = share * (1 - _RUNNING - _DRAFT - _CANCELLED)
    again = _acts(begins, sent_back) if sent_back else ()
    for count, part in zip(REVISIONS, revision_shares(revisions if again else 1), strict=True):
        for end, likely in ends if count == 1 else ends[:1]:
            acts = _one_after_another([again] * (count - 1) + [_acts(begins, end)])
            yield GeneratedScript(
                finished * part * (likely if count == 1 else 1), replace(base, acts=acts), running=False
            )
    for end in open_ends:
        acts, undated = _acts(begins, end), replace(base, due=None)
        yield GeneratedScript(share * _RUNNING / len(open_ends), replace(undated, acts=acts), running=True)
    yield GeneratedScript(share * _DRAFT, replace(base, due=None), running=True)
    yield GeneratedScript(share * _CANCELLED, replace(base, acts=(_act("cancel", 0),)), running=False)


def _acts(begins: str, then: Sequence[str]) -> tuple[DemoAction, ...]:
    days = [0, *(_REPLY * place // len(then) for place in range(1, len(then) + 1))]
    return tuple(_act(action, day) for action, day in zip((begins, *then), days, strict=True))


def _act(action: str, day: int) -> DemoAction:
    told = {"reject": "ไม่เป็นไปตามข้อกำหนด", "request-revision": "โปรดแก้ไขตามความเห็นแล้วส่งใหม่", "cancel": "ออกเอกสารซ้ำ"}
    return DemoAction("", action, day, told.get(action))


def _one_after_another(parts: Sequence[tuple[DemoAction, ...]]) -> tuple[DemoAction, ...]:
    """Join the revisions of a life: each but the first begins with `revise`."""
    found: list[DemoAction] = []
    for place, acts in enumerate(parts):
        since = place * (_REPLY + 2)
        if place:
            found.append(_act("revise", since))
        found += [replace(act, day=act.day + since) for act in acts]
    return tuple(found)


def revision_shares(mean: float) -> list[float]:
    """Return how many of the documents have as many revisions as `REVISIONS` says, so that they have `mean` on the average."""
    low, high = 0.0, 16.0
    for _ in range(60):  # the mean rises with what each is to the one before
        middle = (low + high) / 2
        shares = _geometric(middle)
        if sum(share * count for share, count in zip(shares, REVISIONS, strict=True)) < mean:
            low = middle
        else:
            high = middle
    return _geometric(low)


def _geometric(rate: float) -> list[float]:
    parts = [rate**place for place in range(len(REVISIONS))]
    return [part / sum(parts) for part in parts]


def office_moment(place: float, *, until: date, zone: ZoneInfo) -> datetime:
    """
    Return the moment of the office hours of the last years that lies at a share of them: 08:00 to 17:00, without Sundays.

    :param place: from 0 to below 1
    """
    begin = until - timedelta(days=365 * YEARS)
    begin -= timedelta(days=begin.weekday())
    weeks = (until - begin).days // 7
    whole = place * weeks * 6
    day, part = int(whole), whole % 1
    moment = datetime.combine(begin + timedelta(days=day // 6 * 7 + day % 6), time(8), zone)
    return moment + timedelta(seconds=int(part * 9 * 3600))


_MASK = (1 << 64) - 1


class Choices:
    """The same choices for the same beginning (splitmix64): chance has no place in the domain, and is not needed."""

    def __init__(self, first: int) -> None:
        self._state = first

    def share(self) -> float:
        """Return a number from 0 to below 1."""
        self._state = mixed = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) / (1 << 53)

    def one_of(self, values: Sequence[T]) -> T:
        return values[int(self.share() * len(values))]

    def weighed(self, values: Sequence[T], running_totals: Sequence[float]) -> T:
        return values[bisect(running_totals, self.share() * running_totals[-1], hi=len(values) - 1)]


def subject(kind: str, code: str | None, ordinal: int) -> str:
    """
    Return the subject of one document; the same for the same ordinal.

    :param kind: of which register it is
    :param code: its RFA type
    """
    openings, things = _OPENINGS[kind], _BY_TYPE.get(code or "", _WORK)
    rest, opening = divmod(ordinal * 2_654_435_761 % (1 << 32), len(openings))
    rest, thing = divmod(rest, len(things))
    rest, place = divmod(rest, len(_PLACES))
    rest, extent = divmod(rest, len(_EXTENTS))
    amount = _EXTENTS[extent].format(n=1 + rest % 240)
    return f"{openings[opening]}{things[thing]} {_PLACES[place]} {amount}"
