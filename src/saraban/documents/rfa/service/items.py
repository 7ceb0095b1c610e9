"""
What an RFA asks approval for: revisions of drawings and issued documents. A drawing revision is in one open RFA at a time; each item
has its own answer, which goes back to the drawing when the RFA has its final one.
"""

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
    """A drawing revision is in one open RFA at a time (EC-RFA-001)."""

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
    """Approval is asked for what is current; an older revision has been replaced (EC-RFA-002)."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_REVISION_SUPERSEDED"
    says = Text("{number} ฉบับ {revision} ไม่ใช่ฉบับปัจจุบัน", "Revision {revision} of {number} is not the current one.")
    recovery = (Text("เลือกฉบับปัจจุบันของแบบ", "Take the current revision of the drawing."),)


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """
    One item of a new RFA, resolved.

    :param drawing: the revision of one, None for a document
    """

    carries: ItemKey
    pointer: str
    number: str
    drawing: drawings.SeenRevision | None = None

    def refuse_for(self, organization: int) -> None:
        """
        :raises Invalid: when the drawing is of another organization than the one that asks
        """
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
    ctx: RequestContext, session: AsyncSession, *, project_id: int, asked: Sequence[NewRfaItem]
) -> list[CheckedItem]:
    """
    Resolve what approval is asked for; whether it is free to be asked for is looked at once it is held.

    :raises Invalid: naming the item that is none of the project's, is listed twice, or has not been issued
    :raises DrawingSuperseded: for a revision that is not the current one
    """
    found: list[CheckedItem] = []
    if not asked:
        return found
    sought = {one.public_id for one in asked if one.drawing_revision_public_id}
    seen: dict[UUID, tuple[DrawingKind, drawings.SeenRevision]] = {}
    for kind in KINDS:
        if left := sought - seen.keys():
            rows = await drawings.visible_revisions(ctx, session, kind, left, project_id=project_id)
            settings = await projects.drawing_settings(session, project_id=project_id, register=kind.path)
            if settings.own_workflow:
                _refuse_own_workflow(kind, asked, rows)
            seen |= {public_id: (kind, row) for public_id, row in rows.items()}
    letters = [one.document_public_id for one in asked if one.document_public_id]
    documents = await core.visible(ctx, session, public_ids=letters) if letters else {}
    named: set[UUID] = set()
    for place, one in enumerate(asked):
        pointer, public_id = f"/items/{place}", one.public_id
        if public_id in named:
            raise invalid(pointer, "duplicate", "ระบุรายการนี้ซ้ำ", "This item is listed twice.")
        named.add(public_id)
        if one.document_public_id is not None:
            found.append(_document(documents, project_id, public_id, pointer))
        else:
            found.append(_drawing(seen.get(public_id), public_id, f"{pointer}/drawingRevisionPublicId"))
    return found


def _refuse_own_workflow(kind: DrawingKind, asked: Sequence[NewRfaItem], seen: Collection[UUID]) -> None:
    """
    :raises Invalid: naming the first drawing of a register whose revisions go through workflows of their own
    """
    for place, one in enumerate(asked):
        if one.public_id in seen:
            raise invalid(
                f"/items/{place}/drawingRevisionPublicId",
                "own_workflow",
                f"{kind.singular.th}ของโครงการนี้อนุมัติตามกระบวนงานของแต่ละฉบับ จึงใส่ใน RFA ไม่ได้",
                f"The {kind.singular.en}s of this project are approved by workflows of their own, not by RFAs.",
            )


def _document(rows: Mapping[UUID, core.DocumentRow], project_id: int, public_id: UUID, at: str) -> CheckedItem:
    pointer, row = f"{at}/documentPublicId", rows.get(public_id)
    if row is None or row.document.project_id != project_id:
        raise unknown(pointer, str(public_id))
    number = row.revision.correspondence_number
    if row.revision.issued_date is None or row.document.cancelled_at is not None:
        th, en = "{number} ยังไม่ได้ส่ง หรือถูกยกเลิกแล้ว", "{number} has not been issued, or has been cancelled."
        raise invalid(pointer, "not_issued", th, en, number=number)
    return CheckedItem(ItemKey(None, row.revision.id), pointer, number)


def _drawing(seen: tuple[DrawingKind, drawings.SeenRevision] | None, public_id: UUID, pointer: str) -> CheckedItem:
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
    Hold the drawings of an RFA until its transaction ends, and look whether they are free, and again whether they are current.

    :param rfa_revision: the draft that asks, whose own claims do not count
    :raises DrawingRevisionInRfa: for who comes second
    :raises Invalid: naming the drawing whose revision is in a workflow of its own, from when the register had those
    :raises DrawingSuperseded: for a revision that was replaced since the check
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
        asked = {one.drawing.public_id: one for one in checked if one.drawing and one.carries.kind is kind}
        unfinished = await drawings.unfinished_approvals(session, kind, asked)
        for item in (one for public_id, one in asked.items() if public_id in unfinished):
            raise invalid(
                item.pointer,
                "own_workflow",
                "{number} อยู่ในกระบวนงานของแบบเองที่ยังไม่เสร็จ",
                "{number} is in a workflow of its own that has not ended.",
                number=item.number,
            )
        for claim in await repository.claims(session, kind, _keys(checked, kind), but=rfa_revision):
            item = next(one for one in checked if one.carries == (kind, claim.key))
            # An RFA that the caller may not know of is not named.
            visible = await core.visible(ctx, session, public_ids=[claim.rfa_public_id])
            said = f" ({claim.rfa_number})" if visible else ""
            values = {
                "kind": "Shop Drawing" if kind is SHOP else "As-built Drawing",
                "rfa": said,
                "number": item.number,
            }
            problem = FieldProblem(item.pointer, "in_rfa", DrawingRevisionInRfa.says, values)
            raise DrawingRevisionInRfa(fields=[problem], values=values)


def _keys(checked: Sequence[CheckedItem], kind: DrawingKind) -> list[int]:
    return [one.carries.key for one in checked if one.carries.kind is kind]


async def take_over(session: AsyncSession, *, before: int, revision_id: int) -> None:
    """
    Begin the list of a next revision with what was not approved in the one before: each drawing at its current revision, unless
    that was approved meanwhile, or another open RFA or a workflow of its own has it by now.
    """
    rows = (await repository.items(session, revision_ids=[before])).get(before, [])
    left = [row.carries for row in rows if not approved(row.approve_code)]
    keys = [one for one in left if one.kind is None]
    for kind in KINDS:
        current = await drawings.current_revisions(session, kind, [one.key for one in left if one.kind is kind])
        await drawings.hold_revisions(session, kind, current)
        taken = {claim.key for claim in await repository.claims(session, kind, current)}
        asked = {one.public_id: one for one in await repository.asked_revisions(session, kind, current)}
        taken |= {one.key for one in asked.values() if approved(one.approve_code)}
        taken |= {asked[one].key for one in await drawings.unfinished_approvals(session, kind, asked)}
        keys += [ItemKey(kind, key) for key in current if key not in taken]
    await repository.add_items(session, revision_id, keys)


async def replace_items(
    ctx: RequestContext, session: AsyncSession, revision_id: int, checked: Sequence[CheckedItem]
) -> None:
    """
    Put other items into a draft.

    :raises DrawingRevisionInRfa: when another RFA has taken one of the drawings since the check
    """
    await hold(ctx, session, checked, rfa_revision=revision_id)
    await repository.remove_items(session, revision_id)
    await repository.add_items(session, revision_id, [one.carries for one in checked])


async def answer(session: AsyncSession, revision_id: int, results: Sequence[ItemResult]) -> None:
    """
    Write down the answers to single items.

    :raises Invalid: for what is no item of the RFA, is answered twice, or has a code that there is not
    """
    known = await repository.carried(session, revision_id)
    codes = {one.approve_code: one.id for one in await repository.approve_codes(session)}
    alike: dict[tuple[int, str | None], list[ItemKey]] = defaultdict(list)
    answered: set[UUID] = set()
    for place, said in enumerate(results):
        pointer = f"/payload/itemResults/{place}"
        if said.public_id not in known:
            raise unknown(f"{pointer}/publicId", str(said.public_id))
        if said.public_id in answered:
            raise invalid(f"{pointer}/publicId", "duplicate", "ตอบรายการนี้ซ้ำ", "This item is answered twice.")
        if said.response_code not in codes:
            raise unknown(f"{pointer}/responseCode", said.response_code)
        answered.add(said.public_id)
        alike[codes[said.response_code], said.comment].append(known[said.public_id])
    for (code, comment), keys in alike.items():
        await repository.answer(session, revision_id, keys, code=code, comment=comment)


async def item_codes(session: AsyncSession) -> list[CodeAnswer]:
    """Return what an item can be answered with, in the order of the list."""
    rows = await repository.approve_codes(session)
    return [core.coded(one.approve_code, one.approve_name_en, one.approve_name) for one in rows]


async def answers(
    session: AsyncSession, by_revision: Mapping[int, Sequence[RfaItemRow]]
) -> dict[int, list[RfaItemAnswer]]:
    """Return the items of revisions of RFAs; whoever sees the RFA is shown what it asks approval for."""
    rows = [row for found in by_revision.values() for row in found]
    files = {
        kind: await drawings.revision_files(
            session, kind, {row.carries.key for row in rows if row.carries.kind is kind}
        )
        for kind in KINDS
    }
    found: dict[int, list[RfaItemAnswer]] = {key: [] for key in by_revision}
    for row in rows:
        kind, key = row.carries
        found[row.rfa_revision_id].append(
            RfaItemAnswer(
                public_id=row.public_id,
                kind="document" if kind is None else kind.path,
                drawing_public_id=row.drawing,
                number=row.number,
                revision_label=row.label,
                title=row.title,
                title_en=row.title_en,
                is_superseded=not row.is_current,
                response_code=_code(row.approve_code, row.approve_name, row.approve_name_en),
                comment=row.comment,
                attachments=files[kind].get(key, []) if kind is not None else [],
            )
        )
    return found


def _code(code: str | None, name: str | None, name_en: str | None) -> CodeAnswer | None:
    return core.coded(code, name_en, name) if code is not None else None


async def rfas_of_revisions(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_ids: Collection[UUID]
) -> list[RfaOfDrawing]:
    """Return the RFAs that carry revisions of a drawing, as far as the caller may see them, the newest first."""
    if kind not in KINDS:
        return []
    by_key = {row.key: row for row in (await drawings.visible_revisions(ctx, session, kind, public_ids)).values()}
    found = await repository.carriers(session, kind, list(by_key))
    readable = await core.readable_revisions(ctx, session, {one.rfa_revision_id for one in found})
    carriers = [one for one in found if one.rfa_revision_id in readable]
    visible = await core.visible(ctx, session, public_ids=[one.rfa_public_id for one in carriers])
    return [
        RfaOfDrawing(
            revision_public_id=by_key[one.key].public_id,
            rfa_public_id=one.rfa_public_id,
            document_number=visible[one.rfa_public_id].number,
            subject=visible[one.rfa_public_id].subject,
            status=core.status_answer(visible[one.rfa_public_id]),
            response_code=_code(one.approve_code, one.approve_name, one.approve_name_en),
        )
        for one in carriers
        if one.key is not None and one.rfa_public_id in visible
    ]


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Say whether a file hangs on a drawing revision that an RFA carries which the caller sees."""
    for kind in KINDS:
        keys = await drawings.revisions_of_file(session, kind, attachment_id)
        carriers = await repository.carriers(session, kind, keys) if keys else []
        if await core.readable_revisions(ctx, session, {one.rfa_revision_id for one in carriers}):
            return True
    return False
