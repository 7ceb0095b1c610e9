from saraban.documents.drawing.domain import KINDS
from saraban.documents.drawing.repository.carried import add as add_carried
from saraban.documents.drawing.repository.imports import count_drawings, link_revisions
from saraban.documents.drawing.repository.registers import revisions_with_file as revisions_of_file
from saraban.documents.drawing.repository.revisions import SeenRevision, revisions_by_key
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.service.approval import (
    DrawingSubject,
    unfinished_approvals,
)
from saraban.documents.drawing.service.carried import (
    POINTER,
    Carried,
    carried_answers,
    carried_drawings,
    carried_ids,
    carriers_of_file,
    check_carried,
    copy_carried,
    replace_carried,
)
from saraban.documents.drawing.service.corrections import correctable
from saraban.documents.drawing.service.register_export import write_sheet, write_zip
from saraban.documents.drawing.service.register_import import (
    DRAWING_IMPORTERS,
    DrawingImporter,
    create_codes,
)
from saraban.documents.drawing.service.registers import (
    classifications,
    list_drawings,
    list_items,
    list_numbers,
    list_revisions,
    open_tags,
    read,
    readers_of,
    reads_file,
    steps_taken,
)
from saraban.documents.drawing.service.registration import (
    DrawingChanged,
    change,
    correct,
    create,
    register,
    revise,
    start_approval,
    warnings,
)
from saraban.documents.drawing.service.revisions import (
    DrawingOfFile,
    NumberedRevision,
    current_by_number,
    current_revisions,
    drawing_of_file,
    hold_revisions,
    revision_files,
    revisions_by_number,
    visible_revisions,
)
from saraban.numbering import service as numbering

DRAWING_NUMBERS = [
    numbering.NumberedDocuments(tables.head, tables.number, tables.head.deleted_at)
    for tables in map(tables_of, KINDS.values())
]
