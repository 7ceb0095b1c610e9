"""Items of RFAs: drawing revisions and issued documents."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.schemas import CodeAnswer
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import ASBUILT, SHOP, DrawingKind
from saraban.documents.rfa import repository
from saraban.documents.rfa.domain import approved
from saraban.documents.rfa.repository import ItemKey, RfaItemRow
from saraban.documents.rfa.schemas import NewRfaItem, RfaItemAnswer, RfaOfDrawing
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text, invalid, unknown
from saraban.projects import service as projects
from saraban.workflow.language.subject import ItemResult

KINDS: Final[tuple[DrawingKind, ...]] = (SHOP, ASBUILT)


class DrawingRevisionInRfa(DomainError):
    """Another open RFA carries the drawing revision: one open RFA at a time may (EC-RFA-001)."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_REVISION_IN_RFA"
    says = Text(
        "{kind} Revision นี้มี RFA อยู่แล้ว{rfa}: {number}",
        "The {kind} revision of {number} is in an open RFA already{rfa}.",
    )
    recovery = (
        Text(
            "รอผลของ RFA นั้น หรือยกเลิก RFA ที่ยังเป็นฉบับร่าง", "Wait for that RFA's answer, or cancel it while it is a draft."
        ),
    )


class DrawingSuperseded(DomainError):
    """An RFA can only carry the current revision of a drawing (EC-RFA-002)."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_REVISION_SUPERSEDED"
    says = Text("{number} ฉบับ {revision} ไม่ใช่ฉบับปัจจุบัน", "Revision {revision} of {number} is not the current one.")
    recovery = (Text("เลือกฉบับปัจจุบันของแบบ", "Take the current revision of the drawing."),)


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """:param drawing: None for a document"""

    carries: ItemKey
    pointer: str
    number: str
    drawing: drawings.SeenRevision | None = None

    def refuse_for(self, organization: int) -> None:
        """:raises Invalid: if the drawing belongs to another organization"""
        if self.drawing is not None and self.drawing.originator_id not in {None, organization}:
            raise invalid(
                self.pointer,
                "not_yours",
                "{number} เป็นแบบของหน่วยงานอื่น",
                "{number} is a drawing of another organization.",
                number=self.number,
            )

    @property
    def superseded(self) -> DrawingSuperseded:
        values = {"number": self.number, "revision": (self.drawing and self.drawing.label) or ""}
        problem = FieldProblem(self.pointer, "superseded", DrawingSuperseded.says, values)
        return DrawingSuperseded(fields=[problem], values=values)


async def check(
    ctx: RequestContext, session: AsyncSession, *, project_id: int, requested: Sequence[NewRfaItem]
) -> list[CheckedItem]:
    """
    `hold` checks for claims of other RFAs.

    :raises Invalid, DrawingSuperseded:
    """
    checked: list[CheckedItem] = []
    if not requested:
        return checked
    revision_ids = {item.public_id for item in requested if item.drawing_revision_public_id}
    seen: dict[UUID, tuple[DrawingKind, drawings.SeenRevision]] = {}
    for kind in KINDS:
        if left := revision_ids - seen.keys():
            rows = await drawings.visible_revisions(ctx, session, kind, left, project_id=project_id)
            settings = await projects.drawing_settings(session, project_id=project_id, register=kind.path)
            if settings.own_workflow:
                _refuse_own_workflow(kind, requested, rows)
            seen |= {public_id: (kind, row) for public_id, row in rows.items()}
    document_ids = [item.document_public_id for item in requested if item.document_public_id]
    documents = await core.visible(ctx, session, public_ids=document_ids) if document_ids else {}
    listed: set[UUID] = set()
    for place, item in enumerate(requested):
        pointer, public_id = f"/items/{place}", item.public_id
        if public_id in listed:
            raise invalid(pointer, "duplicate", "ระบุรายการนี้ซ้ำ", "This item is listed twice.")
        listed.add(public_id)
        if item.document_public_id is not None:
            checked.append(_check_document(documents, project_id, public_id, pointer))
        else:
            checked.append(_check_drawing(seen.get(public_id), public_id, f"{pointer}/drawingRevisionPublicId"))
    return checked


def _refuse_own_workflow(kind: DrawingKind, requested: Sequence[NewRfaItem], seen: Collection[UUID]) -> None:
    """:raises Invalid: names the first drawing in `seen`"""
    for place, item in enumerate(requested):
        if item.public_id in seen:
            raise invalid(
                f"/items/{place}/drawingRevisionPublicId",
                "own_workflow",
                f"{kind.singular.th}ของโครงการนี้อนุมัติตามกระบวนงานของแต่ละฉบับ จึงใส่ใน RFA ไม่ได้",
                f"The {kind.singular.en}s of this project are approved by workflows of their own, not by RFAs.",
            )


def _check_document(rows: Mapping[UUID, core.DocumentRow], project_id: int, public_id: UUID, at: str) -> CheckedItem:
    pointer, row = f"{at}/documentPublicId", rows.get(public_id)
    if row is None or row.document.project_id != project_id:
        raise unknown(pointer, str(public_id))
    number = row.revision.correspondence_number
    if row.revision.issued_date is None or row.document.cancelled_at is not None:
        th, en = "{number} ยังไม่ได้ส่ง หรือถูกยกเลิกแล้ว", "{number} has not been issued, or has been cancelled."
        raise invalid(pointer, "not_issued", th, en, number=number)
    return CheckedItem(ItemKey(None, row.revision.id), pointer, number)


def _check_drawing(
    seen: tuple[DrawingKind, drawings.SeenRevision] | None, public_id: UUID, pointer: str
) -> CheckedItem:
    if seen is None:
        raise unknown(pointer, str(public_id))
    kind, row = seen
    item = CheckedItem(ItemKey(kind, row.key), pointer, row.number, row)
    if not row.is_current:
        raise item.superseded
    return item


async def hold(
    ctx: RequestContext, session: AsyncSession, checked: Sequence[CheckedItem], *, rfa_revision: int = 0
) -> None:
    """
    Lock the drawing revisions, and check that they are unclaimed and current.

    :param rfa_revision: its own claims do not count
    :raises DrawingRevisionInRfa, DrawingSuperseded:
    :raises Invalid: for a revision with a running workflow
    """
    superseded = {
        ItemKey(kind, key)
        for kind in KINDS
        for key in await drawings.hold_revisions(session, kind, _keys(checked, kind))
    }
    await _require_free(ctx, session, checked, rfa_revision=rfa_revision)
    for item in checked:
        if item.carries in superseded:
            raise item.superseded


async def _require_free(
    ctx: RequestContext, session: AsyncSession, checked: Sequence[CheckedItem], *, rfa_revision: int
) -> None:
    for kind in KINDS:
        by_id = {item.drawing.public_id: item for item in checked if item.drawing and item.carries.kind is kind}
        unfinished = await drawings.unfinished_approvals(session, kind, by_id)
        for item in (item for public_id, item in by_id.items() if public_id in unfinished):
            raise invalid(
                item.pointer,
                "own_workflow",
                "{number} อยู่ในกระบวนงานของแบบเองที่ยังไม่เสร็จ",
                "{number} is in a workflow of its own that has not ended.",
                number=item.number,
            )
        for claim in await repository.claims(session, kind, _keys(checked, kind), but=rfa_revision):
            item = next(item for item in checked if item.carries == (kind, claim.key))
            # Do not reveal the number of an RFA that the caller may not see.
            visible = await core.visible(ctx, session, public_ids=[claim.rfa_public_id])
            values = {
                "kind": "Shop Drawing" if kind is SHOP else "As-built Drawing",
                "rfa": f" ({claim.rfa_number})" if visible else "",
                "number": item.number,
            }
            problem = FieldProblem(item.pointer, "in_rfa", DrawingRevisionInRfa.says, values)
            raise DrawingRevisionInRfa(fields=[problem], values=values)


def _keys(checked: Sequence[CheckedItem], kind: DrawingKind) -> list[int]:
    return [item.carries.key for item in checked if item.carries.kind is kind]


async def take_over(session: AsyncSession, *, before: int, revision_id: int) -> None:
    """
    Copy items that were not approved, drawings at their current revision.

    It skips revisions that are approved, in another open RFA, or in a running workflow.
    """
    rows = (await repository.items(session, revision_ids=[before])).get(before, [])
    left = [row.carries for row in rows if not approved(row.approve_code)]
    keys = [item for item in left if item.kind is None]
    for kind in KINDS:
        current = await drawings.current_revisions(session, kind, [item.key for item in left if item.kind is kind])
        await drawings.hold_revisions(session, kind, current)
        excluded = {claim.key for claim in await repository.claims(session, kind, current)}
        revisions = {row.public_id: row for row in await repository.revision_codes(session, kind, current)}
        excluded |= {row.key for row in revisions.values() if approved(row.approve_code)}
        excluded |= {revisions[key].key for key in await drawings.unfinished_approvals(session, kind, revisions)}
        keys += [ItemKey(kind, key) for key in current if key not in excluded]
    await repository.add_items(session, revision_id, keys)


async def replace_items(
    ctx: RequestContext, session: AsyncSession, revision_id: int, checked: Sequence[CheckedItem]
) -> None:
    """:raises DrawingRevisionInRfa:"""
    await hold(ctx, session, checked, rfa_revision=revision_id)
    await repository.remove_items(session, revision_id)
    await repository.add_items(session, revision_id, [item.carries for item in checked])


async def answer(session: AsyncSession, revision_id: int, results: Sequence[ItemResult]) -> None:
    """:raises Invalid: for an unknown item or code, or an item answered twice"""
    items = await repository.carried(session, revision_id)
    codes = {row.approve_code: row.id for row in await repository.approve_codes(session)}
    keys_by_response: dict[tuple[int, str | None], list[ItemKey]] = defaultdict(list)
    answered: set[UUID] = set()
    for place, result in enumerate(results):
        pointer = f"/payload/itemResults/{place}"
        if result.public_id not in items:
            raise unknown(f"{pointer}/publicId", str(result.public_id))
        if result.public_id in answered:
            raise invalid(f"{pointer}/publicId", "duplicate", "ตอบรายการนี้ซ้ำ", "This item is answered twice.")
        if result.response_code not in codes:
            raise unknown(f"{pointer}/responseCode", result.response_code)
        answered.add(result.public_id)
        keys_by_response[codes[result.response_code], result.comment].append(items[result.public_id])
    for (code, comment), keys in keys_by_response.items():
        await repository.answer(session, revision_id, keys, code=code, comment=comment)


async def item_codes(session: AsyncSession) -> list[CodeAnswer]:
    rows = await repository.approve_codes(session)
    return [core.coded(row.approve_code, row.approve_name_en, row.approve_name) for row in rows]


async def answers(
    session: AsyncSession, by_revision: Mapping[int, Sequence[RfaItemRow]]
) -> dict[int, list[RfaItemAnswer]]:
    """Return items without a check of the reader."""
    rows = [row for revision_rows in by_revision.values() for row in revision_rows]
    files = {
        kind: await drawings.revision_files(
            session, kind, {row.carries.key for row in rows if row.carries.kind is kind}
        )
        for kind in KINDS
    }
    answers: dict[int, list[RfaItemAnswer]] = {key: [] for key in by_revision}
    for row in rows:
        kind, key = row.carries
        answers[row.rfa_revision_id].append(
            RfaItemAnswer(
                public_id=row.public_id,
                kind="document" if kind is None else kind.path,
                drawing_public_id=row.drawing,
                number=row.number,
                revision_label=row.label,
                title=row.title,
                title_en=row.title_en,
                is_superseded=not row.is_current,
                response_code=_code_answer(row.approve_code, row.approve_name, row.approve_name_en),
                comment=row.comment,
                attachments=files[kind].get(key, []) if kind is not None else [],
            )
        )
    return answers


def _code_answer(code: str | None, name: str | None, name_en: str | None) -> CodeAnswer | None:
    return core.coded(code, name_en, name) if code is not None else None


async def rfas_of_revisions(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_ids: Collection[UUID]
) -> list[RfaOfDrawing]:
    """Return visible RFAs, newest first."""
    if kind not in KINDS:
        return []
    by_key = {row.key: row for row in (await drawings.visible_revisions(ctx, session, kind, public_ids)).values()}
    carriers = await repository.carriers(session, kind, list(by_key))
    readable = await core.readable_revisions(ctx, session, {rfa.rfa_revision_id for rfa in carriers})
    rfas = [rfa for rfa in carriers if rfa.rfa_revision_id in readable]
    visible = await core.visible(ctx, session, public_ids=[rfa.rfa_public_id for rfa in rfas])
    return [
        RfaOfDrawing(
            revision_public_id=by_key[rfa.key].public_id,
            rfa_public_id=rfa.rfa_public_id,
            document_number=visible[rfa.rfa_public_id].number,
            subject=visible[rfa.rfa_public_id].subject,
            status=core.status_answer(visible[rfa.rfa_public_id]),
            response_code=_code_answer(rfa.approve_code, rfa.approve_name, rfa.approve_name_en),
        )
        for rfa in rfas
        if rfa.key is not None and rfa.rfa_public_id in visible
    ]


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Return whether a visible RFA carries a drawing revision with the file."""
    for kind in KINDS:
        keys = await drawings.revisions_of_file(session, kind, attachment_id)
        carriers = await repository.carriers(session, kind, keys) if keys else []
        if await core.readable_revisions(ctx, session, {rfa.rfa_revision_id for rfa in carriers}):
            return True
    return False
