"""What demo people do, each through the service that a real person's request would reach."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from saraban.attachments import service as attachments
from saraban.documents.core import service as core
from saraban.documents.core.schemas import NewRevision
from saraban.documents.correspondence import service as correspondences
from saraban.documents.correspondence.schemas import NewCorrespondence
from saraban.documents.demo.domain.files import content
from saraban.documents.demo.domain.script import Act, Script, Where
from saraban.documents.demo.service.stage import ADDRESS, Setting, Stage
from saraban.documents.rfa import service as rfas
from saraban.documents.rfa.schemas import NewRfa
from saraban.documents.transmittal import service as transmittals
from saraban.documents.transmittal.schemas import NewTransmittal
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import FixedClock, local_date
from saraban.workflow import service as workflow
from saraban.workflow.service import Command

REGISTERS: Mapping[Where, core.Register] = {
    Where.CORRESPONDENCE: correspondences.REGISTER,
    Where.RFA: rfas.REGISTER,
    Where.TRANSMITTAL: transmittals.REGISTER,
}
Document = dict[str, Any]


async def write(
    stage: Stage, setting: Setting, script: Script, *, now: datetime, known: Mapping[str, UUID]
) -> Document:
    """This will write the document of a script as a draft with its number and files, and give it as the API would."""
    caller = setting.people[script.by]
    files = [await upload(stage, caller=caller, name=name, now=now) for name in script.files]
    order = _order(stage, setting, script, now=now, known=known) | {"attachmentPublicIds": files}
    given: dict[str, Any] = {"caller": caller, "now": now, "zone": stage.zone, "address": ADDRESS}
    match script.where:
        case Where.RFA:
            answer = await rfas.create(stage.db, stage.allocator, order=NewRfa.model_validate(order), **given)
        case Where.TRANSMITTAL:
            sheet = NewTransmittal.model_validate(order)
            answer = await transmittals.create(stage.db, stage.allocator, order=sheet, **given)
        case _:
            paper = NewCorrespondence.model_validate(order)
            answer = await correspondences.create(stage.db, stage.allocator, order=paper, **given)
    return dict(answer.body)


async def upload(stage: Stage, *, caller: Caller, name: str, now: datetime) -> UUID:
    """This will upload a small file made from its name."""

    async def chunks() -> AsyncIterator[bytes]:
        yield content(name)

    row = await attachments.upload(
        stage.db,
        stage.storage,
        caller=caller,
        name=name,
        chunks=chunks(),
        rules=stage.uploads,
        clock=FixedClock(now, stage.zone),
        address=ADDRESS,
    )
    return row.public_id


async def act(
    stage: Stage, setting: Setting, document: Document, deed: Act, *, where: Where, now: datetime
) -> Document:
    """This will do one thing with a document, and give it as it stands then for whoever did it."""
    caller = setting.people[deed.by]
    public_id = UUID(document["publicId"])
    given: dict[str, Any] = {"caller": caller, "public_id": public_id, "now": now, "zone": stage.zone}
    if deed.action == "revise":
        answer = await core.revise(stage.db, REGISTERS[where], order=NewRevision(), address=ADDRESS, key=None, **given)
        return dict(answer.body)
    if deed.action == "cancel":
        answer = await core.cancel(
            stage.db,
            REGISTERS[where],
            stage.followers,
            reason=deed.comment or "",
            address=ADDRESS,
            key=None,
            **given,
        )
        return dict(answer.body)
    await workflow.perform(
        stage.db,
        caller=caller,
        subjects=stage.subjects,
        public_id=UUID(document["workflow"]["instancePublicId"]),
        command=Command(deed.action, deed.comment, client_version_no=document["workflow"]["versionNo"]),
        now=now,
        address=ADDRESS,
    )
    return await read(stage, caller=caller, public_id=public_id, where=where, now=now)


async def read(stage: Stage, *, caller: Caller, public_id: UUID, where: Where, now: datetime) -> Document:
    async with stage.db.reading() as session:
        found = await core.read(session, REGISTERS[where], caller=caller, public_id=public_id, now=now, zone=stage.zone)
    return found.model_dump(mode="json", by_alias=True)


def _order(
    stage: Stage, setting: Setting, script: Script, *, now: datetime, known: Mapping[str, UUID]
) -> dict[str, Any]:
    about = [known[key] for key in script.about]
    fields: dict[str, Any] = {
        "projectPublicId": setting.project,
        "originatorOrganizationPublicId": setting.organizations[script.originator],
        "recipients": [*_recipients(setting, script.to, "TO"), *_recipients(setting, script.cc, "CC")],
        "subject": script.subject,
        "body": script.body,
        "documentDate": local_date(now, stage.zone),
        "dueDate": local_date(now, stage.zone) + timedelta(days=script.due) if script.due else None,
        "priority": script.priority,
        "contractPublicId": setting.contracts[script.contract] if script.contract else None,
    }
    match script.where:
        case Where.RFA:
            return fields | {"disciplineCode": script.discipline, "rfaTypeCode": script.rfa_type}
        case Where.TRANSMITTAL:
            items = [{"documentPublicId": one} for one in about]
            return fields | {"subTypeCode": script.sub_type, "purpose": script.purpose, "items": items}
        case _:
            return fields | {"correspondenceTypeCode": script.type, "referencePublicIds": about}


def _recipients(setting: Setting, codes: Sequence[str], how: str) -> list[dict[str, Any]]:
    return [{"organizationPublicId": setting.organizations[code], "recipientType": how} for code in codes]
