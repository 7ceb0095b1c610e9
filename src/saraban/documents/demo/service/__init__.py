"""The demo: documents with a past, and the story of a few new ones; each thing done through the service that people use."""

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
from saraban.identity.service.first_run import seed_demo_accounts
from saraban.kit.clock import Clock, FixedClock, local_date
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.operation import Receipt
from saraban.projects import service as projects
from saraban.setup import service as setup
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
    """Somebody who plays in the demo has no open account."""

    kind, code = ErrorKind.CONFLICT, "DEMO_MISSING"
    says = Text("ไม่พบบัญชีสาธิต {username} หรือบัญชีถูกปิด", "The demo account {username} is missing or disabled.")
    recovery = (
        Text("เปิดบัญชีด้วย `saraban user enable`", "Enable the account with `saraban user enable`."),
        Text("หรือใช้โฟลเดอร์ข้อมูลใหม่ (SARABAN_DATA_DIR)", "Or use a new data folder (SARABAN_DATA_DIR)."),
    )


class NotInInbox(DomainError):
    """The story expects a document in an inbox and does not find it: roles or definitions were changed."""

    kind, code = ErrorKind.CONFLICT, "DEMO_NOT_IN_INBOX"
    says = Text("ไม่พบเอกสารของเรื่องสาธิตในงานของผู้พิจารณา", "The demo document is not among the reviewer's tasks.")
    recovery = (Text("ใช้โฟลเดอร์ข้อมูลใหม่ (SARABAN_DATA_DIR)", "Use a new data folder (SARABAN_DATA_DIR)."),)


class ProjectTooSmall(DomainError):
    """Documents go from one organization to another: two above the contracts, and in a contract three roles."""

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
    """
    Where it plays and who plays: public ids by code, callers by user name.

    :param looker: sees everything, to find what is there already
    :param people: those whose accounts are open
    """

    project: UUID
    organizations: Mapping[str, UUID]
    contracts: Mapping[str, UUID]
    looker: Caller
    people: Mapping[str, Caller]

    def person(self, username: str) -> Caller:
        """
        :raises DemoMissing: when the account is not there or closed
        """
        if username not in self.people:
            raise DemoMissing(values={"username": username})
        return self.people[username]


async def find_demo_project(session: AsyncSession, now: datetime, zone: ZoneInfo) -> DemoProject:
    project = await projects.find_project_by_code(session, code=PROJECT)
    ctx = RequestContext(await identity.system_caller(session), now, zone, ADDRESS)
    members = await projects.organizations(ctx, session, project_public_id=project.public_id)
    contracts = await projects.contracts(ctx, session, project_public_id=project.public_id)
    still_open = {account.username for account in await identity.list_users(session) if account.is_active}
    return DemoProject(
        project=project.public_id,
        organizations={member.organization_code: member.public_id for member in members},
        contracts={contract.contract_code: contract.public_id for contract in contracts},
        looker=ctx.caller,
        people={
            account.username: found
            for account in identity.DEMO_ACCOUNTS
            if account.username in still_open
            and (found := await identity.find_caller(session, username=account.username))
        },
    )


# What people do.


async def write(
    stage: DemoServices, found: DemoProject, script: DemoDocument, *, now: datetime, known: Mapping[str, UUID]
) -> DocumentJson:
    """Write the document of a script as a draft with its number and files, and return it as the API would."""
    ctx = stage.context(found.person(script.by), now)
    files = [await _upload(ctx, stage, name) for name in script.files]
    fields = _circulation_fields if script.where is DemoRegister.CIRCULATION else _document_fields
    kind = KINDS[script.where]
    asked = {**fields(ctx, found, script, known), "attachmentPublicIds": files}
    if script.drawings:
        current = await _current(ctx, stage, found, script.drawings)
        asked["items"] = [{"drawingRevisionPublicId": one} for one in current.values()]
    new = kind.new.model_validate(asked)
    receipt = await core.create(ctx, stage.documents, kind, new)
    assert receipt.public_id is not None  # every receipt of a document names it
    return await read(ctx, stage, receipt.public_id, script.where)


async def take_action(
    stage: DemoServices,
    found: DemoProject,
    script: DemoDocument,
    document: DocumentJson,
    act: DemoAction,
    now: datetime,
) -> DocumentJson:
    ctx, kind = stage.context(found.person(act.by), now), KINDS[script.where]
    public_id = UUID(document["data"]["publicId"])
    match act.action:
        case "revise":
            await _draw_anew(ctx, stage, found, script)
            assert isinstance(kind, core.RevisionedKind)  # no circulation of the demo is revised
            files = [await _upload(ctx, stage, name.replace(".", "-revised.")) for name in script.files]
            order = NewRevision(due_date=_due(ctx, script), attachment_public_ids=files)
            await core.revise(ctx, stage.documents, kind, public_id, order)
        case "cancel":
            await core.cancel(ctx, stage.documents, kind, public_id, act.comment or "")
        case action:
            instance = document["workflow"]
            command = workflow.Command(action, act.comment, client_version_no=instance["versionNo"])
            await stage.steps.take(ctx, public_id=UUID(instance["instancePublicId"]), command=command)
    return await read(ctx, stage, public_id, script.where)


async def read(ctx: RequestContext, stage: DemoServices, public_id: UUID, where: DemoRegister) -> DocumentJson:
    """Return a document with its workflow as the caller sees it."""
    async with stage.db.reading() as session:
        found = await core.read(ctx, session, KINDS[where], public_id)
        return found.model_dump(mode="json", by_alias=True)


async def _upload(ctx: RequestContext, stage: DemoServices, name: str) -> UUID:
    async def chunks() -> AsyncIterator[bytes]:
        yield content(name)

    clock = FixedClock(ctx.now, ctx.zone)
    store = attachments.FileStore(stage.db, stage.storage, stage.uploads, clock)
    row = await attachments.upload(ctx, store, name=name, chunks=chunks())
    return row.public_id


def _document_fields(
    ctx: RequestContext, found: DemoProject, script: DemoDocument, known: Mapping[str, UUID]
) -> dict[str, Any]:
    about = [known[key] for key in script.about]
    fields: dict[str, Any] = {
        "projectPublicId": found.project,
        "originatorOrganizationPublicId": found.organizations[script.originator],
        "recipients": [
            {"organizationPublicId": found.organizations[code], "recipientType": how}
            for how, codes in (("TO", script.to), ("CC", script.cc))
            for code in codes
        ],
        "subject": script.subject,
        "body": script.body,
        "documentDate": local_date(ctx.now, ctx.zone),
        "dueDate": _due(ctx, script),
        "priority": script.priority,
        "contractPublicId": found.contracts[script.contract] if script.contract else None,
    }
    match script.where:
        case DemoRegister.RFA:
            return fields | {"disciplineCode": script.discipline, "rfaTypeCode": script.rfa_type}
        case DemoRegister.TRANSMITTAL:
            items = [{"documentPublicId": one} for one in about]
            return fields | {"subTypeCode": script.sub_type, "purpose": script.purpose, "items": items}
        case _:
            return fields | {"correspondenceTypeCode": script.type, "referencePublicIds": about}


def _circulation_fields(
    ctx: RequestContext, found: DemoProject, script: DemoDocument, known: Mapping[str, UUID]
) -> dict[str, Any]:
    return {
        "projectPublicId": found.project,
        "organizationPublicId": found.organizations[script.originator],
        "correspondencePublicId": known[script.about[0]] if script.about else None,
        "subject": script.subject,
        "deadlineDate": _due(ctx, script),
        "priority": script.priority,
        "assignees": [
            {"userPublicId": found.person(name).public_id, "kind": "ACTION" if place else "MAIN"}
            for place, name in enumerate(script.assignees)
        ],
    }


def _due(ctx: RequestContext, script: DemoDocument) -> date | None:
    return local_date(ctx.now, ctx.zone) + timedelta(days=script.due) if script.due else None


# The documents of the past weeks.


async def load(stage: DemoServices, *, now: datetime, scripts: Sequence[DemoDocument] = ()) -> int:
    """
    Write the demo documents that are missing, with the life they have had, and say how many those were.

    A document is known by its subject; what was broken off goes on where it stopped. Where demo accounts have been
    closed nothing is written, because nobody is there to write it.
    """
    scripts = scripts or demo_scripts().documents
    async with stage.db.reading() as session:
        found = await find_demo_project(session, now, stage.zone)
    ctx = stage.context(found.looker, now)
    if demo_scripts().players - found.people.keys() or await _find(ctx, stage, found, scripts[-1]) is not None:
        return 0
    await load_drawings(stage, found, now=now)
    known: dict[str, UUID] = {}
    begun = await _find(ctx, stage, found, scripts[0]) is not None
    written = 0
    for script in scripts:
        day, done = now - timedelta(days=script.age), 0
        there = await _find(ctx, stage, found, script) if begun else None
        if there is None:
            document = await write(stage, found, script, now=_at(stage, day, 9, script.key), known=known)
            written += 1
        else:
            document = await read(ctx, stage, there, script.where)
            done = await _count_actions(ctx, stage, there, script.where)
        for place, act in enumerate(script.acts[done:], start=done):
            moment = min(_at(stage, day + timedelta(days=act.day), 10 + place, act.by), now)
            document = await take_action(stage, found, script, document, act, moment)
        known[script.key] = UUID(document["data"]["publicId"])
    return written


async def load_drawings(stage: DemoServices, found: DemoProject, *, now: datetime) -> None:
    """Register the drawings that are missing, each with its history; one is known by its number."""
    looker = stage.context(found.looker, now)
    for script in demo_scripts().drawings:
        kind = KINDS_OF_DRAWINGS[script.register]
        if await _current(looker, stage, found, [script.number], kind):
            continue
        (label, age), *later = script.revisions
        ctx = stage.context(found.person(script.by), _at(stage, now - timedelta(days=age), 9, script.number))
        sources = await _sources(looker, stage, found, script)
        file = await _upload(ctx, stage, f"{script.number}.pdf")
        new = NewDrawing(
            project_public_id=found.project,
            originator_organization_public_id=found.organizations[script.originator] if script.originator else None,
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
        made = await stage.db.transact(drawings.register, ctx, kind, new)
        for next_label, days in later:
            moment = _at(stage, now - timedelta(days=days), 10, script.number)
            await _revise(stage.context(ctx.caller, moment), stage, kind, made.resource_id, script.number, next_label)


async def _revise(
    ctx: RequestContext, stage: DemoServices, kind: DrawingKind, public_id: UUID, number: str, label: str | None
) -> None:
    file = await _upload(ctx, stage, f"{number}-revised.pdf")
    new = NewDrawingRevision(label=label, date=local_date(ctx.now, ctx.zone), attachment_public_ids=[file])
    await stage.db.transact(drawings.revise, ctx, kind, public_id, new)


async def _draw_anew(ctx: RequestContext, stage: DemoServices, found: DemoProject, script: DemoDocument) -> None:
    for number, revision in (await _current(ctx, stage, found, script.drawings)).items():
        (drawing,) = await _drawings_of(ctx, stage, SHOP, [revision])
        await _revise(ctx, stage, SHOP, drawing, number, None)


async def _current(
    ctx: RequestContext, stage: DemoServices, found: DemoProject, numbers: Sequence[str], kind: DrawingKind = SHOP
) -> dict[str, UUID]:
    async with stage.db.reading() as session:
        return await drawings.current_by_number(ctx, session, kind, project=found.project, numbers=numbers)


async def _sources(ctx: RequestContext, stage: DemoServices, found: DemoProject, script: DemoDrawing) -> list[UUID]:
    if script.drawn_from is None:
        return []
    revisions = (await _current(ctx, stage, found, [script.drawn_from], CONTRACT)).values()
    return await _drawings_of(ctx, stage, CONTRACT, list(revisions))


async def _drawings_of(
    ctx: RequestContext, stage: DemoServices, kind: DrawingKind, revisions: Sequence[UUID]
) -> list[UUID]:
    async with stage.db.reading() as session:
        seen = await drawings.visible_revisions(ctx, session, kind, revisions)
        rows = await drawings.revisions_by_key(session, kind, [one.key for one in seen.values()])
    return [row.drawing_public_id for row in rows.values()]


def _at(stage: DemoServices, day: datetime, hour: int, spice: str) -> datetime:
    """Return a moment of that day's office hours; nobody writes everything on the full hour."""
    minute = sum(spice.encode()) % 60
    return datetime.combine(local_date(day, stage.zone), time(hour, minute), stage.zone)


async def _find(ctx: RequestContext, stage: DemoServices, found: DemoProject, script: DemoDocument) -> UUID | None:
    async with stage.db.reading() as session:
        search = core.RegisterQuery(project=found.project, text=script.subject, limit=1)
        page = await core.listing(ctx, session, KINDS[script.where], search=search)
    return page.items[0].data.public_id if page.items else None


async def _count_actions(ctx: RequestContext, stage: DemoServices, public_id: UUID, where: DemoRegister) -> int:
    """Return how many acts of a script a document has behind it."""
    async with stage.db.reading() as session:
        lived = await core.history(ctx, session, KINDS[where], public_id)
    steps = [entry for entry in lived.items if entry.source == "workflow" and entry.action != "cancel"]
    others = [entry for entry in lived.items if entry.action in {f"{where}.revise", f"{where}.cancel"}]
    return len(steps) + len(others)


# The story: people write documents, find them in their inboxes, act; then what the product keeps of it.


@dataclass(frozen=True, slots=True)
class WalkthroughDocument:
    """What became of one document, and what the product can show of it: its history and its audit trail."""

    script: DemoDocument
    document: DocumentJson
    steps: Sequence[workflow.HistoryStep]
    trail: Sequence[audit.AuditRecord]


@dataclass(frozen=True, slots=True)
class WalkthroughStep:
    """Something has happened; `chapter` comes with the last scene of each document."""

    says: Text
    chapter: WalkthroughDocument | None = None


async def walk_through(stage: DemoServices, *, clock: Clock) -> AsyncIterator[WalkthroughStep]:
    """
    Play the story once, a scene at a time; told again, it goes on with the next numbers.

    :raises DemoMissing: when one of its people has no open account
    """
    async with stage.db.reading() as session:
        found = await find_demo_project(session, clock.now(), stage.zone)
    known: dict[str, UUID] = {}
    for script in demo_scripts().walkthrough:
        author = stage.context(found.person(script.by), clock.now())
        document = await write(stage, found, script, now=author.now, known=known)
        known[script.key] = UUID(document["data"]["publicId"])
        who, number = author.caller.display_name, document["data"]["documentNumber"]
        yield WalkthroughStep(Text(f"{who} สร้าง {number}", f"{who} writes {number}"))
        for act in script.acts:
            actor = stage.context(found.person(act.by), clock.now())
            says = await _says(actor, stage, script, document, act)
            document = await take_action(stage, found, script, document, act, clock.now())
            chapter = await _chapter(author, stage, script, document) if act is script.acts[-1] else None
            yield WalkthroughStep(says, chapter)


async def _says(
    ctx: RequestContext, stage: DemoServices, script: DemoDocument, document: DocumentJson, act: DemoAction
) -> Text:
    who, number = ctx.caller.display_name, document["data"]["documentNumber"]
    own = act.by == script.by
    if own:
        instance = UUID(document["workflow"]["instancePublicId"])
        async with stage.db.reading() as session:
            envelope = await workflow.find(ctx, session, subjects=stage.subjects, public_id=instance)
    else:
        envelope = (await _waiting(ctx, stage, UUID(document["data"]["publicId"]))).envelope
    label = {action.code: action.label for action in envelope.actions}[act.action]
    if own:
        return Text(f"{who}: {label.th} {number}", f"{who}: {label.en} {number}")
    return Text(f"{who} พบ {number} ในกล่องงาน: {label.th}", f"{who} finds {number} in the inbox: {label.en}")


async def _waiting(ctx: RequestContext, stage: DemoServices, public_id: UUID) -> workflow.Task:
    """
    :raises NotInInbox: when the document does not wait for the caller
    """
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


async def _chapter(
    ctx: RequestContext, stage: DemoServices, script: DemoDocument, document: DocumentJson
) -> WalkthroughDocument:
    public_id, instance = UUID(document["data"]["publicId"]), UUID(document["workflow"]["instancePublicId"])
    async with stage.db.reading() as session:
        steps = await workflow.history(ctx, session, subjects=stage.subjects, public_id=instance)
        trail = await audit.list_records(session, entity_id=str(public_id), limit=_PAGE)
    return WalkthroughDocument(script, await read(ctx, stage, public_id, script.where), steps, trail.items[::-1])


@dataclass(frozen=True, slots=True)
class DemoLoader:
    clock: Clock
    services: DemoServices

    async def load_project(self, session: AsyncSession, *, update_shared: bool = False) -> None:
        """
        Load the project and its accounts.

        :param update_shared: an organization of the demo may exist under another name
        """
        ctx = await identity.system_context(session, self.clock)
        await setup.apply(ctx, session, content=setup.demo(), update_shared=update_shared)
        await seed_demo_accounts(session)

    async def load_documents(self) -> int:
        """Write the demo documents that are missing, and return their number."""
        return await load(self.services, now=self.clock.now())
