"""Functions of `audit` that other features use."""

from saraban.audit.domain.verification import Finding
from saraban.audit.models import Severity
from saraban.audit.repository import AuditRecord, AuditSearch
from saraban.audit.service.retention import Purged, purge
from saraban.audit.service.sealer import HeadFile, Sealer
from saraban.audit.service.trail import (
    AuditContext,
    AuditEntry,
    AuditOrigin,
    list_records,
    record,
    record_all,
    search_records,
)
from saraban.audit.service.verification import (
    VerificationReport,
    count_sealed_blocks,
    export,
    unsealed,
    verify,
    verify_file,
    verify_next_blocks,
)
