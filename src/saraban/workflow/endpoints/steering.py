"""`/workflow/instances/{publicId}/…`: what those may do who take a workflow out of its course."""

from fastapi import APIRouter
from starlette.responses import Response as RawResponse

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import Address, Db, IdempotencyKey, Now, PathId, ReadSession
from saraban.workflow import schemas
from saraban.workflow.dependencies import IfMatch, RegisteredSubjects
from saraban.workflow.endpoints.answers import sent
from saraban.workflow.schemas.steering import ForceIn, SteeringOut, TerminationIn
from saraban.workflow.service import Command, steering
from saraban.workflow.service.perform import Asking

router = APIRouter()


@router.get("/workflow/instances/{publicId}/steering")
async def read_steering(
    public_id: PathId, caller: CurrentCaller, session: ReadSession, subjects: RegisteredSubjects
) -> SteeringOut:
    """What you may do to this instance besides its actions: what can be forced, and whether you may end or reassign it."""
    found = await steering.find(session, caller=caller, subjects=subjects, public_id=public_id)
    return SteeringOut.model_validate(found)


@router.post("/workflow/instances/{publicId}/force", response_model=schemas.TransitionOut)
async def force_step(
    public_id: PathId,
    body: ForceIn,
    caller: CurrentCaller,
    db: Db,
    subjects: RegisteredSubjects,
    clock: Now,
    address: Address,
    key: IdempotencyKey,
    if_match: IfMatch,
) -> RawResponse:
    """
    Takes an action that is somebody else's, or puts the instance into a state of its definition. No requirement and no
    condition is asked; the history marks the step as forced, and everybody who takes part is told.
    """
    command = Command(
        body.action or steering.FORCE, body.reason, client_version_no=body.client_version_no, if_match=if_match
    )
    asking = Asking(caller, subjects, public_id, command, clock.now(), key, {"action": body.action, "to": body.to})
    return sent(await steering.force(db, asking, action=body.action, to=body.to, address=address))


@router.post("/workflow/instances/{publicId}/terminate", response_model=schemas.TransitionOut)
async def terminate_instance(
    public_id: PathId,
    body: TerminationIn,
    caller: CurrentCaller,
    db: Db,
    subjects: RegisteredSubjects,
    clock: Now,
    address: Address,
    key: IdempotencyKey,
    if_match: IfMatch,
) -> RawResponse:
    """
    Ends the instance without an outcome: its status is `TERMINATED`, nobody is waited for any more. The document stays,
    with its number; its originator may issue the next revision.
    """
    command = Command(steering.TERMINATE, body.reason, client_version_no=body.client_version_no, if_match=if_match)
    asking = Asking(caller, subjects, public_id, command, clock.now(), key)
    return sent(await steering.terminate(db, asking, address=address))
