from saraban.documents.core.domain import ReachedState, WrittenDocument
from saraban.documents.core.models import Document
from saraban.documents.core.repository.documents import pending_with as pending_documents
from saraban.documents.core.repository.reach import (
    OpenRow,
    ReachHeads,
    ReachIndex,
    open_rows,
    reach_of_documents,
    reach_of_sheets,
)
from saraban.documents.core.repository.register_filters import find_places, register_of_sheets
from saraban.documents.core.repository.rows import DocumentRow
from saraban.documents.core.schemas import RegisterQuery
from saraban.documents.core.service.cancellation import CancelOnlyDraft, cancel, cancel_held
from saraban.documents.core.service.document_change import (
    RENUMBERS,
    DocumentAct,
    DocumentChanged,
    create,
    hold_current,
    receipt_of,
    record,
    renumber,
    started_by,
)
from saraban.documents.core.service.draft_changes import DocumentAlreadyIssued, NotADraft, edit
from saraban.documents.core.service.drafts import DocumentDraft, NewRows, check_takes_part, plan_of, stated_originator
from saraban.documents.core.service.kind import (
    AnyKind,
    DocumentKind,
    DocumentServices,
    Facts,
    OwnFields,
    UnnumberedDraft,
)
from saraban.documents.core.service.presentation import (
    coded,
    file_answer,
    person,
    reference,
    status_answer,
)
from saraban.documents.core.service.queries import (
    DocumentReading,
    document_files,
    etag,
    history,
    known_to,
    list_revisions,
    listing,
    permitted_actions,
    read,
    read_whole,
    readable_revisions,
    show,
    statuses,
    visible,
)
from saraban.documents.core.service.reach_check import compare_reach
from saraban.documents.core.service.registers import (
    CountedPage,
    KindRegister,
    home_of,
    people_offered,
    read_page,
)
from saraban.documents.core.service.revisioned_kind import RevisionedKind
from saraban.documents.core.service.revisions import (
    NoDraftRevision,
    RevisionPending,
    revise,
    withdraw_revision,
)
from saraban.documents.core.service.warnings import file_warnings
from saraban.documents.core.service.workflow_subject import DocumentSubject, ids_of
from saraban.numbering.service import NumberedDocuments

DOCUMENT_NUMBERS = NumberedDocuments(Document, Document.correspondence_number)
