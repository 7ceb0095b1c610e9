"""Registers, classifies, revises and corrects drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.audit.domain.changes import field_changes, set_fields
from saraban.audit.service import AuditEntry
from saraban.documents.core import service as core
from saraban.documents.core.service.kind import DocumentServices
from saraban.documents.drawing.domain import CREATE, REVISE, CurrentPeriod, DrawingKind, next_period
from saraban.documents.drawing.models import ContractDrawing, Drawing
from saraban.documents.drawing.repository import registers as repository
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.registers import DrawingRow
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import DrawingChanges, NewDrawing, NewDrawingRevision, RevisionCorrections
from saraban.documents.drawing.service import approval, registers
from saraban.documents.drawing.service.corrections import RevisionSubmitted, submitted_among
from saraban.documents.drawing.service.placement import (
    DrawingDraft,
    belonging,
    classified,
    find_place,
    plan_number,
    prints_revision,
    reserved_label,
)
from saraban.documents.drawing.service.presentation import summary
from saraban.documents.drawing.service.revision_rows import TEXTS, RevisionPlace, add_revision, attach
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import violates_constraint
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, NotFound, Text, invalid, required, unknown
from saraban.kit.etags import Stale, require_match
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import Schema
from saraban.kit.text import Spellings, sort_key
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.projects.domain.drawing_settings import DrawingSettings
from saraban.projects.domain.master_data import ContractRef, ProjectRef
from saraban.search_index import service as search_index


class DrawingNumberTaken(DomainError):
    """Another drawing in the same register of the project has this number. Other registers may use the number too."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_NUMBER_TAKEN"
    says = Text("เลขที่แบบ “{value}” มีในทะเบียนนี้แล้ว", "The register has the drawing number “{value}” already.")
    recovery = (
        Text("ใช้เลขที่อื่น หรือเพิ่มฉบับแก้ไขของแบบเดิม", "Use another number, or add a revision to the drawing that is there."),
    )

    @classmethod
    def by(cls, number: str) -> "DrawingNumberTaken":
        problem = FieldProblem("/drawingNumber", "taken", cls.says, {"value": number})
        return cls(fields=[problem], values={"value": number})


class DrawingTakesNoAddenda(DomainError):
    """The settings of the project do not allow new revisions of contract drawings."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_TAKES_NO_ADDENDA"
    says = Text("โครงการนี้ไม่รับฉบับแก้ไขของแบบคู่สัญญา", "The contract drawings of this project take no addenda as revisions.")
    recovery = (Text("ให้ผู้ดูแลโครงการเปิดรับฉบับแก้ไข", "Ask the project administrator to take addenda."),)


class DrawingChanged(Stale):
    """`If-Match` names an older version of the drawing: somebody has changed the drawing since."""

    code = "DRAWING_CHANGED"
    says = Text("มีผู้แก้ไขแบบนี้ไปแล้ว", "Somebody has changed this drawing in the meantime.")
    recovery = (Text("โหลดข้อมูลใหม่แล้วแก้ไขอีกครั้ง", "Load it again, then change it."),)


@dataclass(frozen=True, slots=True)
class DrawingNumber:
    """:param public_id: of its row in the number register"""

    text: str
    public_id: UUID
    prints_revision: bool = False


async def create(ctx: RequestContext, services: DocumentServices, kind: DrawingKind, new: NewDrawing) -> Receipt:
    """
    Register a drawing under its stated or reserved number, else the next of the format.

    :raises NotFound: for a reservation of another user
    :raises: as `register`, and as issuing a number
    """
    payload = {"kind": kind.path, "body": new.model_dump(mode="json")}
    operation = Operation.of(ctx, "POST /drawings", payload)
    if new.drawing_number is not None:
        if new.reservation_token is not None:
            raise invalid(
                "/reservationToken",
                "one_of_two",
                "ระบุเลขที่แบบหรือโทเคนการจองอย่างใดอย่างหนึ่ง",
                "Give either the drawing number or the reservation token.",
            )
        return await services.idempotency.run(operation, register, ctx, kind, new)
    async with services.idempotency.claim(operation) as claim:
        if claim.receipt is not None:
            return claim.receipt
        async with services.db.reading() as session:
            label = await reserved_label(ctx, session, new)
            draft = await _check_drawing(ctx, session, kind, new, reserved_label=label)
            plan = await plan_number(ctx, session, kind, draft, new)
        request = numbering.IssueRequest(
            ctx,
            plan,
            operation.token,
            claim,
            holder=numbering.Holder(kind.entity_type, draft.public_id),
            write=partial(_write, ctx, kind, draft),
            reservation=new.reservation_token,
        )
        return request.receipt(await services.allocator.issue(request))


async def _write(
    ctx: RequestContext,
    kind: DrawingKind,
    draft: DrawingDraft,
    session: AsyncSession,
    issued: numbering.Issued,
) -> None:
    number = DrawingNumber(issued.number, issued.public_id, prints_revision(issued.template))
    await _insert(ctx, session, kind, draft, number)


async def register(ctx: RequestContext, session: AsyncSession, kind: DrawingKind, new: NewDrawing) -> Receipt:
    """
    Register a drawing under its stated number.

    :raises Invalid, DrawingNumberTaken:
    :raises Forbidden: if the caller may not register for contract, originator or project
    """
    if new.drawing_number is None:
        raise required("/drawingNumber")
    draft = await _check_drawing(ctx, session, kind, new)
    holder = numbering.Holder(kind.entity_type, draft.public_id)
    stated = numbering.ExternalNumber(
        new.drawing_number, holder, draft.revision.label or "", draft.contract, draft.originator
    )
    typed = [new.drawing_number]
    if taken := await numbering.taken_in(session, project_id=draft.project.id, register=kind.path, numbers=typed):
        raise DrawingNumberTaken.by(taken[new.drawing_number])
    try:
        await numbering.register_external(ctx, session, project=draft.project, register=kind.path, numbers=[stated])
    except IntegrityError as fault:
        if not violates_constraint(fault, *numbering.NUMBER_CONSTRAINTS):
            raise
        raise DrawingNumberTaken.by(new.drawing_number) from fault
    return await _insert(ctx, session, kind, draft, DrawingNumber(stated.number, stated.public_id))


async def _check_drawing(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    new: NewDrawing,
    *,
    reserved_label: str | None = None,
) -> DrawingDraft:
    project = await _find_project(ctx, session, new.project_public_id)
    contract, originator = await find_place(
        ctx,
        session,
        kind,
        project,
        contract=new.contract_public_id,
        originator=new.originator_organization_public_id,
    )
    settings = await projects.drawing_settings(session, project_id=project.id, register=kind.path)
    if settings.pattern is not None and new.drawing_number is not None:
        settings.pattern.require(new.drawing_number)
    label = reserved_label or new.revision.label or settings.scheme.next_labels(None)[0]
    settings.scheme_of([reserved_label]).require_next(label, after=None, pointer="/revision/label")
    titled = new.revision.model_copy(
        update={
            "label": label,
            "title": new.revision.title or new.title,
            "title_en": new.revision.title_en or new.title_en,
        }
    )
    columns = {
        **belonging(project, contract, originator),
        **await classified(session, kind, project, contract, new.model_dump(exclude_unset=True)),
        **({"title": titled.title} if kind.whole else {}),
    }
    has_workflow = settings.own_workflow and originator is not None
    return DrawingDraft(project, contract, originator, columns, titled, has_workflow, new.tags or ())


async def _insert(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, draft: DrawingDraft, number: DrawingNumber
) -> Receipt:
    tables = tables_of(kind)
    head = tables.head(
        public_id=draft.public_id,
        number_uuid=number.public_id,
        version=1,
        created_at=ctx.now,
        updated_at=ctx.now,
        updated_by=ctx.caller.user_id,
        **{tables.number.key: number.text},
        **draft.columns,
    )
    session.add(head)
    await session.flush()
    if draft.tags:
        await _replace_tags(session, kind, head, draft.tags)
    place = RevisionPlace(0, CurrentPeriod(ctx.now), number.text if number.prints_revision else None)
    revision = await add_revision(ctx, session, kind, head, draft.revision, place, pointer="/revision")
    if draft.has_workflow:
        await approval.start(ctx, session, kind, revision)
    details = {"number": number.text, "revision": draft.revision.label, "project": draft.project.code}
    await _record(ctx, session, kind, "create", draft.public_id, details)
    return Receipt(kind.entity_type, draft.public_id)


async def _find_project(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> ProjectRef:
    try:
        row = await projects.visible_project(ctx, session, public_id)
    except NotFound:
        raise unknown("/projectPublicId", str(public_id)) from None
    return ProjectRef(row.id, row.public_id, row.project_code, row.project_name)


async def revise(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, new: NewDrawingRevision
) -> Receipt:
    """:raises NotFound, DrawingTakesNoAddenda, RevisionNotForward:"""
    history, head, settings = await _lock_drawing(ctx, session, kind, public_id, REVISE)
    if kind.whole and not settings.addenda:
        raise DrawingTakesNoAddenda
    before, current = history[0], history[0].revision
    labels = [row.revision.revision_label for row in history]
    scheme = settings.scheme_of(labels)
    latest = scheme.latest(labels)
    label = new.label or scheme.next_labels(latest)[0]
    scheme.require_next(label, after=latest, pointer="/label")
    left_out = {"title_en", "status_code"} - new.model_fields_set | ({"title"} if new.title is None else set())
    taken_over = {name: getattr(current, name) for name in left_out}
    period = next_period(before.period, at=ctx.now)
    current.is_current, current.current_until = None, period.since
    await session.flush()  # the unique constraint allows one current revision
    revision = new.model_copy(update={**taken_over, "label": label})
    printed = await _reprint_number(ctx, session, kind, head, label) if current.drawing_number is not None else None
    place = RevisionPlace(current.revision_number + 1, period, printed)
    added = await add_revision(ctx, session, kind, head, revision, place, pointer="")
    if kind in approval.KINDS:
        await approval.supersede(ctx, session, kind, current.public_id, by=label)
    if settings.own_workflow and head.originator_id is not None:
        await approval.start(ctx, session, kind, added)
    if isinstance(head, ContractDrawing):
        head.title = revision.title or head.title
    _touch(ctx, head)
    details = {"number": before.number, "revision": label, "before": current.revision_label}
    await _record(ctx, session, kind, "revise", public_id, details)
    return Receipt(kind.entity_type, public_id, {"revision": label})


async def warnings(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, new: Schema
) -> list[FieldProblem]:
    """:raises NotFound:"""
    rows = [row.revision for row in reversed(await registers.find(ctx, session, kind, public_id))]
    files = await repository.files(session, kind, [row.id for row in rows])
    earlier = [(row.public_id, row.revision_label or "–", file.attachment) for row in rows for file in files[row.id]]
    return await core.file_warnings(session, new, earlier)


async def _reprint_number(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, head: Drawing, label: str
) -> str:
    """Print the number with the next revision, and make it the drawing's number (REQ-NUM-06)."""
    holder = numbering.Holder(kind.entity_type, head.public_id)
    number = await numbering.revise_number(ctx, session, holder=holder, revision_label=label)
    setattr(head, tables_of(kind).number.key, number)
    head.number_sort = sort_key(number)
    return number


async def start_approval(ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID) -> Receipt:
    """
    Start the workflow of a current revision that has none.

    :raises NotFound, ApprovalStarted, RevisionInRfa:
    :raises ApprovedByRfa: also for a drawing without an originator
    """
    (newest, *_), head, settings = await _lock_drawing(ctx, session, kind, public_id, REVISE)
    if not settings.own_workflow:
        raise approval.ApprovedByRfa
    if await approval.states(ctx, session, kind, [newest]):
        raise approval.ApprovalStarted
    await approval.require_unclaimed(session, kind, newest.revision.id)
    await approval.start(ctx, session, kind, newest.revision.public_id)
    _touch(ctx, head)
    details = {"number": newest.number, "revision": newest.revision.revision_label}
    await _record(ctx, session, kind, "start-approval", public_id, details)
    return Receipt(kind.entity_type, public_id)


async def change(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    public_id: UUID,
    changes: DrawingChanges,
    if_match: str | None,
) -> Receipt:
    """:raises NotFound, DrawingChanged:"""
    (before, *_), head, _ = await _lock_drawing(ctx, session, kind, public_id, CREATE)
    require_match(if_match, registers.version_tag(before), DrawingChanged)
    project = before.project
    place = ProjectRef(project.id, project.public_id, project.project_code, project.project_name)
    contract = before.contract
    contract_ref = None
    if contract is not None:
        contract_ref = ContractRef(contract.id, contract.public_id, contract.contract_code, contract.contract_name)
    given = changes.model_dump(exclude_unset=True)
    if kind.whole and given.keys() & {"category_code", "sub_category_code"}:
        pair = {f"{name}_code": before.named[name] for name in ("category", "sub_category")}
        given = {**pair, **given}
    old_values = summary(kind, before).model_dump(include={"scale", "sheet_size", "zone", "volume_page"})
    old_values |= {f"{name}_code": before.named.get(name) for name in ("category", "sub_category", "volume")}
    old_values["discipline_code"] = before.discipline and before.discipline.discipline_code
    new_values = changes.model_dump(exclude_unset=True)
    set_fields(head, await classified(session, kind, place, contract_ref, given))
    if "tags" in new_values:
        old_values["tags"] = sorted(await _replace_tags(session, kind, head, changes.tags or []))
        new_values["tags"] = sorted(set(changes.tags or []))
    changed = field_changes(old_values, new_values)
    if changed:
        _touch(ctx, head)
        await _record(ctx, session, kind, "change", public_id, {"number": before.number, "changes": changed})
    return Receipt(kind.entity_type, public_id)


async def correct(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    public_id: UUID,
    corrections: RevisionCorrections,
    if_match: str | None,
) -> Receipt:
    """
    :param public_id: of the revision; the receipt contains the drawing's
    :raises NotFound, DrawingChanged:
    :raises RevisionSubmitted: not for its first files
    """
    matches = await repository.history(session, kind, repository.of_revision(kind, public_id))
    if not matches:
        raise NotFound(f"There is no revision of a {kind.singular.en} with {public_id}.")
    if kind in approval.KINDS:
        await approval.hold(session, kind, public_id)
    rows, head, _ = await _lock_drawing(ctx, session, kind, matches[0].head.public_id, REVISE)
    require_match(if_match, registers.version_tag(rows[0]), DrawingChanged)
    row = next(row for row in rows if row.revision.public_id == public_id)
    revision = row.revision
    await session.refresh(revision)
    given = corrections.model_dump(exclude_unset=True, include=set(TEXTS))
    changed = field_changes({name: getattr(revision, column) for name, column in TEXTS.items()}, given)
    files = (await repository.files(session, kind, [revision.id]))[revision.id]
    exceeds_first_files = changed or (files and corrections.attachment_public_ids)
    if exceeds_first_files and await submitted_among(ctx, session, kind, [row]):
        raise RevisionSubmitted
    if given.get("title", revision.title) is None:
        raise required("/title")
    set_fields(revision, {TEXTS[name]: given[name] for name in changed})
    added = await attach(
        *(ctx, session, kind, revision.id, corrections.attachment_public_ids),
        pointer="",
        project_id=head.project_id,
        has_main=bool(files),
    )
    if isinstance(head, ContractDrawing) and revision.is_current:
        head.title = revision.title
    if changed or added:
        revision.updated_by = ctx.caller.user_id
        _touch(ctx, head)
        files_changed = field_changes({"files": None}, {"files": added or None})
        details = {"number": row.number, "revision": revision.revision_label, "changes": changed | files_changed}
        await _record(ctx, session, kind, "correct", head.public_id, details)
    return Receipt(kind.entity_type, head.public_id)


async def _replace_tags(session: AsyncSession, kind: DrawingKind, head: Drawing, codes: Sequence[str]) -> list[str]:
    """
    Replace the tags; a closed tag may stay, but not be added.

    :returns: the former codes
    :raises Invalid: for an unknown or closed tag
    """
    former_tags = (await repository.tags(session, kind, [head.id]))[head.id]
    open_tags = await repository.open_tags(session, project_id=head.project_id) if codes else ()
    keys = Spellings({tag.tag_code: tag.id for tag in (*open_tags, *former_tags)})
    for place, code in enumerate(codes):
        if code not in keys:
            raise unknown(f"/tags/{place}", code)
    await writes.replace_tags(session, kind, head.id, {keys[code] for code in codes})
    return [tag.tag_code for tag in former_tags]


async def _lock_drawing(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, permission: str
) -> tuple[Sequence[DrawingRow], Drawing, DrawingSettings]:
    """Lock a drawing after its workflow; return its revisions, newest first."""
    newest = (await registers.find(ctx, session, kind, public_id))[0]
    if kind in approval.KINDS:
        await approval.hold(session, kind, newest.revision.public_id)
    head = await writes.lock(session, kind, newest.head.id)
    rows = await repository.history(session, kind, repository.named(kind, public_id))
    scope = await registers.scope_of(ctx, session, head)
    ctx.caller.require(permission, scope)
    if not rows[0].project.is_active:
        raise NotFound(f"The project of the {kind.singular.en} {public_id} is closed.")
    return rows, head, await projects.drawing_settings(session, project_id=head.project_id, register=kind.path)


def _touch(ctx: RequestContext, head: Drawing) -> None:
    head.version += 1
    head.updated_at, head.updated_by = ctx.now, ctx.caller.user_id


async def _record(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    verb: str,
    public_id: UUID,
    details: Mapping[str, object],
) -> None:
    entry = AuditEntry(f"{kind.entity_type}.{verb}", kind.entity_type, str(public_id), details)
    await audit.record(ctx, session, entry)
    await search_index.note_changes(session, kind.searched_as, [public_id])
