"""Writing drawings: registering one, classifying it otherwise, and issuing its next revision, which is the current one from then on."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.domain import DWG, PDF, AttachmentRow
from saraban.audit import service as audit
from saraban.audit.service import AuditEntry
from saraban.documents.core.domain import field_changes, may_write_in
from saraban.documents.drawing.domain import CREATE, KINDS, REVISE, CurrentPeriod, DrawingKind, audience_of, next_period
from saraban.documents.drawing.domain.settings import DrawingSettings
from saraban.documents.drawing.models import ContractDrawing, Drawing
from saraban.documents.drawing.repository import registers as repository
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.registers import DrawingRow
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import DrawingChanges, NewDrawing, NewDrawingRevision
from saraban.documents.drawing.service import registers
from saraban.documents.drawing.service.register_settings import settings_of
from saraban.identity.domain.context import EVERYTHING, NotYourOrganization, RequestContext, Scope
from saraban.kit.db import violates_constraint
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, NotFound, Text, invalid, unknown
from saraban.kit.etags import matches
from saraban.kit.operation import Receipt
from saraban.projects import service as projects
from saraban.projects.domain.master_data import ContractRef, OrganizationRef, ProjectRef

ORIGINATOR = "/originatorOrganizationPublicId"


class DrawingNumberTaken(DomainError):
    """A drawing of the same register of the project has this number; the other registers may have it too."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_NUMBER_TAKEN"
    says = Text("เลขที่แบบ “{value}” มีในทะเบียนนี้แล้ว", "The register has the drawing number “{value}” already.")
    recovery = (
        Text("ใช้เลขที่อื่น หรือเพิ่มฉบับแก้ไขของแบบเดิม", "Use another number, or add a revision to the drawing that is there."),
    )


class DrawingTakesNoAddenda(DomainError):
    """Contract drawings of this project stay as they were signed: its settings take no addenda."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_TAKES_NO_ADDENDA"
    says = Text("โครงการนี้ไม่รับฉบับแก้ไขของแบบคู่สัญญา", "The contract drawings of this project take no addenda as revisions.")
    recovery = (Text("ให้ผู้ดูแลโครงการเปิดรับฉบับแก้ไข", "Ask the project administrator to take addenda."),)


class DrawingChanged(DomainError):
    """`If-Match` names a version of a drawing that somebody has changed since."""

    kind, code = ErrorKind.STALE, "DRAWING_CHANGED"
    says = Text("มีผู้แก้ไขแบบนี้ไปแล้ว", "Somebody has changed this drawing in the meantime.")
    recovery = (Text("โหลดข้อมูลใหม่แล้วแก้ไขอีกครั้ง", "Load it again, then change it."),)


async def register(ctx: RequestContext, session: AsyncSession, kind: DrawingKind, new: NewDrawing) -> Receipt:
    """
    Add a drawing with its first revision.

    :raises Invalid: naming the field
    :raises Forbidden: when the caller does not register for the originator, or nobody's drawings for the whole project
    :raises DrawingNumberTaken: when the register has the number
    """
    project = await _project(ctx, session, new.project_public_id)
    contract, originator = await find_place(
        ctx,
        session,
        kind,
        project,
        contract=new.contract_public_id,
        originator=new.originator_organization_public_id,
    )
    settings = await settings_of(session, project.id, kind)
    if settings.pattern is not None:
        settings.pattern.require(new.drawing_number)
    label = new.revision.label or settings.scheme.next_labels(None)[0]
    settings.scheme.require_next(label, after=None, pointer="/revision/label")
    titled = new.revision.model_copy(
        update={
            "label": label,
            "title": new.revision.title or new.title,
            "title_en": new.revision.title_en or new.title_en,
        }
    )
    tables = tables_of(kind)
    head = tables.head(
        **belonging(project, contract, originator),
        **await classified(session, kind, project, contract, new.model_dump(exclude_unset=True)),
        **{tables.number.key: new.drawing_number},
        **({"title": titled.title} if kind.whole else {}),
        version=1,
        created_at=ctx.now,
        updated_at=ctx.now,
        updated_by=ctx.caller.user_id,
    )
    await _insert(session, kind, head, new.drawing_number)
    await _add_revision(ctx, session, kind, head, titled, CurrentPeriod(ctx.now), place=0, pointer="/revision")
    told = {"number": new.drawing_number, "revision": label, "project": project.code}
    await _record(ctx, session, kind, "create", head.public_id, told)
    return Receipt("drawing", head.public_id)


def belonging(
    project: ProjectRef, contract: ContractRef | None, originator: OrganizationRef | None
) -> dict[str, int | None]:
    """Return whose a drawing is, and whom it concerns."""
    contract_id, originator_id = contract.id if contract else None, originator.id if originator else None
    audience_kind, audience_id = audience_of(contract=contract_id, originator=originator_id)
    return {
        "project_id": project.id,
        "contract_id": contract_id,
        "originator_id": originator_id,
        "audience_kind": int(audience_kind),
        "audience_id": audience_id,
    }


async def _project(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> ProjectRef:
    try:
        row = await projects.visible_project(ctx, session, public_id)
    except NotFound:
        raise unknown("/projectPublicId", str(public_id)) from None
    return ProjectRef(row.id, row.public_id, row.project_code, row.project_name)


async def find_place(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    project: ProjectRef,
    *,
    contract: UUID | None,
    originator: UUID | None,
) -> tuple[ContractRef | None, OrganizationRef | None]:
    """
    Return the contract and the originator that are stated.

    :raises Invalid: for one that is none of the project's
    :raises Forbidden: when the caller may not register for them
    """
    within = by = None
    if contract is not None:
        within = await projects.find_contract(session, project=project, public_id=contract)
    if originator is not None:
        by = await projects.find_organization(session, project=project, public_id=originator, pointer=ORIGINATOR)
    scope = await registers.scope_of(ctx, session, tables_of(kind).head(**belonging(project, within, by)))
    everything = ctx.caller.may(EVERYTHING, Scope())
    if by is not None and by.id not in ctx.caller.organization_ids and not everything:
        raise NotYourOrganization.at(ORIGINATOR)
    ctx.caller.require(CREATE, scope)
    if within is not None and by is not None:
        await _require_party(session, project, within, by)
    return within, by


async def _require_party(
    session: AsyncSession, project: ProjectRef, contract: ContractRef, originator: OrganizationRef
) -> None:
    of_contract = await projects.parties(session, project_id=project.id, contract_id=contract.id)
    of_project = await projects.parties(session, project_id=project.id, contract_id=None)
    if not may_write_in(originator.id, of_contract=of_contract, of_project=of_project):
        raise invalid(
            "/contractPublicId",
            "not_a_party",
            "{organization} ไม่ใช่คู่สัญญาของสัญญานี้",
            "{organization} is not a party to this contract.",
            organization=originator.code,
        )


async def classified(
    session: AsyncSession,
    kind: DrawingKind,
    project: ProjectRef,
    contract: ContractRef | None,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """
    Return the columns of what is stated of a drawing's place in its register.

    :param given: by the names of the fields; what is absent gives no column
    """
    columns = {name: given[name] for name in ("scale", "sheet_size", "zone") if name in given}
    if "discipline_code" in given:
        code, discipline = given["discipline_code"], None
        if code is not None:
            discipline = await projects.find_discipline(session, project=project, contract=contract, code=code)
        columns["discipline_id"] = discipline and discipline.id
    if kind.whole:
        return columns | await writes.contract_columns(session, project.id, given)
    for name in ("volume_code", "volume_page"):
        if given.get(name) is not None:
            raise invalid(
                f"/{'volumeCode' if name == 'volume_code' else 'volumePage'}",
                "not_for_this",
                "เล่มและหน้าใช้กับแบบคู่สัญญาเท่านั้น",
                "Volume and page belong to contract drawings only.",
            )
    return columns | await writes.shop_columns(session, project.id, given)


async def _insert(session: AsyncSession, kind: DrawingKind, head: Drawing, number: str) -> None:
    session.add(head)
    try:
        await session.flush()
    except IntegrityError as fault:
        if not violates_constraint(fault, *tables_of(kind).taken):
            raise
        values = {"value": number}
        problem = FieldProblem("/drawingNumber", "taken", DrawingNumberTaken.says, values)
        raise DrawingNumberTaken(fields=[problem], values=values) from fault


async def revise(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, new: NewDrawingRevision
) -> Receipt:
    """
    Issue the next revision, which takes the place of the current one.

    :raises NotFound: also when the caller may not know of the drawing
    :raises DrawingTakesNoAddenda: for a contract drawing, where its project does not want that
    :raises RevisionNotForward: for a label that does not come after the newest
    """
    before, head, settings = await _held(ctx, session, kind, public_id, REVISE)
    if kind.whole and not settings.addenda:
        raise DrawingTakesNoAddenda
    current = before.revision
    label = new.label or settings.scheme.next_labels(current.revision_label)[0]
    settings.scheme.require_next(label, after=current.revision_label, pointer="/label")
    taken_over = {name: getattr(new, name) or getattr(current, name) for name in ("title", "title_en", "status_code")}
    period = next_period(before.period, at=ctx.now)
    current.is_current, current.current_until = None, period.since
    await session.flush()  # before the next one is current: one may be at a time
    revision = new.model_copy(update={**taken_over, "label": label})
    await _add_revision(ctx, session, kind, head, revision, period, place=current.revision_number + 1, pointer="")
    if isinstance(head, ContractDrawing):
        head.title = revision.title or head.title
    _touch(ctx, head)
    told = {"number": before.number, "revision": label, "before": current.revision_label}
    await _record(ctx, session, kind, "revise", public_id, told)
    return Receipt("drawing", public_id, {"revision": label})


async def change(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    public_id: UUID,
    changes: DrawingChanges,
    if_match: str | None,
) -> Receipt:
    """
    Classify a drawing otherwise.

    :raises NotFound: also when the caller may not know of the drawing
    :raises DrawingChanged: when `if_match` names another version
    """
    before, head, _ = await _held(ctx, session, kind, public_id, CREATE)
    if if_match is not None and not matches(if_match, registers.version_tag(before)):
        raise DrawingChanged
    project = before.project
    place = ProjectRef(project.id, project.public_id, project.project_code, project.project_name)
    contract = before.contract
    within = None
    if contract is not None:
        within = ContractRef(contract.id, contract.public_id, contract.contract_code, contract.contract_name)
    given = changes.model_dump(exclude_unset=True)
    if kind.whole and given.keys() & {"category_code", "sub_category_code"}:
        stood = {f"{name}_code": before.named[name] for name in ("category", "sub_category")}
        given = {**stood, **given}
    for name, value in (await classified(session, kind, place, within, given)).items():
        setattr(head, name, value)
    stated = registers.summary(kind, before).model_dump(include={"scale", "sheet_size", "zone", "volume_page"})
    stated |= {f"{name}_code": before.named.get(name) for name in ("category", "sub_category", "volume")}
    stated["discipline_code"] = before.discipline and before.discipline.discipline_code
    told = field_changes(stated, changes.model_dump(exclude_unset=True))
    if told:
        _touch(ctx, head)
        await _record(ctx, session, kind, "change", public_id, {"number": before.number, "changes": told})
    return Receipt("drawing", public_id)


async def _held(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, permission: str
) -> tuple[DrawingRow, Drawing, DrawingSettings]:
    """Return a drawing at its newest revision, held until the end of the transaction, which the caller may write."""
    found = (await registers.find(ctx, session, kind, public_id))[0]
    head = await writes.lock(session, kind, found.head.id)
    newest = (await repository.history(session, kind, repository.named(kind, public_id)))[0]
    scope = await registers.scope_of(ctx, session, head)
    ctx.caller.require(permission, scope)
    if not newest.project.is_active:
        raise NotFound(f"The project of the {kind.singular.en} {public_id} is closed.")
    return newest, head, await settings_of(session, head.project_id, kind)


def _touch(ctx: RequestContext, head: Drawing) -> None:
    head.version += 1
    head.updated_at, head.updated_by = ctx.now, ctx.caller.user_id


async def _add_revision(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    head: Drawing,
    new: NewDrawingRevision,
    period: CurrentPeriod,
    *,
    place: int,
    pointer: str,
) -> None:
    tables = tables_of(kind)
    row = tables.revision(
        revision_number=place,
        revision_label=new.label,
        is_current=True,
        revision_date=new.date,
        title=new.title,
        title_en=new.title_en,
        description=new.reason,
        status_code=new.status_code,
        legacy_drawing_number=new.legacy_number,
        current_from=period.since,
        current_until=period.until,
        created_at=ctx.now,
        created_by=ctx.caller.user_id,
        **{tables.drawing.key: head.id},
    )
    session.add(row)
    await session.flush()
    claimed: Sequence[AttachmentRow] = []
    if new.attachment_public_ids:
        claimed = await attachments.claim(
            ctx, session, public_ids=new.attachment_public_ids, pointer=f"{pointer}/attachmentPublicIds"
        )
    await writes.link_files(session, kind, row.id, [(file.id, _file_type(file)) for file in claimed])
    await _derive(ctx, session, kind, head.project_id, row.id, new.derived_from_public_ids, pointer)


def _file_type(file: AttachmentRow) -> str:
    """A picture is something else; all that is edited on is a source."""
    if file.mime_type == PDF.mime_type:
        return "PDF"
    if file.mime_type == DWG.mime_type:
        return "DWG"
    return "OTHER" if file.mime_type.startswith("image/") else "SOURCE"


async def _derive(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    project_id: int,
    revision_id: int,
    public_ids: Sequence[UUID],
    pointer: str,
) -> None:
    """
    Write down what a revision derives from.

    :raises Invalid: naming each id that is none of the project's, or none that the caller is shown
    """
    at = f"{pointer}/derivedFromPublicIds"
    if not public_ids:
        return
    if kind.derives_from is None:
        raise invalid(at, "not_for_this", "แบบคู่สัญญาไม่อ้างถึงแบบอื่น", "A contract drawing derives from no other.")
    other = KINDS[kind.derives_from]
    reader = await registers.reader_of(ctx, session, project_id)
    known = await writes.targets_by_public_id(session, other, public_ids, project_id=project_id)
    for place, public_id in enumerate(public_ids):
        if public_id not in known or not reader.sees(known[public_id].audience):
            raise unknown(f"{at}/{place}", str(public_id))
    await writes.link(session, kind, revision_id, sorted({known[one].key for one in public_ids}))


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
