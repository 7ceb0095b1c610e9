"""Numbering as the rest of the product sees it: plan, issue, preview, the life of a number, and the formats."""

from saraban.numbering.formats.domain import FormatDraft, FormatTarget
from saraban.numbering.formats.service.format_preview import (
    FormatEffect,
    format_effect,
)
from saraban.numbering.formats.service.formats import (
    FormatVersion,
    change_format,
    default_formats,
    delete_format,
    format_history,
    list_formats,
    read_format,
    save_format,
)
from saraban.numbering.imports.service.jobs import ImportWorker
from saraban.numbering.imports.service.uploads import (
    CounterMove,
    ImportFile,
    list_imports,
    read_import,
    start_import,
    upload_import,
)
from saraban.numbering.issue.domain import RetryBudget
from saraban.numbering.issue.service.allocator import Allocator, replace_number
from saraban.numbering.issue.service.lifecycle import (
    NumberToVoid,
    bind_reservation,
    cancel_number,
    cancel_reservation,
    confirm_reservation,
    expire_reservations,
    replace_held_number,
    restore_number,
    revise_number,
    void_for,
    void_number,
)
from saraban.numbering.issue.service.manual_number import (
    ManualNumber,
    ManualNumberEffect,
    issue_manually,
    manual_number_effect,
    may_reset_counter,
    plan_on,
    reset_counter,
)
from saraban.numbering.issue.service.number_batch import Holder, Issued, IssueRequest
from saraban.numbering.issue.service.number_plan import (
    FormatChoice,
    Plan,
    format_choice,
    plan,
    preview,
)
from saraban.numbering.issue.service.number_request import NumberRequest
from saraban.numbering.issue.service.rate_limits import NumberRateLimits
from saraban.numbering.issue.service.refusals import ERROR_RETENTION, delete_old_errors, list_errors
from saraban.numbering.ranges.service import (
    RangeEffect,
    RangeRow,
    create_range,
    create_range_in_series,
    list_ranges,
    range_effect,
    release_range,
)
from saraban.numbering.register.domain import Discrepancy, LedgerLine, NumberRow, SeriesRow
from saraban.numbering.register.service.consistency_check import NumberedDocuments, check_consistency
from saraban.numbering.register.service.ledger import SeriesLedger, list_series, series_ledger
from saraban.numbering.register.service.number_history import (
    NumberHistory,
    audit_trail,
    number_history,
    number_of_holder,
    request_like,
    resolve_number,
    rfa_type_of,
)
from saraban.numbering.series.domain.counter import RangeDraft
from saraban.numbering.series.domain.format_selection import Narrowing
from saraban.numbering.series.domain.states import OverflowRule, RangeKind
from saraban.numbering.series.models import FormatRow, ImportRow, NumberErrorRow, NumberOperation

__all__ = [
    "ERROR_RETENTION",
    "Allocator",
    "CounterMove",
    "Discrepancy",
    "FormatChoice",
    "FormatDraft",
    "FormatEffect",
    "FormatRow",
    "FormatTarget",
    "FormatVersion",
    "Holder",
    "ImportFile",
    "ImportRow",
    "ImportWorker",
    "IssueRequest",
    "Issued",
    "LedgerLine",
    "ManualNumber",
    "ManualNumberEffect",
    "Narrowing",
    "NumberErrorRow",
    "NumberHistory",
    "NumberOperation",
    "NumberRateLimits",
    "NumberRequest",
    "NumberRow",
    "NumberToVoid",
    "NumberedDocuments",
    "OverflowRule",
    "Plan",
    "RangeDraft",
    "RangeEffect",
    "RangeKind",
    "RangeRow",
    "RetryBudget",
    "SeriesLedger",
    "SeriesRow",
    "audit_trail",
    "bind_reservation",
    "cancel_number",
    "cancel_reservation",
    "change_format",
    "check_consistency",
    "confirm_reservation",
    "create_range",
    "create_range_in_series",
    "default_formats",
    "delete_format",
    "delete_old_errors",
    "expire_reservations",
    "format_choice",
    "format_effect",
    "format_history",
    "issue_manually",
    "list_errors",
    "list_formats",
    "list_imports",
    "list_ranges",
    "list_series",
    "manual_number_effect",
    "may_reset_counter",
    "number_history",
    "number_of_holder",
    "plan",
    "plan_on",
    "preview",
    "range_effect",
    "read_format",
    "read_import",
    "release_range",
    "replace_held_number",
    "replace_number",
    "request_like",
    "reset_counter",
    "resolve_number",
    "restore_number",
    "revise_number",
    "rfa_type_of",
    "save_format",
    "series_ledger",
    "start_import",
    "upload_import",
    "void_for",
    "void_number",
]
