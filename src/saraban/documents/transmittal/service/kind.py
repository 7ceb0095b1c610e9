"""Transmittals: the shared verbs, with a purpose and a list of documents that have left their draft."""

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
    """A transmittal carries only what has been submitted (EC-RFA-004)."""

    kind, code = ErrorKind.INVALID, "TRANSMITTAL_ITEM_DRAFT"
    says = Text("{number} ยังอยู่ใน Draft กรุณา Submit ก่อน", "{number} is still a draft. Submit it first.")
    recovery = (CHECK_INPUT, Text("Submit เอกสารในรายการก่อน", "Submit the listed documents first."))


class ItemIsCancelled(Invalid):
    """A transmittal carries nothing that has been cancelled."""

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
        """
        :raises ItemIsDraft: naming the document that has not been submitted yet
        :raises ItemIsCancelled: naming the document that is none any more
        """
        _require_any(new.items, new.drawing_revision_public_ids)
        asked = new.drawing_revision_public_ids
        return _Checked(
            await _check_items(ctx, session, project=new.project_public_id, asked=new.items),
            await drawings.check_carried(ctx, session, project_id=project_id, asked=asked) if asked else [],
        )

    async def insert_own(
        self, _ctx: RequestContext, session: AsyncSession, draft: core.DocumentDraft, rows: core.NewRows
    ) -> None:
        order, checked = cast("NewTransmittal", draft.order), cast("_Checked", draft.own)
        row = {"correspondence_id": rows.document, "purpose": order.purpose, "remarks": order.remarks}
        await repository.create(session, row, _listed(rows.document, rows.revision, checked.items))
        await drawings.add_carried(session, TransmittalDrawing, rows.revision, checked.drawings)

    async def insert_own_revision(self, session: AsyncSession, revision: DocumentRevision, *, before: int) -> None:
        await repository.copy_items(session, before=before, revision_id=revision.id)
        await drawings.copy_carried(session, TransmittalDrawing, before=before, key=revision.id)

    async def in_list(self, session: AsyncSession, rows: Sequence[core.DocumentRow], _reach: Reach) -> core.OwnFields:
        found = await repository.purposes(session, document_ids={row.document.id for row in rows})
        return {row.revision.id: {"purpose": found.get(row.document.id)} for row in rows}

    async def in_full(self, session: AsyncSession, rows: Sequence[core.DocumentRow], reach: Reach) -> core.OwnFields:
        fields = await self.in_list(session, rows, reach)
        sent = await _with_statuses(session, await repository.transmitted(session, revision_ids=list(fields)), reach)
        drawn = await drawings.carried_answers(session, TransmittalDrawing, list(fields))
        return {
            key: {**more, "items": sent.get(key, []), "drawings": drawn.get(key, [])} for key, more in fields.items()
        }

    async def own_statuses(self, session: AsyncSession, revision_id: int, reached: core.ReachedState) -> None:
        if reached.issued:
            await _issue_items(session, revision_id)
            await _issue_drawings(session, revision_id)

    async def change_own(
        self, ctx: RequestContext, session: AsyncSession, row: core.DocumentRow, changes: DocumentChanges
    ) -> Mapping[str, tuple[object, object]]:
        assert isinstance(changes, TransmittalChanges)  # the register says so
        noted: dict[str, tuple[object, object]] = {}
        for name in ("purpose", "items", "drawing_revision_public_ids"):
            if name in changes.model_fields_set and getattr(changes, name) is None:
                raise required(f"/{to_camel(name)}")
        if changes.purpose is not None:
            noted["purpose"] = (
                (await repository.purposes(session, document_ids={row.document.id}))[row.document.id],
                changes.purpose,
            )
            await repository.change(session, document_id=row.document.id, purpose=changes.purpose)
        if changes.items is not None:
            noted["items"] = await _change_items(ctx, session, row, changes.items)
        if changes.drawing_revision_public_ids is not None:
            noted["drawings"] = await _change_drawings(ctx, session, row, changes.drawing_revision_public_ids)
        key = row.revision.id
        if noted.keys() & {"items", "drawings"}:
            carried = await repository.transmitted(session, revision_ids=[key])
            _require_any(carried.get(key, ()), await drawings.carried_ids(session, TransmittalDrawing, key))
        return noted


async def _with_statuses(
    session: AsyncSession, sent: Mapping[int, Sequence[ItemAnswer]], reach: Reach
) -> dict[int, list[ItemAnswer]]:
    """Say how each document stands now, to who may see it: what goes along together may come back apart (EC-RFA-004)."""
    named = {one.document_public_id for carried in sent.values() for one in carried}
    found = await core.statuses(session, reach, named) if named else {}
    return {
        key: [one.model_copy(update={"status": found.get(one.document_public_id)}) for one in carried]
        for key, carried in sent.items()
    }


def _require_any(items: Sequence[object], carried: Sequence[object]) -> None:
    if not items and not carried:
        raise required("/items")


async def _issue_items(session: AsyncSession, revision_id: int) -> None:
    """Check what is issued, and write it down: each document at the revision it has reached by then."""
    items = await repository.item_states(session, revision_id=revision_id)
    organization, author = await repository.issuer(session, revision_id=revision_id)
    seen = await core.known_to(
        session,
        organization_id=organization,
        author=author,
        public_ids=[item.public_id for item in items],
    )
    for place, item in enumerate(items):
        if item.public_id not in seen:
            raise _unknown(place)
        _check_standing(place, item.number, draft=item.issued_revision_id is None, cancelled=item.cancelled_at)
        await repository.fix(session, item)


async def _issue_drawings(session: AsyncSession, revision_id: int) -> None:
    """Write down what each drawing says of itself when it goes along."""
    said = [
        {
            "item": row.item_id,
            "drawing_number": one.number,
            "revision_label": one.label,
            "title": one.title,
            "title_en": one.title_en,
        }
        for row, one in await drawings.carried_drawings(session, TransmittalDrawing, [revision_id])
    ]
    await repository.fix_drawings(session, said)


def _unknown(place: int) -> Invalid:
    pointer = f"/items/{place}/documentPublicId"
    return invalid(pointer, "unknown", "ไม่พบเอกสารนี้ในโครงการ", "The document is not in this project.")


def _check_standing(place: int, number: str, *, draft: bool, cancelled: datetime | None) -> None:
    values = {"number": number}
    if cancelled is not None:
        fault = FieldProblem(f"/items/{place}", "cancelled", ItemIsCancelled.says, values)
        raise ItemIsCancelled(values=values, fields=[fault])
    if draft:
        raise ItemIsDraft(values=values, fields=[FieldProblem(f"/items/{place}", "draft", ItemIsDraft.says, values)])


async def _change_items(
    ctx: RequestContext, session: AsyncSession, row: core.DocumentRow, asked: Sequence[TransmittedItem]
) -> tuple[object, object]:
    """
    :raises DocumentAlreadyIssued: what went with this revision stays what it was, also where its workflow led back to an edit
    """
    carried = await repository.transmitted(session, revision_ids=[row.revision.id])
    before = [
        f"{one.quantity} {one.document_public_id} {one.remarks or ''}".rstrip()
        for one in carried.get(row.revision.id, ())
    ]
    after = [f"{one.quantity} {one.document_public_id} {one.remarks or ''}".rstrip() for one in asked]
    if before != after:
        if row.revision.issued_date is not None:
            raise core.DocumentAlreadyIssued(fields=[FieldProblem("/items", "issued", core.DocumentAlreadyIssued.says)])
        items = await _check_items(ctx, session, project=row.project.public_id, asked=asked)
        await repository.replace_items(
            session, revision_id=row.revision.id, items=_listed(row.document.id, row.revision.id, items)
        )
    return before, after


async def _change_drawings(
    ctx: RequestContext, session: AsyncSession, row: core.DocumentRow, asked: Sequence[UUID]
) -> tuple[object, object]:
    """
    :raises DocumentAlreadyIssued: as with documents
    """
    key = row.revision.id
    stood = await drawings.carried_ids(session, TransmittalDrawing, key)
    if stood != asked:
        if row.revision.issued_date is not None:
            says = core.DocumentAlreadyIssued.says
            raise core.DocumentAlreadyIssued(fields=[FieldProblem(drawings.POINTER, "issued", says)])
        checked = await drawings.check_carried(ctx, session, project_id=row.project.id, asked=asked)
        await drawings.replace_carried(session, TransmittalDrawing, key, checked)
    return [str(one) for one in stood], [str(one) for one in asked]


async def _check_items(
    ctx: RequestContext, session: AsyncSession, *, project: UUID, asked: Sequence[TransmittedItem]
) -> _Items:
    rows = await core.visible(ctx, session, public_ids=[item.document_public_id for item in asked])
    found: _Items = []
    named: set[UUID] = set()
    for place, item in enumerate(asked):
        pointer = f"/items/{place}"
        row = rows.get(item.document_public_id)
        if row is None or row.project.public_id != project:
            raise _unknown(place)
        if item.document_public_id in named:
            raise invalid(pointer, "duplicate", "ระบุเอกสารนี้ซ้ำ", "This document is listed twice.")
        draft = row.revision.issued_date is None
        _check_standing(place, row.revision.correspondence_number, draft=draft, cancelled=row.document.cancelled_at)
        named.add(item.document_public_id)
        found.append((row, item))
    return found


def _listed(document: int, revision: int, items: _Items) -> list[dict[str, object]]:
    return [
        {
            "transmittal_id": document,
            "transmittal_revision_id": revision,
            "item_correspondence_id": carries.document.id,
            "item_revision_id": carries.revision.id,
            "quantity": item.quantity,
            "remarks": item.remarks,
        }
        for carries, item in items
    ]


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Say whether a file hangs on a drawing revision that a transmittal carries which the caller sees."""
    revisions = await drawings.carriers_of_file(session, TransmittalDrawing, attachment_id)
    return bool(await core.readable_revisions(ctx, session, revisions))


TRANSMITTAL = TransmittalKind()
