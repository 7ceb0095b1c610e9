"""Tables of numbering. Rows are never deleted, and no cascade reaches them (REQ-NUM-01)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.identity.models import User
from saraban.imports.domain import ImportState
from saraban.imports.models import FileImport
from saraban.kit.db import Base, Code, HasPublicId, public_id_index, table_of
from saraban.kit.json import Json
from saraban.kit.keys import key_of
from saraban.numbering.series.domain.states import DOCUMENTS, NumberSource, NumberState, OverflowRule, RangeKind
from saraban.numbering.series.domain.template import FormatKey, Narrowing

LEDGER_COLUMNS = (
    "uuid",
    "token",
    "project_id",
    "register",
    "correspondence_type_id",
    "originator_organization_id",
    "recipient_organization_id",
    "series",
    "range",
    "sequence_number",
    "base_number",
    "document_number",
    "revision_label",
    "document_number_status",
    "source",
    "holder_kind",
    "holder_public_id",
    "format_template",
    "format_values",
    "format_uuid",
    "format_source",
    "issue_year",
    "user_id",
    "ip_address",
    "reason",
    "reserved_at",
    "expires_at",
    "confirmed_at",
    "created_at",
)
AUDIT_COLUMNS = (
    "uuid",
    "operation",
    "project_id",
    "reservation_uuid",
    "generated_number",
    "document_type",
    "holder_public_id",
    "series",
    "counter_key",
    "template_used",
    "sequence_number",
    "skipped_to",
    "reason",
    "user_id",
    "ip_address",
    "idempotency_key",
    "retry_count",
    "lock_wait_ms",
    "lock_path",
    "created_at",
)


_NEWEST = ("created_at", "uuid")


def _check_values(column: str, texts: type[StrEnum]) -> str:
    stored = ", ".join(f"'{text}'" for text in texts)
    return f"{column} IN ({stored})"


class NumberFormat(HasPublicId, Base):
    """A project's template for a type (null: its default); an empty code matches all documents."""

    __tablename__ = "document_number_formats"
    __table_args__ = public_id_index(
        "document_number_formats",
        sa.Index(
            "unique_format", "project_id", "type_key", "sub_type_code", "rfa_type_code", "discipline_code", unique=True
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    correspondence_type_id: Mapped[int | None] = mapped_column(sa.ForeignKey("correspondence_types.id"))
    # A unique key permits several nulls, but a project has only one default.
    type_key: Mapped[int] = mapped_column(sa.Computed("coalesce(correspondence_type_id, 0)", persisted=True))
    # Empty instead of null for the same reason. Codes, because contracts with rows of their own may share a code.
    sub_type_code: Mapped[str] = mapped_column(Code(20), default="", server_default="")
    rfa_type_code: Mapped[str] = mapped_column(Code(20), default="", server_default="")
    discipline_code: Mapped[str] = mapped_column(Code(10), default="", server_default="")
    format_template: Mapped[str] = mapped_column(Code(255))
    description: Mapped[str | None] = mapped_column(sa.Text)
    reset_sequence_yearly: Mapped[bool] = mapped_column(default=True)
    overflow: Mapped[str] = mapped_column(sa.String(10), default=OverflowRule.WIDEN)
    version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    @property
    def narrowing(self) -> Narrowing:
        return Narrowing(self.sub_type_code, self.rfa_type_code, self.discipline_code)

    @property
    def key(self) -> FormatKey:
        return FormatKey(self.correspondence_type_id or 0, self.narrowing)


class NumberCounter(Base):
    """One visible series, with the specification's eight columns (REQ-NUM-03)."""

    __tablename__ = "document_number_counters"
    __table_args__ = (
        sa.Index("idx_counter_lookup", "project_id", "correspondence_type_id", "current_year"),
        sa.CheckConstraint("last_number >= 0", name="last_number"),
    )

    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"), primary_key=True)
    series: Mapped[str] = mapped_column(Code(255), primary_key=True)
    range: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=0)
    originator_organization_id: Mapped[int]
    recipient_organization_id: Mapped[int] = mapped_column(default=-1)
    correspondence_type_id: Mapped[int]
    sub_type_id: Mapped[int] = mapped_column(default=0)
    rfa_type_id: Mapped[int] = mapped_column(default=0)
    discipline_id: Mapped[int] = mapped_column(default=0)
    current_year: Mapped[int]
    last_number: Mapped[int] = mapped_column(default=0)
    # Active ranges that the main counter skips; 0 saves reading them.
    range_count: Mapped[int] = mapped_column(default=0)
    # The last number of the previous schema, which kept no record of single numbers.
    before_ledger: Mapped[int] = mapped_column(default=0, server_default="0")
    version: Mapped[int] = mapped_column(default=0)
    updated_at: Mapped[datetime]


class NumberRange(HasPublicId, Base):
    """`number` is the `range` of its counter and ledger entries; a blocked range has neither."""

    __tablename__ = "document_number_ranges"
    __table_args__ = public_id_index(
        "document_number_ranges",
        sa.Index("idx_docnum_ranges_number", "project_id", "series", "number", unique=True),
        sa.CheckConstraint("first_number >= 1 AND last_number >= first_number", name="stretch"),
        sa.CheckConstraint(_check_values("kind", RangeKind), name="kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    series: Mapped[str] = mapped_column(Code(255))
    number: Mapped[int]
    kind: Mapped[str] = mapped_column(sa.String(10))
    first_number: Mapped[int]
    last_number: Mapped[int]
    organization_id: Mapped[int | None] = mapped_column(sa.ForeignKey("organizations.id"))
    reason: Mapped[str] = mapped_column(sa.String(500))
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    created_at: Mapped[datetime]
    released_at: Mapped[datetime | None]


class LedgerEntry(HasPublicId, Base):
    """
    Every number ever issued. A number is unique in its register (REQ-NUM-27).

    A number from outside has an empty template, sequence 0, and the register's name as its series. `user_id` is the
    issuer; `NumberAudit` has the users of later operations.
    """

    __tablename__ = "document_number_reservations"
    __table_args__ = public_id_index(
        "document_number_reservations",
        sa.Index("idx_docnum_ledger_token", "token", unique=True),
        sa.Index("idx_docnum_ledger_base", "project_id", "base_number", "register", unique=True),
        sa.Index("idx_docnum_ledger_key", "project_id", "base_number_key", "register", unique=True),
        sa.Index("idx_docnum_ledger_series", "project_id", "series", "range", "sequence_number"),
        # Finds the series in which an organization has numbers.
        sa.Index("idx_docnum_ledger_originator", "originator_organization_id", "project_id", "series"),
        # The later columns serve the timer, which looks for overdue reservations without a holder.
        sa.Index("idx_docnum_ledger_holder", "holder_public_id", "document_number_status", "expires_at"),
        sa.CheckConstraint(_check_values("document_number_status", NumberState), name="status"),
        sa.CheckConstraint(_check_values("source", NumberSource), name="source"),
    )

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    token: Mapped[UUID]
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    register: Mapped[str] = mapped_column(Code(10), default=DOCUMENTS, server_default=DOCUMENTS)
    correspondence_type_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondence_types.id"))
    originator_organization_id: Mapped[int]
    recipient_organization_id: Mapped[int] = mapped_column(default=-1)
    series: Mapped[str] = mapped_column(Code(255))
    range: Mapped[int] = mapped_column(default=0)
    sequence_number: Mapped[int]
    base_number: Mapped[str] = mapped_column(Code(255))
    base_number_key: Mapped[str | None] = key_of("base_number")
    document_number: Mapped[str] = mapped_column(Code(255))
    document_number_key: Mapped[str | None] = key_of("document_number")
    revision_label: Mapped[str] = mapped_column(sa.String(10), default="A")
    document_number_status: Mapped[str] = mapped_column(sa.String(20))
    source: Mapped[str] = mapped_column(sa.String(10), default=NumberSource.DRAW)
    holder_kind: Mapped[str | None] = mapped_column(sa.String(40))
    holder_public_id: Mapped[UUID | None]
    format_template: Mapped[str] = mapped_column(Code(255))
    format_values: Mapped[dict[str, str]]
    # The format and its source: `specific`, `default` or `fallback`; null where not recorded.
    format_uuid: Mapped[UUID | None]
    format_source: Mapped[str | None] = mapped_column(sa.String(10))
    issue_year: Mapped[int]
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    ip_address: Mapped[str | None] = mapped_column(sa.String(45))
    reason: Mapped[str | None] = mapped_column(sa.String(500))
    reserved_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    confirmed_at: Mapped[datetime | None]
    cancelled_at: Mapped[datetime | None]
    voided_at: Mapped[datetime | None]
    replaces_uuid: Mapped[UUID | None]
    replaced_by_uuid: Mapped[UUID | None]
    created_at: Mapped[datetime]


# Columns that explain the format of a number.
FORMAT_COLUMNS = (
    *(table_of(LedgerEntry).c[name] for name in ("format_template", "source", "format_source")),
    *(table_of(NumberFormat).c[name] for name in ("uuid", "sub_type_code", "rfa_type_code", "discipline_code")),
)


class NumberRendering(Base):
    """Each printed form of a number, unique in its register."""

    __tablename__ = "document_number_renderings"
    __table_args__ = (
        sa.Index("idx_docnum_rendering_number", "project_id", "document_number", "register", unique=True),
        sa.Index("idx_docnum_rendering_key", "project_id", "document_number_key", "register", unique=True),
        sa.Index("idx_docnum_rendering_ledger", "reservation_id"),
    )

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    register: Mapped[str] = mapped_column(Code(10), default=DOCUMENTS, server_default=DOCUMENTS)
    reservation_id: Mapped[int] = mapped_column(sa.ForeignKey("document_number_reservations.id"))
    document_number: Mapped[str] = mapped_column(Code(255))
    document_number_key: Mapped[str | None] = key_of("document_number")
    revision_label: Mapped[str | None] = mapped_column(sa.String(10))
    kind: Mapped[str] = mapped_column(sa.String(10))
    created_at: Mapped[datetime]


class NumberAudit(HasPublicId, Base):
    """One row per operation on a number; append-only (REQ-NUM-19)."""

    __tablename__ = "document_number_audit"
    __table_args__ = public_id_index(
        "document_number_audit",
        sa.Index("idx_audit_number", "generated_number"),
        # Skips, ranges and resets have no number and are found by series.
        sa.Index("idx_audit_series", "series", "operation"),
        sa.Index("idx_audit_user", "user_id", "created_at"),
        sa.Index("idx_audit_created", "created_at"),
        sa.Index("idx_audit_reservation", "reservation_uuid"),
        sa.Index("idx_audit_format", "format_uuid"),
        # One index per filter of a project's operations, so that every page costs the same.
        sa.Index("idx_audit_project", "project_id", *_NEWEST),
        sa.Index("idx_audit_project_operation", "project_id", "operation", *_NEWEST),
        sa.Index("idx_audit_project_user", "project_id", "user_id", *_NEWEST),
        sa.Index("idx_audit_project_series", "project_id", "series", *_NEWEST),
        sa.CheckConstraint(
            "operation NOT IN ('GENERATE', 'RESERVE', 'REVISE') OR (generated_number IS NOT NULL "
            "AND sequence_number IS NOT NULL AND template_used IS NOT NULL)",
            name="draw_is_complete",
        ),
        sa.CheckConstraint("operation <> 'SKIP' OR skipped_to IS NOT NULL", name="skip_has_an_end"),
    )

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    operation: Mapped[str] = mapped_column(sa.String(20))
    project_id: Mapped[int | None]
    reservation_uuid: Mapped[UUID | None]
    format_uuid: Mapped[UUID | None]
    generated_number: Mapped[str | None] = mapped_column(Code(255))
    document_type: Mapped[str | None] = mapped_column(sa.String(50))
    holder_public_id: Mapped[UUID | None]
    series: Mapped[str | None] = mapped_column(Code(255))
    counter_key: Mapped[str | None] = mapped_column(sa.Text)
    template_used: Mapped[str | None] = mapped_column(Code(255))
    sequence_number: Mapped[int | None]
    skipped_to: Mapped[int | None]
    old_value: Mapped[str | None] = mapped_column(sa.Text)
    new_value: Mapped[str | None] = mapped_column(sa.Text)
    reason: Mapped[str | None] = mapped_column(sa.String(500))
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    ip_address: Mapped[str | None] = mapped_column(sa.String(45))
    idempotency_key: Mapped[str | None] = mapped_column(Code(128))
    retry_count: Mapped[int] = mapped_column(default=0)
    lock_wait_ms: Mapped[int] = mapped_column(default=0)
    lock_path: Mapped[str | None] = mapped_column(sa.String(10))
    created_at: Mapped[datetime]


class NumberImport(FileImport):
    """One file of legacy numbers; an import at a terminal has neither stored file nor lease."""

    __tablename__ = "document_number_imports"
    __table_args__ = public_id_index(
        "document_number_imports",
        sa.Index("idx_docnum_imports_project", "project_id", "created_at"),
        sa.CheckConstraint(_check_values("state", ImportState), name="state"),
    )
    entity = "number_import"

    moves_counters: Mapped[bool] = mapped_column(default=False)
    moves: Mapped[dict[str, int] | None]


class NumberError(HasPublicId, Base):
    """A refused or failed call, written outside its transaction."""

    __tablename__ = "document_number_errors"
    __table_args__ = public_id_index(
        "document_number_errors",
        sa.Index("idx_docnum_errors_created", *_NEWEST),
        sa.Index("idx_docnum_errors_type", "error_type", *_NEWEST),
        sa.Index("idx_docnum_errors_user", "user_id", *_NEWEST),
        sa.Index("idx_docnum_errors_trace", "trace_id"),
    )

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    error_type: Mapped[str] = mapped_column(sa.String(30))
    error_message: Mapped[str | None] = mapped_column(sa.Text)
    context_data: Mapped[dict[str, Json] | None]
    user_id: Mapped[int | None]
    ip_address: Mapped[str | None] = mapped_column(sa.String(45))
    trace_id: Mapped[str | None] = mapped_column(sa.String(32))
    created_at: Mapped[datetime]
    resolved_at: Mapped[datetime | None]


COUNTERS = cast(sa.Table, NumberCounter.__table__)
LEDGER = cast(sa.Table, LedgerEntry.__table__)
RENDERINGS = cast(sa.Table, NumberRendering.__table__)
AUDIT = cast(sa.Table, NumberAudit.__table__)
# Empty for an account without a name.
PERSON_NAME = sa.func.trim(sa.func.coalesce(User.first_name, "") + " " + sa.func.coalesce(User.last_name, ""))
# Joins a range with its own counter.
COUNTER_OF_RANGE = sa.and_(
    NumberCounter.project_id == NumberRange.project_id,
    NumberCounter.series == NumberRange.series,
    NumberCounter.range == NumberRange.number,
)


@dataclass(frozen=True, slots=True)
class FormatRow:
    format: NumberFormat
    project_id: int
    project_public_id: UUID
    project_code: str
    type_code: str | None


@dataclass(frozen=True, slots=True)
class NumberOperation:
    """:param person: display name, maybe empty"""

    audit: NumberAudit
    username: str
    project_code: str
    person: str = ""


@dataclass(frozen=True, slots=True)
class NumberErrorRow:
    """
    :param username: None without a signed-in user
    :param person: display name, maybe empty
    """

    error: NumberError
    username: str | None
    person: str = ""


class RangeRow(NamedTuple):
    range: NumberRange
    organization: UUID | None
    last: int | None
