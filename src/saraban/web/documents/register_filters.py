"""The filters of a register: in the address, as choices, and as chips to remove."""

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
    """Filters as typed in the address; invalid ones are reported and ignored."""

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
        """The filters that are set, by their names in the address."""
        values = self.model_dump(by_alias=True) | {"q": self.text}
        return {name: value for name, value in values.items() if value}

    @property
    def text(self) -> str:
        return self.q.strip()

    @property
    def order(self) -> Any:
        return self.sort if self.sort.removeprefix("-") in SORTS else _FIRST

    @property
    def is_narrowed(self) -> bool:
        return bool(self._other_filters("sort"))

    @property
    def query(self) -> str:
        return urlencode(self.given)

    def without(self, name: str) -> str:
        return urlencode(self._other_filters(name))

    def sorted_by(self, name: str) -> str:
        """Return the address sorted by a column, or in its other direction."""
        reversed_orders = {name: f"-{name}", f"-{name}": name}
        new_sort = reversed_orders.get(self.order, f"-{name}" if name == "created" else name)
        rest = self._other_filters("sort")
        return urlencode(rest if new_sort == _FIRST else rest | {"sort": new_sort})

    def _other_filters(self, name: str) -> dict[str, str]:
        return {key: value for key, value in self.given.items() if key != name}

    @property
    def sent(self) -> list[str]:
        """Fields in the address, set or empty, that can have errors."""
        names = {type(self).model_fields[name].alias or name for name in self.model_fields_set}
        return [name for name in ("q", "state", "type", "due", *MORE) if name in names]

    @staticmethod
    def name_in(web: WebKind, name: str) -> Text:
        if name == "type" and "rfa_type" in web.asks:
            return _RFA_TYPE
        return _NAMES_OF_SHEETS.get(name, _NAMES[name]) if web.is_sheet else _NAMES[name]

    def direction(self, name: str) -> str | None:
        return {name: "ascending", f"-{name}": "descending"}.get(self.order)


class FilterChoices(NamedTuple):
    parties: Sequence[FilterChoice]
    disciplines: Sequence[FilterChoice]
    types: Sequence[FilterChoice]
    people: Sequence[FilterChoice]

    def of(self, name: str) -> dict[str, FilterChoice]:
        choices = {"party": self.parties, "discipline": self.disciplines, "type": self.types, "person": self.people}
        return {choice.value: choice for choice in choices.get(name, ())}


async def filter_choices(page: PageRequest, session: AsyncSession, web: WebKind) -> FilterChoices:
    chosen = page.project
    refs = await page.projects_with(session, None)
    places = [item for item in refs if item.public_id == chosen] or refs
    parties, disciplines, types = await projects.filter_choices(session, places)
    return FilterChoices(
        parties,
        disciplines if "discipline" in web.asks else (),
        types if "rfa_type" in web.asks else (),
        [_person_choice(item) for item in await core.people_offered(page.context, session, places)],
    )


def _person_choice(member: identity.OrganizationMember) -> FilterChoice:
    return FilterChoice(str(member.public_id), member.display_name, *((None, None) if member.is_active else _CLOSED))


def needs_choices(web: WebKind, asked: RegisterFilters) -> bool:
    return not asked.given.keys().isdisjoint(MORE) or (bool(asked.type) and "rfa_type" in web.asks)


def register_query(
    page: PageRequest, web: WebKind, asked: RegisterFilters, choices: FilterChoices | None, cursor: str | None
) -> tuple[core.RegisterQuery, FormErrors]:
    payload = _payload(page, web, asked) | {"cursor": cursor}
    query, faults = usable_query(page, core.RegisterQuery, payload)
    fields = dict(faults.fields)
    for name, options in _valid_options(web, choices).items():
        value = asked.given.get(name)
        if value is not None and value not in options:
            fields[name] = [_NO_CHOICE.say(page.language)]
    return _order_days(query), FormErrors(fields=fields)


def _payload(page: PageRequest, web: WebKind, asked: RegisterFilters) -> dict[str, object]:
    """Typed days take precedence over "soon"."""
    parameters: dict[str, object] = {
        name: value for name in ("q", *MORE) if (value := asked.given.get(name)) is not None
    }
    if asked.due == "soon" and not asked.due_from and not asked.due_until:
        today = local_date(page.context.now, page.context.zone)
        parameters |= {"dueFrom": today, "dueUntil": today + SOON}
    if asked.state in web.states:
        parameters["status"] = asked.state
    if asked.type in web.types or (asked.type and "rfa_type" in web.asks):
        parameters["type"] = asked.type
    return parameters | {
        "projectPublicId": page.project,
        "mine": asked.mine == "1",
        "pendingWithMe": asked.pending == "1",
        "overdue": asked.due == "overdue",
        "sort": asked.order,
        "limit": ROWS,
    }


def _order_days(query: core.RegisterQuery) -> core.RegisterQuery:
    """Swap two days in the wrong order."""
    days: dict[str, date] = {}
    for first, last in (("since", "until"), ("due_from", "due_until")):
        start, end = getattr(query, first), getattr(query, last)
        if start is not None and end is not None and start > end:
            days |= {first: end, last: start}
    return query.model_copy(update=days)


def _valid_options(web: WebKind, choices: FilterChoices | None) -> dict[str, Collection[str]]:
    options: dict[str, Collection[str]] = {"state": web.states, "due": _DUE}
    if web.types:
        options["type"] = web.types
    if choices is not None:
        options |= {name: choices.of(name) for name in ("party", "discipline", "person")}
    if choices is not None and "rfa_type" in web.asks:
        options["type"] = choices.of("type")
    return options


@dataclass(frozen=True, slots=True)
class SetFilter:
    """
    :param value: empty where its name says all
    :param without: the address without the filter
    """

    name: Text
    value: str
    without: str
    is_wrong: bool


def set_filters(
    page: PageRequest, web: WebKind, asked: RegisterFilters, choices: FilterChoices | None, faults: FormErrors
) -> list[SetFilter]:
    """Describe each filter; the search has its own field."""
    return [
        SetFilter(
            asked.name_in(web, name),
            _value_text(page, name, value, choices),
            asked.without(name),
            name in faults.fields,
        )
        for name, value in asked.given.items()
        if name in _NAMES
    ]


def _value_text(page: PageRequest, name: str, value: str, choices: FilterChoices | None) -> str:
    """Return the value as a reader knows it, or as typed."""
    match name:
        case "mine" | "pending":
            return ""
        case "from" | "until" | "dueFrom" | "dueUntil":
            day = parse_date(value)
            return value if day is None else day_text(day, page.language)
        case "state" | "due":
            words = labels.state(value) if name == "state" else _DUE.get(value)
            return value if words is None else words.say(page.language)
    choice = choices.of(name).get(value) if choices is not None else None
    if choice is not None:
        return choice.code
    return labels.type_name(value).say(page.language) if name == "type" else value
