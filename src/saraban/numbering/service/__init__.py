"""Numbering as the rest of the product sees it: plan, issue, preview, the life of a number, and the formats."""

from saraban.numbering.domain.account import Line, Why
from saraban.numbering.domain.examination import Discrepancy, Wrong
from saraban.numbering.domain.narrowing import Narrowing
from saraban.numbering.domain.retry import Budget
from saraban.numbering.repository import Trace
from saraban.numbering.repository.books import NumberRow, SeriesRow
from saraban.numbering.repository.imports import ImportRow
from saraban.numbering.repository.refused import ErrorRow
from saraban.numbering.service.account import Account, account, series
from saraban.numbering.service.allocation import Allocator
from saraban.numbering.service.biography import Biography, biography, number_of, same_again
from saraban.numbering.service.carriers import Carriers
from saraban.numbering.service.checks import NumberRequest, permission_to_create
from saraban.numbering.service.effects import Example, FormatEffect, format_effect
from saraban.numbering.service.format_choice import FormatChoice, format_choice
from saraban.numbering.service.format_collision import meeting
from saraban.numbering.service.formats import (
    FormatRow,
    FormatVersion,
    Wanted,
    change,
    delete,
    format_,
    formats,
    history,
    save,
)
from saraban.numbering.service.import_work import ImportWork
from saraban.numbering.service.ledger import Holder, Issued
from saraban.numbering.service.life import cancel, restore, revise, traces
from saraban.numbering.service.overriding import Closed, Effect, Statement, override, override_effect, plan_of_day
from saraban.numbering.service.planning import Plan, plan, plan_apart
from saraban.numbering.service.previewing import Preview, preview
from saraban.numbering.service.ranges import (
    RangeEffect,
    RangeRow,
    close,
    close_in_series,
    range_effect,
    ranges,
    release,
)
from saraban.numbering.service.rates import RateLimited, Rates
from saraban.numbering.service.receiving import (
    ImportNotChecked,
    ImportResultMissing,
    Moved,
    SentSheet,
    import_,
    imports,
    receive,
    result_of,
    start_import,
)
from saraban.numbering.service.refusals import KEEP_ERRORS, errors, forget_errors
from saraban.numbering.service.renumbering import Found, find, rfa_type_of
from saraban.numbering.service.reserving import bind, cancel_reservation, confirm, expire_reservations
from saraban.numbering.service.resetting import may_reset, reset
from saraban.numbering.service.seed import default_formats
from saraban.numbering.service.verifying import verify
from saraban.numbering.service.voiding import replace, replace_held, void

__all__ = [
    "KEEP_ERRORS",
    "Account",
    "Allocator",
    "Biography",
    "Budget",
    "Carriers",
    "Closed",
    "Discrepancy",
    "Effect",
    "ErrorRow",
    "Example",
    "FormatChoice",
    "FormatEffect",
    "FormatRow",
    "FormatVersion",
    "Found",
    "Holder",
    "ImportNotChecked",
    "ImportResultMissing",
    "ImportRow",
    "ImportWork",
    "Issued",
    "Line",
    "Moved",
    "Narrowing",
    "NumberRequest",
    "NumberRow",
    "Plan",
    "Preview",
    "RangeEffect",
    "RangeRow",
    "RateLimited",
    "Rates",
    "SentSheet",
    "SeriesRow",
    "Statement",
    "Trace",
    "Wanted",
    "Why",
    "Wrong",
    "account",
    "bind",
    "biography",
    "cancel",
    "cancel_reservation",
    "change",
    "close",
    "close_in_series",
    "confirm",
    "default_formats",
    "delete",
    "errors",
    "expire_reservations",
    "find",
    "forget_errors",
    "format_",
    "format_choice",
    "format_effect",
    "formats",
    "history",
    "import_",
    "imports",
    "may_reset",
    "meeting",
    "number_of",
    "override",
    "override_effect",
    "permission_to_create",
    "plan",
    "plan_apart",
    "plan_of_day",
    "preview",
    "range_effect",
    "ranges",
    "receive",
    "release",
    "replace",
    "replace_held",
    "reset",
    "restore",
    "result_of",
    "revise",
    "rfa_type_of",
    "same_again",
    "save",
    "series",
    "start_import",
    "traces",
    "verify",
    "void",
]
