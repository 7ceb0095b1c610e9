"""Public interface of numbering for other packages."""

from saraban.numbering.formats.domain import FormatDraft, FormatTarget
from saraban.numbering.formats.service import (
    FormatEffect,
    change_format,
    default_formats,
    delete_format,
    format_effect,
    format_history,
    list_formats,
    read_format,
    save_format,
)
from saraban.numbering.imports.service.legacy_import import NUMBER_IMPORTER
from saraban.numbering.issue.domain import RetryBudget
from saraban.numbering.issue.repository import NUMBER_CONSTRAINTS
from saraban.numbering.issue.service.allocator import Allocator, NumberServices, replace_number
from saraban.numbering.issue.service.external_numbers import ExternalNumber, register_external, taken_in
from saraban.numbering.issue.service.issue_request import Holder, Issued, IssueRequest
from saraban.numbering.issue.service.lifecycle import (
    NumberToVoid,
    any_overdue,
    bind_reservation,
    cancel_number,
    cancel_reservation,
    confirm_reservation,
    expire_reservations,
    own_reservation,
    replace_held_number,
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
    skip_numbers,
)
from saraban.numbering.issue.service.monitoring import delete_old_errors, list_errors
from saraban.numbering.issue.service.number_batch import draw, open_series
from saraban.numbering.issue.service.number_plan import (
    FormatChoice,
    Plan,
    format_choice,
    plan,
    planner,
    preview,
)
from saraban.numbering.issue.service.number_request import NumberRequest, may_create
from saraban.numbering.ranges.service import (
    create_range,
    create_range_in_series,
    list_ranges,
    range_effect,
    release_range,
)
from saraban.numbering.register.domain import Discrepancy, LedgerLine, NumberRow
from saraban.numbering.register.repository.consistency import NumberedDocuments
from saraban.numbering.register.service.consistency_check import check_consistency
from saraban.numbering.register.service.ledger import (
    NumberHistory,
    SeriesLedger,
    audit_trail,
    holders_of_number,
    list_series,
    measure_utilization,
    number_history,
    number_of_holder,
    request_like,
    resolve_number,
    rfa_type_of,
    search_numbers,
    series_ledger,
    series_printing,
)
from saraban.numbering.register.service.operations import list_operations
from saraban.numbering.series.domain.counter import RangeDraft
from saraban.numbering.series.domain.states import OverflowRule, RangeKind
from saraban.numbering.series.domain.template import Narrowing, NumberUnprintable
from saraban.numbering.series.models import FormatRow, NumberErrorRow, NumberOperation, RangeRow
