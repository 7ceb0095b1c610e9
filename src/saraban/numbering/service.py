"""Numbering as the rest of the product sees it: plan, issue, preview, the life of a number, and the formats."""

from saraban.numbering.formats.domain import FormatDraft, FormatTarget
from saraban.numbering.formats.service.format_preview import (
    FormatEffect,
    FormatExample,
    colliding_formats,
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
    ImportNotChecked,
    ImportResultMissing,
    import_result,
    list_imports,
    read_import,
    start_import,
    upload_import,
)
from saraban.numbering.issue.domain.retry import RetryBudget
from saraban.numbering.issue.service.allocator import Allocator
from saraban.numbering.issue.service.counter_reset import may_reset_counter, reset_counter
from saraban.numbering.issue.service.format_choice import FormatChoice, format_choice
from saraban.numbering.issue.service.issuance import issue_number, read_issued, replace_number
from saraban.numbering.issue.service.lifecycle import (
    NumberToVoid,
    cancel_number,
    replace_held_number,
    restore_number,
    revise_number,
    void_for,
    void_number,
)
from saraban.numbering.issue.service.manual_number import (
    CoveringRange,
    ManualNumber,
    ManualNumberEffect,
    issue_manually,
    manual_number_effect,
    plan_on,
)
from saraban.numbering.issue.service.number_batch import Holder, Issued, IssueRequest
from saraban.numbering.issue.service.number_plan import NumberPreview, Plan, plan, plan_apart, preview
from saraban.numbering.issue.service.number_request import NumberRequest, permission_to_create
from saraban.numbering.issue.service.rate_limits import NumberRateLimits, RateLimited
from saraban.numbering.issue.service.refusals import ERROR_RETENTION, delete_old_errors, list_errors
from saraban.numbering.issue.service.reservations import (
    bind_reservation,
    cancel_reservation,
    confirm_reservation,
    expire_reservations,
)
from saraban.numbering.ranges.service import (
    RangeEffect,
    RangeRow,
    create_range,
    create_range_in_series,
    list_ranges,
    range_effect,
    release_range,
)
from saraban.numbering.register.domain import Discrepancy, DiscrepancyKind, GapReason, LedgerLine, NumberRow, SeriesRow
from saraban.numbering.register.service.consistency_check import NumberedDocuments, check_consistency
from saraban.numbering.register.service.ledger import SeriesLedger, list_series, series_ledger
from saraban.numbering.register.service.number_history import (
    NumberHistory,
    NumberResolution,
    audit_trail,
    number_history,
    number_of_holder,
    request_like,
    resolve_number,
    rfa_type_of,
)
from saraban.numbering.series.domain.format_selection import Narrowing
from saraban.numbering.series.domain.sequence import RangeDraft
from saraban.numbering.series.domain.states import OverflowRule, RangeKind
from saraban.numbering.series.models import FormatRow, ImportRow, NumberErrorRow, NumberOperation

__all__ = [
    "ERROR_RETENTION",
    "Allocator",
    "CounterMove",
    "CoveringRange",
    "Discrepancy",
    "DiscrepancyKind",
    "FormatChoice",
    "FormatDraft",
    "FormatEffect",
    "FormatExample",
    "FormatRow",
    "FormatTarget",
    "FormatVersion",
    "GapReason",
    "Holder",
    "ImportFile",
    "ImportNotChecked",
    "ImportResultMissing",
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
    "NumberPreview",
    "NumberRateLimits",
    "NumberRequest",
    "NumberResolution",
    "NumberRow",
    "NumberToVoid",
    "NumberedDocuments",
    "OverflowRule",
    "Plan",
    "RangeDraft",
    "RangeEffect",
    "RangeKind",
    "RangeRow",
    "RateLimited",
    "RetryBudget",
    "SeriesLedger",
    "SeriesRow",
    "audit_trail",
    "bind_reservation",
    "cancel_number",
    "cancel_reservation",
    "change_format",
    "check_consistency",
    "colliding_formats",
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
    "import_result",
    "issue_manually",
    "issue_number",
    "list_errors",
    "list_formats",
    "list_imports",
    "list_ranges",
    "list_series",
    "manual_number_effect",
    "may_reset_counter",
    "number_history",
    "number_of_holder",
    "permission_to_create",
    "plan",
    "plan_apart",
    "plan_on",
    "preview",
    "range_effect",
    "read_format",
    "read_import",
    "read_issued",
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
