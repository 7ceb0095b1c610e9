"""The workflow's HTTP door: definitions, instances, transitions, histories and the inbox."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response as RawResponse

from saraban.identity.dependencies import CurrentCaller, guarded
from saraban.kit.http import (
    Address,
    Db,
    IdempotencyKey,
    Now,
    OrjsonResponse,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
)
from saraban.kit.idempotency import Answer, Remember, answer_once
from saraban.workflow import schemas, service
from saraban.workflow.dependencies import IfMatch, RegisteredSubjects
from saraban.workflow.service import Command

router = APIRouter(tags=["workflow"])

MAY_VIEW, MAY_MANAGE = "workflow.view_definitions", "workflow.manage_definitions"
Code = Annotated[str, Path(max_length=50, pattern="^[A-Z][A-Z0-9_]*$", description="Code of a workflow.")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/workflow/definitions", response_model=schemas.DefinitionPage, dependencies=[guarded(MAY_VIEW)])
async def list_definitions(
    session: ReadSession,
    code: Annotated[str | None, Query(max_length=50)] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 20,
) -> Any:
    """All versions, newest first, without their text."""
    return await service.list_definitions(session, code=code, cursor=cursor, limit=limit)


@router.post(
    "/workflow/definitions",
    response_model=schemas.DefinitionDetailOut,
    status_code=201,
    dependencies=[guarded(MAY_MANAGE)],
)
async def publish_definition(
    body: schemas.DefinitionIn, caller: CurrentCaller, db: Db, clock: Now, address: Address, key: IdempotencyKey
) -> RawResponse:
    """Keeps a definition as the next version of its code; it can never change afterwards."""
    now = clock.now()

    async def publish(session: AsyncSession, remember: Remember) -> Answer:
        made = await service.create(
            session, caller=caller, raw=body.dsl, activate=body.activate, now=now, address=address
        )
        shown = schemas.DefinitionDetailOut.model_validate(made)
        answer = Answer(201, shown.model_dump(mode="json", by_alias=True))
        await remember(session, answer)
        return answer

    answer = await answer_once(
        db,
        key=key,
        user=caller.public_id,
        operation="POST /workflow/definitions",
        payload=body.model_dump(mode="json"),
        now=now,
        run=lambda remember: db.transact(lambda session: publish(session, remember)),
    )
    return _sent(answer)


@router.post("/workflow/definitions/validate", response_model=schemas.ValidationOut, dependencies=[guarded(MAY_MANAGE)])
async def validate_definition(body: schemas.DefinitionText, session: ReadSession) -> schemas.ValidationOut:
    """Says what publishing would refuse, and saves nothing."""
    faults = await service.validate(session, raw=body.dsl)
    errors = [
        schemas.DefinitionFault(
            pointer=fault.pointer,
            code=fault.code,
            message=schemas.LabelOut(th=fault.text.say("th", fault.values), en=fault.text.say("en", fault.values)),
        )
        for fault in faults
    ]
    return schemas.ValidationOut(valid=not errors, errors=errors)


@router.get(
    "/workflow/definitions/{code}/versions/{version}",
    response_model=schemas.DefinitionDetailOut,
    dependencies=[guarded(MAY_VIEW)],
)
async def read_definition(code: Code, version: Version, session: ReadSession) -> Any:
    return await service.find_definition(session, code=code, version=version)


@router.post(
    "/workflow/definitions/{code}/versions/{version}/activate",
    response_model=schemas.DefinitionOut,
    dependencies=[guarded(MAY_MANAGE)],
)
async def activate_definition(
    code: Code, version: Version, caller: CurrentCaller, db: Db, clock: Now, address: Address
) -> Any:
    """New instances start on this version; running ones keep theirs."""
    return await db.transact(
        lambda session: service.set_active(
            session, caller=caller, code=code, version=version, is_active=True, now=clock.now(), address=address
        )
    )


@router.post(
    "/workflow/definitions/{code}/versions/{version}/deactivate",
    response_model=schemas.DefinitionOut,
    dependencies=[guarded(MAY_MANAGE)],
)
async def deactivate_definition(
    code: Code, version: Version, caller: CurrentCaller, db: Db, clock: Now, address: Address
) -> Any:
    """Without an active version no new instance can start; running ones go on."""
    return await db.transact(
        lambda session: service.set_active(
            session, caller=caller, code=code, version=version, is_active=False, now=clock.now(), address=address
        )
    )


@router.get("/workflow/instances/{publicId}", response_model=schemas.InstanceOut)
async def read_instance(
    public_id: PathId, caller: CurrentCaller, session: ReadSession, subjects: RegisteredSubjects, response: Response
) -> schemas.InstanceOut:
    """Where it stands, what you may do, and what it is about."""
    view = await service.find(session, caller=caller, subjects=subjects, public_id=public_id)
    response.headers["ETag"] = f'"{view.envelope.version_no}"'
    return schemas.InstanceOut(
        subject=_subject(view),
        workflow=schemas.WorkflowOut.model_validate(view.envelope),
        step_attachments=[schemas.StepAttachmentOut.model_validate(file) for file in view.envelope.step_attachments],
    )


@router.post("/workflow/instances/{publicId}/transitions", response_model=schemas.TransitionOut)
async def take_step(
    public_id: PathId,
    body: schemas.TransitionIn,
    caller: CurrentCaller,
    db: Db,
    subjects: RegisteredSubjects,
    clock: Now,
    address: Address,
    key: IdempotencyKey,
    if_match: IfMatch,
) -> RawResponse:
    """
    Takes one action. Send the `workflow.versionNo` you saw, as `clientVersionNo` or in quotes as `If-Match`, so that you
    approve what you read. The `ETag` of a document guards its editing and is not taken here.
    """
    command = Command(
        action=body.action,
        comment=body.comment or None,
        payload=body.payload,
        attachment_public_ids=tuple(body.attachment_public_ids),
        client_version_no=body.client_version_no,
        if_match=if_match,
    )
    answer = await service.perform(
        db,
        caller=caller,
        subjects=subjects,
        public_id=public_id,
        command=command,
        now=clock.now(),
        address=address,
        key=key,
    )
    return _sent(answer)


@router.get("/workflow/instances/{publicId}/history", response_model=schemas.HistoryList)
async def read_history(
    public_id: PathId, caller: CurrentCaller, session: ReadSession, subjects: RegisteredSubjects
) -> schemas.HistoryList:
    """Every step that was taken, the newest last."""
    steps = await service.history(session, caller=caller, subjects=subjects, public_id=public_id)
    return schemas.HistoryList(items=[schemas.HistoryOut.model_validate(step) for step in steps])


@router.get("/inbox", response_model=schemas.InboxPage)
async def read_inbox(
    caller: CurrentCaller,
    session: ReadSession,
    subjects: RegisteredSubjects,
    cursor: PageCursor = None,
    limit: PageLimit = 20,
) -> schemas.InboxPage:
    """What waits for you, newest first. A page may be short; go on while there is a `nextCursor`."""
    page = await service.inbox(session, caller=caller, subjects=subjects, cursor=cursor, limit=limit)
    items = [
        schemas.InboxItemOut(
            subject=_subject(item),
            workflow=schemas.WorkflowOut.model_validate(item.envelope),
            waiting_since=item.since,
        )
        for item in page.items
    ]
    return schemas.InboxPage(items=items, next_cursor=page.next_cursor)


def _subject(view: service.InstanceView | service.InboxItem) -> schemas.SubjectOut:
    facts = view.facts
    return schemas.SubjectOut(
        entity_type=view.entity_type,
        public_id=facts.public_id,
        kind=facts.kind,
        number=facts.number,
        title=facts.title,
        due_date=facts.due_date,
        priority=facts.priority,
    )


def _sent(answer: Answer) -> RawResponse:
    headers = dict(answer.headers) | ({"Idempotent-Replay": "true"} if answer.replayed else {})
    return OrjsonResponse(answer.body, status_code=answer.status, headers=headers)
