"""The request for one instance, its decision and the step that was taken."""

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
    The content of a request, without its caller.

    :param client_version_no: answered with 409 unless it is the present version
    :param if_match: versions of `If-Match`, answered with 412 unless one is the present version
    :param on_behalf_of: the delegator; the caller's own id excludes delegated rights
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
        files, version = tuple(order.attachment_public_ids), order.client_version_no
        items = _item_results(order.payload.item_results)
        return cls(ANSWER, order.comment or None, {}, files, version, if_match, order.answer, order.on_behalf_of, items)

    @property
    def names_a_version(self) -> bool:
        return self.client_version_no is not None or self.if_match is not None


def _item_results(results: Sequence[ItemResultIn]) -> tuple[ItemResult, ...]:
    return tuple(ItemResult(result.public_id, result.response_code, result.comment or None) for result in results)


def item_details(command: Command) -> dict[str, Json]:
    if not command.item_results:
        return {}
    results: list[Json] = [
        {"publicId": str(result.public_id), "responseCode": result.response_code, "comment": result.comment}
        for result in command.item_results
    ]
    return {"itemResults": results}


def check_payload(command: Command, held: InstanceState) -> None:
    """:raises Invalid: for a reserved name; for answers to items before submission or without items"""
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
    An instance under its row lock.

    :param seat: the delegator
    """

    port: SubjectPort
    ctx: RequestContext
    seat: Caller | None = None

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
    """Return the actor's own organization, unless the step awaits another one they act for."""
    acting, state = held.seat or held.caller, held.row.current_state
    if state not in held.definition.states:  # an end, or a state that a migration removed
        return acting.organization_id
    awaited = assignees_of(held.definition, state, held.facts).organizations & acting.organization_ids
    return min(awaited) if awaited and acting.organization_id not in awaited else acting.organization_id


@dataclass(frozen=True, slots=True)
class StepRecord:
    """
    :param details: of the history and the audit entry
    :param values: columns of the instance, saved by the same compare-and-set
    :param applies: False for a step that leaves the subject unchanged
    :param asks: key of the only user whom the step asks
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
    :param step: None if the policy has saved everything
    :param receipt: required without a step
    """

    held: HeldInstance
    step: Step | None
    command: Command
    record: StepRecord = ORDINARY
    receipt: Receipt | None = None


@dataclass(slots=True)
class StepTaken:
    """
    A step while it is saved.

    :param after: the instance after the step
    :param waiting: its assignees after the step
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
    :param taken: the requested step, then the automatic ones
    :param after: None for a repetition
    :param waiting: the assignees, if they were read
    """

    instance_id: UUID
    receipt: Receipt
    taken: tuple[StepTaken, ...] = ()
    after: HeldInstance | None = None
    waiting: PendingAssignees | None = None


@dataclass(slots=True, eq=False)
class TransitionRequest:
    """
    :param is_known: the definition has the action; other names are no metric labels
    :param seen_version: the version when the request arrived, if a concurrent request had read it: tells a lost race
    :param is_visible: otherwise a refusal is not counted
    :param done: by the latest attempt of its transaction
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
    """:param path: the last part of the endpoint's address, without an id"""

    path: ClassVar[str]

    @property
    def details(self) -> Mapping[str, Any]:
        return {}

    @abstractmethod
    async def decide(self, session: AsyncSession, held: HeldInstance, request: TransitionRequest) -> Decision:
        """
        Decide under the row lock, and save everything that comes before the step.

        :raises DomainError: the transaction must be rolled back
        """

    def operation(self, ctx: RequestContext, instance_id: UUID, command: Command) -> Operation:
        # A client that repeats a request may have refreshed its If-Match.
        payload = {part.name: getattr(command, part.name) for part in fields(command) if part.name != "if_match"}
        return Operation.of(ctx, f"POST /workflow/instances/{instance_id}/{self.path}", payload | dict(self.details))
