"""Transmittals: documents with a purpose and a list of issued documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from pydantic.alias_generators import to_camel
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.domain import KindRules, Reach, RegisterCode
from saraban.documents.core.models import DocumentRevision
from saraban.documents.core.schemas import DocumentChanges
from saraban.documents.drawing import service as drawings
from saraban.documents.transmittal import repository
from saraban.documents.transmittal.models import TransmittalDrawing
from saraban.documents.transmittal.schemas import (
    ItemAnswer,
    NewTransmittal,
    TransmittalAnswer,
    TransmittalChanges,
    TransmittalRevision,
    TransmittalSummary,
    TransmittedItem,
)
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import CHECK_INPUT, ErrorKind, FieldProblem, Invalid, Text, invalid, required

TRANSMITTAL_RULES = KindRules(
    name="transmittal",
    register=RegisterCode.TRANSMITTAL,
    path="transmittals",
    entity_type="transmittal_revision",
    type_codes=frozenset({"TRANSMITTAL"}),
    statuses={
        "draft": "DRAFT",
        "submitted": "SUBMITTED",
        "completed": "CLB*",
        "returned": "REP*",
        "cancelled": "CANCELLED",
        "terminated": "TERMINATED",
    },
    create="transmittal.create",
    edit="transmittal.edit",
    finished=frozenset({"completed", "returned", "cancelled", "terminated"}),
    sent="SUBMITTED",
    closes="CLB*",
)


_Items = list[tuple[core.DocumentRow, TransmittedItem]]


@dataclass(frozen=True, slots=True)
class _Checked:
    items: _Items
    drawings: drawings.Carried


class ItemIsDraft(Invalid):
    """A transmittal contains only submitted documents (EC-RFA-004)."""

    kind, code = ErrorKind.INVALID, "TRANSMITTAL_ITEM_DRAFT"
    says = Text("{number} ยังอยู่ใน Draft กรุณา Submit ก่อน", "{number} is still a draft. Submit it first.")
    recovery = (CHECK_INPUT, Text("Submit เอกสารในรายการก่อน", "Submit the listed documents first."))


class ItemIsCancelled(Invalid):
    """A transmittal cannot contain a cancelled document."""

    kind, code = ErrorKind.INVALID, "TRANSMITTAL_ITEM_CANCELLED"
    says = Text("{number} ถูกยกเลิกแล้ว จึงนำส่งไม่ได้", "{number} has been cancelled and cannot be transmitted.")
    recovery = (CHECK_INPUT, Text("นำเอกสารที่ถูกยกเลิกออกจากรายการ", "Remove the cancelled document from the list."))


class TransmittalKind(core.RevisionedKind):
    rules = TRANSMITTAL_RULES
    new, changes = NewTransmittal, TransmittalChanges
    summary, full = TransmittalSummary, TransmittalAnswer
    revision = TransmittalRevision

    def type_codes(self, _new: NewTransmittal) -> tuple[str, str | None]:
        return "TRANSMITTAL", None

    async def check_own(
        self, ctx: RequestContext, session: AsyncSession, new: NewTransmittal, project_id: int
    ) -> _Checked:
        """:raises ItemIsDraft, ItemIsCancelled:"""
        _require_any(new.items, new.drawing_revision_public_ids)
        revisions = new.drawing_revision_public_ids
        return _Checked(
            await _check_items(ctx, session, project=new.project_public_id, requested=new.items),
            await drawings.check_carried(ctx, session, project_id=project_id, asked=revisions) if revisions else [],
        )

    async def insert_own(
        self, _ctx: RequestContext, session: AsyncSession, draft: core.DocumentDraft, rows: core.NewRows
    ) -> None:
        order, checked = cast("NewTransmittal", draft.order), cast("_Checked", draft.own)
        row = {"correspondence_id": rows.document, "purpose": order.purpose, "remarks": order.remarks}
        await repository.create(session, row, _item_rows(rows.document, rows.revision, checked.items))
        await drawings.add_carried(session, TransmittalDrawing, rows.revision, checked.drawings)

    async def insert_own_revision(self, session: AsyncSession, revision: DocumentRevision, *, before: int) -> None:
        await repository.copy_items(session, before=before, revision_id=revision.id)
        await drawings.copy_carried(session, TransmittalDrawing, before=before, key=revision.id)

    async def in_list(self, session: AsyncSession, rows: Sequence[core.DocumentRow], _reach: Reach) -> core.OwnFields:
        purposes = await repository.purposes(session, document_ids={row.document.id for row in rows})
        return {row.revision.id: {"purpose": purposes.get(row.document.id)} for row in rows}

    async def in_full(self, session: AsyncSession, rows: Sequence[core.DocumentRow], reach: Reach) -> core.OwnFields:
        fields = await self.in_list(session, rows, reach)
        items = await _add_statuses(session, await repository.list_items(session, revision_ids=list(fields)), reach)
        carried = await drawings.carried_answers(session, TransmittalDrawing, list(fields))
        return {
            key: {**values, "items": items.get(key, []), "drawings": carried.get(key, [])}
            for key, values in fields.items()
        }

    async def own_statuses(self, session: AsyncSession, revision_id: int, reached: core.ReachedState) -> None:
        if reached.issued:
            await _issue_items(session, revision_id)
            await _issue_drawings(session, revision_id)

    async def change_own(
        self, ctx: RequestContext, session: AsyncSession, row: core.DocumentRow, changes: DocumentChanges
    ) -> Mapping[str, tuple[object, object]]:
        assert isinstance(changes, TransmittalChanges)
        changed: dict[str, tuple[object, object]] = {}
        for name in ("purpose", "items", "drawing_revision_public_ids"):
            if name in changes.model_fields_set and getattr(changes, name) is None:
                raise required(f"/{to_camel(name)}")
        if changes.purpose is not None:
            changed["purpose"] = (
                (await repository.purposes(session, document_ids={row.document.id}))[row.document.id],
                changes.purpose,
            )
            await repository.change(session, document_id=row.document.id, purpose=changes.purpose)
        if changes.items is not None:
            changed["items"] = await _change_items(ctx, session, row, changes.items)
        if changes.drawing_revision_public_ids is not None:
            changed["drawings"] = await _change_drawings(ctx, session, row, changes.drawing_revision_public_ids)
        key = row.revision.id
        if changed.keys() & {"items", "drawings"}:
            items = await repository.list_items(session, revision_ids=[key])
            _require_any(items.get(key, ()), await drawings.carried_ids(session, TransmittalDrawing, key))
        return changed


async def _add_statuses(
    session: AsyncSession, items_by_revision: Mapping[int, Sequence[ItemAnswer]], reach: Reach
) -> dict[int, list[ItemAnswer]]:
    """Add the current status of documents that the reader can see (EC-RFA-004)."""
    public_ids = {item.document_public_id for items in items_by_revision.values() for item in items}
    statuses = await core.statuses(session, reach, public_ids) if public_ids else {}
    return {
        key: [item.model_copy(update={"status": statuses.get(item.document_public_id)}) for item in items]
        for key, items in items_by_revision.items()
    }


def _require_any(items: Sequence[object], carried: Sequence[object]) -> None:
    if not items and not carried:
        raise required("/items")


async def _issue_items(session: AsyncSession, revision_id: int) -> None:
    """Check the documents, and save each at its newest issued revision."""
    items = await repository.item_states(session, revision_id=revision_id)
    organization, author = await repository.issuer(session, revision_id=revision_id)
    visible = await core.known_to(
        session,
        organization_id=organization,
        author=author,
        public_ids=[item.public_id for item in items],
    )
    for index, item in enumerate(items):
        if item.public_id not in visible:
            raise _unknown_document(index)
        _check_status(index, item.number, draft=item.issued_revision_id is None, cancelled=item.cancelled_at)
        await repository.save_issued_item(session, item)


async def _issue_drawings(session: AsyncSession, revision_id: int) -> None:
    rows = [
        {
            "item": row.item_id,
            "drawing_number": drawing.number,
            "revision_label": drawing.label,
            "title": drawing.title,
            "title_en": drawing.title_en,
        }
        for row, drawing in await drawings.carried_drawings(session, TransmittalDrawing, [revision_id])
    ]
    await repository.save_issued_drawings(session, rows)


def _unknown_document(index: int) -> Invalid:
    pointer = f"/items/{index}/documentPublicId"
    return invalid(pointer, "unknown", "ไม่พบเอกสารนี้ในโครงการ", "The document is not in this project.")


def _check_status(index: int, number: str, *, draft: bool, cancelled: datetime | None) -> None:
    values = {"number": number}
    if cancelled is not None:
        fault = FieldProblem(f"/items/{index}", "cancelled", ItemIsCancelled.says, values)
        raise ItemIsCancelled(values=values, fields=[fault])
    if draft:
        raise ItemIsDraft(values=values, fields=[FieldProblem(f"/items/{index}", "draft", ItemIsDraft.says, values)])


async def _change_items(
    ctx: RequestContext, session: AsyncSession, row: core.DocumentRow, requested: Sequence[TransmittedItem]
) -> tuple[object, object]:
    """:raises DocumentAlreadyIssued: also when the workflow returned to an editable state"""
    current = await repository.list_items(session, revision_ids=[row.revision.id])
    before = [_describe(item) for item in current.get(row.revision.id, ())]
    after = [_describe(item) for item in requested]
    if before != after:
        if row.revision.issued_date is not None:
            raise core.DocumentAlreadyIssued(fields=[FieldProblem("/items", "issued", core.DocumentAlreadyIssued.says)])
        items = await _check_items(ctx, session, project=row.project.public_id, requested=requested)
        await repository.replace_items(
            session, revision_id=row.revision.id, items=_item_rows(row.document.id, row.revision.id, items)
        )
    return before, after


def _describe(item: ItemAnswer | TransmittedItem) -> str:
    return f"{item.quantity} {item.document_public_id} {item.remarks or ''}".rstrip()


async def _change_drawings(
    ctx: RequestContext, session: AsyncSession, row: core.DocumentRow, revisions: Sequence[UUID]
) -> tuple[object, object]:
    """:raises DocumentAlreadyIssued:"""
    key = row.revision.id
    current = await drawings.carried_ids(session, TransmittalDrawing, key)
    if current != revisions:
        if row.revision.issued_date is not None:
            message = core.DocumentAlreadyIssued.says
            raise core.DocumentAlreadyIssued(fields=[FieldProblem(drawings.POINTER, "issued", message)])
        checked = await drawings.check_carried(ctx, session, project_id=row.project.id, asked=revisions)
        await drawings.replace_carried(session, TransmittalDrawing, key, checked)
    return [*map(str, current)], [*map(str, revisions)]


async def _check_items(
    ctx: RequestContext, session: AsyncSession, *, project: UUID, requested: Sequence[TransmittedItem]
) -> _Items:
    rows = await core.visible(ctx, session, public_ids=[item.document_public_id for item in requested])
    checked: _Items = []
    public_ids: set[UUID] = set()
    for index, item in enumerate(requested):
        pointer = f"/items/{index}"
        row = rows.get(item.document_public_id)
        if row is None or row.project.public_id != project:
            raise _unknown_document(index)
        if item.document_public_id in public_ids:
            raise invalid(pointer, "duplicate", "ระบุเอกสารนี้ซ้ำ", "This document is listed twice.")
        is_draft = row.revision.issued_date is None
        _check_status(index, row.revision.correspondence_number, draft=is_draft, cancelled=row.document.cancelled_at)
        public_ids.add(item.document_public_id)
        checked.append((row, item))
    return checked


def _item_rows(document: int, revision: int, items: _Items) -> list[dict[str, object]]:
    return [
        {
            "transmittal_id": document,
            "transmittal_revision_id": revision,
            "item_correspondence_id": document_row.document.id,
            "item_revision_id": document_row.revision.id,
            "quantity": item.quantity,
            "remarks": item.remarks,
        }
        for document_row, item in items
    ]


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    revisions = await drawings.carriers_of_file(session, TransmittalDrawing, attachment_id)
    return bool(await core.readable_revisions(ctx, session, revisions))


TRANSMITTAL = TransmittalKind()
