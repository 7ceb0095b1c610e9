"""Columns of one revision of a document and of the rows around it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import accumulate
from typing import Any, NamedTuple, Self
from uuid import UUID

import sqlalchemy as sa

from saraban.documents.core.models import Document, DocumentReference, DocumentRevision, DocumentRevisionAttachment
from saraban.identity.models import Organization, User, UserName
from saraban.kit.db import AnySelect, table_of
from saraban.numbering.series.models import FORMAT_COLUMNS, LedgerEntry, NumberFormat
from saraban.projects.models import (
    Contract,
    CorrespondenceStatus,
    CorrespondenceSubType,
    CorrespondenceType,
    Discipline,
    Project,
)


class DocumentHead(NamedTuple):
    id: int
    public_id: UUID
    number_uuid: UUID | None
    project_id: int
    contract_id: int | None
    originator_id: int
    created_at: datetime
    cancelled_at: datetime | None


class RevisionRow(NamedTuple):
    id: int
    public_id: UUID
    correspondence_number: str
    revision_number: int
    revision_label: str
    is_current: bool
    subject: str
    priority: str
    document_date: date | None
    due_date: datetime | None
    issued_date: datetime | None
    withdrawn_at: datetime | None
    created_by: int
    version: int

    @classmethod
    def of(cls, revision: DocumentRevision) -> Self:
        return cls._make(getattr(revision, name) for name in cls._fields)


class ProjectName(NamedTuple):
    id: int
    public_id: UUID
    project_code: str
    project_name: str


class OrganizationName(NamedTuple):
    """A workflow reads the code without the names."""

    id: int
    public_id: UUID
    organization_code: str
    organization_name: str = ""
    organization_name_en: str | None = None


class StatusName(NamedTuple):
    status_code: str
    status_name: str
    status_name_en: str | None


class ContractName(NamedTuple):
    public_id: UUID
    contract_code: str
    contract_name: str
    contract_name_en: str | None


class DisciplineName(NamedTuple):
    discipline_code: str
    code_name_th: str | None
    code_name_en: str | None


class SubTypeName(NamedTuple):
    sub_type_code: str
    sub_type_name: str | None
    sub_type_name_en: str | None


class DocumentTexts(NamedTuple):
    """:param number_format: the values of `FORMAT_COLUMNS`, None without a number"""

    body: str | None
    description: str | None
    remarks: str | None
    sender_number: str | None
    sender_date: date | None
    received_date: datetime | None
    cancel_reason: str | None
    revised_at: datetime
    has_files: bool
    has_references: bool
    reviser: UserName
    canceller: UserName | None
    number_format: Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """:param whole: None in a register"""

    document: DocumentHead
    revision: RevisionRow
    type_code: str
    project: ProjectName
    originator: OrganizationName
    status: StatusName
    author: UserName
    contract: ContractName | None
    discipline: DisciplineName | None
    sub_type: SubTypeName | None
    whole: DocumentTexts | None = None

    @classmethod
    def read(cls, values: Sequence[Any]) -> "DocumentRow":
        """Build a row from the columns of `summary_select` or `whole_select`."""
        head, revision, project, originator, status, author, *rest = [
            part(*values[start:end]) for part, start, end in _PLACES
        ]
        # An optional part exists if its first column is set.
        contract, discipline, sub_type = [None if part[0] is None else part for part in rest]
        texts = _texts(values[_WIDTH:]) if len(values) > _WIDTH else None
        type_code = values[_WIDTH - 1]
        return cls(
            head, revision, type_code, project, originator, status, author, contract, discipline, sub_type, texts
        )

    @property
    def texts(self) -> DocumentTexts:
        assert self.whole is not None  # it was read by itself
        return self.whole

    @property
    def public_id(self) -> UUID:
        return self.document.public_id

    @property
    def entity_id(self) -> str:
        return str(self.revision.public_id)

    @property
    def number(self) -> str:
        return self.revision.correspondence_number

    @property
    def number_uuid(self) -> UUID | None:
        return self.document.number_uuid

    @property
    def revision_label(self) -> str | None:
        return self.revision.revision_label

    @property
    def subject(self) -> str:
        return self.revision.subject

    @property
    def cancelled_at(self) -> datetime | None:
        return self.document.cancelled_at

    @property
    def version(self) -> int:
        return self.revision.version


_PARTS: Sequence[tuple[Any, Any]] = (
    (DocumentHead, Document),
    (RevisionRow, DocumentRevision),
    (ProjectName, Project),
    (OrganizationName, Organization),
    (StatusName, CorrespondenceStatus),
    (UserName, User),
    (ContractName, Contract),
    (DisciplineName, Discipline),
    (SubTypeName, CorrespondenceSubType),
)


_ENDS = list(accumulate(len(part._fields) for part, _ in _PARTS))
_PLACES = [(part, end - len(part._fields), end) for (part, _), end in zip(_PARTS, _ENDS, strict=True)]
# Columns of tables, not of classes: of rows as wide as these they are read in half the time.
_head, _revision, _project, _organization, _status, _user, _contract, _discipline, _sub_type = (
    table_of(mapped) for _, mapped in _PARTS
)
_type = table_of(CorrespondenceType)
_SUMMARY = [
    *(sa.inspect(mapped).columns[name] for part, mapped in _PARTS for name in part._fields),
    _type.c.type_code,
]
_WIDTH = len(_SUMMARY)
_link, _reference = table_of(DocumentRevisionAttachment).c, table_of(DocumentReference).c
_number, _format = table_of(LedgerEntry), table_of(NumberFormat)
_reviser, _canceller = _user.alias("reviser"), _user.alias("canceller")
_NAME = [User.__mapper__.columns[name].name for name in UserName._fields]
_TEXTS = [
    *(_revision.c[name] for name in DocumentTexts._fields[:6]),
    _head.c.cancel_reason,
    _revision.c.created_at,
    sa.exists().where(_link.correspondence_revision_id == _revision.c.id),
    sa.or_(
        sa.exists().where(_reference.src_correspondence_id == _head.c.id),
        sa.exists().where(_reference.tgt_correspondence_id == _head.c.id),
    ),
    *(person.c[name] for person in (_reviser, _canceller) for name in _NAME),
    *FORMAT_COLUMNS,
]


def _texts(values: Sequence[Any]) -> DocumentTexts:
    reviser, canceller, number_format = UserName._make(values[10:14]), UserName._make(values[14:18]), values[18:]
    canceller_name = canceller if canceller.public_id is not None else None
    return DocumentTexts._make(
        (*values[:10], reviser, canceller_name, None if number_format[0] is None else number_format)
    )


def summary_select() -> AnySelect:
    """Select the columns that registers show; `DocumentRow.read` reads them."""
    return (
        sa.select(*_SUMMARY)
        .select_from(_revision)
        .join(_head, _head.c.id == _revision.c.correspondence_id)
        .join(_type, _type.c.id == _head.c.correspondence_type_id)
        .join(_project, _project.c.id == _head.c.project_id)
        .join(_organization, _organization.c.id == _head.c.originator_id)
        .join(_status, _status.c.id == _revision.c.correspondence_status_id)
        .join(_user, _user.c.user_id == _head.c.created_by)
        .outerjoin(_contract, _contract.c.id == _head.c.contract_id)
        .outerjoin(_discipline, _discipline.c.id == _head.c.discipline_id)
        .outerjoin(_sub_type, _sub_type.c.id == _head.c.sub_type_id)
        .where(_head.c.deleted_at.is_(None))
    )


def whole_select() -> AnySelect:
    return (
        summary_select()
        .add_columns(*_TEXTS)
        .join(_reviser, _reviser.c.user_id == _revision.c.created_by)
        .outerjoin(_canceller, _canceller.c.user_id == _head.c.cancelled_by)
        .outerjoin(_number, _number.c.uuid == _head.c.number_uuid)
        .outerjoin(_format, _format.c.uuid == _number.c.format_uuid)
    )
