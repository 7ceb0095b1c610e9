"""Responses from rows of drawings."""

from collections.abc import Sequence

from saraban.documents.core import service as core
from saraban.documents.core.schemas import CodeAnswer, ContractAnswer, OrganizationAnswer, ProjectAnswer
from saraban.documents.drawing.domain import DrawingKind
from saraban.documents.drawing.repository.registers import DrawingRow, LinkedDrawingFile
from saraban.documents.drawing.schemas import DrawingFileAnswer, DrawingRevisionAnswer, DrawingSummary, TagAnswer
from saraban.projects.models import Tag


def summary(kind: DrawingKind, row: DrawingRow, tags: Sequence[Tag] = ()) -> DrawingSummary:
    head, contract, originator, discipline = row.head, row.contract, row.originator, row.discipline
    return DrawingSummary(
        public_id=head.public_id,
        kind=kind.path,
        drawing_number=row.number,
        project=ProjectAnswer.model_validate(row.project),
        contract=ContractAnswer.model_validate(contract) if contract else None,
        originator=OrganizationAnswer.model_validate(originator) if originator else None,
        discipline=discipline
        and core.coded(discipline.discipline_code, discipline.code_name_en, discipline.code_name_th),
        category=_code_answer(row, "category"),
        sub_category=_code_answer(row, "sub_category"),
        volume=_code_answer(row, "volume"),
        volume_page=row.named.get("volume_page"),
        scale=head.scale,
        sheet_size=head.sheet_size,
        zone=head.zone,
        tags=[tag_answer(tag) for tag in tags],
        revision=revision_answer(row),
    )


def tag_answer(row: Tag) -> TagAnswer:
    named = core.coded(row.tag_code, row.tag_name_en, row.tag_name)
    return TagAnswer(**named.model_dump(), color=row.color_code)


def _code_answer(row: DrawingRow, name: str) -> CodeAnswer | None:
    if row.named.get(name) is None:
        return None
    return core.coded(row.named[name], row.named[f"{name}_name_en"], row.named[f"{name}_name"])


def revision_answer(row: DrawingRow) -> DrawingRevisionAnswer:
    return DrawingRevisionAnswer(
        public_id=row.revision.public_id,
        revision_label=row.revision.revision_label,
        revision_number=row.revision.revision_number,
        is_current=bool(row.revision.is_current),
        revision_date=row.revision.revision_date,
        title=row.revision.title,
        title_en=row.revision.title_en,
        status_code=row.revision.status_code,
        response_code=_code_answer(row, "response"),
        current_from=row.revision.current_from,
        current_until=row.revision.current_until,
    )


def file_shown(file: LinkedDrawingFile) -> DrawingFileAnswer:
    answer = core.file_answer(file.attachment, is_main=file.is_main)
    return DrawingFileAnswer(**answer.model_dump(), file_type=file.file_type)
