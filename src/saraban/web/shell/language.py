"""
The words of the pages in two languages, and dates as each of them writes them.

English is the source text; `locale/th/LC_MESSAGES/web.po` is read when the process starts, so that no compiled file is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast
from zoneinfo import ZoneInfo

from babel.messages.pofile import read_po
from fastapi import Request

from saraban.kit.dates import date_in_figures, date_in_words, local_date, parse_date
from saraban.kit.http import language as kit_language

Language = Literal["th", "en"]

COOKIE: Final = "lang"
LOCALE: Final = Path(__file__).parents[1] / "locale"


@dataclass(frozen=True)
class MessageCatalogue:
    """Translations by source text; what is missing stays English, and a test sees to it that nothing is."""

    words: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    def gettext(self, text: str) -> str:
        found = self.words.get(text, text)
        return found if isinstance(found, str) else found[0]

    def ngettext(self, one: str, many: str, count: int) -> str:
        found = self.words.get(one)
        if found is None:
            return one if count == 1 else many
        return found if isinstance(found, str) else found[0]


@cache
def catalogue(language: str) -> MessageCatalogue:
    """Return the texts of one language; Thai has one form for every count."""
    if language == "en":
        return MessageCatalogue()
    with (LOCALE / language / "LC_MESSAGES" / "web.po").open("rb") as file:
        messages = read_po(file, locale=language)
    return MessageCatalogue({_key(one.id): _value(one.string) for one in messages if one.id and one.string})


def _key(identity: str | tuple[str, ...] | list[str]) -> str:
    return identity if isinstance(identity, str) else identity[0]


def _value(text: str | tuple[str, ...] | list[str]) -> str | tuple[str, ...]:
    return text if isinstance(text, str) else tuple(text)


def of(request: Request) -> Language:
    """Return the language of a page: what was chosen, before that what the browser asks for, otherwise Thai."""
    return cast("Language", kit_language(request))


def day_text(day: date | None, language: str) -> str:
    """Write a date: 20 พ.ย. 2569, or 20 Nov 2026."""
    return "–" if day is None else date_in_words(day, language)


def typed_day(value: str, language: str) -> str:
    """Give a date, as it was typed or is kept, as the reader would type it; what is none as it was typed."""
    day = parse_date(value)
    return value if day is None else date_in_figures(day, language)


def clock_text(moment: datetime, language: str, zone: ZoneInfo) -> str:
    """Write the time of day in the deployment's zone: 14:05 น., or 14:05."""
    return f"{moment.astimezone(zone):%H:%M}{' น.' if language == 'th' else ''}"


def moment_text(moment: datetime | None, language: str, zone: ZoneInfo) -> str:
    """Write a moment in the deployment's zone: 20 พ.ย. 2569 14:05 น., or 20 Nov 2026 14:05."""
    if moment is None:
        return "–"
    return f"{day_text(local_date(moment, zone), language)} {clock_text(moment, language, zone)}"


def size_text(size: int) -> str:
    """Write a file's size with at most one decimal."""
    amount, unit = float(size), "B"
    for bigger in ("KB", "MB", "GB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, bigger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
