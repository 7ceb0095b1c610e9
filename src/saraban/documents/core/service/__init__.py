"""Documents of every kind, as the rest of the product sees them; a subtype hands its `Register` to these verbs."""

from collections.abc import Sequence

from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.cancellation import CancelOnlyDraft, WithdrawRevisionFirst, cancel
from saraban.documents.core.service.carrying import CARRIED, DocumentNumbers
from saraban.documents.core.service.checks import (
    DocumentDraft,
    SentToSelf,
    check,
    check_due,
    check_party,
    contract_of,
    originator_of,
)
from saraban.documents.core.service.creation import Complete, create
from saraban.documents.core.service.draft_changes import (
    DocumentChanged,
    DocumentIsCancelled,
    NotADraft,
    RevisionPending,
    check_version,
    edit,
    revise,
)
from saraban.documents.core.service.files import document_files, step_files
from saraban.documents.core.service.history import history, merged
from saraban.documents.core.service.kind import DocumentKind, Follower, ReachedState
from saraban.documents.core.service.numbered import Order, issue
from saraban.documents.core.service.offers import PermittedActions, permitted_actions
from saraban.documents.core.service.presentation import (
    coded,
    day_of,
    etag,
    file_answer,
    number_format,
    organization,
    person,
    reach,
    reference,
)
from saraban.documents.core.service.queries import DocumentSearch, find, known_to, listing, read, revisions, visible
from saraban.documents.core.service.relations import DocumentAlreadyIssued, NumberAlreadyIssued
from saraban.documents.core.service.renumbering import RENUMBERS, Renumbering, numbered_anew, renumber, replaced
from saraban.documents.core.service.revisions import NoDraftRevision, withdraw_revision
from saraban.documents.core.service.workflow_subject import DocumentSubject, ids_of

Followers = Sequence[Follower]

__all__ = [
    "CARRIED",
    "RENUMBERS",
    "CancelOnlyDraft",
    "Complete",
    "DocumentAlreadyIssued",
    "DocumentChanged",
    "DocumentDraft",
    "DocumentIsCancelled",
    "DocumentKind",
    "DocumentNumbers",
    "DocumentRow",
    "DocumentSearch",
    "DocumentSubject",
    "Follower",
    "Followers",
    "NoDraftRevision",
    "NotADraft",
    "NumberAlreadyIssued",
    "Order",
    "PermittedActions",
    "ReachedState",
    "Renumbering",
    "RevisionPending",
    "SentToSelf",
    "WithdrawRevisionFirst",
    "cancel",
    "check",
    "check_due",
    "check_party",
    "check_version",
    "coded",
    "contract_of",
    "create",
    "day_of",
    "document_files",
    "edit",
    "etag",
    "file_answer",
    "find",
    "history",
    "ids_of",
    "issue",
    "known_to",
    "listing",
    "merged",
    "number_format",
    "numbered_anew",
    "organization",
    "originator_of",
    "permitted_actions",
    "person",
    "reach",
    "read",
    "reference",
    "renumber",
    "replaced",
    "revise",
    "revisions",
    "step_files",
    "visible",
    "withdraw_revision",
]
