"""What demo people do, each through the service that a real person's request would reach."""

import struct
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from saraban.attachments import service as attachments
from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as core
from saraban.documents.core.schemas import NewRevision
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.demo.domain.demo_data import DemoAction, DemoDocument, DemoRegister
from saraban.documents.demo.service.demo_context import DemoProject, DemoServices
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import FixedClock, local_date
from saraban.workflow.runtime.schemas import instance_answer
from saraban.workflow.service import Command

KINDS: Mapping[DemoRegister, core.AnyKind] = {
    DemoRegister.CORRESPONDENCE: CORRESPONDENCE,
    DemoRegister.RFA: rfas.RFA,
    DemoRegister.TRANSMITTAL: transmittals.TRANSMITTAL,
    DemoRegister.CIRCULATION: circulations.CIRCULATION,
}
DocumentJson = dict[str, Any]


async def write(
    stage: DemoServices, setting: DemoProject, script: DemoDocument, *, now: datetime, known: Mapping[str, UUID]
) -> DocumentJson:
    """Write the document of a script as a draft with its number and files, and return it as the API would."""
    ctx = stage.context(setting.person(script.by), now)
    files = [await upload(ctx, stage, name=name) for name in script.files]
    if script.where is DemoRegister.CIRCULATION:
        order = _sheet(stage, setting, script, now=now, known=known)
    else:
        order = _order(stage, setting, script, now=now, known=known)
    order["attachmentPublicIds"] = files
    kind = KINDS[script.where]
    receipt = await core.create(ctx, stage.documents, kind, kind.new.model_validate(order))
    assert receipt.public_id is not None  # every receipt of a document names it
    return await read(ctx, stage, public_id=receipt.public_id, where=script.where)


async def _chunks(name: str) -> AsyncIterator[bytes]:
    yield content(name)


async def upload(ctx: RequestContext, stage: DemoServices, *, name: str) -> UUID:
    """Upload a small file made from its name."""
    row = await attachments.upload(
        ctx,
        stage.db,
        stage.storage,
        name=name,
        chunks=_chunks(name),
        rules=stage.uploads,
        clock=FixedClock(ctx.now, ctx.zone),
    )
    return row.public_id


async def take_action(
    stage: DemoServices,
    setting: DemoProject,
    document: DocumentJson,
    deed: DemoAction,
    *,
    script: DemoDocument,
    now: datetime,
) -> DocumentJson:
    """Do one thing with a document, and return it with its workflow as it stands then."""
    ctx = stage.context(setting.person(deed.by), now)
    match deed.action:
        case "revise":
            return await _revise(ctx, stage, document, script)
        case "cancel":
            return await _cancel(ctx, stage, document, script, deed.comment or "")
    done = await stage.steps.take(
        ctx,
        public_id=UUID(document["workflow"]["instancePublicId"]),
        command=Command(deed.action, deed.comment, client_version_no=document["workflow"]["versionNo"]),
    )
    shown = instance_answer(await stage.steps.show(ctx, done)).model_dump(mode="json", by_alias=True)
    return document | {"workflow": shown["workflow"], "stepAttachments": shown["stepAttachments"]}


def _revisioned(where: DemoRegister) -> core.RevisionedKind:
    kind = KINDS[where]
    assert isinstance(kind, core.RevisionedKind)  # no circulation of the demo is revised
    return kind


async def _revise(
    ctx: RequestContext, stage: DemoServices, document: DocumentJson, script: DemoDocument
) -> DocumentJson:
    names = [name.replace(".", "-revised.") for name in script.files]
    files = [await upload(ctx, stage, name=name) for name in names]
    public_id = UUID(document["data"]["publicId"])
    order = NewRevision.model_validate({"dueDate": _due(stage, script, ctx.now), "attachmentPublicIds": files})
    await core.revise(ctx, stage.documents, _revisioned(script.where), public_id, order)
    return await read(ctx, stage, public_id=public_id, where=script.where)


async def _cancel(
    ctx: RequestContext, stage: DemoServices, document: DocumentJson, script: DemoDocument, reason: str
) -> DocumentJson:
    public_id = UUID(document["data"]["publicId"])
    await core.cancel(ctx, stage.documents, KINDS[script.where], public_id, reason)
    return await read(ctx, stage, public_id=public_id, where=script.where)


async def read(ctx: RequestContext, stage: DemoServices, *, public_id: UUID, where: DemoRegister) -> DocumentJson:
    """Return a document with its workflow as the caller sees it."""
    async with stage.db.reading() as session:
        found = await core.read(ctx, session, KINDS[where], public_id=public_id)
        return found.model_dump(mode="json", by_alias=True)


async def count_actions(ctx: RequestContext, stage: DemoServices, *, public_id: UUID, where: DemoRegister) -> int:
    """Return how many acts of a script a document has behind it."""
    async with stage.db.reading() as session:
        lived = await core.history(ctx, session, KINDS[where], public_id=public_id)
    steps = [entry for entry in lived.items if entry.source == "workflow" and entry.action != "cancel"]
    others = [entry for entry in lived.items if entry.action in {f"{where}.revise", f"{where}.cancel"}]
    return len(steps) + len(others)


def _order(
    stage: DemoServices, setting: DemoProject, script: DemoDocument, *, now: datetime, known: Mapping[str, UUID]
) -> dict[str, Any]:
    about = [known[key] for key in script.about]
    fields: dict[str, Any] = {
        "projectPublicId": setting.project,
        "originatorOrganizationPublicId": setting.organizations[script.originator],
        "recipients": [*_recipients(setting, script.to, "TO"), *_recipients(setting, script.cc, "CC")],
        "subject": script.subject,
        "body": script.body,
        "documentDate": local_date(now, stage.zone),
        "dueDate": _due(stage, script, now),
        "priority": script.priority,
        "contractPublicId": setting.contracts[script.contract] if script.contract else None,
    }
    match script.where:
        case DemoRegister.RFA:
            return fields | {"disciplineCode": script.discipline, "rfaTypeCode": script.rfa_type}
        case DemoRegister.TRANSMITTAL:
            items = [{"documentPublicId": one} for one in about]
            return fields | {"subTypeCode": script.sub_type, "purpose": script.purpose, "items": items}
        case _:
            return fields | {"correspondenceTypeCode": script.type, "referencePublicIds": about}


def _sheet(
    stage: DemoServices, setting: DemoProject, script: DemoDocument, *, now: datetime, known: Mapping[str, UUID]
) -> dict[str, Any]:
    people = [setting.person(name) for name in script.assignees]
    kinds = ["MAIN", *("ACTION" for _ in people[1:])]
    return {
        "projectPublicId": setting.project,
        "organizationPublicId": setting.organizations[script.originator],
        "correspondencePublicId": known[script.about[0]] if script.about else None,
        "subject": script.subject,
        "deadlineDate": _due(stage, script, now),
        "priority": script.priority,
        "assignees": [
            {"userPublicId": person.public_id, "kind": kind} for person, kind in zip(people, kinds, strict=True)
        ],
    }


def _due(stage: DemoServices, script: DemoDocument, now: datetime) -> date | None:
    return local_date(now, stage.zone) + timedelta(days=script.due) if script.due else None


def _recipients(setting: DemoProject, codes: Sequence[str], how: str) -> list[dict[str, Any]]:
    return [{"organizationPublicId": setting.organizations[code], "recipientType": how} for code in codes]


_WIDTH, _HEIGHT = 160, 100


def content(name: str) -> bytes:
    """Return the content of a demo file, a picture or a page, as the extension says."""
    return picture() if name.lower().endswith(".png") else page(name)


def page(title: str) -> bytes:
    """Return a PDF of one page that shows its title; what PDF's own fonts cannot show becomes a question mark."""
    shown = title.encode("ascii", "replace").decode().replace("\\", " ").replace("(", " ").replace(")", " ")
    text = f"BT /F1 18 Tf 72 770 Td (Saraban demo) Tj 0 -30 Td /F1 12 Tf ({shown}) Tj ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
    )
    whole, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(whole))
        whole += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(whole)}\n%%EOF\n"
    return f"{whole}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def picture() -> bytes:
    """Return a PNG: sky over a quay."""
    rows = b"".join(b"\0" + _pixel(y) * _WIDTH for y in range(_HEIGHT))
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _pixel(y: int) -> bytes:
    sky = y < _HEIGHT * 2 // 3
    return bytes((120 + y, 170 + y // 2, 220)) if sky else bytes((90, 100 - y // 4, 105))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
