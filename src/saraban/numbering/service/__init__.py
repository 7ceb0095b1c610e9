"""Numbering as the rest of the product sees it: plan, issue, preview, the life of a number, and the formats."""

from saraban.numbering.domain.account import GapReason, LedgerLine
from saraban.numbering.domain.examination import Discrepancy, DiscrepancyKind
from saraban.numbering.domain.narrowing import Narrowing
from saraban.numbering.domain.retry import RetryBudget
from saraban.numbering.repository import FormatRow, NumberOperation
from saraban.numbering.repository.books import NumberRow, SeriesRow
from saraban.numbering.repository.imports import ImportRow
from saraban.numbering.repository.refused import NumberErrorRow
from saraban.numbering.service.account import SeriesLedger, list_series, series_ledger
from saraban.numbering.service.allocation import Allocator
from saraban.numbering.service.biography import NumberHistory, number_history, number_of_holder, request_like
from saraban.numbering.service.carriers import NumberedDocuments
from saraban.numbering.service.checks import NumberRequest, permission_to_create
from saraban.numbering.service.effects import FormatEffect, FormatExample, format_effect
from saraban.numbering.service.format_choice import FormatChoice, format_choice
from saraban.numbering.service.format_collision import colliding_formats
from saraban.numbering.service.format_history import FormatVersion
from saraban.numbering.service.formats import (
    FormatDraft,
    change_format,
    delete_format,
    format_history,
    list_formats,
    read_format,
    save_format,
)
from saraban.numbering.service.import_work import ImportWorker
from saraban.numbering.service.ledger import Holder, Issued
from saraban.numbering.service.life import audit_trail, cancel_number, restore_number, revise_number
from saraban.numbering.service.overriding import (
    CoveringRange,
    ManualNumber,
    ManualNumberEffect,
    issue_manually,
    manual_number_effect,
    plan_on,
)
from saraban.numbering.service.planning import Plan, plan, plan_apart
from saraban.numbering.service.previewing import NumberPreview, preview
from saraban.numbering.service.ranges import (
    RangeEffect,
    RangeRow,
    create_range,
    create_range_in_series,
    list_ranges,
    range_effect,
    release_range,
)
from saraban.numbering.service.rates import NumberRateLimits, RateLimited
from saraban.numbering.service.receiving import (
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
from saraban.numbering.service.refusals import ERROR_RETENTION, delete_old_errors, list_errors
from saraban.numbering.service.renumbering import NumberResolution, resolve_number, rfa_type_of
from saraban.numbering.service.reserving import (
    bind_reservation,
    cancel_reservation,
    confirm_reservation,
    expire_reservations,
)
from saraban.numbering.service.resetting import may_reset_counter, reset_counter
from saraban.numbering.service.seed import default_formats
from saraban.numbering.service.verifying import check_consistency
from saraban.numbering.service.voiding import replace_held_number, replace_number, void_number

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
    "FormatVersion",
    "GapReason",
    "Holder",
    "ImportFile",
    "ImportNotChecked",
    "ImportResultMissing",
    "ImportRow",
    "ImportWorker",
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
    "NumberedDocuments",
    "Plan",
    "RangeEffect",
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
    "void_number",
]
