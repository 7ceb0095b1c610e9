"""Numbering as the rest of the product sees it: plan, issue, preview, revise, restore, cancel, and the formats."""

from saraban.numbering.domain.retry import Budget
from saraban.numbering.repository import Trace
from saraban.numbering.service.allocation import Allocator
from saraban.numbering.service.checks import NumberRequest, permission_to_create
from saraban.numbering.service.formats import FormatRow, Wanted, change, format_, formats, meeting, save
from saraban.numbering.service.ledger import Holder, Issued
from saraban.numbering.service.life import cancel, restore, revise, traces
from saraban.numbering.service.planning import Plan, plan
from saraban.numbering.service.previewing import Preview, preview
from saraban.numbering.service.seed import default_formats

__all__ = [
    "Allocator",
    "Budget",
    "FormatRow",
    "Holder",
    "Issued",
    "NumberRequest",
    "Plan",
    "Preview",
    "Trace",
    "Wanted",
    "cancel",
    "change",
    "default_formats",
    "format_",
    "formats",
    "meeting",
    "permission_to_create",
    "plan",
    "preview",
    "restore",
    "revise",
    "save",
    "traces",
]
