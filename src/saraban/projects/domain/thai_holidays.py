"""
Public holidays of Thailand, as the cabinet lists them for government offices, with Labour Day, which building sites keep.

The days and their names come from the `holidays` package, in which a day that falls on a weekend has its substitute beside
it. Special days that the cabinet gives late, and the ploughing ceremony until the palace has named its day, are for each
project to add, as are the years that are not in `YEARS`.
"""

from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Final

from saraban.kit.errors import Text

YEARS: Final = range(2024, 2028)
_NO_DAY_OFF: Final = "National Children's Day"  # always a Saturday, and nobody is given another day for it


@cache
def public_holidays() -> Mapping[date, Text]:
    """Return the name of each holiday of `YEARS`."""
    from holidays import country_holidays  # it loads the calendars of all countries, which few commands need

    th, en = (
        country_holidays("TH", years=YEARS, categories=("public", "government"), language=language)
        for language in ("th", "en_US")
    )
    return {day: Text(th[day], name) for day, name in sorted(en.items()) if name != _NO_DAY_OFF}
