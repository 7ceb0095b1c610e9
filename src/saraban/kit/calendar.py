"""Days and eras, computed and never asked for: whoever needs the present moment is given it (`kit.clock`)."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

BUDDHIST_OFFSET = 543


def local_date(moment: datetime, zone: ZoneInfo) -> date:
    """This will give the calendar day of a moment in the deployment's zone (ruling N5)."""
    return moment.astimezone(zone).date()
