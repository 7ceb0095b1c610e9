"""Documents of every kind, as the rest of the product sees them; a kind hands itself to these verbs."""

from saraban.documents.core.models import Document
from saraban.documents.core.repository.documents import DocumentNumbers, DocumentRow
from saraban.documents.core.service.cancellation import CancelOnlyDraft, WithdrawRevisionFirst, cancel, cancel_held
from saraban.documents.core.service.checks import (
    DocumentDraft,
    SentToSelf,
    check_due,
    check_party,
    contract_of,
    originator_of,
)
from saraban.documents.core.service.creation import create
from saraban.documents.core.service.document_change import (
    DocumentAct,
    DocumentChanged,
    DocumentIsCancelled,
    check_version,
    hold_current,
    receipt_of,
    record,
)
from saraban.documents.core.service.document_details import PermittedActions, history, list_revisions, permitted_actions
from saraban.documents.core.service.draft_changes import DocumentAlreadyIssued, NotADraft, NumberAlreadyIssued, edit
from saraban.documents.core.service.kind import AnyKind, DocumentKind, DocumentServices, Follower, ReachedState
from saraban.documents.core.service.presentation import (
    coded,
    etag,
    file_answer,
    number_format,
    organization,
    person,
    reference,
    show,
)
from saraban.documents.core.service.queries import (
    DocumentSearch,
    document_files,
    known_to,
    listing,
    not_in_list,
    read,
    step_files,
    visible,
)
from saraban.documents.core.service.renumbering import RENUMBERS, renumber
from saraban.documents.core.service.revisioned_kind import RevisionedKind
from saraban.documents.core.service.revisions import (
    NoDraftRevision,
    RevisionPending,
    revise,
    withdraw_revision,
)
from saraban.documents.core.service.workflow_subject import DocumentSubject, ids_of

DOCUMENT_NUMBERS = DocumentNumbers(Document, Document.correspondence_number)

__all__ = [
    "DOCUMENT_NUMBERS",
    "RENUMBERS",
    "AnyKind",
    "CancelOnlyDraft",
    "DocumentAct",
    "DocumentAlreadyIssued",
    "DocumentChanged",
    "DocumentDraft",
    "DocumentIsCancelled",
    "DocumentKind",
    "DocumentNumbers",
    "DocumentRow",
    "DocumentSearch",
    "DocumentServices",
    "DocumentSubject",
    "Follower",
    "NoDraftRevision",
    "NotADraft",
    "NumberAlreadyIssued",
    "PermittedActions",
    "ReachedState",
    "RevisionPending",
    "RevisionedKind",
    "SentToSelf",
    "WithdrawRevisionFirst",
    "cancel",
    "cancel_held",
    "check_due",
    "check_party",
    "check_version",
    "coded",
    "contract_of",
    "create",
    "document_files",
    "edit",
    "etag",
    "file_answer",
    "history",
    "hold_current",
    "ids_of",
    "known_to",
    "list_revisions",
    "listing",
    "not_in_list",
    "number_format",
    "organization",
    "originator_of",
    "permitted_actions",
    "person",
    "read",
    "receipt_of",
    "record",
    "reference",
    "renumber",
    "revise",
    "show",
    "step_files",
    "visible",
    "withdraw_revision",
]
