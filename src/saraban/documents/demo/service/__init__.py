"""The demo: past documents and a walkthrough, created through the normal services."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.attachments.domain import Storage
from saraban.audit import service as audit
from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as core
from saraban.documents.core.schemas import NewRevision
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.demo.domain import DemoAction, DemoDocument, DemoDrawing, DemoRegister, content
from saraban.documents.demo.service.scripts import demo_scripts
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import CONTRACT, SHOP, DrawingKind
from saraban.documents.drawing.domain import KINDS as KINDS_OF_DRAWINGS
from saraban.documents.drawing.schemas import NewDrawing, NewDrawingRevision
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.clock import Clock, FixedClock, local_date
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.operation import Receipt
from saraban.projects import service as projects
from saraban.workflow import service as workflow

PROJECT = "LCBP3-C2"
ADDRESS = "demo"
KINDS: Mapping[DemoRegister, core.AnyKind] = {
    DemoRegister.CORRESPONDENCE: CORRESPONDENCE,
    DemoRegister.RFA: rfas.RFA,
    DemoRegister.TRANSMITTAL: transmittals.TRANSMITTAL,
    DemoRegister.CIRCULATION: circulations.CIRCULATION,
}
DocumentJson = dict[str, Any]
_PAGE = 100


class DemoMissing(DomainError):
    """A person of the demo has no open account."""

    kind, code = ErrorKind.CONFLICT, "DEMO_MISSING"
    says = Text("ไม่พบบัญชีสาธิต {username} หรือบัญชีถูกปิด", "The demo account {username} is missing or disabled.")
    recovery = (
        Text("เปิดบัญชีด้วย `saraban user enable`", "Enable the account with `saraban user enable`."),
        Text("หรือใช้โฟลเดอร์ข้อมูลใหม่ (SARABAN_DATA_DIR)", "Or use a new data folder (SARABAN_DATA_DIR)."),
    )


class NotInInbox(DomainError):
    """The walkthrough does not find its document among a person's tasks."""

    kind, code = ErrorKind.CONFLICT, "DEMO_NOT_IN_INBOX"
    says = Text("ไม่พบเอกสารของเรื่องสาธิตในงานของผู้พิจารณา", "The demo document is not among the reviewer's tasks.")
    recovery = (Text("ใช้โฟลเดอร์ข้อมูลใหม่ (SARABAN_DATA_DIR)", "Use a new data folder (SARABAN_DATA_DIR)."),)


class ProjectTooSmall(DomainError):
    """Documents need two organizations in the project, and three roles in a contract."""

    kind, code = ErrorKind.CONFLICT, "DEMO_PROJECT_TOO_SMALL"
    says = Text(
        "โครงการนี้ยังไม่มีองค์กรหรือสัญญาพอที่จะสร้างเอกสารได้",
        "The project has too few organizations or contracts to generate documents in.",
    )
    recovery = (
        Text(
            "เพิ่มเจ้าของงาน ที่ปรึกษา และสัญญาที่มีผู้รับเหมา",
            "Add an owner, a consultant, and a contract with a contractor.",
        ),
    )


@dataclass(frozen=True, slots=True)
class DemoServices:
    """The parts of the running system that the demo acts on; `bootstrap` hands them in."""

    documents: core.DocumentServices
    storage: Storage
    uploads: attachments.UploadRules
    subjects: workflow.Subjects
    steps: workflow.Transitions
    zone: ZoneInfo

    @property
    def db(self) -> Database:
        return self.documents.db

    def context(self, caller: Caller, now: datetime) -> RequestContext:
        return RequestContext(caller, now, self.zone, ADDRESS)


@dataclass(frozen=True, slots=True)
class DemoProject:
    project: UUID
    organizations: Mapping[str, UUID]
    contracts: Mapping[str, UUID]
    looker: Caller
    people: Mapping[str, Caller]

    def person(self, username: str) -> Caller:
        """:raises DemoMissing:"""
        if username not in self.people:
            raise DemoMissing(values={"username": username})
        return self.people[username]


async def find_demo_project(session: AsyncSession, now: datetime, zone: ZoneInfo) -> DemoProject:
    project = await projects.find_project_by_code(session, code=PROJECT)
    ctx = RequestContext(await identity.system_caller(session), now, zone, ADDRESS)
    members = await projects.organizations(ctx, session, project_public_id=project.public_id)
    contracts = await projects.contracts(ctx, session, project_public_id=project.public_id)
    open_usernames = {account.username for account in await identity.list_users(session) if account.is_active}
    return DemoProject(
        project=project.public_id,
        organizations={member.organization_code: member.public_id for member in members},
        contracts={contract.contract_code: contract.public_id for contract in contracts},
        looker=ctx.caller,
        people={
            account.username: caller
            for account in identity.DEMO_ACCOUNTS
            if account.username in open_usernames
            and (caller := await identity.find_caller(session, username=account.username))
        },
    )


async def write(
    stage: DemoServices, project: DemoProject, script: DemoDocument, *, now: datetime, known: Mapping[str, UUID]
) -> DocumentJson:
    """Create a draft with its number and files."""
    ctx = stage.context(project.person(script.by), now)
    files = [await _upload(ctx, stage, name) for name in script.files]
    fields = _circulation_fields if script.where is DemoRegister.CIRCULATION else _document_fields
    kind = KINDS[script.where]
    values = {**fields(ctx, project, script, known), "attachmentPublicIds": files}
    if script.drawings:
        current = await _current_revisions(ctx, stage, project, script.drawings)
        values["items"] = [{"drawingRevisionPublicId": public_id} for public_id in current.values()]
    new = kind.new.model_validate(values)
    receipt = await core.create(ctx, stage.documents, kind, new)
    assert receipt.public_id is not None
    return await read(ctx, stage, receipt.public_id, script.where)


async def take_action(
    stage: DemoServices,
    project: DemoProject,
    script: DemoDocument,
    document: DocumentJson,
    act: DemoAction,
    now: datetime,
) -> DocumentJson:
    ctx, kind = stage.context(project.person(act.by), now), KINDS[script.where]
    public_id = UUID(document["data"]["publicId"])
    match act.action:
        case "revise":
            await _revise_drawings(ctx, stage, project, script)
            assert isinstance(kind, core.RevisionedKind)  # no circulation of the demo is revised
            files = [await _upload(ctx, stage, name.replace(".", "-revised.")) for name in script.files]
            order = NewRevision(due_date=_due_date(ctx, script), attachment_public_ids=files)
            await core.revise(ctx, stage.documents, kind, public_id, order)
        case "cancel":
            await core.cancel(ctx, stage.documents, kind, public_id, act.comment or "")
        case action:
            instance = document["workflow"]
            command = workflow.Command(action, act.comment, client_version_no=instance["versionNo"])
            await stage.steps.take(ctx, public_id=UUID(instance["instancePublicId"]), command=command)
    return await read(ctx, stage, public_id, script.where)


async def read(ctx: RequestContext, stage: DemoServices, public_id: UUID, where: DemoRegister) -> DocumentJson:
    async with stage.db.reading() as session:
        document = await core.read(ctx, session, KINDS[where], public_id)
        return document.model_dump(mode="json", by_alias=True)


async def _upload(ctx: RequestContext, stage: DemoServices, name: str) -> UUID:
    async def chunks() -> AsyncIterator[bytes]:
        yield content(name)

    clock = FixedClock(ctx.now, ctx.zone)
    store = attachments.FileStore(stage.db, stage.storage, stage.uploads, clock)
    row = await attachments.upload(ctx, store, name=name, chunks=chunks())
    return row.public_id


def _document_fields(
    ctx: RequestContext, project: DemoProject, script: DemoDocument, known: Mapping[str, UUID]
) -> dict[str, Any]:
    about = [known[key] for key in script.about]
    fields: dict[str, Any] = {
        "projectPublicId": project.project,
        "originatorOrganizationPublicId": project.organizations[script.originator],
        "recipients": [
            {"organizationPublicId": project.organizations[code], "recipientType": recipient_type}
            for recipient_type, codes in (("TO", script.to), ("CC", script.cc))
            for code in codes
        ],
        "subject": script.subject,
        "body": script.body,
        "documentDate": local_date(ctx.now, ctx.zone),
        "dueDate": _due_date(ctx, script),
        "priority": script.priority,
        "contractPublicId": project.contracts[script.contract] if script.contract else None,
    }
    match script.where:
        case DemoRegister.RFA:
            return fields | {"disciplineCode": script.discipline, "rfaTypeCode": script.rfa_type}
        case DemoRegister.TRANSMITTAL:
            items = [{"documentPublicId": public_id} for public_id in about]
            return fields | {"subTypeCode": script.sub_type, "purpose": script.purpose, "items": items}
        case _:
            return fields | {"correspondenceTypeCode": script.type, "referencePublicIds": about}


def _circulation_fields(
    ctx: RequestContext, project: DemoProject, script: DemoDocument, known: Mapping[str, UUID]
) -> dict[str, Any]:
    return {
        "projectPublicId": project.project,
        "organizationPublicId": project.organizations[script.originator],
        "correspondencePublicId": known[script.about[0]] if script.about else None,
        "subject": script.subject,
        "deadlineDate": _due_date(ctx, script),
        "priority": script.priority,
        "assignees": [
            {"userPublicId": project.person(name).public_id, "kind": "ACTION" if index else "MAIN"}
            for index, name in enumerate(script.assignees)
        ],
    }


def _due_date(ctx: RequestContext, script: DemoDocument) -> date | None:
    return local_date(ctx.now, ctx.zone) + timedelta(days=script.due) if script.due else None


async def load(stage: DemoServices, *, now: datetime, scripts: Sequence[DemoDocument] = ()) -> int:
    """
    Write missing demo documents with their history, and return their number.

    Documents are found by subject, so an interrupted run continues.
    """
    scripts = scripts or demo_scripts().documents
    async with stage.db.reading() as session:
        project = await find_demo_project(session, now, stage.zone)
    ctx = stage.context(project.looker, now)
    if demo_scripts().players - project.people.keys():
        return 0
    if await _find_document(ctx, stage, project, scripts[-1]) is not None:
        return 0
    await load_drawings(stage, project, now=now)
    known: dict[str, UUID] = {}
    is_started = await _find_document(ctx, stage, project, scripts[0]) is not None
    written = 0
    for script in scripts:
        day, done_count = now - timedelta(days=script.age), 0
        public_id = await _find_document(ctx, stage, project, script) if is_started else None
        if public_id is None:
            document = await write(stage, project, script, now=_office_time(stage, day, 9, script.key), known=known)
            written += 1
        else:
            document = await read(ctx, stage, public_id, script.where)
            done_count = await _count_actions(ctx, stage, public_id, script.where)
        for index, action in enumerate(script.acts[done_count:], start=done_count):
            moment = min(_office_time(stage, day + timedelta(days=action.day), 10 + index, action.by), now)
            document = await take_action(stage, project, script, document, action, moment)
        known[script.key] = UUID(document["data"]["publicId"])
    return written


async def load_drawings(stage: DemoServices, project: DemoProject, *, now: datetime) -> None:
    looker = stage.context(project.looker, now)
    for script in demo_scripts().drawings:
        kind = KINDS_OF_DRAWINGS[script.register]
        if await _current_revisions(looker, stage, project, [script.number], kind):
            continue
        (label, age), *later = script.revisions
        ctx = stage.context(project.person(script.by), _office_time(stage, now - timedelta(days=age), 9, script.number))
        sources = await _source_drawings(looker, stage, project, script)
        file = await _upload(ctx, stage, f"{script.number}.pdf")
        new = NewDrawing(
            project_public_id=project.project,
            originator_organization_public_id=project.organizations[script.originator] if script.originator else None,
            drawing_number=script.number,
            title=script.title,
            title_en=script.title_en,
            discipline_code=script.discipline,
            scale=script.scale,
            sheet_size="A1",
            revision=NewDrawingRevision(
                label=label,
                date=local_date(ctx.now, ctx.zone),
                attachment_public_ids=[file],
                derived_from_public_ids=sources,
            ),
        )
        receipt = await stage.db.transact(drawings.register, ctx, kind, new)
        for next_label, days in later:
            moment = _office_time(stage, now - timedelta(days=days), 10, script.number)
            await _revise(
                stage.context(ctx.caller, moment), stage, kind, receipt.resource_id, script.number, next_label
            )


async def _revise(
    ctx: RequestContext, stage: DemoServices, kind: DrawingKind, public_id: UUID, number: str, label: str | None
) -> None:
    file = await _upload(ctx, stage, f"{number}-revised.pdf")
    new = NewDrawingRevision(label=label, date=local_date(ctx.now, ctx.zone), attachment_public_ids=[file])
    await stage.db.transact(drawings.revise, ctx, kind, public_id, new)


async def _revise_drawings(
    ctx: RequestContext, stage: DemoServices, project: DemoProject, script: DemoDocument
) -> None:
    for number, revision in (await _current_revisions(ctx, stage, project, script.drawings)).items():
        (drawing,) = await _drawing_ids(ctx, stage, SHOP, [revision])
        await _revise(ctx, stage, SHOP, drawing, number, None)


async def _current_revisions(
    ctx: RequestContext, stage: DemoServices, project: DemoProject, numbers: Sequence[str], kind: DrawingKind = SHOP
) -> dict[str, UUID]:
    async with stage.db.reading() as session:
        return await drawings.current_by_number(ctx, session, kind, project=project.project, numbers=numbers)


async def _source_drawings(
    ctx: RequestContext, stage: DemoServices, project: DemoProject, script: DemoDrawing
) -> list[UUID]:
    if script.drawn_from is None:
        return []
    revisions = (await _current_revisions(ctx, stage, project, [script.drawn_from], CONTRACT)).values()
    return await _drawing_ids(ctx, stage, CONTRACT, list(revisions))


async def _drawing_ids(
    ctx: RequestContext, stage: DemoServices, kind: DrawingKind, revisions: Sequence[UUID]
) -> list[UUID]:
    async with stage.db.reading() as session:
        visible = await drawings.visible_revisions(ctx, session, kind, revisions)
        rows = await drawings.revisions_by_key(session, kind, [revision.key for revision in visible.values()])
    return [row.drawing_public_id for row in rows.values()]


def _office_time(stage: DemoServices, day: datetime, hour: int, text: str) -> datetime:
    minute = sum(text.encode()) % 60
    return datetime.combine(local_date(day, stage.zone), time(hour, minute), stage.zone)


async def _find_document(
    ctx: RequestContext, stage: DemoServices, project: DemoProject, script: DemoDocument
) -> UUID | None:
    async with stage.db.reading() as session:
        search = core.RegisterQuery(project=project.project, text=script.subject, limit=1)
        page = await core.listing(ctx, session, KINDS[script.where], search=search)
    return page.items[0].data.public_id if page.items else None


async def _count_actions(ctx: RequestContext, stage: DemoServices, public_id: UUID, where: DemoRegister) -> int:
    async with stage.db.reading() as session:
        history = await core.history(ctx, session, KINDS[where], public_id)
    steps = [entry for entry in history.items if entry.source == "workflow" and entry.action != "cancel"]
    others = [entry for entry in history.items if entry.action in {f"{where}.revise", f"{where}.cancel"}]
    return len(steps) + len(others)


@dataclass(frozen=True, slots=True)
class WalkthroughDocument:
    script: DemoDocument
    document: DocumentJson
    steps: Sequence[workflow.HistoryStep]
    trail: Sequence[audit.AuditRecord]


@dataclass(frozen=True, slots=True)
class WalkthroughStep:
    says: Text
    chapter: WalkthroughDocument | None = None


async def walk_through(stage: DemoServices, *, clock: Clock) -> AsyncIterator[WalkthroughStep]:
    """:raises DemoMissing:"""
    async with stage.db.reading() as session:
        project = await find_demo_project(session, clock.now(), stage.zone)
    known: dict[str, UUID] = {}
    for script in demo_scripts().walkthrough:
        author = stage.context(project.person(script.by), clock.now())
        document = await write(stage, project, script, now=author.now, known=known)
        known[script.key] = UUID(document["data"]["publicId"])
        name, number = author.caller.display_name, document["data"]["documentNumber"]
        yield WalkthroughStep(Text(f"{name} สร้าง {number}", f"{name} writes {number}"))
        for action in script.acts:
            actor = stage.context(project.person(action.by), clock.now())
            says = await _describe_action(actor, stage, script, document, action)
            document = await take_action(stage, project, script, document, action, clock.now())
            chapter = await _load_chapter(author, stage, script, document) if action is script.acts[-1] else None
            yield WalkthroughStep(says, chapter)


async def _describe_action(
    ctx: RequestContext, stage: DemoServices, script: DemoDocument, document: DocumentJson, action: DemoAction
) -> Text:
    name, number = ctx.caller.display_name, document["data"]["documentNumber"]
    is_author = action.by == script.by
    if is_author:
        instance = UUID(document["workflow"]["instancePublicId"])
        async with stage.db.reading() as session:
            envelope = await workflow.find(ctx, session, subjects=stage.subjects, public_id=instance)
    else:
        envelope = (await _find_task(ctx, stage, UUID(document["data"]["publicId"]))).envelope
    label = {offered.code: offered.label for offered in envelope.actions}[action.action]
    if is_author:
        return Text(f"{name}: {label.th} {number}", f"{name}: {label.en} {number}")
    return Text(f"{name} พบ {number} ในกล่องงาน: {label.th}", f"{name} finds {number} in the inbox: {label.en}")


async def _find_task(ctx: RequestContext, stage: DemoServices, public_id: UUID) -> workflow.Task:
    """:raises NotInInbox:"""
    cursor: str | None = None
    while True:
        async with stage.db.reading() as session:
            page = await workflow.list_tasks(ctx, session, subjects=stage.subjects, cursor=cursor, limit=_PAGE)
        for item in page.items:
            if item.envelope.facts.public_id == public_id:
                return item
        cursor = page.next_cursor
        if cursor is None:
            raise NotInInbox(f"{public_id} is not in the inbox of {ctx.caller.username}.")


async def _load_chapter(
    ctx: RequestContext, stage: DemoServices, script: DemoDocument, document: DocumentJson
) -> WalkthroughDocument:
    public_id, instance = UUID(document["data"]["publicId"]), UUID(document["workflow"]["instancePublicId"])
    async with stage.db.reading() as session:
        steps = await workflow.history(ctx, session, subjects=stage.subjects, public_id=instance)
        trail = await audit.list_records(session, entity_id=str(public_id), limit=_PAGE)
    return WalkthroughDocument(script, await read(ctx, stage, public_id, script.where), steps, trail.items[::-1])
