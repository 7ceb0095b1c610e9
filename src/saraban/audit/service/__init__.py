"""Writing, reading, sealing, checking, handing out and lawfully deleting the audit trail."""

from saraban.audit.domain.blocks import MINIMUM_YEARS
from saraban.audit.domain.examination import Finding, Wrong
from saraban.audit.service.exporting import Unsealed, export, unsealed
from saraban.audit.service.heads import HeadFile
from saraban.audit.service.purging import Purged, purge
from saraban.audit.service.sealing import Sealer
from saraban.audit.service.trail import Actor, AuditEntry, Deed, Severity, insertion, listing, write
from saraban.audit.service.verifying import Report, patrol, sealed_blocks, verify, verify_file

__all__ = [
    "MINIMUM_YEARS",
    "Actor",
    "AuditEntry",
    "Deed",
    "Finding",
    "HeadFile",
    "Purged",
    "Report",
    "Sealer",
    "Severity",
    "Unsealed",
    "Wrong",
    "export",
    "insertion",
    "listing",
    "patrol",
    "purge",
    "sealed_blocks",
    "unsealed",
    "verify",
    "verify_file",
    "write",
]
