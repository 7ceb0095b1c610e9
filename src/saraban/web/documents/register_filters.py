"""
What a register is narrowed by: the filters as the address says them, what can be chosen, what is wrong at a field, and each filter
that is set as something to take away.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.identity import service as identity
from saraban.kit.clock import local_date
from saraban.kit.dates import parse_date
from saraban.kit.errors import Text
from saraban.projects import service as projects
from saraban.projects.service import FilterChoice
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import WebKind
from saraban.web.shell.form_state import FormErrors
from saraban.web.shell.forms import usable_query
from saraban.web.shell.page import PageRequest, day_text

ROWS = 25
SOON = timedelta(days=7)
SORTS: Final = frozenset({"number", "status", "due", "created"})  # the columns that can be sorted by
VIEW: Final = "document.view"
MORE: Final = ("party", "discipline", "person", "from", "until", "dueFrom", "dueUntil")  # behind the disclosure
_FIRST: Final = "-created"
_CLOSED: Final = ("ปิดบัญชีแล้ว", "Account closed")
_NO_CHOICE: Final = Text("ไม่มีตัวเลือกนี้", "There is no such choice.")
_DUE: Final = {"overdue": Text("เกินกำหนด", "Overdue"), "soon": Text("ครบกำหนดภายใน 7 วัน", "Due within 7 days")}
_NAMES: Final = {
    "state": Text("สถานะ", "Status"),
    "type": Text("ประเภทเอกสาร", "Document type"),
    "due": Text("กำหนดตอบ", "Due"),
    "party": Text("ผู้ส่งหรือผู้รับ", "Sender or recipient"),
    "discipline": Text("สาขางาน", "Discipline"),
    "person": Text("ผู้จัดทำ", "Created by"),
    "from": Text("สร้างตั้งแต่", "Created from"),
    "until": Text("สร้างถึง", "Created until"),
    "dueFrom": Text("กำหนดตอบตั้งแต่", "Due from"),
    "dueUntil": Text("กำหนดตอบถึง", "Due until"),
    "pending": Text("รอฉันดำเนินการ", "Pending with me"),
    "mine": Text("เอกสารที่ฉันจัดทำ", "Created by me"),
}
_NAMES_OF_SHEETS: Final = {
    "party": Text("องค์กร", "Organization"),
    "person": Text("ผู้จัดทำหรือผู้รับเวียน", "Created by or circulated to"),
}
_RFA_TYPE: Final = Text("ประเภท RFA", "RFA type")


class RegisterFilters(BaseModel):
    """What the address bar says, as it was typed: links live longer than lists, so what cannot be used is said and left out."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, alias_generator=to_camel)

    q: str = Field("", max_length=200)
    state: str = Field("", max_length=50)
    type: str = Field("", max_length=50)
    project: str = Field("", max_length=40)
    party: str = Field("", max_length=40)
    discipline: str = Field("", max_length=50)
    person: str = Field("", max_length=40)
    mine: str = Field("", max_length=5)
    pending: str = Field("", max_length=5)
    due: str = Field("", max_length=10)
    since: str = Field("", alias="from", max_length=40)
    until: str = Field("", max_length=40)
    due_from: str = Field("", max_length=40)
    due_until: str = Field("", max_length=40)
    sort: str = Field("", max_length=10)

    @property
    def given(self) -> dict[str, str]:
        """What is not left open, by its names in the address, in the order of the form."""
        said = self.model_dump(by_alias=True) | {"q": self.text}
        return {name: value for name, value in said.items() if value}

    @property
    def text(self) -> str:
        return self.q.strip()

    @property
    def order(self) -> Any:  # one of those that a register knows
        return self.sort if self.sort.removeprefix("-") in SORTS else _FIRST

    @property
    def is_narrowed(self) -> bool:
        return bool(self._but("sort"))

    @property
    def query(self) -> str:
        """The filters as an address, without what was left open."""
        return urlencode(self.given)

    def without(self, name: str) -> str:
        return urlencode(self._but(name))

    def sorted_by(self, name: str) -> str:
        """Return the same address in the order of a column; in the other direction where it is in that order."""
        turned = {name: f"-{name}", f"-{name}": name}
        wanted = turned.get(self.order, f"-{name}" if name == "created" else name)
        kept = self._but("sort")
        return urlencode(kept if wanted == _FIRST else kept | {"sort": wanted})

    def _but(self, name: str) -> dict[str, str]:
        return {key: value for key, value in self.given.items() if key != name}

    @property
    def sent(self) -> list[str]:
        """The fields that the address names, set or left open, and at which something can be wrong."""
        named = {type(self).model_fields[name].alias or name for name in self.model_fields_set}
        return [name for name in ("q", "state", "type", "due", *MORE) if name in named]

    @staticmethod
    def name_in(web: WebKind, name: str) -> Text:
        if name == "type" and "rfa_type" in web.asks:
            return _RFA_TYPE
        return _NAMES_OF_SHEETS.get(name, _NAMES[name]) if web.is_sheet else _NAMES[name]

    def direction(self, name: str) -> str | None:
        """Return how a column is sorted, in the words of `aria-sort`."""
        return {name: "ascending", f"-{name}": "descending"}.get(self.order)


class FilterChoices(NamedTuple):
    parties: Sequence[FilterChoice]
    disciplines: Sequence[FilterChoice]
    types: Sequence[FilterChoice]
    people: Sequence[FilterChoice]

    def of(self, name: str) -> dict[str, FilterChoice]:
        offered = {"party": self.parties, "discipline": self.disciplines, "type": self.types, "person": self.people}
        return {one.value: one for one in offered.get(name, ())}


async def filter_choices(page: PageRequest, session: AsyncSession, web: WebKind) -> FilterChoices:
    chosen = page.project
    known = await page.projects_with(session, None)
    places = [one for one in known if one.public_id == chosen] or known
    parties, disciplines, types = await projects.filter_choices(session, places)
    return FilterChoices(
        parties,
        disciplines if "discipline" in web.asks else (),
        types if "rfa_type" in web.asks else (),
        [_person(one) for one in await core.people_offered(page.context, session, places)],
    )


def _person(one: identity.OrganizationMember) -> FilterChoice:
    return FilterChoice(str(one.public_id), one.display_name, *((None, None) if one.is_active else _CLOSED))


def needs_choices(web: WebKind, asked: RegisterFilters) -> bool:
    return not asked.given.keys().isdisjoint(MORE) or (bool(asked.type) and "rfa_type" in web.asks)


def register_query(
    page: PageRequest, web: WebKind, asked: RegisterFilters, choices: FilterChoices | None, cursor: str | None
) -> tuple[core.RegisterQuery, FormErrors]:
    payload = _payload(page, web, asked) | {"cursor": cursor}
    query, faults = usable_query(page, core.RegisterQuery, payload)
    fields = dict(faults.fields)
    for name, offered in _offered(web, choices).items():
        value = asked.given.get(name)
        if value is not None and value not in offered:
            fields[name] = [_NO_CHOICE.say(page.language)]
    return _in_order(query), FormErrors(fields=fields)


def _payload(page: PageRequest, web: WebKind, asked: RegisterFilters) -> dict[str, object]:
    """The parameters of the register; a day that is typed says more than "soon"."""
    said: dict[str, object] = {name: value for name in ("q", *MORE) if (value := asked.given.get(name)) is not None}
    if asked.due == "soon" and not asked.due_from and not asked.due_until:
        today = local_date(page.context.now, page.context.zone)
        said |= {"dueFrom": today, "dueUntil": today + SOON}
    if asked.state in web.states:
        said["status"] = asked.state
    if asked.type in web.types or (asked.type and "rfa_type" in web.asks):
        said["type"] = asked.type
    return said | {
        "projectPublicId": page.project,
        "mine": asked.mine == "1",
        "pendingWithMe": asked.pending == "1",
        "overdue": asked.due == "overdue",
        "sort": asked.order,
        "limit": ROWS,
    }


def _in_order(query: core.RegisterQuery) -> core.RegisterQuery:
    """Put two days in their order, whichever of them was typed first."""
    days: dict[str, date] = {}
    for first, last in (("since", "until"), ("due_from", "due_until")):
        one, other = getattr(query, first), getattr(query, last)
        if one is not None and other is not None and one > other:
            days |= {first: other, last: one}
    return query.model_copy(update=days)


def _offered(web: WebKind, choices: FilterChoices | None) -> dict[str, Collection[str]]:
    found: dict[str, Collection[str]] = {"state": web.states, "due": _DUE}
    if web.types:
        found["type"] = web.types
    if choices is not None:
        found |= {name: choices.of(name) for name in ("party", "discipline", "person")}
    if choices is not None and "rfa_type" in web.asks:
        found["type"] = choices.of("type")
    return found


@dataclass(frozen=True, slots=True)
class SetFilter:
    """
    A filter that is set.

    :param value: empty where its name says all
    :param without: the address that leaves it out
    """

    name: Text
    value: str
    without: str
    is_wrong: bool


def set_filters(
    page: PageRequest, web: WebKind, asked: RegisterFilters, choices: FilterChoices | None, faults: FormErrors
) -> list[SetFilter]:
    """Name each filter that is set, as the reader would; the search stands in its own field."""
    return [
        SetFilter(
            asked.name_in(web, name), _said(page, name, value, choices), asked.without(name), name in faults.fields
        )
        for name, value in asked.given.items()
        if name in _NAMES
    ]


def _said(page: PageRequest, name: str, value: str, choices: FilterChoices | None) -> str:
    """Say what a filter is set to: a code, a name or a day; as it was typed where it is none."""
    match name:
        case "mine" | "pending":
            return ""
        case "from" | "until" | "dueFrom" | "dueUntil":
            day = parse_date(value)
            return value if day is None else day_text(day, page.language)
        case "state" | "due":
            words = labels.state(value) if name == "state" else _DUE.get(value)
            return value if words is None else words.say(page.language)
    found = choices.of(name).get(value) if choices is not None else None
    if found is not None:
        return found.code
    return labels.type_name(value).say(page.language) if name == "type" else value
