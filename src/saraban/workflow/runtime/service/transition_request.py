"""
What a client asks of an instance, what is known of the instance while it is decided, and what was done.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text, invalid
from saraban.kit.etags import Stale, require_strong
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.kit.operation import Operation, Receipt
from saraban.workflow.engine.decisions import Step
from saraban.workflow.engine.pending_assignees import PendingAssignees, assignees_of
from saraban.workflow.language.registers import reserved
from saraban.workflow.language.review import ANSWER
from saraban.workflow.language.subject import ItemResult
from saraban.workflow.runtime.schemas import BranchAnswerIn, ItemResultIn, TransitionIn
from saraban.workflow.runtime.service.subjects import InstanceState, SubjectPort


class VersionConflict(DomainError):
    """The version that the client saw is not the present one any more."""

    kind, code = ErrorKind.CONFLICT, "WORKFLOW_VERSION_CONFLICT"
    says = Text(
        "เอกสารถูกอนุมัติโดยผู้อื่นแล้ว กรุณารีเฟรช", "Somebody else has acted on this document in the meantime. Refresh the page."
    )
    recovery: ClassVar[tuple[Text, ...]] = (REFRESH,)


class VersionLost(VersionConflict):
    """Another step was written between the lock and the update."""

    says = Text("เกิด Conflict กรุณารีเฟรชและลองใหม่", "Somebody else acted at the same moment. Refresh and try again.")
    recovery = (Text("รีเฟรชหน้า", "Refresh the page."), Text("ลองดำเนินการอีกครั้ง", "Try the action again."))


class StaleInstance(Stale):
    """`If-Match` names another version than the present one."""

    code = "WORKFLOW_PRECONDITION_FAILED"
    says = Text(
        "สถานะเอกสารเปลี่ยนไปแล้ว กรุณารีเฟรช",
        "The status of the document has changed since you opened it. Refresh the page.",
    )


@dataclass(frozen=True, slots=True)
class Command:
    """
    What a client asks for; nothing in it says who asks.

    :param client_version_no: the `versionNo` the client saw; when it is old the answer is 409
    :param if_match: version numbers from `If-Match`; when none is the present one the answer is 412
    :param on_behalf_of: the person in whose place the caller means to act; the caller themselves for their own right alone
    """

    action: str
    comment: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    attachment_public_ids: tuple[UUID, ...] = ()
    client_version_no: int | None = None
    if_match: frozenset[str] | None = None
    response_code: str | None = None
    on_behalf_of: UUID | None = None
    item_results: tuple[ItemResult, ...] = ()

    @classmethod
    def of(cls, order: TransitionIn, if_match: frozenset[str] | None = None) -> "Command":
        return cls(
            order.action,
            order.comment or None,
            order.payload.model_extra or {},
            tuple(order.attachment_public_ids),
            order.client_version_no,
            if_match,
            order.response_code,
            order.on_behalf_of,
            _item_results(order.payload.item_results),
        )

    @classmethod
    def answering(cls, order: BranchAnswerIn, if_match: frozenset[str] | None = None) -> "Command":
        """Return the command of an answer in a review: its code is the answer, its versions are the branch's."""
        files, version = tuple(order.attachment_public_ids), order.client_version_no
        items = _item_results(order.payload.item_results)
        return cls(ANSWER, order.comment or None, {}, files, version, if_match, order.answer, order.on_behalf_of, items)

    @property
    def names_a_version(self) -> bool:
        return self.client_version_no is not None or self.if_match is not None


def _item_results(said: Sequence[ItemResultIn]) -> tuple[ItemResult, ...]:
    return tuple(ItemResult(one.public_id, one.response_code, one.comment or None) for one in said)


def item_details(command: Command) -> dict[str, Json]:
    if not command.item_results:
        return {}
    said = [
        {"publicId": str(one.public_id), "responseCode": one.response_code, "comment": one.comment}
        for one in command.item_results
    ]
    return {"itemResults": said}


def check_payload(command: Command, held: InstanceState) -> None:
    """
    :raises Invalid: at the first name that would read like the server's own word about who acts, and at answers to items of what
        carries none, or while they are still put together
    """
    if command.item_results and not held.facts.carries_items:
        th, en = "เอกสารนี้ไม่มีรายการให้ตอบ", "This document carries no items to answer."
        raise invalid("/payload/itemResults", "not_for_this", th, en)
    if command.item_results and (held.state.initial or held.state.editable):
        th, en = "ผู้ยื่นตอบผลรายการของตนเองไม่ได้", "Whoever submits the items does not answer them."
        raise invalid("/payload/itemResults", "not_yet", th, en)
    for name in command.payload:
        if reserved(name):
            th, en = "ชื่อนี้สงวนไว้สำหรับระบบ", "This name is reserved: who acts is known to the server."
            raise invalid(f"/payload/{name}", "reserved", th, en)


def check_version(command: Command, version_no: int) -> None:
    """
    :raises VersionConflict: when the body names another version
    :raises StaleInstance: when `If-Match` names another version
    :raises WeakETag: when it names none, because a tag is weak
    """
    if command.client_version_no is not None and command.client_version_no != version_no:
        raise VersionConflict(f"The client saw version {command.client_version_no}, the present one is {version_no}.")
    if command.if_match is not None and not command.if_match & {str(version_no), "*"}:
        require_strong(command.if_match)
        raise StaleInstance(f"If-Match does not name the present version {version_no}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldInstance(InstanceState):
    """
    An instance under its row lock, at the version that the client named, with what a decision needs.

    :param seat: in whose place the caller acts, None in their own right
    :param has_files: False where it is known that no step of it has any
    """

    port: SubjectPort
    ctx: RequestContext
    seat: Caller | None = None
    has_files: bool = True

    @property
    def caller(self) -> Caller:
        return self.ctx.caller


def behalf_of(held: HeldInstance) -> dict[str, int | str | None]:
    seat = held.seat
    return {
        "on_behalf_of_user_id": seat.user_id if seat else None,
        "on_behalf_of_user_uuid": str(seat.public_id) if seat else None,
    }


def acting_organization(held: HeldInstance) -> int | None:
    """Return for which organization a step is taken: the person's own, unless it awaits another one that they act for."""
    acting, state = held.seat or held.caller, held.row.current_state
    if state not in held.definition.states:  # an end, or a state that a migration leaves behind
        return acting.organization_id
    asked = assignees_of(held.definition, state, held.facts).organizations & acting.organization_ids
    return min(asked) if asked and acting.organization_id not in asked else acting.organization_id


@dataclass(frozen=True, slots=True)
class StepRecord:
    """
    What is recorded of a step besides, where it is no ordinary one.

    :param audited: the action of the audit row
    :param details: what the history row and the audit row say besides
    :param values: further columns of the instance, written by the same compare-and-set
    :param applies: False for a step that leaves the instance in its state, of which the subject need not hear
    :param asks: the one person who is asked because of it, where nobody else is asked anew
    """

    audited: str = "workflow.transition"
    severity: audit.Severity = audit.Severity.INFO
    details: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    applies: bool = True
    asks: int | None = None


ORDINARY = StepRecord()


@dataclass(frozen=True, slots=True)
class Decision:
    """
    What a request does to one instance.

    :param step: to be written; None where the policy has written all that there is
    :param receipt: of what was done, where that is no step
    """

    held: HeldInstance
    step: Step | None
    command: Command
    record: StepRecord = ORDINARY
    receipt: Receipt | None = None


@dataclass(slots=True)
class StepTaken:
    """
    A step on its way into the database, at the moment at which it is taken.

    :param record: with the rules by which its state is entered
    :param after: its instance after the step
    :param waiting: whom the instance waits for after the step
    :param key: of its history
    """

    held: HeldInstance
    step: Step
    command: Command
    now: datetime
    record: StepRecord
    after: HeldInstance
    waiting: PendingAssignees = field(default_factory=PendingAssignees)
    key: UUID = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class Transitioned:
    """
    What a request has done to an instance.

    :param taken: the steps that the commit contains: the requested one, then the automatic ones
    :param after: the instance after them; None for a repetition
    :param waiting: whom the instance waits for then, as far as that was read
    """

    instance_id: UUID
    receipt: Receipt
    taken: tuple[StepTaken, ...] = ()
    after: HeldInstance | None = None
    waiting: PendingAssignees | None = None


@dataclass(slots=True, eq=False)
class TransitionRequest:
    """
    One request for one instance.

    :param is_known: the definition has the action; others are not counted by name, so that clients cannot make up labels
    :param seen_state: where the instance was when the request met it
    :param seen_version: of the instance when the request arrived, as far as a request under way had read it: without a
        version from the client it tells a lost race from an action out of place
    :param read_version: of the instance as this very request read it
    :param is_visible: the caller may see the instance; only then a refusal is counted as an attempt
    :param done: by the latest run of its transaction
    """

    ctx: RequestContext
    instance_id: UUID
    command: Command
    policy: "DecisionPolicy"
    workflow_code: str = ""
    is_known: bool = False
    seen_state: str = ""
    seen_version: int = 0
    read_version: int = 0
    is_visible: bool = False
    done: Transitioned | None = None


class DecisionPolicy(ABC):
    """
    How the requests of one endpoint are decided.

    :param path: the last part of the endpoint's address, without an id
    """

    path: ClassVar[str]

    @property
    def details(self) -> Mapping[str, Any]:
        """What the request contains besides its command."""
        return {}

    @abstractmethod
    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        """
        Decide what a request does to an instance under its row lock, and write what comes before the step.

        :raises DomainError: nothing may be committed
        """

    def operation(self, ctx: RequestContext, instance_id: UUID, command: Command) -> Operation:
        # A client that repeats a request may have refreshed its If-Match.
        payload = {one.name: getattr(command, one.name) for one in fields(command) if one.name != "if_match"}
        return Operation.of(ctx, f"POST /workflow/instances/{instance_id}/{self.path}", payload | dict(self.details))
