"""Which series are the fullest: what the metric of sequence utilization shows."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering.domain.template import Template, TemplateInvalid
from saraban.numbering.repository import utilization
from saraban.numbering.service import metrics
from saraban.numbering.service.metrics import SeriesUtilization

_IN_USE = timedelta(days=60)
_LOOKED_AT = 200
_SHOWN = 20


async def measure_utilization(session: AsyncSession, *, now: datetime) -> Sequence[SeriesUtilization]:
    """Bring the metric up to date: few series, however many there are."""
    rows = await utilization.fullest_series(session, since=now - _IN_USE, most=_LOOKED_AT)
    used = [
        SeriesUtilization(project, series, last / (10**width - 1))
        for project, series, last, template in rows
        if (width := _width(template))
    ]
    metrics.UTILIZATION.series = sorted(used, key=lambda one: one.ratio, reverse=True)[:_SHOWN]
    return metrics.UTILIZATION.series


def _width(template: str | None) -> int:
    """0 where a number of old was taken over without a format that can be read."""
    try:
        return Template.parse(template or "", drawing=True).width
    except TemplateInvalid:
        return 0
