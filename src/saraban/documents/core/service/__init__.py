"""Documents of every kind, as the rest of the product sees them; a subtype hands its `Register` to these verbs."""

from collections.abc import Sequence

from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.cancelling import CancelOnlyDraft, WithdrawRevisionFirst, cancel
from saraban.documents.core.service.carrying import CARRIED, CarriedNumbers
from saraban.documents.core.service.checking import (
    SentToSelf,
    Sheet,
    check_due,
    check_party,
    contract_of,
    originator_of,
    prepare,
)
from saraban.documents.core.service.creating import Complete, create
from saraban.documents.core.service.editing import (
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
from saraban.documents.core.service.numbered import Order, issue
from saraban.documents.core.service.offers import Offers, offers
from saraban.documents.core.service.presenting import (
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
from saraban.documents.core.service.reading import (
    Search,
    find,
    known_to,
    listing,
    read,
    revisions,
    visible,
)
from saraban.documents.core.service.register import Follower, Reached, Register
from saraban.documents.core.service.relations import AlreadyIssued, NumberAlreadyDrawn
from saraban.documents.core.service.renumbering import RENUMBERS, Renumbering, numbered_anew, renumber, replaced
from saraban.documents.core.service.subject import DocumentSubject, ids_of
from saraban.documents.core.service.withdrawing import NoDraftRevision, withdraw_revision

Followers = Sequence[Follower]

__all__ = [
    "CARRIED",
    "RENUMBERS",
    "AlreadyIssued",
    "CancelOnlyDraft",
    "CarriedNumbers",
    "Complete",
    "DocumentChanged",
    "DocumentIsCancelled",
    "DocumentRow",
    "DocumentSubject",
    "Follower",
    "Followers",
    "NoDraftRevision",
    "NotADraft",
    "NumberAlreadyDrawn",
    "Offers",
    "Order",
    "Reached",
    "Register",
    "Renumbering",
    "RevisionPending",
    "Search",
    "SentToSelf",
    "Sheet",
    "WithdrawRevisionFirst",
    "cancel",
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
    "offers",
    "organization",
    "originator_of",
    "person",
    "prepare",
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
