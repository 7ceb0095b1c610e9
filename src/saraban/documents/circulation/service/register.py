"""The register of circulation sheets, as it is read for one person."""

from datetime import UTC, date, datetime, time
from functools import partial
from zoneinfo import ZoneInfo

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.models import Circulation
from saraban.documents.core import service as core
from saraban.kit.db import table_of

_TABLES = core.register_of_sheets(
    table_of(Circulation), "circulation_subject", repository.is_involved, repository.ABOUT
)


def register_for(reach: domain.CirculationReach) -> core.KindRegister:
    return core.KindRegister(
        domain.CIRCULATION_RULES,
        _TABLES,
        partial(domain.keys_of, reach),
        statuses=domain.STATUS_PLACES,
        due=_day_starts,
    )


def _day_starts(day: date, _zone: ZoneInfo) -> datetime:
    """A sheet is due on a day, which `document_reach` has as its midnight, wherever that is."""
    return datetime.combine(day, time(), UTC)
